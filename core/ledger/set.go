package ledger

import (
	"cmp"
	"slices"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// desk is what the ledgers of one room share.
type desk[C Change] struct {
	cfg     Config
	tickets map[uint64]*Ledger[C] // whose append a ticket is
	last    uint64                // the ticket given out last
	stale   bool                  // Wake is to be computed anew
}

// ticket gives out a number for an append.
func (d *desk[C]) ticket(l *Ledger[C]) uint64 {
	d.last++
	d.tickets[d.last] = l
	return d.last
}

// Set holds the ledgers of all shards that this broker leads, each with its book.
type Set[C Change, B Book[C]] struct {
	desk    *desk[C]
	open    func(*Ledger[C]) B
	ledgers []*Ledger[C] // by index
	books   []B
	fenced  map[int32]record.LeaderEpoch // the highest epoch of each shard that was led or resigned
	wake    message.Time                 // as of the last call, unless stale
}

// NewSet returns a set that leads nothing. open makes the book of a ledger that
// begins.
func NewSet[C Change, B Book[C]](cfg Config, open func(*Ledger[C]) B) *Set[C, B] {
	return &Set[C, B]{
		desk:   &desk[C]{cfg: cfg.withDefaults(), tickets: map[uint64]*Ledger[C]{}, stale: true},
		open:   open,
		fenced: map[int32]record.LeaderEpoch{},
	}
}

// Books are those of all led shards, by index. They are not to be changed.
func (s *Set[C, B]) Books() []B { return s.books }

// Led returns the book of a shard that is led.
func (s *Set[C, B]) Led(index int32) (book B, ok bool) {
	at, ok := s.find(index)
	if ok {
		book = s.books[at]
	}
	return book, ok
}

func (s *Set[C, B]) find(index int32) (int, bool) {
	return slices.BinarySearchFunc(s.ledgers, index, func(l *Ledger[C], index int32) int { return cmp.Compare(l.index, index) })
}

// Lead starts the leadership of a shard in an epoch: it is loaded before it
// serves. Ignored unless epoch is higher than any that was led or resigned.
func (s *Set[C, B]) Lead(index int32, epoch record.LeaderEpoch, out *Out) {
	if last, known := s.fenced[index]; known && epoch <= last {
		return
	}
	s.fenced[index] = epoch
	s.forget(index, out)
	at, _ := s.find(index)
	l := &Ledger[C]{desk: s.desk, index: index, epoch: epoch, retryAt: message.Never, patience: message.Never}
	book := s.open(l)
	l.book = book
	s.ledgers = slices.Insert(s.ledgers, at, l)
	s.books = slices.Insert(s.books, at, book)
	l.load(out)
	s.desk.stale = true
}

// Resign ends the leadership of a shard in every epoch up to epoch, forgets
// its state and answers NotCoordinator to those who wait.
func (s *Set[C, B]) Resign(index int32, epoch record.LeaderEpoch, out *Out) {
	if last, known := s.fenced[index]; known && epoch < last {
		return
	}
	s.fenced[index] = epoch
	s.forget(index, out)
	s.desk.stale = true
}

// forget drops a shard that is led no more.
func (s *Set[C, B]) forget(index int32, out *Out) {
	at, ok := s.find(index)
	if !ok {
		return
	}
	s.ledgers[at].fail("this broker does not lead the shard any more", out)
	s.ledgers = slices.Delete(s.ledgers, at, at+1)
	s.books = slices.Delete(s.books, at, at+1)
}

// Replayed hands over the next committed batches of a Load, in order from the
// log start; done says that these were the last, and the shard begins to serve.
// The batches may be changed after the call.
func (s *Set[C, B]) Replayed(now message.Now, index int32, epoch record.LeaderEpoch, batches []byte, done bool, out *Out) {
	at, ok := s.find(index)
	if !ok || s.ledgers[at].epoch != epoch || s.ledgers[at].phase != Loading {
		return
	}
	s.ledgers[at].replayed(now, batches, done, out)
	s.desk.stale = true
}

// ReplayAnew says that the log start has moved over records that were still to be
// replayed: what was handed over before is forgotten, and the next batches are those
// from the log start on. A key that is alive was said again by the snapshot there;
// one that is not may have been removed by a record that nobody can read any more.
func (s *Set[C, B]) ReplayAnew(index int32, epoch record.LeaderEpoch) {
	at, ok := s.find(index)
	if ok && s.ledgers[at].epoch == epoch && s.ledgers[at].phase == Loading {
		s.ledgers[at].replay = replay{}
		s.books[at].Reset()
	}
}

// Wrote completes the Append of a ticket: code None says that it is committed
// with its first record at base. Completions come in the order of the appends.
func (s *Set[C, B]) Wrote(now message.Now, ticket uint64, code message.Code, base record.Offset, out *Out) {
	l := s.desk.tickets[ticket]
	if l == nil {
		return // of an append that was given up
	}
	delete(s.desk.tickets, ticket)
	l.wrote(now, ticket, code, base, out)
	s.desk.stale = true
}

// Tick lets deadlines pass.
func (s *Set[C, B]) Tick(now message.Now, out *Out) {
	for _, l := range s.ledgers {
		if l.wake() <= now.Mono {
			l.tick(now, out)
			s.desk.stale = true
		}
	}
}

// Wake is when the next Tick is wanted; message.Never when nothing waits.
func (s *Set[C, B]) Wake() message.Time {
	if s.desk.stale {
		s.wake, s.desk.stale = message.Never, false
		for _, l := range s.ledgers {
			s.wake = min(s.wake, l.wake())
		}
	}
	return s.wake
}

// Shard is the shard that holds a key when there are shards of them (the FNV-1a
// hash of the key).
func Shard(key string, shards int32) int32 {
	h := uint32(2166136261)
	for i := range len(key) {
		h = (h ^ uint32(key[i])) * 16777619
	}
	return int32(h % uint32(shards))
}
