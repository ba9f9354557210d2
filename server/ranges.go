package server

import (
	"fmt"
	"math"
	"time"

	"github.com/tamarack-mq/tamarack/core/message"
)

// Bounds of settings. They leave out what cannot be meant: a negative time is
// over before it begins, one of centuries runs over the end of the clock.
const (
	leastTime     = time.Millisecond
	longestTime   = 24 * time.Hour
	longestKept   = 10 * 365 * 24 * time.Hour
	leastSession  = time.Second
	longestMember = 30 * time.Minute

	// longestText fits the length byte that texts of the handshake have.
	longestText = math.MaxUint8

	leastFrame   = 1 << 20
	largestFrame = 1 << 30
	largestFile  = 1 << 30

	mostOffsetsPartitions = 10_000
)

// span is a setting that is a number, and what it may be. 0 stands for the
// default and is always right.
type span struct {
	name         string
	value        int64
	least, limit int64
	print        func(int64) string
}

func duration(name string, value, least, limit time.Duration) span {
	return span{name, int64(value), int64(least), int64(limit), func(n int64) string { return time.Duration(n).String() }}
}

func number(name string, value, least, limit int64) span {
	return span{name, value, least, limit, func(n int64) string { return fmt.Sprint(n) }}
}

// checkRanges says which setting is out of its range.
func (c Config) checkRanges() error {
	for _, s := range []span{
		duration("heartbeat interval", time.Duration(c.Timing.HeartbeatInterval), leastTime, longestTime),
		duration("session timeout", time.Duration(c.Timing.SessionTimeout), leastTime, longestTime),
		duration("replica lag", time.Duration(c.Timing.ReplicaLag), leastTime, longestTime),
		duration("election timeout", time.Duration(c.Timing.ElectionTimeout), leastTime, longestTime),
		duration("quorum heartbeat", time.Duration(c.Timing.QuorumHeartbeat), leastTime, longestTime),
		duration("fetch wait", time.Duration(c.Timing.FetchWait), leastTime, longestTime),
		duration("request timeout", time.Duration(c.Timing.RequestTimeout), leastTime, longestTime),
		duration("shutdown limit", c.ShutdownLimit, leastTime, longestTime),
		duration("group session timeout", time.Duration(c.Groups.SessionTimeout), leastSession, longestMember),
		duration("group heartbeat interval", time.Duration(c.Groups.HeartbeatInterval), leastTime, longestTime),
		duration("offsets retention", time.Duration(c.Groups.OffsetsRetention), leastTime, longestKept),
		duration("stall", c.Limits.Stall, leastTime, longestTime),
		number("offsets partitions", int64(c.Groups.Partitions), 1, mostOffsetsPartitions),
		number("offsets replicas", int64(c.Groups.ReplicationFactor), 1, int64(len(c.Voters))),
		number("offsets min.insync", int64(c.Groups.MinInsync), 1, math.MaxInt32),
		number("transactions partitions", int64(c.Transactions.Partitions), 1, mostOffsetsPartitions),
		number("transactions replicas", int64(c.Transactions.ReplicationFactor), 1, int64(len(c.Voters))),
		number("transactions min.insync", int64(c.Transactions.MinInsync), 1, math.MaxInt32),
		duration("transactions max timeout", time.Duration(c.Transactions.MaxTimeout), leastTime, longestKept),
		duration("transactions expiration", time.Duration(c.Transactions.Expiration), leastTime, longestKept),
		number("segment bytes", int64(c.SegmentBytes), 1, largestFile),
		number("tail bytes", int64(c.TailBytes), 1, math.MaxInt64),
		number("reserve bytes", c.ReserveBytes, -1, math.MaxInt64),
		number("largest frame", int64(c.Limits.MaxFrame), leastFrame, largestFrame),
		number("connections", int64(c.Limits.MaxConnections), 1, math.MaxInt64),
		number("requests in flight", int64(c.Limits.MaxInFlight), 1, math.MaxInt64),
	} {
		if s.value != 0 && (s.value < s.least || s.value > s.limit) {
			return fmt.Errorf("%s: %s is out of range: give %s to %s, or 0 for the default",
				s.name, s.print(s.value), s.print(s.least), s.print(s.limit))
		}
	}
	return nil
}

// checkTexts says which text is too long for the wire, where it would be cut.
func (c Config) checkTexts() error {
	for _, t := range []struct{ name, value string }{
		{"cluster name", c.ClusterID}, {"advertised address", c.Advertise}, {"rack", c.Rack},
	} {
		if len(t.value) > longestText {
			return fmt.Errorf("the %s has %d bytes: give at most %d", t.name, len(t.value), longestText)
		}
	}
	return nil
}

// checkVoters says which voter cannot be one.
func (c Config) checkVoters() error {
	at := map[string]message.NodeID{}
	for _, v := range c.Voters {
		if v.Node < 1 {
			return fmt.Errorf("voter %d at %s: numbers of nodes are 1 or above", v.Node, v.Address)
		}
		if other, taken := at[v.Address]; taken && other != v.Node {
			return fmt.Errorf("voters %d and %d have the same address %s: each node has its own", other, v.Node, v.Address)
		}
		at[v.Address] = v.Node
	}
	return nil
}
