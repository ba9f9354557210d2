package client

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// bank is a small cluster that keeps to the protocol of transactions, behind a
// network that loses and delays requests and answers. Each time its one worker takes
// the next input it makes a transaction that puts a record of it into each of two
// partitions and moves the position of its group by one. What comes after that its
// Attempt says; now and then it does not wait for a Begin or for a commit.
type bank struct {
	*play
	t     *rapid.T
	mine  *holding
	logs  [2][]entryOfBank
	at    record.Offset // the group's position
	late  []Call        // requests that were given up and may still arrive
	lives int
	try   *Attempt
	began Op
	put   []Op // all that was added
	ended Op
	over  Op // the abort that is waited for, before what is next
	next  Next
}

// holding is what the cluster knows of the transactional id.
type holding struct {
	id      record.ProducerID
	epoch   record.ProducerEpoch
	ended   *message.EndTransaction
	open    bool
	pending record.Offset // NoOffset: none
	sent    map[record.PartitionID]record.Sequence
}

type entryOfBank struct {
	value string
	epoch record.ProducerEpoch
	state record.Outcome // NoOutcome: open
}

func (b *bank) finish(commit bool) {
	how := record.Aborted
	if commit {
		how = record.Committed
		b.at = max(b.at, b.mine.pending)
	}
	for p := range b.logs {
		for i := range b.logs[p] {
			if e := &b.logs[p][i]; e.state == record.NoOutcome {
				e.state = how
			}
		}
	}
	b.mine.open, b.mine.pending = false, message.NoOffset
	clear(b.mine.sent)
}

// serve is what a node does with a request.
func (b *bank) serve(c Call) message.Reply {
	h := b.mine
	switch r := c.Request.(type) {
	case *message.Metadata:
		reply := b.image
		return &reply
	case *message.FindCoordinator:
		return &message.FindCoordinatorReply{Node: 2}
	case *message.InitProducerID:
		if h.open && rapid.Bool().Draw(b.t, "abort takes long") {
			return message.Fail(r, message.ConcurrentTransactions, "")
		}
		b.finish(false)
		h.epoch, h.ended = h.epoch+2, nil // one for the abort, one for the new incarnation
		return &message.InitProducerIDReply{ID: h.id, Epoch: h.epoch}
	case *message.EndTransaction:
		switch {
		case h.ended != nil && h.ended.Epoch == r.Epoch && h.ended.Commit == r.Commit:
		case r.Epoch != h.epoch:
			return message.Fail(r, message.ProducerFenced, "")
		case r.Commit && !h.open:
			return message.Fail(r, message.InvalidTxnState, "")
		default:
			b.finish(r.Commit)
			h.epoch, h.ended = h.epoch+1, r
		}
		return &message.EndTransactionReply{ID: h.id, Epoch: h.epoch}
	case *message.CommitTransactionOffsets:
		if r.Epoch != h.epoch {
			return message.Fail(r, message.ProducerFenced, "")
		}
		h.open, h.pending = true, r.Offsets[0].Offset
		return message.Fail(r, message.None, "")
	case *message.FetchOffsets:
		require.True(b.t, r.Stable)
		if h.pending != message.NoOffset {
			return message.Fail(r, message.UnstableOffsetCommit, "")
		}
		return &message.FetchOffsetsReply{Offsets: []message.GroupOffset{{ID: orders2, Offset: b.at, LeaderEpoch: record.NoLeaderEpoch}}}
	case *message.Produce:
		m := refusal(r, message.None)
		for i, p := range r.Partitions {
			m.Partitions[i].Code = b.produce(p)
			m.Partitions[i].BaseOffset = 0
		}
		return m
	case *message.Fetch:
		return nil
	}
	return message.Fail(c.Request, message.None, "")
}

func (b *bank) produce(p message.ProducePartition) message.Code {
	head, err := record.Validate(p.Records)
	require.NoError(b.t, err)
	require.True(b.t, head.Attributes.Transactional())
	h := b.mine
	next, begun := h.sent[p.ID]
	switch {
	case head.ProducerEpoch != h.epoch:
		return message.InvalidProducerEpoch
	case begun && head.BaseSequence < next:
		return message.None // it is there
	case head.BaseSequence != next:
		return message.OutOfOrderSequence
	case rapid.IntRange(0, 19).Draw(b.t, "not added") == 0:
		return rapid.SampledFrom([]message.Code{message.TransactionAbortable, message.ConcurrentTransactions}).Draw(b.t, "why")
	}
	h.open = true
	h.sent[p.ID] = head.BaseSequence + record.Sequence(head.Count)
	it := record.Records(&head, record.Payload(p.Records))
	for it.Next() {
		b.logs[p.ID.Index] = append(b.logs[p.ID.Index], entryOfBank{value: string(it.Record.Value), epoch: h.epoch})
	}
	return message.None
}

// live starts the worker anew, as after a crash.
func (b *bank) live() {
	b.lives++
	old := b.play
	b.play = newPlay(b.t, func(c *Config) {
		c.TransactionalID, c.Isolation = "pay", message.ReadCommitted
		c.RequestTimeout, c.DeliveryTimeout, c.AskTimeout = 2*message.Second, 5*message.Second, 8*message.Second
	})
	if old != nil {
		b.late = append(b.late, old.calls...)
		b.now = old.now
	}
	b.try, b.began, b.ended, b.over, b.put = new(Attempt), 0, 0, 0, nil
	b.do(func(op Op) Input {
		return Assign{Op: op, Group: "g", Partitions: []Start{{Place{"orders", 2}, Position{Kind: AtCommitted}}}}
	})
}

