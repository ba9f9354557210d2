package verify

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// bench has people wait at a desk, by name.
type bench struct {
	*Desk[string]
	now  message.Now
	asks []Question
	late []string
}

func newBench(cfg Config) *bench {
	return &bench{Desk: New[string](cfg), now: message.Now{Mono: 1000}}
}

func (b *bench) hold(p Part, who string) { b.Hold(b.now, p, who, int64(len(who)), &b.asks) }

func (b *bench) answer(ticket uint64, code message.Code) []string {
	return b.Answered(b.now, ticket, code)
}

// pass lets time go by, with a Tick whenever one is wanted, and returns what was asked.
func (b *bench) pass(d message.Duration) []Question {
	end := b.now.Mono.Add(d)
	for b.Next() <= end {
		b.now.Mono = max(b.now.Mono, b.Next())
		b.Tick(b.now, func(who string) { b.late = append(b.late, who) }, &b.asks)
	}
	b.now.Mono = end
	return b.asked()
}

func (b *bench) asked() []Question {
	asks := b.asks
	b.asks = nil
	return asks
}

var (
	here  = record.PartitionID{Topic: 5, Index: 1}
	there = record.PartitionID{Topic: 5, Index: 2}
	part  = Part{Partition: here, TransactionalID: "pay", ID: 9, Epoch: 3}
)

func (p Part) in(epoch record.ProducerEpoch) Part { p.Epoch = epoch; return p }
func (p Part) of(id record.PartitionID) Part      { p.Partition = id; return p }

// rests says that nothing of anybody is left.
func (b *bench) rests(t *testing.T) {
	t.Helper()
	require.Equal(t, message.Never, b.Next())
	require.Zero(t, b.Held())
	require.Empty(t, b.asked())
	require.Empty(t, b.Desk.asked)
	require.Empty(t, b.parts)
}

func TestOneQuestionForAllWhoWaitForTheSame(t *testing.T) {
	b := newBench(Config{})
	b.hold(part, "anna")
	b.hold(part, "bo")
	b.hold(part.in(4), "cy")
	b.hold(part.of(there), "dee")
	forged := part
	forged.TransactionalID = "other"
	b.hold(forged, "eve")
	require.Equal(t, []Question{{1, part}, {2, part.in(4)}, {3, part.of(there)}, {4, forged}}, b.asked())
	require.True(t, b.Asks(part))
	require.False(t, b.Asks(part.in(5)))
	require.EqualValues(t, 4+2+2+3+3, b.Held())
	require.Equal(t, []int{4, 1}, []int{b.Waiting(here), b.Waiting(there)})

	require.Equal(t, []string{"anna", "bo"}, b.answer(1, message.None))
	require.Empty(t, b.answer(1, message.None), "an answer that comes again")
	require.Equal(t, []string{"cy"}, b.answer(2, message.ProducerFenced))
	require.Equal(t, []string{"eve"}, b.answer(4, message.InvalidProducerIDMapping))
	require.EqualValues(t, 3, b.Held())
	require.Equal(t, []string{"dee"}, b.answer(3, message.None))
	b.rests(t)

	b.hold(part, "fay")
	require.Equal(t, []Question{{5, part}}, b.asked(), "what was permitted once is asked for anew")
}

func TestAQuestionComesAgainUntilItsAnswer(t *testing.T) {
	b := newBench(Config{Retry: 100, Pause: 10, PauseMost: 35})
	b.hold(part, "anna")
	question := b.asked()
	after := func(pause message.Duration) {
		t.Helper()
		require.Empty(t, b.pass(pause-1))
		require.Equal(t, question, b.pass(1))
	}
	after(100)
	after(100) // no answer came
	for _, pause := range []message.Duration{10, 20, 35, 35} {
		require.Empty(t, b.answer(1, message.ConcurrentTransactions))
		after(pause)
	}
	after(100)
	require.Empty(t, b.late, "it has no time limit")
	require.Equal(t, []string{"anna"}, b.answer(1, message.None))
	b.rests(t)
}

func TestNobodyWaitsLongerThanTheTimeout(t *testing.T) {
	b := newBench(Config{Retry: 100, Timeout: 250})
	b.hold(part, "anna")
	b.pass(60)
	b.hold(part, "bo")
	require.Len(t, b.pass(189), 2)
	require.Empty(t, b.late)
	require.Empty(t, b.pass(1))
	require.Equal(t, []string{"anna"}, b.late)
	require.EqualValues(t, 2, b.Held())
	require.Len(t, b.pass(59), 1, "bo still waits")
	b.pass(1)
	require.Equal(t, []string{"anna", "bo"}, b.late)
	require.Empty(t, b.answer(1, message.None), "it comes too late")
	b.rests(t)
}

func TestWhoeverLeavesIsNotAskedFor(t *testing.T) {
	b := newBench(Config{})
	for _, who := range []string{"anna", "bo", "anna"} {
		b.hold(part, who)
	}
	b.hold(part.in(4), "anna")
	b.hold(part.of(there), "anna")
	b.asked()
	b.Leave(here, func(who string) bool { return who == "anna" })
	require.EqualValues(t, 2+4, b.Held())
	require.Empty(t, b.answer(2, message.None), "nobody waits for that")
	require.Equal(t, []Question{{1, part}, {3, part.of(there)}}, b.pass(500*message.Millisecond))
	require.Equal(t, []string{"bo"}, b.answer(1, message.None))
	require.Equal(t, []string{"anna"}, b.answer(3, message.None))
	b.rests(t)
}

func TestAPartitionIsAbandoned(t *testing.T) {
	b := newBench(Config{})
	b.hold(part, "anna")
	b.hold(part.in(4), "bo")
	b.hold(part, "cy")
	b.hold(part.of(there), "dee")
	b.asked()
	require.Equal(t, []string{"anna", "cy", "bo"}, b.Abandon(here))
	require.Empty(t, b.Abandon(here))
	require.Empty(t, b.answer(1, message.None))
	require.Equal(t, []string{"dee"}, b.answer(3, message.None))
	b.rests(t)
}
