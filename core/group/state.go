package group

import (
	"slices"
	"strings"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/order"
	"github.com/tamarack-mq/tamarack/core/record"
)

// kind tells what a record of the internal topic is about. The numbers are in
// the log for ever.
type kind uint8

const (
	// 1 is a mark of the ledger, which changes nothing.
	kindFloor    kind = 2 // the shard's epoch floor
	kindGroup    kind = 3
	kindMember   kind = 4
	kindTarget   kind = 5 // what a member is meant to own
	kindOffset   kind = 6 // a committed offset
	kindPending  kind = 7 // an offset of a transaction that has not ended
	kindProducer kind = 8 // up to where a producer's transactions have ended
)

// key names one thing that a record sets. The latest record of a key is all
// that counts, so keeping only the latest of each is a valid compaction.
type key struct {
	kind     kind
	group    string
	member   string             // of members and targets
	id       record.PartitionID // of offsets
	producer record.ProducerID  // of pending offsets, and of producers
}

// value is what a record sets its key to; nil removes it (a tombstone). Values
// are never changed once they are made.
type value interface{ isValue() }

// change is one record, decoded.
type change struct {
	key   key
	value value
}

// floorValue is the highest epoch that any removed group of the shard had. New
// groups start above it, so that a group made again under an old name never
// gives out an epoch that a member of the earlier life may still carry.
type floorValue struct{ epoch int32 }

// groupValue is what is said about a group as a whole. The epoch of a group is
// the highest of this one and of all its members' epochs.
type groupValue struct {
	epoch int32
	// emptySince is the wall time when the last member went or, in a group that
	// never had one, when it was made; occupied while there are members.
	emptySince record.Timestamp
}

const occupied record.Timestamp = -1

// memberValue is everything about a member that a new coordinator must know.
type memberValue struct {
	instance  string // static member's name; empty: dynamic
	session   message.Duration
	rebalance message.Duration
	topics    []string // sorted
	epoch     message.MemberEpoch
	previous  message.MemberEpoch // the epoch before; equal to epoch when there was none
	assigned  []record.PartitionID
	revoking  []record.PartitionID // still this member's until it says that it gave them up
	left      bool                 // a static member that went away for a while
}

type targetValue struct{ partitions []record.PartitionID }

type offsetValue struct {
	offset      record.Offset
	leaderEpoch record.LeaderEpoch
	note        string
	at          record.Timestamp // wall time of the commit
	by          turn
}

// pendingValue is a position that holds once the transaction of its producer under
// exactly this epoch commits.
type pendingValue struct {
	epoch    record.ProducerEpoch
	position offsetValue // at: when it became pending
}

// producerValue is what the last marker of a producer said. Nothing of an epoch
// below it may become pending any more.
type producerValue struct {
	epoch       record.ProducerEpoch
	coordinator record.LeaderEpoch // of who wrote the marker
	at          record.Timestamp   // wall time when it was written
}

// turn names a commit of a member that counts its commits. The zero turn is of
// one that is not counted.
type turn struct {
	member string
	epoch  message.MemberEpoch
	number uint64
}

// after says that a commit follows another one that the same member made under
// the same epoch. Across epochs the epoch tells.
func (t turn) after(other turn) bool {
	return t.member == other.member && t.epoch == other.epoch && other.number > 0 && t.number > other.number
}

func (floorValue) isValue()    {}
func (groupValue) isValue()    {}
func (memberValue) isValue()   {}
func (targetValue) isValue()   {}
func (offsetValue) isValue()   {}
func (pendingValue) isValue()  {}
func (producerValue) isValue() {}

// state is the fold of a shard's records. Only apply changes it.
type state struct {
	floor  int32
	groups map[string]*group
	fences map[record.ProducerID]*fence
	open   map[record.ProducerID][]string // the groups with pending positions of a producer; sorted
	keys   int                            // how many keys are live: records that a snapshot has
	timers timers
	fault  string // not empty: an invariant is broken
}

