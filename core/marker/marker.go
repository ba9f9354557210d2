// Package marker keeps what coordinators of transactions wait for from this broker.
// One that has decided has the outcome written to every partition of the transaction,
// and asks each broker for the markers of all partitions that this one leads
// (message.WriteMarkers). They are written one by one, each where its partition is
// kept, and are known one by one and in any order: what was asked together is taken
// apart here, and what is known together is put into one answer again.
//
// Nothing of this is kept between brokers, and nothing here has a time limit. The
// coordinator asks again, under the same number, until it has heard of all of them
// (core/txn). A marker that is asked for again while it is being written is written
// once, and its one answer counts for both questions. Once that is given, the marker
// is forgotten: the answer may be lost, and whoever asks then is owed one anew.
package marker

import (
	"cmp"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/order"
	"github.com/tamarack-mq/tamarack/core/record"
)

// Order is one marker of a WriteMarkers, to be written in one partition. Every Order
// has to get exactly one Desk.Wrote with its Ticket, however long that takes.
type Order struct {
	Ticket    uint64 // 1 or above, never given out twice
	Partition record.PartitionID
}

// Answer is for a coordinator that waits. It may be lost.
type Answer struct {
	To  message.NodeID // this broker itself, when it coordinates the transaction
	Msg *message.WroteMarkers
}

// Desk holds the orders without an outcome, and the outcomes that nobody was told.
type Desk struct {
	last     uint64              // the ticket given out last
	waiting  map[uint64]wanted   // by ticket
	known    map[wanted]struct{} // those that wait, so that one is given out once
	outcomes map[question]*message.WroteMarkers
}

// question is what names a WriteMarkers: a coordinator gives numbers anew in each run.
type question struct {
	from   message.NodeID
	run    message.BrokerEpoch // of the coordinator
	number uint64              // made up by the coordinator
}

func (q question) compare(o question) int {
	return cmp.Or(cmp.Compare(q.from, o.from), cmp.Compare(q.run, o.run), cmp.Compare(q.number, o.number))
}

// wanted is one marker of a question.
type wanted struct {
	question
	partition record.PartitionID
}

// New returns a desk at which nobody waits.
func New() *Desk {
	return &Desk{
		waiting: map[uint64]wanted{}, known: map[wanted]struct{}{}, outcomes: map[question]*message.WroteMarkers{},
	}
}

// Asked takes the question of a coordinator on the broker from. It returns what is to
// be written for it, in the order in which the question names the partitions; nothing
// for those that it has asked for before and whose outcome is still to come.
func (d *Desk) Asked(from message.NodeID, m *message.WriteMarkers) []Order {
	q := question{from, m.BrokerEpoch, m.Request}
	orders := make([]Order, 0, len(m.Partitions))
	for _, id := range m.Partitions {
		w := wanted{q, id}
		if _, again := d.known[w]; again {
			continue // its answer comes
		}
		d.last++
		d.known[w], d.waiting[d.last] = struct{}{}, w
		orders = append(orders, Order{Ticket: d.last, Partition: id})
	}
	return orders
}

// Wrote takes the outcome of an Order: None when a marker is committed in its
// partition, this one or one before it. What comes again, or was never ordered, is
// passed over.
func (d *Desk) Wrote(ticket uint64, code message.Code) {
	w, ok := d.waiting[ticket]
	if !ok {
		return
	}
	delete(d.waiting, ticket)
	delete(d.known, w)
	answer := d.outcomes[w.question]
	if answer == nil {
		answer = &message.WroteMarkers{BrokerEpoch: w.run, Request: w.number}
		d.outcomes[w.question] = answer
	}
	answer.Results = append(answer.Results, message.MarkerResult{ID: w.partition, Code: code})
}

// Answers tells all outcomes since it was called last: one answer for each question,
// by the broker, run and number of it. Its results are in the order in which they came.
func (d *Desk) Answers() []Answer {
	if len(d.outcomes) == 0 {
		return nil
	}
	answers := make([]Answer, 0, len(d.outcomes))
	for _, q := range order.KeysBy(d.outcomes, question.compare) {
		answers = append(answers, Answer{To: q.from, Msg: d.outcomes[q]})
	}
	clear(d.outcomes)
	return answers
}

// Waiting is how many orders have no outcome yet. For observers.
func (d *Desk) Waiting() int { return len(d.waiting) }
