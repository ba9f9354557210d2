// Package txn is the transaction coordinator: for each transactional id whose
// shard this broker leads it gives identities to producers, knows which
// partitions take part in the transaction that is open, decides how it ends, and
// has that written to the partitions.
//
// How a shard is kept, and why an answer waits for the log, is told in package
// ledger. A shard is one partition of the internal topic TopicName.
//
// # One transaction
//
// Each transaction has a producer epoch of its own (KIP-890). It begins when the
// leader of a partition asks to add that partition, before it takes the first
// record, or the coordinator of a group before it keeps the first position: a
// client cannot add any. It ends with a decision, PrepareCommit or
// PrepareAbort, which is one record; from the moment at which that record is
// committed the outcome is certain, and the client is told. Then markers go to
// the leaders of all partitions, again and again until each has it in its
// committed log, and then the end is written: CompleteCommit or CompleteAbort.
//
// Markers carry the epoch after the transaction's. A partition that has the marker
// refuses the old epoch by itself, so a late record, a late request to add a
// partition and a late marker can never touch the transaction that follows. They
// carry the leader epoch of the coordinator's shard, too, so that a deposed
// coordinator that has not heard of it is told apart.
//
// The decision of a transaction is never taken back or replaced: who asks for the
// other outcome is refused. What a coordinator decides without having been asked
// to (the time is over, or a new incarnation of the producer came) is an abort,
// and the producer of that transaction is fenced.
//
// # Failover
//
// A coordinator that takes a shard over knows all of this from the log. It writes
// the markers of all decisions that are not complete (they may have been written
// before; writing one again changes nothing), and gives every open transaction
// its whole time again.
//
// # Refusals
//
// A refusal shows the state, so it is confirmed by a record that was appended
// after the request came: a deposed coordinator must not tell a producer that its
// transaction is empty, or that it is fenced, when by now that is not so.
package txn

import (
	"github.com/tamarack-mq/tamarack/core/ledger"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// TopicName is the internal topic whose partitions hold the transactional ids.
const TopicName = "__transaction_state"

// Coordinator holds all shards that this broker leads.
type Coordinator struct {
	cfg    Config
	view   View
	ids    IDs
	run    message.BrokerEpoch
	shards *ledger.Set[change, *shard]
	asked  map[uint64]*sending // whose markers a request is about
	last   uint64              // the request made last
	sends  []Send              // for the Out of this call
}

// New returns a coordinator that leads nothing. It needs no randomness.
func New(cfg Config, ids IDs) *Coordinator {
	c := &Coordinator{cfg: cfg.withDefaults(), ids: ids, asked: map[uint64]*sending{}}
	c.shards = ledger.NewSet(c.cfg.Ledger, func(l *ledger.Ledger[change]) *shard {
		return newShard(c, l)
	})
	return c
}

// SetEpoch tells the epoch of this broker's run: what others answer to an earlier
// run is not taken.
func (c *Coordinator) SetEpoch(run message.BrokerEpoch) { c.run = run }

// Lead starts the leadership of a shard in an epoch: it is loaded before it
// serves. Ignored unless epoch is higher than any that was led or resigned.
func (c *Coordinator) Lead(_ message.Now, index int32, epoch record.LeaderEpoch, out *Out) {
	c.shards.Lead(index, epoch, &out.Out)
	c.collect(out)
}

// Resign ends the leadership of a shard in every epoch up to epoch, forgets
// its state and answers NotCoordinator to those who wait.
func (c *Coordinator) Resign(_ message.Now, index int32, epoch record.LeaderEpoch, out *Out) {
	c.shards.Resign(index, epoch, &out.Out)
	c.collect(out)
}

// Replayed hands over the next committed batches of a Load, in order from the
// log start; done says that these were the last, and the shard begins to serve.
// The batches may be changed after the call.
func (c *Coordinator) Replayed(now message.Now, index int32, epoch record.LeaderEpoch, batches []byte, done bool, out *Out) {
	c.shards.Replayed(now, index, epoch, batches, done, &out.Out)
	c.collect(out)
}

// ReplayAnew says that the log start has moved over records that were still to be
// replayed: what was handed over before is forgotten, and the next batches are those
// from the log start on.
func (c *Coordinator) ReplayAnew(index int32, epoch record.LeaderEpoch) {
	c.shards.ReplayAnew(index, epoch)
}

// Wrote completes the Append of a ticket: code None says that it is committed
// with its first record at base. Completions come in the order of the appends.
func (c *Coordinator) Wrote(now message.Now, ticket uint64, code message.Code, base record.Offset, out *Out) {
	c.shards.Wrote(now, ticket, code, base, &out.Out)
	c.collect(out)
}

// Tick lets deadlines pass.
func (c *Coordinator) Tick(now message.Now, out *Out) {
	c.shards.Tick(now, &out.Out)
	c.collect(out)
}

// Wake is when the next Tick is wanted; message.Never when nothing waits.
func (c *Coordinator) Wake() message.Time { return c.shards.Wake() }

// Image says that leaders or topics may have changed, as view shows: markers go
// to the new leaders at once. It must be called with the broker's image for each
// change, before any Lead that comes from the same or a later version.
func (c *Coordinator) Image(now message.Now, view View, out *Out) {
	c.view = view
	for _, s := range c.shards.Books() {
		if s.Phase() == ledger.Serving && len(s.sendings) > 0 {
			s.moved(now)
			s.follow(now, &out.Out)
			s.Flush(now, &out.Out)
		}
	}
	c.collect(out)
}

func (c *Coordinator) send(to message.NodeID, m message.Message) {
	c.sends = append(c.sends, Send{to, m})
}

// told answers a broker's AddToTransaction: what one broker is told at once goes in
// one message, so that its followers get all that it then appends with one fetch.
func (c *Coordinator) told(to message.NodeID, run message.BrokerEpoch, answer message.OtherAddition) {
	for _, s := range c.sends {
		if m, ok := s.Msg.(*message.AddedToTransaction); ok && s.To == to && m.BrokerEpoch == run {
			m.Others = append(m.Others, answer)
			return
		}
	}
	c.send(to, &message.AddedToTransaction{BrokerEpoch: run, Request: answer.Request, Code: answer.Code})
}

// collect hands over what shards had no Out for: a ledger knows only its own.
func (c *Coordinator) collect(out *Out) {
	out.Sends = append(out.Sends, c.sends...)
	clear(c.sends)
	c.sends = c.sends[:0]
}
