package sim

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/chance"
	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/storage/vfs/simdisk"
)

func TestAFailedOperationIsToldAndNotPassedOver(t *testing.T) {
	w, n, core := benched(t)
	core.ask(n, effect.CreateLog{Log: part}, appending(0, batch(0, 1, "a")))
	settle(w)
	w.atlas.ails[1].failing = true
	d := &n.drive
	d.disk.FailOp(simdisk.OpSync, 1, d.rare)
	core.ask(n, flush(0))
	settle(w)
	require.IsType(t, effect.DiskFailed{}, core.got[len(core.got)-1])
	require.Positive(t, w.marks[markOpFailed])
	require.Contains(t, w.failure.Sentence, "does not halt", "the toy")
	w.failure = nil

	fail := func() {
		d.disk.FailOp(simdisk.OpSyncDir, 1, d.rare)
		require.ErrorIs(t, d.disk.SyncDir(""), simdisk.ErrIO)
	}
	fail()
	d.heard("a read", true, nil)
	require.Nil(t, w.failure, "what reads do besides may fail")
	d.heard("an append", false, nil)
	require.Nil(t, w.failure, "and stays between them and the disk")
	fail()
	d.heard("an append", false, nil)
	require.Equal(t, "INV-37", w.failure.Invariant)
	require.Contains(t, w.failure.Sentence, "an append says nothing of it")
	w.failure = nil
	d.heard("an append", false, nil)
	require.Nil(t, w.failure, "it is said once")
	fail()
	d.heard("a read", true, nil)
	d.heard("an append", false, simdisk.ErrIO)
	require.Nil(t, w.failure)
}

// A node that has lost all its marks knows of no log any more what was durable: it
// says so, and gets them from the others.
func TestANodeWithoutMarksGetsItsLogsAnew(t *testing.T) {
	for _, what := range []int{markTwice, marksGone} {
		marks := story(t, smallPlan(
			Fault{At: 4 * Second, Kind: DamageRoot, Node: 2, Strength: what},
			Fault{At: 4*Second + Millisecond, For: 100 * Millisecond, Kind: Crash, Node: 2}))
		require.EqualValues(t, 1, marks["what a node keeps of itself was damaged"])
		require.Positive(t, marks["damage was found by recovery"])
	}
}

func TestWhatANodeKeepsTwiceIsNotMissedOnce(t *testing.T) {
	for _, what := range []int{markOnce, identityOnce} {
		marks := story(t, smallPlan(
			Fault{At: 4 * Second, Kind: DamageRoot, Node: 2, Strength: what},
			Fault{At: 4*Second + Millisecond, For: 100 * Millisecond, Kind: Crash, Node: 2}))
		require.EqualValues(t, 1, marks["what a node keeps of itself was damaged"])
		require.Zero(t, marks["damage was found by recovery"])
	}
}

func TestAFolderOrAnEndThatIsLostIsFound(t *testing.T) {
	for _, kind := range []FaultKind{LoseFolder, CutFile} {
		marks := story(t, smallPlan(
			Fault{At: 4 * Second, Kind: kind, Node: 2},
			Fault{At: 4*Second + 100*Millisecond, For: 100 * Millisecond, Kind: Crash, Node: 2}))
		require.EqualValues(t, 1, marks["flushed data was damaged"])
		require.Positive(t, marks["damage was found by recovery"])
	}
}

// Not when the faults are over before it comes: then nothing fails any more.
func TestAStartThatFailsIsTriedAgain(t *testing.T) {
	const spoken = "a failure of a file operation was spoken of"
	fault := Fault{At: 4 * Second, For: 100 * Millisecond, Kind: FailRecovery, Node: 2, Strength: 3}
	require.EqualValues(t, 1, story(t, smallPlan(fault))[spoken])
	fault.At, fault.For = 7900*Millisecond, 200*Millisecond
	require.Zero(t, story(t, smallPlan(fault))[spoken])
}

// heedless is a machine that answers whatever it gets.
type heedless struct{ toy }

func (h *heedless) Step(now message.Now, in effect.Input, out *effect.Out) {
	if _, ok := in.(effect.Received); ok {
		out.Send(2, &message.ReplicaProgress{})
	}
}

func TestWhoActsOnAMessageThatIsNotForItIsRefused(t *testing.T) {
	w, n, _ := benched(t)
	good := &message.Quorum{Data: []byte{1, 0x85, 0x02, 7, 7, 7}}
	n.stray(2, good)
	require.Zero(t, w.marks[markStray], "the plan does not ask for it")
	w.plan.Network.Stray = 1
	n.stray(2, &message.ReplicaProgress{})
	require.Zero(t, w.marks[markStray], "only controllers check where it is from")
	n.stray(2, good)
	require.EqualValues(t, 1, w.marks[markStray])
	require.Nil(t, w.failure)
	n.core = &heedless{}
	n.stray(2, good)
	require.Equal(t, "INV-22", w.failure.Invariant)
	require.Contains(t, w.failure.Sentence, "asks for 1 effects because of a message that is ")
}

func TestStrayFramesAreNeverGoodOnes(t *testing.T) {
	good := []byte{1, 0x85, 0x02, 7, 7, 7}
	seen := map[string]bool{}
	random := chance.New(1)
	for range 1000 {
		frame, what := strayFrame(good, func(n int) int { return int(random.Below(int64(n))) })
		require.NotEqual(t, good, frame, what)
		seen[what] = true
	}
	require.Len(t, seen, 5)
	require.Equal(t, []byte{1, 0x85, 0x02, 7, 7, 7}, good)
}

func TestCopiesAreSpoiltAndWhatWasSentIsNot(t *testing.T) {
	s := newStage(t)
	n := s.nodes[1]
	sent := &message.ReplicaFetchReply{Partitions: []message.ReplicaFetchedPartition{
		{ID: part, Records: batch(0, 1, "one")}, {ID: part}, {ID: part, CarryOver: []byte{1, 2, 3, 4}},
	}}
	require.Same(t, sent, n.spoilCopy(sent), "the plan does not ask for it")
	s.plan.Network.SpoilCopies = 1
	got := n.spoilCopy(sent).(*message.ReplicaFetchReply)
	require.Equal(t, batch(0, 1, "one"), sent.Partitions[0].Records)
	require.NotEqual(t, sent.Partitions[0].Records, got.Partitions[0].Records)
	require.Empty(t, got.Partitions[1].Records)
	require.Equal(t, sent.Partitions[2].CarryOver[:len(got.Partitions[2].CarryOver)], got.Partitions[2].CarryOver)
	s.phase = draining
	require.Same(t, sent, n.spoilCopy(sent))
}
