package sim

import (
	"slices"

	"github.com/tamarack-mq/tamarack/core/client"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// sendsPositions notes what a client asks a coordinator to store. A client sends one
// commit after the other, so it is that of the next one to end.
func (u *user) sendsPositions(r message.Request) {
	switch m := r.(type) {
	case *message.CommitOffsets:
		u.storing = m.Offsets
	case *message.CommitTransactionOffsets:
		u.storing = m.Offsets
	}
}

// storesAsNamed is INV-26 for an application that names the positions of its group:
// those, with the leader epoch of the record before each as far as it names that, and
// with its note, are what the coordinator was asked to store, and what it is told.
func (u *user) storesAsNamed(o *openOp, result *client.Result) {
	var named []client.CommitOffset
	switch in := o.ask.(type) {
	case client.Commit:
		named = in.Offsets
	case client.AddOffsets:
		named = in.Offsets
	}
	if len(named) == 0 || result.Outcome != client.OK {
		return
	}
	if len(result.Offsets) != len(named) {
		u.world.fail("INV-26", 0, "positions are lost on the way to their group", "client %d names %d positions and is told of %d", u.plan.ID, len(named), len(result.Offsets))
		return
	}
	for i := range named {
		want, got := &named[i], &result.Offsets[i]
		epoch := want.LeaderEpoch
		if epoch == record.NoLeaderEpoch {
			epoch = got.LeaderEpoch // the client may know it
		}
		if got.Place != want.Place || got.Offset != want.Offset || got.LeaderEpoch != epoch || got.Note != want.Note {
			u.world.fail("INV-26", 0, "a position is stored that was not named", "client %d names position %d of %s/%d, behind a record of epoch %d, and is told of position %d of %s/%d behind one of epoch %d", u.plan.ID, want.Offset, want.Topic, want.Partition, want.LeaderEpoch, got.Offset, got.Topic, got.Partition, got.LeaderEpoch)
			return
		}
		sent := message.GroupOffset{ID: got.ID, Offset: got.Offset, LeaderEpoch: epoch, Note: got.Note}
		if got.Code == message.None && !slices.Contains(u.storing, sent) {
			u.world.fail("INV-26", 0, "a position is told that was not sent", "client %d is told that position %d of partition %s is stored, behind a record of epoch %d; what it sent is %v", u.plan.ID, got.Offset, got.ID, epoch, u.storing)
			return
		}
	}
}
