// Package group is the group coordinator: members, epochs, assignment and
// committed offsets of the consumer groups whose shard this broker leads. It
// reconciles on the server's side, in the manner of KIP-848.
//
// A shard is one partition of the internal topic TopicName. Its state is the
// fold of the records in that partition and of nothing else: a handler decides
// by writing changes, each change is applied to the state by state.apply and
// becomes one record, and replay feeds the same records to the same apply.
//
// # Pending state
//
// Changes are applied when they are decided, before their records are
// committed, so that the next request is decided against everything that is
// already on its way into the log; the log keeps their order. What makes this
// safe is that nobody outside sees it: every reply, also of a read and also an
// error, waits in the shard's queue behind the last append that was pending
// when it was made. When an append fails, the memory may be ahead of the log
// or behind it (the records may yet commit): the shard answers NotCoordinator
// to all who wait, drops its memory whole, appends a barrier record until one
// commits (from then on nothing written before it is undecided), and replays.
// The other ways were to hold requests back until the one before is committed
// (one request a round trip and shard) or to keep versions of every map to
// roll back to (Kafka's timeline structures); failed appends are rare enough
// to pay with a replay.
//
// # Reads
//
// A deposed coordinator that has not heard of it must not tell old positions:
// commits are linearizable. So FetchOffsets and DescribeGroup wait for a record
// that was appended after they came in, a request's or else a barrier's own.
// Once that is committed, no later leadership had begun when they arrived.
// Reads that come while a barrier is under way share the next one. Heartbeats
// need none: what a deposed coordinator tells a member gives it no right that
// a commit, which does need the log, would not check again.
//
// # Epochs
//
// All epochs of a group come from one counter that only rises, also over the
// deletion of the group. Every change of what a member may own draws a new
// member epoch, so a member epoch names exactly one assignment of one member:
// a late or repeated heartbeat can never confirm what it has not seen.
package group

import (
	"cmp"
	"slices"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/order"
	"github.com/tamarack-mq/tamarack/core/record"
)

// TopicName is the internal topic whose partitions hold the groups.
const TopicName = "__consumer_offsets"

// Coordinator holds all shards that this broker leads.
type Coordinator struct {
	cfg     Config
	topics  TopicView
	known   map[record.TopicID]topicRow  // as of the last call of Topics
	shards  []*shard                     // by index
	fenced  map[int32]record.LeaderEpoch // the highest epoch of each shard that was led or resigned
	tickets map[uint64]*shard            // whose append a ticket is
	last    uint64                       // the ticket given out last
	wake    message.Time                 // as of the last call, when fresh
	fresh   bool
}

// New returns a coordinator that leads nothing. It needs no randomness.
func New(cfg Config) *Coordinator {
	return &Coordinator{
		cfg:     cfg.withDefaults(),
		known:   map[record.TopicID]topicRow{},
		fenced:  map[int32]record.LeaderEpoch{},
		tickets: map[uint64]*shard{},
	}
}

// Lead starts the leadership of a shard in an epoch: it is loaded before it
// serves. Ignored unless epoch is higher than any that was led or resigned.
func (c *Coordinator) Lead(_ message.Now, index int32, epoch record.LeaderEpoch, out *Out) {
	if last, known := c.fenced[index]; known && epoch <= last {
		return
	}
	c.fenced[index] = epoch
	c.forget(index, out)
	at, _ := c.find(index)
	s := newShard(c, index, epoch)
	c.shards = slices.Insert(c.shards, at, s)
	s.load(out)
	c.fresh = false
}

// Resign ends the leadership of a shard in every epoch up to epoch, forgets
// its state and answers NotCoordinator to those who wait.
func (c *Coordinator) Resign(_ message.Now, index int32, epoch record.LeaderEpoch, out *Out) {
	if last, known := c.fenced[index]; known && epoch < last {
		return
	}
	c.fenced[index] = epoch
	c.forget(index, out)
	c.fresh = false
}

// Replayed hands over the next committed batches of a Load, in order from the
// log start; done says that these were the last, and the shard begins to serve.
// The batches may be changed after the call.
func (c *Coordinator) Replayed(now message.Now, index int32, epoch record.LeaderEpoch, batches []byte, done bool, out *Out) {
	s := c.led(index)
	if s == nil || s.epoch != epoch || s.phase != loading {
		return
	}
	s.replayed(now, batches, done, out)
	c.fresh = false
}

// Wrote completes the Append of a ticket: code None says that it is committed
// with its first record at base. Completions come in the order of the appends.
func (c *Coordinator) Wrote(now message.Now, ticket uint64, code message.Code, base record.Offset, out *Out) {
	s := c.tickets[ticket]
	if s == nil {
		return // of an append that was given up
	}
	delete(c.tickets, ticket)
	s.wrote(now, ticket, code, base, out)
	c.fresh = false
}

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
	for _, s := range c.shards {
		if s.phase != serving {
			continue // it looks at all topics when it is loaded
		}
		for _, name := range order.Keys(s.state.groups) {
			s.adapt(now, s.state.groups[name], changed, changed == nil)
		}
		s.flush(now, out)
	}
	c.fresh = false
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

// Tick lets deadlines pass.
func (c *Coordinator) Tick(now message.Now, out *Out) {
	for _, s := range c.shards {
		if s.wake() <= now.Mono {
			s.tick(now, out)
			c.fresh = false
		}
	}
}

// Wake is when the next Tick is wanted; message.Never when nothing waits.
func (c *Coordinator) Wake() message.Time {
	if !c.fresh {
		c.wake, c.fresh = message.Never, true
		for _, s := range c.shards {
			c.wake = min(c.wake, s.wake())
		}
	}
	return c.wake
}

func (c *Coordinator) find(index int32) (int, bool) {
	return slices.BinarySearchFunc(c.shards, index, func(s *shard, index int32) int { return cmp.Compare(s.index, index) })
}

// led returns a shard that this broker leads, or nil.
func (c *Coordinator) led(index int32) *shard {
	if at, ok := c.find(index); ok {
		return c.shards[at]
	}
	return nil
}

// forget drops a shard that is led no more.
func (c *Coordinator) forget(index int32, out *Out) {
	at, ok := c.find(index)
	if !ok {
		return
	}
	c.shards[at].fail("this broker does not lead the group's shard any more", out)
	c.shards = slices.Delete(c.shards, at, at+1)
}

// ticket gives out a number for an append of a shard.
func (c *Coordinator) ticket(s *shard) uint64 {
	c.last++
	c.tickets[c.last] = s
	return c.last
}