// group is the state of one group: its records, and what follows from them.
type group struct {
	name    string
	made    bool // there is a group record
	record  groupValue
	members map[string]*member
	targets map[string][]record.PartitionID
	offsets map[record.PartitionID]offsetValue
	pending map[record.ProducerID]map[record.PartitionID]pendingValue

	// Derived from the records above by apply.
	seats     []*member                     // members by id
	instances map[string]*member            // static members by name
	holders   map[record.PartitionID]string // who holds a partition, assigned or revoking
	readers   map[string]int                // subscribers of each topic
	stored    map[record.TopicID]int        // offsets of each topic
	unstable  map[record.PartitionID]int    // pending positions of each partition
	unsettled int                           // members that have not reached their target

	// Not replicated.
	resolved []topicRow // the topics as the target was computed for them
	timer    timer
}

// member is one member of a group.
type member struct {
	id string
	memberValue

	// Not replicated: a new coordinator gives everybody a fresh start.
	timer       timer
	sessionEnds message.Time
	revokeEnds  message.Time // when it must have given up what it is to; Never: nothing
}

// fence is the end of what a producer has done.
type fence struct {
	id record.ProducerID
	producerValue

	timer timer
}

func newState() *state {
	return &state{
		groups: map[string]*group{}, fences: map[record.ProducerID]*fence{}, open: map[record.ProducerID][]string{},
	}
}

// epoch is the group's epoch counter: no higher one was ever given out.
func (g *group) epoch() int32 { return g.record.epoch }

// nextEpoch is the epoch of the change that is being decided.
func (g *group) nextEpoch() message.MemberEpoch { return message.MemberEpoch(g.record.epoch + 1) }

// phase is the group's state by its public name. A target is computed in the
// same decision as the change that asks for it, so Assigning never shows.
func (g *group) phase() string {
	switch {
	case len(g.seats) == 0:
		return "Empty"
	case g.unsettled > 0:
		return "Reconciling"
	}
	return "Stable"
}

// settled says whether a member owns all that it is meant to own, and no more.
func (g *group) settled(m *member) bool {
	return len(m.revoking) == 0 && slices.Equal(m.assigned, g.targets[m.id])
}

// holds is all that the member has or may still have.
func (m *member) holds() []record.PartitionID { return order.Union(m.assigned, m.revoking) }

// mayCommit says whether the member may commit for a partition: the one place
// that decides it, for requests and for observers.
func (m *member) mayCommit(p record.PartitionID) bool {
	return !m.left && (order.Contains(m.assigned, p) || order.Contains(m.revoking, p))
}

// each visits the live state as the records that make it, in a fixed order.
func (s *state) each(visit func(change)) {
	s.head(visit)
	for _, name := range order.Keys(s.groups) {
		s.groups[name].each(visit)
	}
}

// head visits what belongs to no group.
func (s *state) head(visit func(change)) {
	if s.floor != 0 {
		visit(change{key{kind: kindFloor}, floorValue{s.floor}})
	}
	for _, id := range order.Keys(s.fences) {
		visit(change{key{kind: kindProducer, producer: id}, s.fences[id].producerValue})
	}
}

func (g *group) each(visit func(change)) {
	if g.made {
		visit(change{key{kind: kindGroup, group: g.name}, g.record})
	}
	for _, m := range g.seats {
		visit(change{key{kind: kindMember, group: g.name, member: m.id}, m.memberValue})
	}
	for _, id := range order.Keys(g.targets) {
		visit(change{key{kind: kindTarget, group: g.name, member: id}, targetValue{g.targets[id]}})
	}
	for _, id := range g.storedIDs() {
		visit(change{key{kind: kindOffset, group: g.name, id: id}, g.offsets[id]})
	}
	for _, producer := range order.Keys(g.pending) {
		for _, id := range g.pendingIDs(producer) {
			visit(change{pendingKey(g.name, producer, id), g.pending[producer][id]})
		}
	}
}

func pendingKey(group string, producer record.ProducerID, id record.PartitionID) key {
	return key{kind: kindPending, group: group, producer: producer, id: id}
}

// pendingIDs are the partitions with a pending position of a producer, in order.
func (g *group) pendingIDs(producer record.ProducerID) []record.PartitionID {
	return order.KeysBy(g.pending[producer], record.PartitionID.Compare)
}

// storedIDs are the partitions with a committed offset, in order.
func (g *group) storedIDs() []record.PartitionID {
	return order.KeysBy(g.offsets, record.PartitionID.Compare)
}

func seatOf(g *group, id string) (int, bool) {
	return slices.BinarySearchFunc(g.seats, id, func(m *member, id string) int { return strings.Compare(m.id, id) })
}
