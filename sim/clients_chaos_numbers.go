package sim

import (
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// ownNumbers is where the ids begin of producers that chaos clients make up for
// themselves, one in each session. No broker gives one of them out in a run.
const ownNumbers = 4_000_000

// repeatsOfNone are the batches that such a producer sends in one epoch: those with one
// record go on from each other; each of the others has its first or its last number in
// common with one of them, and is another batch. Who takes it for that one again says
// that records are stored which are not (INV-28). No two are alike.
var repeatsOfNone = []struct {
	first   record.Sequence
	records int
}{{0, 1}, {0, 2}, {1, 1}, {1, 3}, {2, 1}, {1, 2}}

// numbered makes the next batch of the client's own producer, all records of it with one
// value, and tells where it goes: to one partition in each epoch.
func (c *chaos) numbered(u *user, id record.PartitionID, value []byte) (record.PartitionID, []byte) {
	turns := int64(len(repeatsOfNone))
	epoch, turn := c.turn/turns, c.turn%turns
	if c.turn++; turn == 0 {
		c.home = id
	}
	var b record.Builder
	for range repeatsOfNone[turn].records {
		if b.Append(u.clock.now(u.world.now).Wall, nil, value, nil) != nil {
			panic("sim: three small records do not fit a batch")
		}
	}
	batch := b.Build()
	record.SetProducer(batch, record.ProducerID(ownNumbers+1000*int64(u.plan.ID)+int64(u.session%1000)), record.ProducerEpoch(epoch), repeatsOfNone[turn].first)
	return c.home, batch
}

// leaderOfNumbered is who leads where such a batch goes; NoNode: nobody, or it is none.
func leaderOfNumbered(u *user, r message.Request) message.NodeID {
	m, ok := r.(*message.Produce)
	if !ok || len(m.Partitions) != 1 {
		return message.NoNode
	}
	h, err := record.DecodeHeader(m.Partitions[0].Records)
	if p := u.world.book.known(m.Partitions[0].ID); err == nil && h.ProducerID >= ownNumbers && p != nil && p.state != nil {
		return p.state.Leader
	}
	return message.NoNode
}
