package hunt

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// tree is a module with a cmd/simrun that does nothing.
func tree(t *testing.T) string {
	root := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":             "module example.com/m\n\ngo 1.26\n",
		"core/hw.go":         "package core\n\nfunc Safe(isr, min int) bool {\n\treturn isr >= min\n}\n",
		"cmd/simrun/main.go": "package main\n\nimport (\n\t\"fmt\"\n\n\t\"example.com/m/core\"\n)\n\nfunc main() { fmt.Println(core.Safe(1, 2)) }\n",
	} {
		at := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(at), 0o755))
		require.NoError(t, os.WriteFile(at, []byte(text), 0o644))
	}
	return root
}

const bugText = `source: somewhere
area: election
what: the minimum is ignored
usersSee: records are lost
invariants: [INV-5]
edits:
  - file: core/hw.go
    find: return isr >= min
    replace: return true
seeds: 10
`

// scripted plays a simulator: binaries that were built from edited code fail
// seed 4 by an invariant.
type scripted struct {
	invariant string
	always    bool
}

func (s scripted) FirstFailure(_ context.Context, binary string, first uint64, count int) (Search, error) {
	edited := filepath.Base(filepath.Dir(binary)) != "unedited"
	if s.invariant == "" || !edited && !s.always || first > 4 || first+uint64(count) <= 4 {
		return Search{Tried: count, CPU: time.Second}, nil
	}
	return Search{Failing: &Failing{Seed: 4, Invariant: s.invariant, Sentence: "it broke"}, Tried: int(4-first) + 1, CPU: time.Second}, nil
}

func loaded(t *testing.T, text string) ([]Bug, error) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "b.yaml"), []byte(text), 0o644))
	return Load(dir)
}

func TestAKillCountsOnlyWhenEverythingIsRight(t *testing.T) {
	bugs, err := loaded(t, bugText)
	require.NoError(t, err)
	root := tree(t)
	for _, c := range []struct {
		runner scripted
		want   Verdict
	}{
		{scripted{invariant: "INV-5"}, Found},
		{scripted{}, Missed},
		{scripted{invariant: "INV-9"}, Mistaken},
		{scripted{invariant: "INV-5", always: true}, Flaky},
	} {
		h := Hunter{Root: root, Work: t.TempDir(), Runner: c.runner, Starts: []uint64{1}}
		o := h.Hunt(t.Context(), bugs[0])
		require.Equal(t, c.want, o.Verdict, "%+v", o)
		switch c.want {
		case Found:
			require.Equal(t, uint64(4), o.Best().Seed)
			require.Equal(t, 4, o.Seeds)
		case Mistaken:
			require.Equal(t, uint64(4), o.Best().Seed)
			require.Equal(t, 10, o.Seeds, "another seed may do better")
		default:
			require.Equal(t, 10, o.Seeds, "the whole budget")
		}
	}
	source, err := os.ReadFile(filepath.Join(root, "core/hw.go"))
	require.NoError(t, err)
	require.Contains(t, string(source), "isr >= min", "the working tree is not touched")
}

func TestAnEditThatNoLongerFitsIsRefused(t *testing.T) {
	bugs, err := loaded(t, bugText)
	require.NoError(t, err)
	root := tree(t)
	h := Hunter{Root: root, Work: t.TempDir(), Runner: scripted{invariant: "INV-5"}, Starts: []uint64{1}}

	bugs[0].Edits[0].Find = "return isr > min"
	o := h.Hunt(t.Context(), bugs[0])
	require.Equal(t, Unfit, o.Verdict)
	require.Contains(t, o.Detail, "stands 0 times in core/hw.go")

	bugs[0].Edits[0].Find = "isr"
	require.Contains(t, h.Hunt(t.Context(), bugs[0]).Detail, "stands 2 times")

	bugs[0].Edits[0].Find, bugs[0].Edits[0].Replace = "return isr >= min", "return 7"
	o = h.Hunt(t.Context(), bugs[0])
	require.Equal(t, Unfit, o.Verdict)
	require.Contains(t, o.Detail, "does not compile")
}

