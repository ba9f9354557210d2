package sim

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
)

// toy is a core that asks for what a test wants and notes what it is told.
type toy struct {
	asks []effect.Effect // with the next step
	got  []effect.Input
}

func (t *toy) Step(_ message.Now, in effect.Input, out *effect.Out) {
	t.got = append(t.got, in)
	out.List = append(out.List, t.asks...)
	t.asks = nil
}

func (t *toy) Wake() message.Time { return message.Never }

// benched is a node with a toy for a core.
func benched(t *testing.T) (*World, *Node, *toy) {
	core := &toy{}
	w := newWorld(smallPlan(), Options{machine: func(*Node, effect.Recovered) machine { return core }})
	w.observers, w.looks = nil, looks{}
	n := w.nodes[1]
	n.start()
	require.True(t, n.up)
	core.got = nil
	return w, n, core
}

// ask lets the toy ask for effects, at once.
func (t *toy) ask(n *Node, effects ...effect.Effect) {
	t.asks = effects
	n.step(effect.Tick{})
	t.got = t.got[:len(t.got)-1]
}

// settle runs all events of one node.
func settle(w *World) {
	for {
		at, e, ok := w.agenda.next()
		if !ok {
			return
		}
		w.now = at
		w.happen(&e)
	}
}

func flush(cut effect.Cut) effect.Flush { return effect.Flush{Log: part, Cut: cut} }

func TestCompletionsComeInOrderAndClaimWhatWasDone(t *testing.T) {
	w, n, core := benched(t)
	core.ask(n, effect.CreateLog{Log: part}, appending(0, batch(0, 1, "a")), flush(0))
	settle(w)
	require.Equal(t, []effect.Input{
		effect.Appended{Log: part, End: 1}, effect.Flushed{Log: part, End: 1},
	}, core.got)
}

func TestAFlushClaimsOnlyWhatWasAppendedWhenItBegan(t *testing.T) {
	w, n, core := benched(t)
	core.ask(n, effect.CreateLog{Log: part}, appending(0, batch(0, 1, "a")), flush(0))
	for !n.drive.flushBusy {
		at, e, ok := w.agenda.next()
		require.True(t, ok)
		w.now = at
		w.happen(&e)
	}
	core.ask(n, appending(1, batch(1, 1, "b")), flush(0))
	settle(w)
	require.Equal(t, []effect.Input{
		effect.Appended{Log: part, End: 1}, effect.Appended{Log: part, End: 2},
		effect.Flushed{Log: part, End: 1}, effect.Flushed{Log: part, End: 2},
	}, core.got)
}

func TestAFlushFromBeforeATruncationCarriesItsCount(t *testing.T) {
	w, n, core := benched(t)
	core.ask(n, effect.CreateLog{Log: part}, appending(0, batch(0, 1, "a")), appending(1, batch(1, 1, "b")), flush(0),
		effect.Truncate{Log: part, Cut: 1, To: 1}, flush(1))
	settle(w)
	require.Equal(t, []effect.Input{
		effect.Appended{Log: part, End: 1}, effect.Appended{Log: part, End: 2},
		effect.Flushed{Log: part, Cut: 0, End: 2}, effect.Flushed{Log: part, Cut: 1, End: 1},
	}, core.got)
}

func TestAReadSeesTheAppendBeforeItAndNotTheCutBehindIt(t *testing.T) {
	w, n, core := benched(t)
	a := batch(0, 1, "a")
	read := effect.Read{Token: 7, Slices: []effect.Slice{{Log: part, From: 0, To: 1, MaxBytes: 1 << 20}}}
	core.ask(n, effect.CreateLog{Log: part}, appending(0, a), read, effect.Truncate{Log: part, Cut: 1, To: 0})
	settle(w)
	require.Contains(t, core.got, effect.Input(effect.ReadDone{Token: 7, Results: []effect.ReadResult{{Batches: a}}}))
}

func TestNothingOfADeadProcessIsToldToTheNext(t *testing.T) {
	w, n, core := benched(t)
	core.ask(n, effect.CreateLog{Log: part}, appending(0, batch(0, 1, "a")), flush(0), effect.SaveQuorum{Seq: 1, Frame: []byte("f")})
	n.die(death{})
	n.start()
	core.got = nil
	settle(w)
	require.Empty(t, core.got)
}

func TestAFullDiskKeepsAppendsAndTakesThemLater(t *testing.T) {
	w, n, core := benched(t)
	core.ask(n, effect.CreateLog{Log: part})
	settle(w)
	n.drive.disk.SetCapacity(n.drive.disk.Used())
	core.ask(n, appending(0, batch(0, 1, "a")), flush(0))
	for range 3 {
		at, e, ok := w.agenda.next()
		require.True(t, ok)
		w.now = at
		w.happen(&e)
	}
	require.Equal(t, []effect.Input{effect.DiskSpace{Low: true}}, core.got)
	n.drive.disk.SetCapacity(0)
	settle(w)
	require.Equal(t, []effect.Input{
		effect.DiskSpace{Low: true}, effect.DiskSpace{Low: false},
		effect.Appended{Log: part, End: 1}, effect.Flushed{Log: part, End: 1},
	}, core.got)
}

func TestAPausedProcessDoesNothingAndLosesNothing(t *testing.T) {
	w, n, core := benched(t)
	core.ask(n, effect.CreateLog{Log: part}, appending(0, batch(0, 1, "a")))
	n.pause(5 * Second)
	for w.now < 4*Second {
		at, e, ok := w.agenda.next()
		require.True(t, ok)
		if at > 4*Second {
			w.agenda.add(at, e)
			break
		}
		w.now = at
		w.happen(&e)
	}
	require.Empty(t, core.got)
	settle(w)
	require.Equal(t, []effect.Input{effect.Appended{Log: part, End: 1}}, core.got)
}

func TestAFailedSyncIsToldAndTheNodeMustHalt(t *testing.T) {
	w, n, core := benched(t)
	core.ask(n, effect.CreateLog{Log: part}, appending(0, batch(0, 1, "a")))
	settle(w)
	w.atlas.ails[1].failing = true
	n.drive.disk.FailSync(1, n.drive.chaos)
	core.ask(n, flush(0))
	settle(w)
	require.IsType(t, effect.DiskFailed{}, core.got[len(core.got)-1])
	require.Equal(t, "INV-37", w.failure.Invariant) // the toy does not halt
}

func TestAStorageErrorOnADiskThatIsWellIsAFailure(t *testing.T) {
	w, n, core := benched(t)
	core.ask(n, effect.CreateLog{Log: part})
	settle(w)
	n.drive.disk.FailWrite(1, n.drive.chaos) // nobody told the atlas
	core.ask(n, appending(0, batch(0, 1, "a")))
	settle(w)
	require.Equal(t, "INV-11", w.failure.Invariant)
}
