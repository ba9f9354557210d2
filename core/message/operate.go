package message

import "github.com/tamarack-mq/tamarack/core/record"

// AlterReassignments moves partitions to other replicas, or calls a move off
// (KIP-455). A move goes through the in-sync set: the replicas that are added
// copy first, and the others leave when all of those are in sync.
type AlterReassignments struct {
	Partitions []Reassignment
	// Throttle is how many bytes a second each broker may copy for replicas that
	// are being added: 0 leaves it as it is, -1 lifts the limit. It holds for the
	// whole cluster until it is set again. Replicas in sync are never held back.
	Throttle int64
}

// Reassignment is what is wanted of one partition. Replicas are the new ones,
// in the order of preference, and take the place of a move under way; none
// calls that move off.
type Reassignment struct {
	ID       record.PartitionID
	Replicas []NodeID
}

// AlterReassignmentsReply is sent after the beginning of the moves, or their
// cancellation, is committed; MetadataReply tells when they are over.
type AlterReassignmentsReply struct {
	Code       Code
	Detail     string
	Partitions []AlteredReassignment
}

// AlteredReassignment is the outcome for one partition.
type AlteredReassignment struct {
	ID     record.PartitionID
	Code   Code
	Detail string
}

// DrainBroker has the controller move all replicas and leaderships of a broker
// to others, and place none on it, until Undo takes that back. It holds across
// restarts of the broker.
type DrainBroker struct {
	Node NodeID
	Undo bool // moves that are under way come to their end all the same
}

// DrainBrokerReply is sent after the wish is committed. The broker is drained
// when it holds no replicas any more.
type DrainBrokerReply struct {
	Code   Code
	Detail string
}

// UnregisterBroker forgets a broker that holds no replicas and does not run
// (KIP-631). Its id may register again, as that of a new broker.
type UnregisterBroker struct{ Node NodeID }

// UnregisterBrokerReply is sent after the removal is committed.
type UnregisterBrokerReply struct {
	Code   Code
	Detail string
}

// RemoveBrokerChange takes a broker out of the cluster. Epoch is that of its
// last run.
type RemoveBrokerChange struct {
	Node  NodeID
	Epoch BrokerEpoch
}

// LargestThrottle is the most that a throttle may be, in bytes a second.
const LargestThrottle = 1 << 40

// ThrottleChange sets how many bytes a second a broker may copy for replicas
// that are being added; 0: no limit.
type ThrottleChange struct{ BytesPerSecond int64 }

// Kind is KindAlterReassignments.
func (*AlterReassignments) Kind() Kind { return KindAlterReassignments }

// Kind is KindAlterReassignmentsReply.
func (*AlterReassignmentsReply) Kind() Kind { return KindAlterReassignmentsReply }

// Kind is KindDrainBroker.
func (*DrainBroker) Kind() Kind { return KindDrainBroker }

// Kind is KindDrainBrokerReply.
func (*DrainBrokerReply) Kind() Kind { return KindDrainBrokerReply }

// Kind is KindUnregisterBroker.
func (*UnregisterBroker) Kind() Kind { return KindUnregisterBroker }

// Kind is KindUnregisterBrokerReply.
func (*UnregisterBrokerReply) Kind() Kind { return KindUnregisterBrokerReply }

func (*AlterReassignments) isRequest() {}
func (*DrainBroker) isRequest()        {}
func (*UnregisterBroker) isRequest()   {}

func (*AlterReassignmentsReply) isReply() {}
func (*DrainBrokerReply) isReply()        {}
func (*UnregisterBrokerReply) isReply()   {}

// failOperation answers what an operator asks about replicas and brokers, or
// returns nil for other requests.
func failOperation(r Request, code Code, detail string) Reply {
	switch r := r.(type) {
	case *AlterReassignments:
		m := &AlterReassignmentsReply{Code: code, Detail: detail, Partitions: make([]AlteredReassignment, len(r.Partitions))}
		for i, p := range r.Partitions {
			m.Partitions[i] = AlteredReassignment{ID: p.ID, Code: code}
		}
		return m
	case *DrainBroker:
		return &DrainBrokerReply{Code: code, Detail: detail}
	case *UnregisterBroker:
		return &UnregisterBrokerReply{Code: code, Detail: detail}
	}
	return nil
}
