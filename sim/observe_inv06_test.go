package sim

import (
	"testing"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

func TestAnIncompleteMemberIsRefused(t *testing.T) {
	s := newStage(t)
	p := s.book.part(part)
	s.holds(1, batch(0, 1, "a"))
	s.holds(2)
	p.high = 1
	s.book.meta.changed = []partChange{{p, nil, &message.PartitionChange{ID: part, ISR: []message.NodeID{1}}}}
	s.step(&completeInSync{}, 1, nil, nil)
	s.passed()
	s.book.meta.changed[0].new = &message.PartitionChange{ID: part, ISR: []message.NodeID{1}, ELR: []message.NodeID{2}}
	s.step(&completeInSync{}, 1, nil, nil)
	s.refusedAt(0, "INV-6", "eligible set")

	// The story is about the first record that it lacks, not about the end of the log.
	p.high = 5
	third := s.holds(3, batch(0, 1, "a"), batch(1, 1, "b"))
	s.book.meta.changed[0].new = &message.PartitionChange{ID: part, ISR: []message.NodeID{3, 1}}
	s.step(&completeInSync{}, 1, nil, nil)
	s.refusedAt(2, "INV-6", "node 3 is in the in-sync set of partition 5/0, which is committed up to 5, but has flushed only up to 2")
	p.shownStart = 4 // what nobody is shown any more is no loss
	s.step(&completeInSync{}, 1, nil, nil)
	s.refusedAt(4, "INV-6", "flushed only up to 2")
	s.book.meta.changed[0].new = &message.PartitionChange{ID: part, ELR: []message.NodeID{3}}
	third.exists = false
	s.step(&completeInSync{}, 1, nil, nil)
	s.refusedAt(4, "INV-6", "has no log at all")
}

func TestALeaderThatLacksCommittedRecordsIsRefused(t *testing.T) {
	s := newStage(t)
	p := s.book.part(part)
	a, b := batch(0, 1, "a"), batch(1, 1, "b")
	p.committed, p.high = []record.Header{header(a), header(b)}, 2
	short := s.holds(1, a)
	s.leads(short, 2, 0)
	p.state = &message.PartitionChange{ID: part, LeaderEpoch: 3}
	s.step(&completeInSync{}, 1, nil, nil, short)
	s.passed() // another leads already
	p.state = &message.PartitionChange{ID: part, LeaderEpoch: 2}
	s.step(&completeInSync{}, 1, nil, nil, short)
	s.refusedAt(1, "INV-1", "ends at 1, but 2 was committed")
	other := s.holds(2, a, batch(1, 0, "c"))
	s.leads(other, 3, 0)
	p.state = &message.PartitionChange{ID: part, LeaderEpoch: 3}
	s.step(&completeInSync{}, 2, nil, nil, other)
	s.refusedAt(1, "INV-1", "where one of epoch 1 at 1 was committed")

	// Where they part is below the batch by which it was seen.
	other = s.holds(3, batch(0, 0, "x"), batch(1, 0, "c"))
	s.leads(other, 4, 0)
	p.state = &message.PartitionChange{ID: part, LeaderEpoch: 4}
	s.step(&completeInSync{}, 3, nil, nil, other)
	s.refusedAt(0, "INV-1", "with a batch of epoch 0 at 1")
}

func TestALeaderThatLeavesAMemberOutIsRefused(t *testing.T) {
	s := newStage(t)
	r := s.holds(1, batch(0, 1, "a"))
	r.part.state = &message.PartitionChange{ID: part, LeaderEpoch: 1, ISR: []message.NodeID{1, 2, 3}}
	s.leads(r, 1, 0)
	s.step(&completeInSync{}, 1, nil, nil, r)
	s.passed()
	r.view.MaximalISR = []message.NodeID{1, 2}
	s.step(&completeInSync{}, 1, nil, nil, r)
	s.refused("INV-6", "does not wait for node 3")
}
