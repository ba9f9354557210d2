// Package group is the group coordinator: members, epochs, assignment and
// committed offsets of the consumer groups whose shard this broker leads. It
// reconciles on the server's side, in the manner of KIP-848.
//
// A shard is one partition of the internal topic TopicName. Its state is the
// fold of the records in that partition and of nothing else: a handler decides
// by writing changes, each change is applied to the state by state.apply and
// becomes one record, and replay feeds the same records to the same apply.
//
// How a shard is kept, and why a reply waits for the log, is told in package
// ledger. FetchOffsets, DescribeGroup and ListGroups are confirmed by a record that
// was appended after they came in: a deposed coordinator that has not heard of it
// must not tell old positions. Heartbeats need none: what such a coordinator
// tells a member gives it no right that a commit, which does need the log, would
// not check again.
//
// # Transactions
//
// Positions that are committed as part of a transaction are pending until its
// marker comes, told apart by producer (KIP-98, KIP-447): see pending.go. The
// shard's log has no transactional batches; pending positions and the ends of
// transactions are records like all others.
//
// # Epochs
//
// All epochs of a group come from one counter that only rises, also over the
// deletion of the group. Every change of what a member may own draws a new
// member epoch, so a member epoch names exactly one assignment of one member:
// a late or repeated heartbeat can never confirm what it has not seen.
package group

import (
	"github.com/tamarack-mq/tamarack/core/ledger"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/order"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/core/verify"
)

// TopicName is the internal topic whose partitions hold the groups.
const TopicName = "__consumer_offsets"

// Coordinator holds all shards that this broker leads.
type Coordinator struct {
	cfg    Config
	topics TopicView
	known  map[record.TopicID]topicRow // as of the last call of Topics
	shards *ledger.Set[change, *shard]

	unverified *verify.Desk[heldCommit] // requests that wait for coordinators of transactions

	// For the Out of this call, from shards that had none: see collect.
	replies  []Reply
	resolved []Resolved
}

// New returns a coordinator that leads nothing. It needs no randomness.
func New(cfg Config) *Coordinator {
	c := &Coordinator{cfg: cfg.withDefaults(), known: map[record.TopicID]topicRow{}}
	c.unverified = verify.New[heldCommit](c.cfg.Verify)
	c.shards = ledger.NewSet(c.cfg.Ledger, func(l *ledger.Ledger[change]) *shard {
		return &shard{Ledger: l, home: c, state: newState()}
	})
	return c
}

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
	c.askAgain(now, out)
	c.collect(out)
}

// Wake is when the next Tick is wanted; message.Never when nothing waits.
func (c *Coordinator) Wake() message.Time { return min(c.shards.Wake(), c.unverified.Next()) }

// Topics says that the topics in changed were made, grown or deleted, as view
// shows; others may be named as well, they cost little. With changed nil
// everything is looked at. It must be called with the broker's image for each
// change, before any Lead that comes from the same or a later version.
func (c *Coordinator) Topics(now message.Now, view TopicView, changed []record.TopicID, out *Out) {
	c.topics = view
	if changed != nil {
		changed = c.news(changed)
		if len(changed) == 0 {
			return
		}
	}
	for _, s := range c.shards.Books() {
		if s.Phase() != ledger.Serving {
			continue // it looks at all topics when it is loaded
		}
		for _, name := range order.Keys(s.state.groups) {
			s.adapt(now, s.state.groups[name], changed, changed == nil)
		}
		s.Flush(now, &out.Out)
	}
	c.collect(out)
}

// collect hands over what shards had no Out for: a ledger knows only its own.
func (c *Coordinator) collect(out *Out) {
	if len(c.replies) > 0 {
		out.Replies = append(out.Replies, c.replies...)
		clear(c.replies)
		c.replies = c.replies[:0]
	}
	out.Resolved = append(out.Resolved, c.resolved...)
	c.resolved = c.resolved[:0]
}

// news is what of the topics differs from what was known: leaders and in-sync
// sets change often, and groups do not care.
func (c *Coordinator) news(touched []record.TopicID) []record.TopicID {
	var changed []record.TopicID
	for _, id := range touched {
		name, partitions, ok := c.topics.ByID(id)
		row := topicRow{name, id, partitions, ok}
		if ok && c.known[id] == row {
			continue
		}
		if c.known[id] = row; !ok {
			delete(c.known, id)
		}
		changed = append(changed, id)
	}
	return changed
}
