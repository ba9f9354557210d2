package sim

import (
	"testing"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

func TestWhoIsDroppedFromTheEligibleIsMissed(t *testing.T) {
	s := newStage(t)
	s.cluster()
	o := &keptEligible{}
	change := func(isr, elr nodeIDs) *message.PartitionChange {
		return &message.PartitionChange{ID: part, Replicas: nodeIDs{1, 2, 3}, ISR: isr, ELR: elr}
	}
	o.step(s.World, change(nodeIDs{1, 2}, nil), change(nodeIDs{1}, nodeIDs{2}))
	o.step(s.World, change(nodeIDs{1}, nodeIDs{2}), change(nodeIDs{1, 3}, nil))
	s.atlas.ails[3].owed = map[record.PartitionID]bool{part: true}
	o.step(s.World, change(nodeIDs{1}, nodeIDs{3}), change(nodeIDs{1}, nil))
	s.passed()
	o.step(s.World, change(nodeIDs{1}, nodeIDs{2}), change(nodeIDs{1}, nil))
	s.refused("INV-7", "node 2 may not lead partition 5/0 any more")
	o.step(s.World, change(nodeIDs{1, 2}, nil), change(nodeIDs{2}, nil))
	s.refused("INV-7", "node 1 may not lead")
}

func TestWhatARunSaysOfDamageExcusesTheEntryThatRegistersIt(t *testing.T) {
	s := newStage(t)
	s.cluster()
	o := &keptEligible{}
	drop := func() {
		o.step(s.World, &message.PartitionChange{ID: part, Replicas: nodeIDs{1, 2, 3}, ISR: nodeIDs{1, 2}},
			&message.PartitionChange{ID: part, Replicas: nodeIDs{1, 2, 3}, ISR: nodeIDs{1}})
	}
	meta, b := &s.book.meta, s.newest().Broker(2)
	says := func() {
		s.atlas.names(2, &message.RegisterBroker{Incarnation: b.Incarnation, Damaged: []record.PartitionID{part}})
	}
	meta.version, meta.entries = message.Version(b.Epoch), 1
	says()
	drop()
	s.refused("INV-7", "node 2 may not lead") // it named what is sound
	s.atlas.ails[2].scars = map[record.PartitionID]bool{part: true}
	says()
	s.atlas.ails[2].scars = nil
	drop()
	s.passed()
	meta.version++ // a later entry: it was taken back meanwhile
	drop()
	s.refused("INV-7", "node 2 may not lead")
	meta.entries = 2 // which of the two is not seen
	drop()
	s.passed()
}

func TestALateRunOnAnotherDiskIsBelievedOnlyWhenTheOneBeforeIsFenced(t *testing.T) {
	s := newStage(t)
	s.cluster()
	o := &keptEligible{}
	meta := &s.book.meta
	register := func(disk uint64, fenced bool) {
		t.Helper()
		before := *s.newest().Broker(2)
		before.Fenced = fenced
		meta.brokers = []*message.BrokerChange{&before}
		image, version := s.newest().Clone(), s.newest().Version()+1
		after := before
		after.Epoch, after.DiskID = message.BrokerEpoch(version), disk
		if err := image.Apply(version, &message.Change{Broker: &after}); err != nil {
			t.Fatal(err)
		}
		meta.swapped = nil
		meta.advance(s.World, image)
		o.step(s.World, &message.PartitionChange{ID: part, Replicas: nodeIDs{1, 2, 3}, ISR: nodeIDs{1, 2}},
			&message.PartitionChange{ID: part, Replicas: nodeIDs{1, 2, 3}, ISR: nodeIDs{1}})
	}
	register(77, true)
	s.passed()
	register(77, true) // the same disk
	s.refused("INV-7", "node 2 may not lead")
	register(78, false) // it served
	s.refused("INV-7", "node 2 may not lead")
}
