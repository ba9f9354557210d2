package sim

import (
	"testing"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

func TestABatchIsNotSentAgainAsItWasRefused(t *testing.T) {
	s := newStage(t)
	u := s.clients[0]
	u.plan.Role, u.plan.Idempotent = Producer, true
	send := func(epoch record.ProducerEpoch, number record.Sequence) *openCall {
		b := batch(0, 0, "x")
		record.SetProducer(b, 9, epoch, number)
		m := &message.Produce{Partitions: []message.ProducePartition{{ID: part, Records: b}}}
		u.numbers(m)
		return &openCall{produced: m}
	}
	answer := func(c *openCall, code message.Code) {
		u.numbersAnswered(c, &message.ProduceReply{Partitions: []message.ProducedPartition{{ID: part, Code: code}}})
	}

	answer(send(1, 0), message.None)
	answer(send(1, 1), message.OutOfOrderSequence)
	first, second := send(2, 0), send(2, 1) // under another epoch
	answer(second, message.OutOfOrderSequence)
	answer(first, message.None)
	send(2, 1) // what comes before it is there now
	first, second = send(3, 0), send(3, 1)
	answer(first, message.NotEnoughReplicas)
	answer(second, message.OutOfOrderSequence)
	send(3, 0)
	send(3, 1)
	send(4, 0) // no answer
	answer(send(4, 0), message.UnknownProducerID)
	send(4, 0) // it may be in the log: the producer does not know
	s.passed()

	answer(send(5, 0), message.UnknownProducerID)
	send(5, 0)
	s.refused("INV-38", "client 1 sends the batch with number 0 of producer 9 and epoch 5 to partition 5/0 again")
}
