package ledger

import (
	"errors"
	"slices"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/order"
	"github.com/tamarack-mq/tamarack/core/record"
)

// note sets one name to a text; the empty text removes it.
type note struct{ name, text string }

const kindNote = 'n'

func (n note) AppendKey(b []byte) []byte   { return append(append(b, kindNote), n.name...) }
func (n note) AppendValue(b []byte) []byte { return append(b, n.text...) }

func decodeNote(key, value []byte) (note, error) {
	if len(key) == 0 || key[0] != kindNote {
		return note{}, errors.New("it is no note")
	}
	return note{string(key[1:]), string(value)}, nil
}

// board is a room that is nothing but its book: texts by name.
type board struct {
	*Ledger[note]
	head    string
	notes   map[string]string
	began   int
	due     message.Time
	expired int
	fault   string
}

func (b *board) Reset()                           { b.notes = map[string]string{} }
func (b *board) Decode(k, v []byte) (note, error) { return decodeNote(k, v) }
func (b *board) Begin(message.Now, *Out)          { b.began++ }
func (b *board) Next() message.Time               { return b.due }
func (b *board) Live() int                        { return len(b.notes) }
func (b *board) Fault() string                    { return b.fault }
func (b *board) Expire(now message.Now, _ *Out) {
	if b.due <= now.Mono {
		b.due = message.Never
		b.expired++
		b.Decide(note{"expired", "yes"})
	}
}

func (b *board) Apply(n note) {
	if n.text == "" {
		delete(b.notes, n.name)
	} else {
		b.notes[n.name] = n.text
	}
}

func (b *board) isHead(name string) bool { return strings.HasPrefix(name, b.head) }

func (b *board) Head() (head []note) {
	for _, name := range order.Keys(b.notes) {
		if b.isHead(name) {
			head = append(head, note{name, b.notes[name]})
		}
	}
	return head
}

func (b *board) Parts() []string { return slices.DeleteFunc(order.Keys(b.notes), b.isHead) }

func (b *board) Part(name string, visit func(note)) {
	if text := b.notes[name]; text != "" {
		visit(note{name, text})
	}
}

// written is one batch in the log of the bench.
type written struct {
	base      record.Offset
	batch     []byte
	ticket    uint64
	committed bool
}

type tester interface {
	require.TestingT
	Helper()
}

// bench runs one shard over a log in memory.
type bench struct {
	t     tester
	cfg   Config
	set   *Set[note, *board]
	now   message.Now
	epoch record.LeaderEpoch
	out   Out

	log     []written
	start   record.Offset
	end     record.Offset
	hold    bool // appends stay uncommitted until commit is called
	loads   int
	trims   []Trim
	token   message.Token
	answers map[message.Token]message.Reply
}

func newBench(t tester, cfg Config) *bench {
	cfg.Topic = "__boards"
	b := &bench{t: t, cfg: cfg, answers: map[message.Token]message.Reply{}, now: message.Now{Mono: 1000, Wall: 1_700_000_000_000}}
	b.failover()
	return b
}

// failover has another broker lead with what is committed; the rest is lost.
func (b *bench) failover() {
	b.log = slices.DeleteFunc(b.log, func(w written) bool { return !w.committed })
	b.takeOver()
}

// takeOver has another broker lead with the whole log: what was not committed
// reached it all the same.
func (b *bench) takeOver() {
	b.end = b.start
	for i := range b.log {
		b.log[i].committed = true
		b.end = b.endOf(b.log[i].batch)
	}
	b.epoch++
	b.out = Out{}
	b.set = NewSet(b.cfg, func(l *Ledger[note]) *board { return &board{Ledger: l, head: "head", due: message.Never} })
	b.set.Lead(0, b.epoch, &b.out)
	b.settle()
}

func (b *bench) endOf(batch []byte) record.Offset {
	h, err := record.DecodeHeader(batch)
	require.NoError(b.t, err)
	return h.End()
}

func (b *bench) board() *board {
	book, ok := b.set.Led(0)
	require.True(b.t, ok)
	return book
}

