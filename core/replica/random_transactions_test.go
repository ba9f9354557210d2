package replica

import (
	"fmt"
	"slices"

	"github.com/stretchr/testify/require"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// clerk is a transaction coordinator with one producer. What it has decided it
// never forgets; what it asks for may be lost, late or come twice.
type clerk struct {
	id      record.ProducerID
	epoch   record.ProducerEpoch // of the transaction that is open, or comes next
	added   map[record.ProducerEpoch]bool
	decided map[record.ProducerEpoch]record.Outcome // by the epoch of the transaction
	began   record.ProducerEpoch                    // its marker is not written everywhere; NoProducerEpoch: none
	term    record.LeaderEpoch                      // of the coordinator: it changes now and then
	tickets map[uint64]bool                         // of the markers of began
}

// pay sends a batch of a transaction to a node: the next one, one again, or one
// that is late.
func (c *chaos) pay(n *node) {
	k := c.clerks[c.pick("clerk", len(c.clerks))]
	d := n.disks[p0]
	if n.down || d == nil {
		return
	}
	epoch := max(k.epoch-record.ProducerEpoch(max(0, c.pick("late", 5)-3)), 0)
	next := record.Sequence(0)
	var again []byte
	for _, b := range d.batches {
		if h, _ := record.DecodeHeader(b); h.ProducerID == k.id && h.ProducerEpoch == epoch && !h.Attributes.Control() {
			next, again = record.AddSequence(h.BaseSequence, h.Count), slices.Clone(b)
		}
	}
	text := fmt.Sprintf("t%d.%d.%d-", k.id, epoch, next) // one sequence, one content
	b, first := of(batch(text, 1+c.pick("records", 2)), k.id, epoch, next), text+"0"
	if again != nil && c.pick("again", 4) == 0 {
		record.Stamp(again, 0, record.NoLeaderEpoch)
		b, first = again, values(c.w.t, again)[0]
	}
	c.acks[n.pay(b)] = first
}

// answer tells a node what the clerk knows of a question.
func (c *chaos) answer(n *node) {
	if len(n.verify) == 0 {
		return
	}
	i := c.pick("question", len(n.verify))
	q := n.verify[i]
	if c.pick("fate", 4) > 0 { // else it is told again, later
		n.verify = slices.Delete(n.verify, i, i+1)
	}
	k := c.clerks[q.ID-c.clerks[0].id]
	code := message.None
	switch {
	case q.Epoch < k.epoch:
		code = message.ProducerFenced
	case k.began != record.NoProducerEpoch:
		code = message.ConcurrentTransactions
	default:
		k.added[q.Epoch] = true
	}
	if c.pick("lost", 5) == 0 {
		return
	}
	n.tell(q.Ticket, code)
}

// settle has a clerk decide, or ask a node for the marker of what it has decided.
func (c *chaos) settle(n *node) {
	k := c.clerks[c.pick("clerk", len(c.clerks))]
	k.hear(c)
	if k.began == record.NoProducerEpoch {
		if k.added[k.epoch] {
			k.decide([]record.Outcome{record.Aborted, record.Committed}[c.pick("outcome", 2)])
		}
		return
	}
	k.term += record.LeaderEpoch(c.pick("another coordinator", 2))
	k.mark(n, k.term-record.LeaderEpoch(max(0, c.pick("deposed", 5)-3)))
}

func (k *clerk) decide(outcome record.Outcome) {
	k.decided[k.epoch], k.began, k.tickets = outcome, k.epoch, map[uint64]bool{}
	k.epoch++
}

func (k *clerk) mark(n *node, term record.LeaderEpoch) {
	if n.down || term < 0 {
		return
	}
	k.tickets[uint64(n.w.tokens+1)] = true
	n.markBy(k.id, k.began, record.Marker{Outcome: k.decided[k.began], CoordinatorEpoch: term})
}

// hear notes that the marker is written. It must be committed then.
func (k *clerk) hear(c *chaos) {
	for _, n := range c.w.nodes {
		for _, m := range n.marked {
			if k.began == record.NoProducerEpoch || !k.tickets[m.Ticket] || m.Code != message.None {
				continue
			}
			require.True(c.w.t, slices.ContainsFunc(c.book, func(b booked) bool {
				h, _ := record.DecodeHeader([]byte(b.bytes))
				return h.Attributes.Control() && h.ProducerID == k.id && h.ProducerEpoch == k.began+1
			}), "node %d says that a marker is written which is not committed", n.id)
			k.began = record.NoProducerEpoch
		}
	}
}

// settleAll brings all transactions to their end once all faults are over.
func (c *chaos) settleAll() {
	w := c.w
	leader := w.node(int(w.parts[p0].Leader))
	for _, n := range w.nodes {
		n.verify = nil
	}
	w.pass(31 * message.Second) // the time of all produces
	for _, k := range c.clerks {
		k.hear(c)
		if k.began == record.NoProducerEpoch && k.added[k.epoch] {
			k.decide(record.Aborted)
		}
		if k.began == record.NoProducerEpoch {
			continue
		}
		k.mark(leader, k.term+1)
		w.pass(message.Second)
		k.hear(c)
		require.Equal(w.t, record.NoProducerEpoch, k.began, "a marker is written when nothing is in its way")
	}
}

// judgeTransactions holds what is committed against what was decided, and the
// last stable offset against what is committed.
func (c *chaos) judgeTransactions(n *node, v View) {
	t := c.w.t
	stable := v.HighWatermark
	for _, k := range c.clerks {
		epoch, first := record.ProducerEpoch(-1), record.Offset(-1) // what may come, and what is open
		for _, b := range c.book {
			it := record.Batches([]byte(b.bytes))
			it.Next()
			h := &it.Header
			switch {
			case h.ProducerID != k.id || b.end > v.HighWatermark:
				continue
			case h.Attributes.Control():
				require.Equal(t, k.decided[h.ProducerEpoch-1], h.Marker.Outcome, "the marker at %d is not what was decided", b.base)
				require.Greater(t, h.ProducerEpoch, epoch, "the marker at %d comes again", b.base)
				epoch, first = h.ProducerEpoch, -1
				continue
			}
			require.True(t, k.added[h.ProducerEpoch], "the batch at %d is of a transaction that does not know of it", b.base)
			require.GreaterOrEqual(t, h.ProducerEpoch, epoch, "the batch at %d is behind the end of its transaction", b.base)
			if first < 0 {
				epoch, first = h.ProducerEpoch, b.base
			}
			require.Equal(t, epoch, h.ProducerEpoch, "the batch at %d is in the middle of another transaction", b.base)
		}
		if first >= 0 {
			stable = min(stable, first)
		}
	}
	require.Equal(t, stable, v.LastStable, "node %d", n.id)
}
