package sim

import (
	"bytes"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/storage/vfs/simdisk"
)

// story plays a plan, demands that it passes, and returns how often each mark
// was reached.
func story(t *testing.T, p *Plan) map[string]uint64 {
	t.Helper()
	r := Run(p, Options{})
	if r.Failure != nil {
		t.Fatal(r.Failure.Sentence)
	}
	marks := map[string]uint64{}
	for _, m := range r.Marks {
		marks[m.Name] = m.Count
	}
	return marks
}

// A voter's journal is damaged; it crashes, finds out, says so and takes no part
// until an operator gives it an empty disk; then it is let in again.
func TestAVoterWithADamagedJournalTakesNoPartUntilItsDiskIsReplaced(t *testing.T) {
	marks := story(t, smallPlan(
		Fault{At: 3 * Second, For: 3 * Second, Kind: DamageJournal, Node: 2},
		Fault{At: 4 * Second, For: 100 * Millisecond, Kind: Crash, Node: 2}))
	require.Positive(t, marks["the journal of a voter was damaged"])
	require.Positive(t, marks["a voter with a damaged journal took no part"])
	require.EqualValues(t, 1, marks["a disk was swapped for an empty one"])
	require.EqualValues(t, 1, marks["a controller lost its disk and came back as one that had voted"])
	require.EqualValues(t, 1, marks["fault: damage-journal"])
}

func TestFewerThanHalfOfTheVotersMayForget(t *testing.T) {
	w := newWorld(smallPlan(), Options{})
	require.True(t, w.atlas.mayForget(w.nodes[1]))
	w.atlas.ails[2].journal = true
	require.False(t, w.atlas.mayForget(w.nodes[1]))
	require.True(t, w.atlas.mayForget(w.nodes[2]), "the same one again")
}

func TestAnEmptyDiskOfAVoterIsSurvived(t *testing.T) {
	p := smallPlan(Fault{At: 4 * Second, For: 100 * Millisecond, Kind: SwapDisk, Target: "controller"})
	require.Zero(t, story(t, p)["a disk was swapped for an empty one"], "voters keep theirs unless the plan says otherwise")
	p.Cluster.SwapVoters = true
	marks := story(t, p)
	require.EqualValues(t, 1, marks["a disk was swapped for an empty one"])
	require.EqualValues(t, 1, marks["a controller lost its disk and came back as one that had voted"])
}

func TestACrashInsideARenameWaitsForOne(t *testing.T) {
	p := smallPlan(Fault{At: 3 * Second, For: 100 * Millisecond, Kind: CrashInside, Node: 1, Strength: 6})
	p.Cluster.Tidy = 8
	marks := story(t, p)
	require.EqualValues(t, 1, marks["crashed inside a file operation"])
	require.EqualValues(t, 1, marks["a machine lost power"])
}

func TestANodeComesBackWithOtherSettings(t *testing.T) {
	s := &Settings{Timing: TimingPlan{ReplicaLag: 3 * Second}, Tidy: 5, Marks: 1}
	p := smallPlan(Fault{At: 3 * Second, For: 100 * Millisecond, Kind: Retune, Node: 1, Settings: s})
	marks := story(t, p)
	require.EqualValues(t, 1, marks["a node was started with other timeouts or bounds"])
	require.EqualValues(t, 1, marks["shut down in good order"])

	w := newWorld(p, Options{})
	n := w.nodes[1]
	require.EqualValues(t, Second, w.coreConfig(n, 1).Timing.ReplicaLag)
	n.settings = s
	cfg := w.coreConfig(n, 1)
	require.EqualValues(t, 3*Second, cfg.Timing.ReplicaLag)
	require.EqualValues(t, p.Timing.BrokerSession, cfg.Timing.SessionTimeout, "the plan holds where they say nothing")
	require.Equal(t, 5, cfg.Tidying.CheckpointBatches)
	require.Equal(t, 1, n.drive.options().MarksEvery)
}

func TestAWriteThatFailsHaltsTheNode(t *testing.T) {
	marks := story(t, smallPlan(Fault{At: 3 * Second, For: 2 * Second, Kind: FailWrite, Node: 1}))
	require.Positive(t, marks["a write failed half way"])
	require.Positive(t, marks["halted on a failed disk"])
}

func TestANodeOutOfReachForGoodIsNotMissed(t *testing.T) {
	p := smallPlan()
	p.Cluster.Nodes = 4
	p.Phases.CutOff = []int{2}
	require.EqualValues(t, 1, story(t, p)["a running node was left out of reach for good"])
}

func TestLinksOverflowAndBreakWithoutAWord(t *testing.T) {
	marks := story(t, smallPlan(
		Fault{At: 3 * Second, For: 3 * Second, Kind: NarrowLink, Strength: 1},
		Fault{At: 6 * Second, For: 2 * Second, Kind: HalfOpen, Strength: 20}))
	require.Positive(t, marks["a queue of the network overflowed"])
	require.Positive(t, marks["a connection was left half open"])
}

