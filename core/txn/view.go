package txn

import (
	"github.com/tamarack-mq/tamarack/core/ledger"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/order"
	"github.com/tamarack-mq/tamarack/core/record"
)

// ShardView is what an observer sees of one led shard.
type ShardView struct {
	Shard     int32
	Epoch     record.LeaderEpoch
	Serving   bool // loaded; else requests are answered CoordinatorLoadInProgress
	Pending   int  // appends under way; 0: Digest equals a fold of the committed log
	Waiting   int  // replies that wait for them
	IDs       int  // transactional ids
	Ongoing   int  // open transactions
	Preparing int  // decisions whose markers are not all written
	Held      int  // requests that wait for those
}

// Views describes the shards that this broker leads, in order.
func (c *Coordinator) Views() []ShardView {
	views := make([]ShardView, len(c.shards.Books()))
	for i, s := range c.shards.Books() {
		v := &views[i]
		*v = ShardView{
			Shard: s.Index(), Epoch: s.Epoch(), Serving: s.Phase() == ledger.Serving,
			Pending: s.Pending(), Waiting: s.Waiting(), IDs: len(s.state.entries),
		}
		for _, name := range order.Keys(s.state.entries) {
			e := s.state.entries[name]
			v.Held += len(e.held) + len(e.gathering)
			switch {
			case e.phase == Ongoing:
				v.Ongoing++
			case e.phase.prepared():
				v.Preparing++
			}
		}
	}
	return views
}

// Transaction is what an observer sees of one transactional id. After a decision
// Now is the identity of its markers, Ended that of the transaction if its
// producer asked for the end, and Turn what the producer has or gets for the next.
type Transaction struct {
	TransactionalID  string
	Phase            Phase
	Now, Ended, Turn Identity
	Timeout          message.Duration
	Started, Updated record.Timestamp // wall times; Started -1: no transaction is open
	Partitions       []record.PartitionID
	Waiting          []record.PartitionID // of the transaction that follows, while the end of this one is written
	Incarnation      uint64               // what its producer calls itself; 0: it has not said
}

func (c change) transaction() Transaction {
	if c.gone {
		return Transaction{TransactionalID: c.name}
	}
	return Transaction{
		TransactionalID: c.name, Phase: c.phase, Now: c.now, Ended: c.ended, Turn: c.turn(),
		Timeout: c.timeout, Started: c.started, Updated: c.updated, Partitions: c.partitions, Waiting: c.waiting,
		Incarnation: c.incarnation,
	}
}

// EachTransaction visits what the shards that serve know, decided and not yet
// committed included: by shard and transactional id. It stops when visit returns
// false.
func (c *Coordinator) EachTransaction(visit func(index int32, t Transaction) bool) {
	for _, s := range c.shards.Books() {
		if s.Phase() != ledger.Serving {
			continue
		}
		for _, name := range order.Keys(s.state.entries) {
			if !visit(s.Index(), change{name: name, value: s.state.entries[name].value}.transaction()) {
				return
			}
		}
	}
}

// Stands says where one shard stands; false when this broker does not lead it.
func (c *Coordinator) Stands(index int32) (ledger.Standing, bool) { return c.shards.Stands(index) }

// Digest is a hash of the whole replicated state of a shard; ok is false while
// it is not serving. Equal states have equal digests. It includes what is
// pending.
func (c *Coordinator) Digest(index int32) (digest uint64, ok bool) {
	s, led := c.shards.Led(index)
	if !led || s.Phase() != ledger.Serving {
		return 0, false
	}
	return s.state.digest(), true
}

// Folding is a replay of a log that comes in parts. The zero value has seen
// nothing. For observers.
type Folding struct{ state *state }

// Take replays the next batches: whole ones, from the log start on.
func (f *Folding) Take(batches []byte) error {
	if f.state == nil {
		f.state = newState()
	}
	return ledger.Each(batches, decode, func(_ record.Offset, c change) { f.state.apply(c) })
}

// Digest is that of the state so far: INV-23 holds when it equals the
// coordinator's.
func (f *Folding) Digest() uint64 {
	if f.state == nil {
		f.state = newState()
	}
	return f.state.digest()
}

// Fold is the digest of the state that replaying batches gives.
func Fold(batches []byte) (uint64, error) {
	var f Folding
	err := f.Take(batches)
	return f.Digest(), err
}

// EachRecord visits the records of a log as they tell the history of transactional
// ids; gone says that one was removed. For observers.
func EachRecord(batches []byte, visit func(at record.Offset, t Transaction, gone bool)) error {
	return ledger.Each(batches, decode, func(at record.Offset, c change) { visit(at, c.transaction(), c.gone) })
}

// digest hashes the records that make the state.
func (s *state) digest() uint64 { return ledger.Digest(s.each) }

// Shard is the shard that holds a transactional id when there are shards of them
// (the FNV-1a hash of the id).
func Shard(name string, shards int32) int32 { return ledger.Shard(name, shards) }
