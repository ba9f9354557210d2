package group

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// A teller is a producer that moves two positions of a group of its own from one
// number to the next, in transactions; some of them it aborts. Its transaction
// coordinator is the ideal one. Whoever asks for stable positions must find both at
// the same number, at one that was committed, and not below the last one that was
// decided when it asked. A marker comes only if the coordinator was asked for it.
type teller struct {
	group  string
	id     record.ProducerID
	epoch  record.ProducerEpoch
	pair   []record.PartitionID
	number record.Offset // of the transaction that is open

	added   bool // the shard's partition is a part of it
	asked   [2]message.Token
	stored  [2]bool
	decided bool
	commit  bool
	ticket  uint64 // of the marker that is on its way

	committed map[record.Offset]bool
	told      record.Offset // the last one whose commit was decided
}

// told is an answer of a coordinator of transactions.
type told struct {
	ticket uint64
	code   message.Code
}

func (w *world) newTellers() []*teller {
	topic := w.topic("ledger", 6)
	var list []*teller
	for i := range 2 {
		list = append(list, &teller{
			group: fmt.Sprintf("teller-%d", i), id: record.ProducerID(i), epoch: 1, number: 1,
			pair: parts(topic, int32(2*i), int32(2*i+1)), committed: map[record.Offset]bool{message.NoOffset: true},
			told: message.NoOffset,
		})
	}
	return list
}

func (w *world) pickTeller() *teller { return w.tellers[even(w.rt, len(w.tellers), "teller")] }

// even draws a number below n, all of them equally often. What rapid draws by
// itself is small most of the time, and a transaction takes many steps.
func even(rt *rapid.T, n int, label string) int {
	drawn := 0
	for range 10 {
		drawn *= 2
		if rapid.Bool().Draw(rt, label) {
			drawn++
		}
	}
	return drawn % n
}

// tell sends one of a transaction's two commits, or decides how it ends.
func (w *world) tell() {
	t := w.pickTeller()
	switch {
	case t.decided:
		return
	case t.stored[0] && t.stored[1]:
		t.decide(even(w.rt, 4, "commits") > 0)
		return
	case even(w.rt, 20, "gives up") == 0:
		t.decide(false)
		return
	}
	which := even(w.rt, 2, "which")
	t.asked[which] = w.deliver(enlisting(t.group, t.id, t.epoch, t.pair[which], t.number))
}

func (t *teller) decide(commit bool) {
	t.decided, t.commit = true, commit
	if t.committed[t.number] = commit; commit {
		t.told = t.number
	}
	if !t.added {
		t.next()
	}
}

// next begins the next transaction.
func (t *teller) next() {
	t.number++
	t.epoch++
	t.asked, t.stored, t.added, t.decided, t.commit = [2]message.Token{}, [2]bool{}, false, false, false
}

// judge lets the coordinators of transactions answer what they were asked by now.
// The answers take their time.
func (w *world) judge() {
	for _, q := range w.questions {
		t, code := w.tellers[q.ID], message.None
		if q.Epoch != t.epoch || t.decided {
			code = message.ProducerFenced
		} else if even(w.rt, 4, "not now") == 0 {
			code = message.ConcurrentTransactions
		} else {
			t.added = true
		}
		w.told = append(w.told, told{q.Ticket, code})
	}
	w.questions = nil
}

// bring delivers an answer of a coordinator, the marker of a decision, or one that
// was answered before.
func (w *world) bring() {
	if len(w.told) > 0 && rapid.Bool().Draw(w.rt, "an answer") {
		i := even(w.rt, len(w.told), "which answer")
		a := w.told[i]
		w.told = append(w.told[:i], w.told[i+1:]...)
		w.c.Verified(w.now, a.ticket, a.code, &w.out)
		w.settle()
		return
	}
	t := w.pickTeller()
	if t.decided {
		w.mark(t)
	} else if even(w.rt, 4, "late marker") == 0 {
		w.ticket++
		commit := t.committed[t.number-1]
		w.c.Resolve(w.now, 0, Marker{ID: t.id, Epoch: t.epoch, CoordinatorEpoch: 1, Commit: commit}, w.ticket, &w.out)
		w.settle()
	}
}

func (w *world) mark(t *teller) {
	w.ticket++
	t.ticket = w.ticket
	w.c.Resolve(w.now, 0, Marker{ID: t.id, Epoch: t.epoch + 1, CoordinatorEpoch: 1, Commit: t.commit}, t.ticket, &w.out)
	w.settle()
}

// look asks for stable positions.
func (w *world) look() {
	t := w.pickTeller()
	token := w.send(&message.FetchOffsets{Group: t.group, IDs: t.pair, Stable: true})
	w.stables[token] = []record.Offset{record.Offset(t.id), t.told}
}

// hearTellers takes in what was answered.
func (w *world) hearTellers() {
	for _, t := range w.tellers {
		for i, token := range t.asked {
			if reply, ok := w.answers[token].(*message.CommitTransactionOffsetsReply); ok {
				w.answer(token)
				t.asked[i] = 0
				t.stored[i] = t.stored[i] || reply.Code == message.None && reply.Offsets[0].Code == message.None
			}
		}
		if code, ok := w.resolved[t.ticket]; ok {
			t.ticket = 0
			if code == message.None {
				t.next()
			}
		}
	}
	w.c.EachPending(func(_ int32, p Pending) bool {
		require.False(w.rt, p.Epoch < w.tellers[p.ID].epoch, "%+v has outlived its transaction", p)
		return true
	})
	for token, asked := range w.stables {
		reply, ok := w.answer(token).(*message.FetchOffsetsReply)
		if !ok {
			continue
		}
		delete(w.stables, token)
		if t := w.tellers[asked[0]]; reply.Code == message.None {
			first, second := reply.Offsets[0].Offset, reply.Offsets[1].Offset
			require.Equal(w.rt, first, second, "%s: half of a transaction shows", t.group)
			require.True(w.rt, t.committed[first], "%s: %d was not committed", t.group, first)
			require.GreaterOrEqual(w.rt, first, asked[1], "%s: what was committed is gone", t.group)
		}
	}
}

// settleTellers ends all transactions: their positions are stable then.
func (w *world) settleTellers() {
	for _, t := range w.tellers {
		if !t.decided {
			t.decide(false)
		}
		for range 10 {
			if t.decided {
				w.mark(t)
				w.pass(message.Second)
				w.check()
			}
		}
		require.False(w.rt, t.decided, "the marker of %s is not taken", t.group)
		token := w.send(&message.FetchOffsets{Group: t.group, IDs: t.pair, Stable: true})
		reply := w.answers[token].(*message.FetchOffsetsReply)
		require.Equal(w.rt, message.None, reply.Code)
		w.stables[token] = []record.Offset{record.Offset(t.id), t.told}
		w.check()
	}
}

func TestPositionsOfATransactionAreWholeOrNothing(t *testing.T) {
	deck := shuffled([]action{
		{12, (*world).tell}, {6, (*world).judge}, {8, (*world).bring}, {5, (*world).look}, {4, (*world).haunt},
		{14, (*world).someCommit}, {1, (*world).fail}, {1, (*world).moveCoordinator}, {1, (*world).wait},
	})
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(rt)
		w.tellers = w.tellers[:1+even(rt, 2, "tellers")]
		for range even(rt, 200, "steps") {
			deck[even(rt, len(deck), "action")](w)
			w.check()
		}
		w.rest()
	})
}