// Damage beside the records is made good by recovery: the copy counts again.
// Damage to records is not, and a copy that did not count before does not either.
func TestDamageBesideTheRecordsIsMadeGood(t *testing.T) {
	s := newStage(t)
	folder := itoa(int(part.Topic)) + "-" + itoa(int(part.Index)) + "/"
	n := s.nodes[2]
	s.book.replica(2, part).exists = true
	well := &effect.RecoveredLog{ID: part}

	s.atlas.damageBeside(n, folder+"checkpoint")
	require.False(t, s.atlas.clean(2, part))
	s.atlas.repairs(2, &effect.RecoveredLog{ID: part, Damage: "the log begins behind it"})
	require.False(t, s.atlas.clean(2, part), "storage gave it up")
	s.atlas.repairs(2, well)
	require.True(t, s.atlas.clean(2, part))
	require.False(t, s.atlas.hurt(2))

	s.atlas.damageBeside(n, folder+"epochs")
	s.atlas.damage(n, simdisk.Damage{Path: folder + "00000000000000000000.log"})
	s.atlas.repairs(2, well)
	require.False(t, s.atlas.clean(2, part), "records were hit, too")

	s.atlas.swapped(n)
	s.book.replica(2, part).exists = true
	s.atlas.damageBeside(n, folder+"epochs")
	s.atlas.repairs(2, well)
	require.False(t, s.atlas.clean(2, part), "it has still to catch up after the swap")
}

// A recovery that finds no checkpoint although one was damaged has to say so, if the
// log does not begin with its first record: unless a checkpoint was written since, or
// the log was cut.
func TestALostCheckpointIsNotPassedOver(t *testing.T) {
	folder := itoa(int(part.Topic)) + "-" + itoa(int(part.Index)) + "/"
	for name, c := range map[string]struct {
		found effect.RecoveredLog
		path  string
		cut   effect.Cut
		fails bool
	}{
		"passed over":              {effect.RecoveredLog{ID: part, Start: 5}, "checkpoint", 0, true},
		"told":                     {effect.RecoveredLog{ID: part, Start: 5, Damage: "the checkpoint cannot be read"}, "checkpoint", 0, false},
		"written anew":             {effect.RecoveredLog{ID: part, Start: 5, Checkpoint: []byte{1}}, "checkpoint", 0, false},
		"the records tell as much": {effect.RecoveredLog{ID: part}, "checkpoint", 0, false},
		"cut since":                {effect.RecoveredLog{ID: part, Start: 5}, "checkpoint", 1, false},
		"something else was hit":   {effect.RecoveredLog{ID: part, Start: 5}, "epochs", 0, false},
		"of another log":           {effect.RecoveredLog{ID: record.PartitionID{Topic: 99}, Start: 5}, "checkpoint", 0, false},
	} {
		s := newStage(t)
		s.book.replica(2, part).exists = true
		s.atlas.damageBeside(s.nodes[2], folder+c.path)
		s.book.replica(2, part).cut = c.cut
		(&damageSeen{}).Started(s.World, s.nodes[2], &effect.Recovered{Logs: []effect.RecoveredLog{c.found}})
		require.Equal(t, c.fails, s.failure != nil, name)
	}
}

// A stray write is refused as a fault only if nothing could tell.
func TestAStrayWriteThatIsASoundBatchIsNoFault(t *testing.T) {
	a, b, other := batch(0, 1, "first"), batch(1, 1, "second"), batch(40, 1, "a stray one")
	log := slices.Concat(a, b)
	written := func(at int, what []byte) []byte {
		after := append(bytes.Clone(log), make([]byte, 200)...)
		copy(after[at:], what)
		return after
	}
	require.False(t, showsStray("", log, written(len(a)+8, other[8:])), "all but the offset")
	require.True(t, showsStray("", log, written(len(a), other)), "the offset tells")
	require.True(t, showsStray("", log, written(len(a)+8, other[8:20])), "the checksum tells")
	require.True(t, showsStray("", log, written(0, nil)), "the same as before")
}

// A node that is told to stop may take its time. Until its next run it goes by what it
// was started with, and so it is judged.
func TestANodeIsJudgedByTheSettingsOfItsRun(t *testing.T) {
	w, n, _ := benched(t)
	w.plan.Timing.Election = Second
	election := func() Span { return n.settings.over(w.plan.Timing).Election }
	n.retuned = &Settings{Tidy: 5, Timing: TimingPlan{Election: 2 * Second}}
	require.Zero(t, n.tidy(), "the plan has no bound, and no run has begun since")
	require.Equal(t, Second, election())
	n.die(death{})
	n.start()
	n.retuned = &Settings{Tidy: 9, Timing: TimingPlan{Election: 3 * Second}}
	require.Equal(t, 5, n.tidy())
	require.Equal(t, 2*Second, election())
	require.Nil(t, w.failure)
}
