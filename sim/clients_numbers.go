package sim

import (
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// numberedLane is what one producer sends to one partition under one epoch.
type numberedLane struct {
	partition record.PartitionID
	id        record.ProducerID
	epoch     record.ProducerEpoch
}

// laneNumbers is how far a lane has come.
type laneNumbers struct {
	next    int64 // all below was sent
	again   bool  // something was sent twice: whether it is in the log the producer may not know
	refused int64 // what was refused last, of a lane of which nothing was sent or answered since; -1: nothing
}

// numbers is INV-38 for numbered batches: what was refused because of its number, and
// is certainly not in the log, is not sent again under that number with nothing else
// before it. It would be refused again, for as long as the producer waits.
func (u *user) numbers(m *message.Produce) {
	if !u.plan.Idempotent || u.plan.Role.transacts() {
		return
	}
	for i := range m.Partitions {
		h, err := record.DecodeHeader(m.Partitions[i].Records)
		if err != nil || h.ProducerID < 0 {
			continue
		}
		of := numberedLane{m.Partitions[i].ID, h.ProducerID, h.ProducerEpoch}
		l := u.lanes[of]
		if l == nil {
			if u.lanes == nil {
				u.lanes = map[numberedLane]*laneNumbers{}
			}
			l = &laneNumbers{refused: -1}
			u.lanes[of] = l
		}
		switch at := int64(h.BaseSequence); {
		case at >= l.next:
			l.next = at + int64(h.Count)
		case at == l.refused && !l.again:
			u.world.fail("INV-38", 0, "a batch is sent again as it was refused", "client %d sends the batch with number %d of producer %d and epoch %d to partition %s again, which was refused for that number, and has sent nothing that comes before it", u.plan.ID, at, h.ProducerID, h.ProducerEpoch, of.partition)
		default:
			l.again = true
		}
		l.refused = -1
	}
}

// numbersAnswered takes in what became of numbered batches.
func (u *user) numbersAnswered(c *openCall, reply message.Reply) {
	r, ok := reply.(*message.ProduceReply)
	if !ok || c.produced == nil || len(u.lanes) == 0 {
		return
	}
	for i := range r.Partitions {
		for k := range c.produced.Partitions {
			p := &c.produced.Partitions[k]
			h, err := record.DecodeHeader(p.Records)
			l := u.lanes[numberedLane{p.ID, h.ProducerID, h.ProducerEpoch}]
			if p.ID != r.Partitions[i].ID || err != nil || l == nil {
				continue
			}
			l.refused = -1
			switch r.Partitions[i].Code {
			case message.OutOfOrderSequence, message.UnknownProducerID, message.InvalidProducerEpoch:
				l.refused = int64(h.BaseSequence)
			}
		}
	}
}
