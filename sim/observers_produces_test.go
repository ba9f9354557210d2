package sim

import (
	"testing"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
)

// Under acks=1 the disk has the batch, that very one.
func TestWhatIsNotWrittenIsNotConfirmed(t *testing.T) {
	s := newStage(t)
	o := &syncFirst{}
	mine, other := batch(1, 1, "mine"), batch(1, 1, "other")
	r := s.holds(1, batch(0, 1, "a"))
	produce := &message.Produce{Acks: message.AcksLeader, Partitions: []message.ProducePartition{{ID: part, Records: mine}}}
	s.nodes[1].tokens[7] = caller{request: produce}
	answer := func(code message.Code) {
		s.step(o, 1, nil, []effect.Effect{effect.Reply{Token: 7, Msg: &message.ProduceReply{Partitions: []message.ProducedPartition{{ID: part, Code: code, BaseOffset: 1}}}}})
	}
	answer(message.NotLeaderOrFollower)
	s.passed()
	answer(message.None)
	s.refused("INV-14", "node 1 confirms acks=1 at offset 1 of partition 5/0, but its disk has not written that batch: the log there ends at 1")
	r.disk.extend(other, 0)
	answer(message.None)
	s.refused("INV-14", "the log there ends at 2")
	r.disk.cut(1)
	r.disk.extend(mine, 0)
	answer(message.None)
	s.passed()
	r.disk.cut(1)
	r.disk.trim(2) // retired since
	answer(message.None)
	s.passed()
}

// A leader that knows that too few are in sync takes nothing that it could not commit.
func TestNothingIsTakenBelowMinInsync(t *testing.T) {
	s := newStage(t)
	o := &soundHighWatermark{}
	r := s.holds(1, batch(0, 1, "a"))
	s.leads(r, 1, 0)
	takes := func(acks message.Acks, appended []byte) {
		asked := &message.Produce{Acks: acks, Partitions: []message.ProducePartition{{ID: part, Records: batch(0, 0, "b")}}}
		s.step(o, 1, effect.Requested{Msg: asked}, []effect.Effect{appending(1, appended)})
	}
	takes(message.AcksAll, batch(1, 1, "b"))
	s.passed()
	r.view.ISR = []message.NodeID{1}
	takes(message.AcksLeader, batch(1, 1, "b"))
	takes(message.AcksAll, batch(1, 1, "c")) // kept back before, for the disk
	s.passed()
	takes(message.AcksAll, batch(1, 1, "b"))
	s.refused("INV-5", "node 1 takes records under acks=all for partition 5/0 with 1 in sync where 2 are needed")
}