// work does what the worker would do next.
func (b *bank) work() {
	result := func(op Op) *Result {
		if r, over := b.done[op]; over {
			return &r
		}
		return nil
	}
	leaves := func() bool { return rapid.IntRange(0, 9).Draw(b.t, "leaves") == 0 }
	switch {
	case b.over != 0:
		if result(b.over) != nil {
			b.goOn()
		}
	case b.began == 0:
		b.began = b.begin()
	case b.ended != 0:
		if r := result(b.ended); r != nil {
			b.follow(b.try.Ended(r))
		} else if leaves() {
			b.follow(b.try.Left(true))
		}
	case result(b.began) == nil:
		if leaves() {
			b.follow(b.try.Left(false))
		}
	case result(b.began).Err != nil:
		b.follow(b.try.Began(result(b.began)))
	case b.put == nil:
		b.fill()
	default:
		for _, op := range b.put {
			if r := result(op); r != nil {
				b.try.Added(r)
			}
		}
		switch v := b.try.Filled(); {
		case v.Next != ToCommit:
			b.follow(v)
		case rapid.IntRange(0, 4).Draw(b.t, "dropped") == 0:
			b.follow(b.try.Dropped())
		default:
			b.ended = b.end(true)
		}
	}
}

// fill processes the next input.
func (b *bank) fill() {
	f := b.c.consumer.find(Place{"orders", 2})
	if f == nil || f.stage != reading {
		return
	}
	at := f.committedOrBegun()
	for p := range int32(2) {
		b.put = append(b.put, b.publish(p, fmt.Sprint(at)))
	}
	b.put = append(b.put, b.do(func(op Op) Input {
		return AddOffsets{op, []CommitOffset{{Place: Place{"orders", 2}, Offset: at + 1, Stretch: f.stretch}}}
	}))
}

// follow does what a verdict says.
func (b *bank) follow(v Verdict) {
	b.next = v.Next
	if v.Err != nil && v.Err.Problem == Fenced {
		b.live()
		return
	}
	if v.Abort {
		over := b.end(false)
		if rapid.Bool().Draw(b.t, "waits for the abort") {
			b.over = over
			return
		}
	}
	b.goOn()
}

func (b *bank) goOn() {
	if r, over := b.done[b.over]; over && r.Err != nil && r.Err.Problem == Fenced {
		b.live()
		return
	}
	b.began, b.ended, b.over, b.put = 0, 0, 0, nil
	if b.next == ToTryAgain && rapid.IntRange(0, 3).Draw(b.t, "again") > 0 {
		b.try = b.try.Again()
		return
	}
	b.try = new(Attempt)
	if b.next != ToGoOn {
		b.do(func(op Op) Input { return Rewind{op} })
	}
}

// committedOrBegun is where a worker that was given nothing stands.
func (f *flow) committedOrBegun() record.Offset {
	if f.committed > f.given {
		return f.committed
	}
	return f.given
}

// smoothly has everything answered for a while.
func (b *bank) smoothly() {
	for range 4 {
		b.work()
		calls := b.calls
		b.calls = nil
		for _, c := range calls {
			if reply := b.serve(c); reply != nil {
				b.answer(c, reply)
			}
		}
		b.pass(200 * message.Millisecond)
	}
}

func (b *bank) step1() {
	take := func(from *[]Call) Call {
		i := rapid.IntRange(0, len(*from)-1).Draw(b.t, "which")
		c := (*from)[i]
		*from = slices.Delete(*from, i, i+1)
		return c
	}
	b.calls = slices.DeleteFunc(b.calls, func(c Call) bool { return c.Request.Kind() == message.KindFetch })
	switch what := rapid.IntRange(-9, 19).Draw(b.t, "what"); {
	case what < 0:
		b.smoothly()
	case what == 0 && rapid.IntRange(0, 3).Draw(b.t, "crash") == 0:
		b.live()
	case what <= 4:
		b.work()
	case what <= 13 && len(b.calls) > 0:
		c := take(&b.calls)
		b.answer(c, b.serve(c))
	case what == 14 && len(b.calls) > 0: // the answer is lost
		c := take(&b.calls)
		b.serve(c)
		b.break_(c)
	case what == 15 && len(b.calls) > 0: // the request is late
		c := take(&b.calls)
		b.late = append(b.late, c)
		if rapid.Bool().Draw(b.t, "noticed") {
			b.break_(c)
		}
	case what == 16 && len(b.late) > 0:
		b.serve(take(&b.late))
	default:
		b.pass(message.Duration(rapid.IntRange(1, 3000).Draw(b.t, "ms")) * message.Millisecond)
	}
}

// INV-29 and INV-31, as far as a client can see to them: however workers crash and
// whatever is lost or late, each input is in each committed output once and in
// order, up to exactly where the group stands.
func TestTransactionsMoveRecordsAndPositionsTogether(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := &bank{t: t, mine: &holding{id: 40, epoch: -1, pending: message.NoOffset, sent: map[record.PartitionID]record.Sequence{}}}
		b.live()
		for range rapid.IntRange(1, 300).Draw(t, "steps") {
			b.step1()
			b.check()
		}
	})
}

func (b *bank) check() {
	for p := range b.logs {
		var next record.Offset
		for _, e := range b.logs[p] {
			if e.state == record.Committed {
				require.Equal(b.t, fmt.Sprint(next), e.value, "partition %d: %v", p, b.logs[p])
				next++
			}
		}
		require.Equal(b.t, b.at, next, "partition %d and the group's position: %v", p, b.logs[p])
	}
}
