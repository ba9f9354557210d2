package hunt

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// told is a simulator that says what a test wants it to say, by edit and seed,
// and notes what it was asked.
type told struct {
	lines map[int]map[uint64]Line
	lock  sync.Mutex // seeds without an edit are run side by side
	asked map[int][]uint64
}

func (s *told) Series(_ context.Context, _ string, edit int, seeds []uint64, each func(Line) bool) error {
	for _, seed := range seeds {
		s.lock.Lock()
		s.asked[edit] = append(s.asked[edit], seed)
		s.lock.Unlock()
		line, ok := s.lines[edit][seed]
		if !ok {
			line = s.lines[0][seed]
		}
		if line.Seed = seed; !each(line) {
			return nil
		}
	}
	return nil
}

func failing(invariant string) Line {
	var l Line
	l.fail(invariant, "it broke")
	l.CPU = time.Second
	return l
}

// packed is a pack of n mutants over the seeds 1 to 6, of which seed 5 fails by
// itself.
func packed(t *testing.T, n int, s *told) *Pack {
	root := tree(t)
	source, err := os.ReadFile(filepath.Join("..", "internal", "edited", "edited.go"))
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Join(root, "internal", "edited"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(root, "internal", "edited", "edited.go"), source, 0o644))
	c, err := NewChecker(root, "./...")
	require.NoError(t, err)
	drawn, err := c.Draw([]string{"core"}, nil, n, 1)
	require.NoError(t, err)
	s.asked = map[int][]uint64{}
	p, err := NewPack(t.Context(), c, t.TempDir(), s, 2, drawn, []uint64{1, 2, 3, 4, 5, 6})
	require.NoError(t, err)
	require.Equal(t, []uint64{5}, p.Failed)
	return p
}

// TestAMutantIsHuntedWithTheSeedsThatReachIt: those that come there most often
// for what they cost come first, none that the code fails without it, and it ends
// with the first that fails.
func TestAMutantIsHuntedWithTheSeedsThatReachIt(t *testing.T) {
	s := &told{lines: map[int]map[uint64]Line{
		0: {
			1: {Hash: 11, Events: 100, Reached: map[int]uint64{1: 1, 2: 1}},
			2: {Hash: 12, Events: 100, Reached: map[int]uint64{2: 1}},
			3: {Hash: 13, Events: 50, Reached: map[int]uint64{1: 9}},
			4: {Hash: 14, Events: 100, Reached: map[int]uint64{1: 9}},
			5: failing("INV-9"),
			6: {Hash: 16, Events: 100, Reached: map[int]uint64{1: 1}},
		},
		1: {4: {Hash: 99, CPU: time.Second}, 1: failing("INV-5")},
		2: {1: {Hash: 11, CPU: time.Second}},
	}}
	p := packed(t, 2, s)

	f := p.Hunt(t.Context(), 0, 0)
	require.Equal(t, []uint64{3, 4, 1}, s.asked[1])
	f.Mutant = Mutant{}
	require.Equal(t, Fate{Hunted: true, Killed: true, Invariant: "INV-5", Sentence: "it broke", Seed: 1, Seeds: 3, Reaching: 4, Differing: 1, CPU: 2 * time.Second}, f)

	f = p.Hunt(t.Context(), 1, 0)
	require.Equal(t, []uint64{1, 2}, s.asked[2])
	f.Mutant = Mutant{}
	require.Equal(t, Fate{Hunted: true, Seeds: 2, Reaching: 2, CPU: time.Second}, f)

	require.Equal(t, 1, p.Hunt(t.Context(), 1, time.Second).Seeds, "no more than its processor time")
}

func TestAMutantThatNoSeedReachesIsNotHunted(t *testing.T) {
	s := &told{lines: map[int]map[uint64]Line{0: {5: failing("INV-9")}, 1: {1: failing("INV-5")}}}
	f := packed(t, 1, s).Hunt(t.Context(), 0, 0)
	require.Empty(t, s.asked[1])
	require.Equal(t, []any{true, false, 0, 0}, []any{f.Hunted, f.Killed, f.Seeds, f.Reaching})
	require.Equal(t, "never reached: the workload is blind here", f.course())
}

// TestAnEditThatChangesNothingIsGivenUpEarly: the seeds after the hundredth are
// spared when none of them took another course.
func TestAnEditThatChangesNothingIsGivenUpEarly(t *testing.T) {
	s := &told{lines: map[int]map[uint64]Line{0: {5: failing("INV-9")}}, asked: map[int][]uint64{}}
	p := packed(t, 1, s)
	for seed := range uint64(250) {
		p.order[0] = append(p.order[0], 100+seed)
	}
	f := p.Hunt(t.Context(), 0, 0)
	require.Equal(t, []any{false, 100, 250}, []any{f.Killed, f.Seeds, f.Reaching})
	require.Equal(t, "reached by 250 seeds, and the 100 that were run take the same course with it", f.course())

	s.lines[1] = map[uint64]Line{107: {Hash: 9}}
	f = p.Hunt(t.Context(), 0, 0)
	require.Equal(t, []any{false, 250, 1}, []any{f.Killed, f.Seeds, f.Differing})
}