// What ran out of time says nothing about the bug: neither a compiler nor a
// simulator that was killed for that means that the edit does not fit.
func TestAHuntThatIsCutShortIsOutOfTime(t *testing.T) {
	bugs, err := loaded(t, bugText)
	require.NoError(t, err)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	root, work := tree(t), t.TempDir()

	h := Hunter{Root: root, Work: work, Runner: scripted{invariant: "INV-5"}, Starts: []uint64{1}}
	o := h.Hunt(over, bugs[0])
	require.Equal(t, []any{Late, "the code with b was still being compiled: context canceled"}, []any{o.Verdict, o.Detail})

	within, stop := context.WithCancel(t.Context())
	h.Runner, h.Starts = slow{stop}, []uint64{1, 1001}
	o = h.Hunt(within, bugs[0])
	require.Equal(t, []any{Late, "the seeds did not end", 1}, []any{o.Verdict, o.Detail, len(o.Trials)})

	// Nor does the next bug suffer when time ran out while the code without any was
	// being built, which is done once for all.
	_, err = h.unedited(over)
	require.ErrorIs(t, err, context.Canceled)
	h.Runner, h.Starts = scripted{invariant: "INV-5"}, []uint64{1}
	require.Equal(t, Found, h.Hunt(t.Context(), bugs[0]).Verdict)
}

// slow is a simulator during which time runs out.
type slow struct{ stop func() }

func (s slow) FirstFailure(context.Context, string, uint64, int) (Search, error) {
	s.stop()
	return Search{}, errors.New("the seeds did not end")
}

func TestAnEditMayNameThePackageOnly(t *testing.T) {
	bugs, err := loaded(t, bugText)
	require.NoError(t, err)
	root := tree(t)
	bugs[0].Edits[0].File = "core"
	texts, err := bugs[0].Mutated(root)
	require.NoError(t, err)
	require.Equal(t, map[string]string{"core/hw.go": "package core\n\nfunc Safe(isr, min int) bool {\n\treturn true\n}\n"}, texts)

	require.NoError(t, os.WriteFile(filepath.Join(root, "core/other.go"), []byte("package core // return isr >= min\n"), 0o644))
	_, err = bugs[0].Mutated(root)
	require.ErrorContains(t, err, "stands 2 times in core")
}

func TestABugFileSaysWhatItMust(t *testing.T) {
	for text, want := range map[string]string{
		"source: s\n": "names its source",
		"source: s\narea: a\nwhat: w\nusersSee: u\n":                                       "names the invariants",
		"source: s\narea: a\nwhat: w\nusersSee: u\ninvariants: [INV-5]\n":                  "at least one edit",
		"source: s\narea: a\nwhat: w\nusersSee: u\ninvariants: [five]\nedits: [{file: f}]": "no invariant",
		"sauce: s\n": "unknown field",
	} {
		_, err := loaded(t, text)
		require.ErrorContains(t, err, want, text)
	}
	_, err := Load(t.TempDir())
	require.ErrorContains(t, err, "holds no bugs")
}

// shaky is a simulator whose unedited code fails seed 2, and its edited code
// seeds 2 and 4.
type shaky struct{}

func (shaky) FirstFailure(_ context.Context, binary string, first uint64, count int) (Search, error) {
	fails := []uint64{2, 4}
	if filepath.Base(filepath.Dir(binary)) == "unedited" {
		fails = fails[:1]
	}
	for _, seed := range fails {
		if seed >= first && seed < first+uint64(count) {
			return Search{Failing: &Failing{Seed: seed, Invariant: "INV-5", Sentence: "it broke"}, Tried: int(seed-first) + 1}, nil
		}
	}
	return Search{Tried: count}, nil
}

func TestASeedThatTheUneditedCodeFailsIsPassedOver(t *testing.T) {
	bugs, err := loaded(t, bugText)
	require.NoError(t, err)
	h := Hunter{Root: tree(t), Work: t.TempDir(), Runner: shaky{}, Starts: []uint64{1}}
	o := h.Hunt(t.Context(), bugs[0])
	require.Equal(t, Found, o.Verdict)
	require.Equal(t, uint64(4), o.Best().Seed)
	require.Equal(t, 4, o.Seeds)
	require.Empty(t, o.Detail)
}

func TestAReportTellsTheLowestSeedThatFailed(t *testing.T) {
	var s Search
	require.NoError(t, s.read([]byte(`{"runs": 9, "lowest": {"seed": 17, "class": "safety",
		"failure": {"invariant": "INV-6", "sentence": "a member lacks records"}}}`), 11))
	require.Equal(t, Search{Failing: &Failing{Seed: 17, Invariant: "INV-6", Sentence: "a member lacks records"}, Tried: 7}, s)

	s = Search{}
	require.NoError(t, s.read([]byte(`{"runs": 9}`), 11))
	require.Equal(t, Search{Tried: 9}, s)

	require.ErrorContains(t, s.read([]byte(`{`), 11), "cannot be read")
}

