package sim

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/log"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// Two logs are held against what a replica was told by two producers, 5 and 15
// seconds ago, when the time is 10 seconds.
func TestProducersAreForgottenWhenTheyAreIdleAndNotBefore(t *testing.T) {
	knowing := func(ids ...record.ProducerID) *log.Log {
		l := log.New(0)
		for i, id := range ids {
			l.Append(&record.Header{BaseOffset: record.Offset(i), Length: 100, ProducerID: id})
		}
		return l
	}
	decided := func(l *log.Log) *log.Log {
		l.Settle(l.End())
		return l
	}
	for _, c := range []struct {
		log   *log.Log
		after Span
		late  bool // what they appended was decided only 6 seconds before
		cause string
	}{
		{log: knowing(1, 2)},
		{log: knowing(1)},
		{log: knowing(2), cause: "a producer is forgotten that is not idle"},
		{log: decided(knowing(1, 2)), after: 8 * Second, cause: "an idle producer is not forgotten"},
		{log: decided(knowing(1, 2)), after: 8 * Second, late: true}, // they are looked for now and then
		{log: decided(knowing(1, 2)), after: 12 * Second, late: true, cause: "an idle producer is not forgotten"},
		{log: knowing(1, 2), after: 8 * Second}, // what they appended may yet be cut
		{log: knowing(1), after: 8 * Second},
	} {
		w := newWorld(&Plan{Cluster: ClusterPlan{Nodes: 1, Voters: 1}, Timing: TimingPlan{ProducerIdle: 10 * Second}}, Options{})
		r := w.book.replica(1, record.PartitionID{Topic: 7})
		w.now = 20 * Second
		r.heard.last = map[record.ProducerID]heard{1: {at: 15 * Second, end: 1}, 2: {at: 5 * Second, end: 2}}
		if c.late {
			r.view.HighWatermark = 2
			w.now = 22 * Second
			r.decides(w)
		}
		w.now = 20*Second + c.after
		o := &idleProducers{}
		o.judge(w, w.nodes[1], r, c.log)
		if w.failure == nil {
			o.gone(w, w.nodes[1], r, c.log)
		}
		if c.cause == "" {
			require.Nil(t, w.failure)
			continue
		}
		require.Equal(t, "INV-27: "+c.cause, w.failure.Fingerprint())
	}
}

// Who has left a transaction open is known until it is ended; by nobody, when what its
// coordinator had decided was given up, and out of reach of a replica that is cut off.
func TestWhoHasATransactionOpenIsForgottenOnlyAfterItsEnd(t *testing.T) {
	for _, c := range []struct{ ended, hit, givenUp, cutOff, stays bool }{
		{givenUp: true, stays: true}, {}, {ended: true, givenUp: true}, {hit: true},
		{cutOff: true, stays: true}, {ended: true, cutOff: true},
	} {
		s := newStage(t)
		s.plan.Timing.ProducerIdle = 10 * Second
		b := numbered(0, 0, 0)
		record.SetTransactional(b, 7, 0, 0)
		batches := [][]byte{b}
		if c.ended {
			batches = append(batches, marker(1, 1))
		}
		r := s.holds(1, batches...)
		r.part.loss, s.nodes[1].forGood = c.givenUp || c.hit, c.cutOff
		if r.part.state = (&message.PartitionChange{}); !c.givenUp { // what was hit stands somewhere else
			r.part.state.ISR = []message.NodeID{2}
		}
		l := log.New(0)
		for i := range r.memory.batches {
			l.Append(&r.memory.batches[i])
			r.hears(s.World, batches[i])
		}
		l.Settle(l.End())
		s.now += 30 * Second
		(&idleProducers{}).gone(s.World, s.nodes[1], r, l)
		if c.stays {
			s.passed()
		} else {
			s.refused("INV-27", "node 1 knows producer 7")
		}
	}
}

// A coordinator that has no answer asks again for a marker. A leader that has
// forgotten the producer since writes it once more; one that has not must not.
func TestAMarkerIsRepeatedOnlyByALeaderThatForgotItsProducer(t *testing.T) {
	for silent, revived := range map[Span]bool{Second: false, 9 * Second: true} {
		s := newStage(t)
		s.plan.Timing.ProducerIdle = 10 * Second
		r := s.holds(1, numbered(0, 0, 0), marker(1, 1), marker(2, 1))
		r.part.committed, r.part.high = r.memory.batches, r.memory.end
		r.hears(s.World, numbered(0, 0, 0))
		r.hears(s.World, marker(1, 1))
		s.now += silent
		r.hears(s.World, marker(2, 1))
		s.step(&sequences{}, 1, effect.Tick{}, nil, r)
		if revived {
			s.passed()
		} else {
			s.refused("INV-29", "has at offset 2 a marker of producer 7 that begins epoch 1, behind one of epoch 1")
		}
	}
}
