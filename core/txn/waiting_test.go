package txn

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/message"
)

func TestTheNextTransactionWaitsForTheMarkersOfTheOneBefore(t *testing.T) {
	b := newBench(t, Config{MaxHeld: 2})
	who := b.identify("orders")
	b.add("orders", who, one)
	b.mute = true
	next := b.finished("orders", who, true)
	sent := b.wire
	b.wire = nil
	held := []uint64{b.startAdd("orders", next, one), b.startAdd("orders", next, two)}
	require.Equal(t, 2, b.c.Views()[0].Held)
	b.request = held[0] - 1
	b.startAdd("orders", next, one) // its leader asks again
	require.Empty(t, b.wire, "one answer will do")
	b.request = held[1]
	late := b.startAdd("orders", next, three)
	b.deliver(0)
	require.Equal(t, message.ConcurrentTransactions, b.added[late], "no more than two are held")
	require.Equal(t, message.ConcurrentTransactions, b.finish("orders", next, false).Code)
	b.wire = sent
	b.hold = true
	before := len(b.log)
	for len(b.wire) > 0 {
		b.deliver(0)
		b.settle()
	}
	require.Len(t, b.log, before+1, "the end of one and the beginning of the next are one batch")
	require.Equal(t, message.None, b.added[held[0]])
	require.Equal(t, message.None, b.added[held[1]])
	require.Equal(t, "Ongoing", b.phase("orders"))
	b.hold = false
	b.release()

	next = b.finished("orders", next, true)
	b.add("orders", next, one)
	b.mute = true
	next = b.finished("orders", next, true)
	b.wire = nil
	out, lost := b.startAdd("orders", next, one), b.startAdd("orders", next, two)
	b.pass(4 * message.Second)
	b.markers()
	require.NotContains(t, b.added, out)
	b.mute = false
	b.parts[one].leader = message.NoNode
	b.pass(message.Second)
	require.Equal(t, message.ConcurrentTransactions, b.added[out], "not for ever")
	require.Equal(t, message.ConcurrentTransactions, b.added[lost])
	lost = b.startAdd("orders", next, two)
	b.c.Resign(b.now, 0, b.epoch, &b.out)
	b.settle()
	require.Equal(t, message.NotCoordinator, b.added[lost])
	require.Empty(t, b.c.asked)
}

// A question that has been answered, since the log did not take it in time, is over:
// when it is asked again, somebody waits again.
func TestAQuestionThatTheLogDidNotTakeInTimeIsHeldAnewWhenItIsRepeated(t *testing.T) {
	b := newBench(t, Config{HoldTime: message.Minute, MaxHeld: 1})
	who := b.identify("orders")
	b.add("orders", who, one)
	b.mute = true
	next := b.finished("orders", who, true)
	b.hold = true
	asked := b.startAdd("orders", next, one)
	b.pass(5 * message.Second)
	b.answered(asked, message.RequestTimedOut)
	for range 2 {
		b.request = asked - 1
		b.startAdd("orders", next, one)
		require.NotContains(t, b.added, asked, "it is neither refused, nor answered before the marker is there")
		require.Equal(t, 1, b.c.Views()[0].Held)
	}
	b.release()
	b.answered(asked, message.None)
	require.Equal(t, "Ongoing", b.phase("orders"))
	require.Equal(t, []marker{{Identity{101, 1}, true, 1}}, b.parts[one].markers)
	b.sound()
}

// answered takes the answer to an AddToTransaction off the wire, if it is there, and
// forgets it.
func (b *bench) answered(request uint64, code message.Code) {
	b.t.Helper()
	for i := len(b.wire) - 1; i >= 0; i-- {
		if _, ok := b.wire[i].Msg.(*message.AddedToTransaction); ok {
			b.deliver(i)
		}
	}
	require.Contains(b.t, b.added, request)
	require.Equal(b.t, code, b.added[request])
	delete(b.added, request)
}

func TestWhatWaitsForAnEndBeginsWithTheNextCoordinatorToo(t *testing.T) {
	for _, kept := range []bool{true, false} {
		b := newBench(t, Config{})
		who := b.identify("orders")
		b.add("orders", who, one)
		b.mute = true
		next := b.finished("orders", who, true)
		sent := b.wire
		b.wire = nil
		added := b.startAdd("orders", next, one)
		again := b.startAdd("orders", next, two)
		require.Empty(t, b.wire, "its records may not come before the marker")
		b.hold = true // nothing that comes now is committed
		b.wire = sent
		for len(b.wire) > 0 {
			b.deliver(0)
			b.settle()
		}
		require.Equal(t, message.None, b.added[added], "both are done: that it waits, and the marker")
		require.Equal(t, message.None, b.added[again])
		if kept {
			b.takeOver()
		} else {
			b.failover()
		}
		b.hold = false
		b.release()
		require.Equal(t, "Ongoing", b.phase("orders"))
		require.Equal(t, []marker{{Identity{101, 1}, true, 1}}, b.parts[one].markers, "written again, and known")
		b.finished("orders", next, false)
		require.Equal(t, Identity{101, 2}, b.parts[one].markers[1].Identity, "nothing of it hangs")
		require.Equal(t, Identity{101, 2}, b.parts[two].markers[0].Identity)
		require.Equal(t, "CompleteAbort", b.phase("orders"))
		b.sound()
	}
}

func TestQuestionsThatComeTogetherAreOneRecord(t *testing.T) {
	b := newBench(t, Config{})
	who := b.identify("orders")
	b.hold = true
	asked := []uint64{b.startAdd("orders", who, one), b.startAdd("orders", who, two)}
	first := len(b.log)
	b.hold = false
	b.release()
	require.Equal(t, message.None, b.added[asked[0]])
	require.Equal(t, message.None, b.added[asked[1]], "the first time the second one was a record of its own")
	who = b.finished("orders", who, true)

	require.Equal(t, 3, first)
	before := len(b.log)
	asked = []uint64{b.startAdd("orders", who, two), b.startAdd("orders", who, two), b.startAdd("orders", who, one)}
	require.Len(t, b.log, before+1)
	for _, request := range asked {
		require.Equal(t, message.None, b.added[request])
	}
	who = b.finished("orders", who, true)

	late := b.startAdd("orders", who, one)
	require.NotContains(t, b.added, late)
	require.Equal(t, "CompleteCommit", b.phase("orders"))
	require.Equal(t, 1, b.c.Views()[0].Held)
	b.pass(message.Millisecond)
	require.Equal(t, message.None, b.added[late], "the other one is not used this time")
	require.Equal(t, message.None, b.add("orders", who, two), "or later")
	who = b.finished("orders", who, true)
	alone := b.startAdd("orders", who, one)
	require.Equal(t, message.None, b.added[alone], "so it is not waited for again")
	b.startAdd("orders", who, two)
	who = b.finished("orders", who, true)

	b.add("orders", who, one, two)
	who = b.finished("orders", who, true)
	late = b.startAdd("orders", who, one)
	require.Equal(t, message.None, b.finish("orders", who, false).Code, "an end is not kept waiting, and counts")
	require.Equal(t, message.None, b.added[late])
	require.Len(t, b.parts[one].markers, 6)

	who.Epoch++
	lost := b.startAdd("orders", who, two)
	b.c.Resign(b.now, 0, b.epoch, &b.out)
	b.settle()
	require.Equal(t, message.NotCoordinator, b.added[lost])
	require.Equal(t, message.Never, b.c.Wake())
	b.sound()
}