// TestASimulatorThatDiesIsNoPass: what the edited code does to its process is a
// failure of its seeds; a process that could not be started properly is none.
func TestASimulatorThatDiesIsNoPass(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "simrun")
	require.NoError(t, os.WriteFile(binary, []byte("#!/bin/sh\necho unknown flag >&2\nexit 2\n"), 0o755))
	_, err := Campaigns{}.FirstFailure(t.Context(), binary, 1, 5)
	require.ErrorContains(t, err, "unknown flag")

	require.NoError(t, os.WriteFile(binary, []byte("#!/bin/sh\necho fatal error: stack overflow >&2\nexit 2\n"), 0o755))
	s, err := Campaigns{}.FirstFailure(t.Context(), binary, 3, 5)
	require.NoError(t, err)
	require.Equal(t, &Failing{Seed: 3, Invariant: "died", Sentence: "fatal error: stack overflow\n"}, s.Failing)
}

// starting finds the bug at once, late or never, as the first seed says.
type starting map[uint64]int

func (s starting) FirstFailure(_ context.Context, binary string, first uint64, count int) (Search, error) {
	n := s[first]
	if n == 0 || n > count || filepath.Base(filepath.Dir(binary)) == "unedited" {
		return Search{Tried: count, CPU: time.Duration(count) * time.Second}, nil
	}
	return Search{
		Failing: &Failing{Seed: first + uint64(n) - 1, Invariant: "INV-5", Sentence: "it broke"},
		Tried:   n, CPU: time.Duration(n) * time.Second,
	}, nil
}

func TestTheMedianOfSeveralStartsCounts(t *testing.T) {
	bugs, err := loaded(t, bugText)
	require.NoError(t, err)
	root := tree(t)
	h := Hunter{Root: root, Work: t.TempDir(), Runner: starting{100: 7, 200: 2, 300: 3}, Starts: []uint64{100, 200, 300}}
	o := h.Hunt(t.Context(), bugs[0])
	require.Equal(t, []any{Found, 3, 3 * time.Second, 3, false}, []any{o.Verdict, o.Seeds, o.CPU, o.FoundIn(), o.Thin()})

	h.Runner = starting{100: 7, 300: 3}
	o = h.Hunt(t.Context(), bugs[0])
	require.Equal(t, []any{Found, 7, 7 * time.Second, 2, true}, []any{o.Verdict, o.Seeds, o.CPU, o.FoundIn(), o.Thin()})

	h.Runner = starting{200: 2}
	o = h.Hunt(t.Context(), bugs[0])
	require.Equal(t, []any{Missed, 10, 1}, []any{o.Verdict, o.Seeds, o.FoundIn()})
}

// covered fails every seed of the code that lacks the guard as well.
type covered struct{ alone bool }

func (c covered) FirstFailure(_ context.Context, binary string, first uint64, count int) (Search, error) {
	if filepath.Base(filepath.Dir(binary)) != "unedited" {
		out, err := exec.Command(binary).CombinedOutput()
		if err != nil {
			return Search{}, err
		}
		if c.alone || string(out) == "true\n" {
			return Search{Failing: &Failing{Seed: first, Invariant: "INV-5", Sentence: "it broke"}, Tried: 1}, nil
		}
	}
	return Search{Tried: count}, nil
}

func TestAGuardedBugMustSurviveAndBeFoundWithoutItsGuard(t *testing.T) {
	bugs, err := loaded(t, `source: somewhere
area: election
what: the minimum is not as it should be
usersSee: nothing
invariants: [INV-5]
edits:
  - file: core/hw.go
    find: return isr >= min
    replace: return isr >= min && 1 > 2
guard:
  what: one is not more than two
  edits:
    - file: core/hw.go
      find: isr >= min && 1 > 2
      replace: isr < min
`)
	require.NoError(t, err)
	root := tree(t)
	h := Hunter{Root: root, Work: t.TempDir(), Runner: covered{}, Starts: []uint64{1}}
	o := h.Hunt(t.Context(), bugs[0])
	require.Equal(t, Guarded, o.Verdict, "%+v", o)

	h.Runner = covered{alone: true}
	o = h.Hunt(t.Context(), bugs[0])
	require.Equal(t, Exposed, o.Verdict)
	require.Contains(t, o.Detail, "although its guard is on: it broke")

	h.Runner = starting{}
	require.Equal(t, Missed, h.Hunt(t.Context(), bugs[0]).Verdict, "a guard that does not matter")
}