// TestAnInterruptedSampleGoesOn: what is in its file was hunted and is kept, the
// rest is found again, also where lines have moved since.
func TestAnInterruptedSampleGoesOn(t *testing.T) {
	root := tree(t)
	at := filepath.Join(root, "core", "hw.go")
	require.NoError(t, os.WriteFile(at, []byte("package core\n\nfunc Safe(isr, min int) bool {\n\tif isr > 9 {\n\t\treturn true\n\t}\n\tif isr > 9 {\n\t\treturn true\n\t}\n\treturn isr >= min\n}\n"), 0o644))
	c, err := NewChecker(root, "./...")
	require.NoError(t, err)
	p, err := c.parse("core", nil)
	require.NoError(t, err)
	s := &Sample{Seed: 7, Dirs: []string{"core"}, Budget: 3}
	for _, m := range p.mutations() {
		if m.Operator == NoReturn || m.Operator == Turned {
			s.Fates = append(s.Fates, Fate{Mutant: Mutant{Mutation: m}})
		}
	}
	require.Len(t, s.Fates, 5) // if, return, if, return, return
	s.Fates[0].Hunted, s.Fates[0].Killed = true, true
	s.Fates[1].Hunted = true
	file := filepath.Join(t.TempDir(), "sample.json")
	require.NoError(t, s.Write(file))

	require.NoError(t, os.WriteFile(at, []byte("package core\n\n// It has moved.\nfunc Safe(isr, min int) bool {\n\tif isr > 9 {\n\t\treturn true\n\t}\n\tif isr > 9 {\n\t\treturn true\n\t}\n\treturn isr == min\n}\n"), 0o644))
	s, err = ReadSample(file)
	require.NoError(t, err)
	open, err := s.Open(c)
	require.NoError(t, err)
	require.Equal(t, []int{2, 3}, open)
	require.Equal(t, []int{8, 9}, []int{s.Fates[2].Line, s.Fates[3].Line}, "the second of two that read alike")
	require.Equal(t, []any{true, "the code has changed there"}, []any{s.Fates[4].Hunted, s.Fates[4].Detail})

	s.Reopen()
	open, err = s.Open(c)
	require.NoError(t, err)
	require.Equal(t, []int{1, 2, 3}, open, "all but the one that was killed, and the one that is gone")
}

// TestASeriesOutlivesItsProcesses: a seed that takes the process down fails, and
// the rest is run by the next one.
func TestASeriesOutlivesItsProcesses(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "simrun")
	require.NoError(t, os.WriteFile(binary, []byte(`#!/bin/sh
shift 5
for seed; do
	if [ $seed = 2 ]; then echo fatal error: stack overflow >&2; exit 2; fi
	echo '{"seed":'$seed',"hash":'$SIMRUN_EDIT'}'
done
`), 0o755))
	var got []Line
	require.NoError(t, Processes{}.Series(t.Context(), binary, 8, []uint64{1, 2, 3}, func(l Line) bool {
		l.CPU = 0
		got = append(got, l)
		return true
	}))
	died := Line{Seed: 2}
	died.fail("died", "fatal error: stack overflow\n")
	require.Equal(t, []Line{{Seed: 1, Hash: 8}, died, {Seed: 3, Hash: 8}}, got)

	require.NoError(t, os.WriteFile(binary, []byte("#!/bin/sh\necho unknown command >&2\nexit 2\n"), 0o755))
	require.ErrorContains(t, Processes{}.Series(t.Context(), binary, 0, []uint64{1}, nil), "unknown command")
}

func TestASampleIsMadeOfTheEditsThatWereJudgedSo(t *testing.T) {
	judged := []Judged{
		{Mutation: Mutation{File: "a.go", Before: "x", After: "y"}, Verdict: Blind},
		{Mutation: Mutation{File: "b.go", Before: "x", After: "y"}, Verdict: Closed},
		{Mutation: Mutation{File: "c.go", Before: "x", Nth: 1}, Verdict: Blind},
	}
	s := SampleOf(judged, Blind)
	require.Len(t, s.Fates, 2)
	require.Equal(t, judged[0].Mutation, s.Fates[0].Mutation)
	require.Equal(t, judged[2].Mutation, s.Fates[1].Mutation)
	require.False(t, s.Fates[0].Hunted)
	require.Empty(t, SampleOf(judged, Equivalent).Fates)
}
