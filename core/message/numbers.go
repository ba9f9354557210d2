package message

import (
	"strconv"

	"github.com/tamarack-mq/tamarack/core/record"
)

// Time is a point on a node's own monotonic clock in nanoseconds. It has no
// meaning on another node and starts anywhere. Never is later than all others.
type Time int64

// Never is the deadline of what is not waiting for time.
const Never Time = 1<<63 - 1

// Duration is a span of time in nanoseconds.
type Duration int64

// Units of Duration.
const (
	Microsecond Duration = 1000
	Millisecond          = 1000 * Microsecond
	Second               = 1000 * Millisecond
	Minute               = 60 * Second
	Hour                 = 60 * Minute
)

// Add returns the time d after t.
func (t Time) Add(d Duration) Time { return t + Time(d) }

// Sub returns the span from u to t.
func (t Time) Sub(u Time) Duration { return Duration(t - u) }

// Now is what the clocks of a node show when it is stepped. Wall may jump in
// either direction; Mono never falls while a process lives.
type Now struct {
	Mono Time
	Wall record.Timestamp
}

// NodeID names a node of the cluster for ever. Valid ids are 1 and above.
type NodeID int32

// NoNode stands where there is no leader, controller or coordinator.
const NoNode NodeID = 0

// String prints the id as a decimal number.
func (n NodeID) String() string { return strconv.Itoa(int(n)) }

// BrokerEpoch numbers the runs of brokers: each registration gets a new one,
// higher than all before it in the whole cluster (KIP-631, KIP-903).
type BrokerEpoch int64

// PartitionEpoch counts the committed changes of one partition's state. An ISR
// change is a compare-and-set on it (KIP-497).
type PartitionEpoch int32

// MemberEpoch is the epoch of one group member (KIP-848). 0 joins, LeaveEpoch
// leaves, LeaveStaticEpoch leaves for a while and keeps the static identity.
type MemberEpoch int32

// Member epochs with a meaning of their own.
const (
	JoinEpoch        MemberEpoch = 0
	LeaveEpoch       MemberEpoch = -1
	LeaveStaticEpoch MemberEpoch = -2
)

// Version is a position in the history of the cluster's metadata: the index of
// the last applied entry of the controller's log.
type Version uint64

// Token names one request of a client for the driver that carried it in.
type Token uint64

// Acks is what a producer waits for.
type Acks int8

// Values of Acks.
const (
	AcksAll    Acks = -1
	AcksNone   Acks = 0
	AcksLeader Acks = 1
)