func TestTheScoreboardIsATable(t *testing.T) {
	page := filepath.Join(t.TempDir(), "scoreboard.md")
	bugs := []Bug{
		{Name: "a", Source: "KIP-1", Area: "group", What: "this |\nor that"},
		{Name: "b", Source: "ours", Area: "log", What: "x"},
		{Name: "c", Source: "ours", Area: "log", What: "y", Guard: &Guard{What: "z"}},
	}
	read := func(bugs []Bug) Board {
		board, err := BoardOf(page, bugs)
		require.NoError(t, err)
		return board
	}
	board := read(bugs)
	require.Empty(t, board, "there is no page")
	board.Add([]Outcome{
		{Bug: bugs[0], Verdict: Found, Seeds: 9, CPU: 3260 * time.Millisecond, Trials: []Trial{{Verdict: Found, Invariant: "INV-21", Seed: 9}}},
		{Bug: bugs[1], Verdict: Missed, Seeds: 50, CPU: time.Minute, Trials: []Trial{{Verdict: Missed}}},
		{Bug: bugs[2], Verdict: Guarded, Seeds: 2500, CPU: time.Minute, Trials: []Trial{{Verdict: Found, Invariant: "INV-5"}}},
	})
	require.NoError(t, board.Write(page))
	rows := []string{
		"| [a](../scenarios/bugs/a.yaml) | KIP-1 | group | this \\| or that | INV-21 | 1 | 9 | 3.3 | found |\n",
		"| [b](../scenarios/bugs/b.yaml) | ours | log | x |  | 1 | 50 | 60.0 | missed |\n",
		"| [c](../scenarios/bugs/c.yaml) | ours | log | y Guard: z | INV-5 | 1 | 2500 | 60.0 | guarded, thin |\n",
	}
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	require.Contains(t, string(text), "Of 3, 1 are found and 1 are guarded; 1 are not.")
	require.Contains(t, string(text), strings.Join(rows, ""))
	require.Equal(t, Board{"a": rows[0], "b": rows[1], "c": rows[2]}, read(bugs))

	// One is hunted again, and one is no more.
	board = read([]Bug{bugs[0], bugs[1]})
	two := []Trial{{Verdict: Found, Invariant: "INV-1", Seed: 3}, {Verdict: Missed}}
	board.Add([]Outcome{{Bug: bugs[1], Verdict: Found, Seeds: 7, CPU: time.Second, Trials: two}, {Bug: bugs[0], Verdict: Late}})
	require.NoError(t, board.Write(page))
	text, err = os.ReadFile(page)
	require.NoError(t, err)
	require.Contains(t, string(text), "Of 2, 2 are found and 0 are guarded; 0 are not.")
	require.Contains(t, string(text), rows[0]+"| [b](../scenarios/bugs/b.yaml) | ours | log | x | INV-1 | 2 | 7 | 1.0 | found from 1 of 2, thin |\n<!--")
}

// TestABugMaySitInAnotherModule: it is built with an edited copy of the module.
func TestABugMaySitInAnotherModule(t *testing.T) {
	if testing.Short() {
		t.Skip("builds simrun")
	}
	root, err := Root()
	require.NoError(t, err)
	bugs, err := loaded(t, `source: somewhere
area: controller
what: committed by count
usersSee: nothing
invariants: [INV-17]
edits:
  - file: go.etcd.io/raft/v3/log.go
    find: at.term != 0 && at.index > l.committed && l.matchTerm(at)
    replace: at.term != 0 && at.index > l.committed
`)
	require.NoError(t, err)
	texts, err := bugs[0].Mutated(root)
	require.NoError(t, err)
	work := t.TempDir()
	_, err = Build(t.Context(), root, work, "b", texts)
	require.NoError(t, err)
	copied, err := os.ReadFile(filepath.Join(work, "b", "module0", "log.go"))
	require.NoError(t, err)
	require.NotContains(t, string(copied), "l.committed && l.matchTerm(at)")
}