// settle carries out what the ledger asked for, until nothing is left.
func (b *bench) settle() {
	for {
		out := b.out
		b.out = Out{}
		require.Empty(b.t, out.Halt)
		for _, r := range out.Replies {
			require.NotContains(b.t, b.answers, r.Token, "answered twice")
			b.answers[r.Token] = r.Msg
		}
		for _, a := range out.Appends {
			require.Equal(b.t, b.epoch, a.Epoch)
			record.Stamp(a.Batch, b.end, a.Epoch)
			b.log = append(b.log, written{base: b.end, batch: a.Batch, ticket: a.Ticket})
			b.end = b.endOf(a.Batch)
		}
		b.trims = append(b.trims, out.Trims...)
		for range out.Loads {
			b.loads++
			for _, w := range b.log {
				if w.committed && w.base >= b.start {
					b.set.Replayed(b.now, 0, b.epoch, w.batch, false, &b.out)
				}
			}
			b.set.Replayed(b.now, 0, b.epoch, nil, true, &b.out)
		}
		if len(out.Appends) == 0 && len(out.Loads) == 0 {
			return
		}
		if !b.hold {
			b.commit(len(b.log))
		}
	}
}

// commit commits the first n batches of the log.
func (b *bench) commit(n int) {
	for i := range b.log[:n] {
		if w := &b.log[i]; !w.committed {
			w.committed = true
			b.set.Wrote(b.now, w.ticket, message.None, w.base, &b.out)
		}
	}
}

// release commits all and goes on without holding.
func (b *bench) release() {
	b.hold = false
	b.commit(len(b.log))
	b.settle()
}

// refuse fails all appends that are under way. Their batches stay in the log, or
// never got there when they are lost.
func (b *bench) refuse(code message.Code, lost bool) {
	var failed []written
	for _, w := range b.log {
		if !w.committed {
			failed = append(failed, w)
		}
	}
	if lost && len(failed) > 0 {
		b.log = slices.DeleteFunc(b.log, func(w written) bool { return !w.committed })
		b.end = failed[0].base
	}
	for _, w := range failed {
		b.set.Wrote(b.now, w.ticket, code, -1, &b.out)
	}
	b.settle()
}

// trim moves the log start as the ledger asked.
func (b *bench) trim() {
	for _, t := range b.trims {
		b.start = max(b.start, t.Before)
	}
	b.trims = nil
	b.log = slices.DeleteFunc(b.log, func(w written) bool { return w.committed && w.base < b.start })
}

// pass lets time pass, in the steps that the ledger wants.
func (b *bench) pass(d message.Duration) {
	end := b.now.Mono.Add(d)
	for b.set.Wake() <= end {
		b.now.Mono = max(b.set.Wake(), b.now.Mono)
		b.set.Tick(b.now, &b.out)
		b.settle()
	}
	b.now.Mono = end
}

var request = &message.DescribeGroup{Group: "board"}

// write sets a name and answers with the text.
func (b *bench) write(name, text string) message.Token {
	b.board().Decide(note{name, text})
	return b.answer(Written, text)
}

// read answers with the text of a name once that is confirmed.
func (b *bench) read(name string) message.Token { return b.answer(Confirmed, b.board().notes[name]) }

func (b *bench) answer(until Until, text string) message.Token {
	b.token++
	board := b.board()
	board.Answer(b.now, b.token, request, &message.DescribeGroupReply{Group: text}, until, &b.out)
	board.Flush(b.now, &b.out)
	b.settle()
	return b.token
}

// told is the answer to a token: its text, or the code of its failure. Empty:
// none yet.
func (b *bench) told(token message.Token) string {
	r, ok := b.answers[token].(*message.DescribeGroupReply)
	switch {
	case !ok:
		return ""
	case r.Code != message.None:
		return r.Code.String()
	}
	return r.Group
}

// folded is what a replay of the committed log gives.
func (b *bench) folded() map[string]string {
	fold := &board{}
	fold.Reset()
	for _, w := range b.log {
		if w.committed && w.base >= b.start {
			require.NoError(b.t, Each(w.batch, decodeNote, func(_ record.Offset, n note) { fold.Apply(n) }))
		}
	}
	return fold.notes
}

// snapshotting says whether a snapshot is being written.
func (b *bench) snapshotting() bool { return b.board().snapshot != nil }

// sound checks that memory is what a replay gives (INV-23).
func (b *bench) sound() {
	b.t.Helper()
	if book, led := b.set.Led(0); led && book.Phase() == Serving && book.Pending() == 0 {
		require.Equal(b.t, b.folded(), book.notes, "memory is not what replay gives")
	}
}
