package hunt

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// tree is a module with a cmd/simrun that does nothing.
func tree(t *testing.T) string {
	root := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":             "module example.com/m\n\ngo 1.26\n",
		"core/hw.go":         "package core\n\nfunc Safe(isr, min int) bool {\n\treturn isr >= min\n}\n",
		"cmd/simrun/main.go": "package main\n\nimport \"example.com/m/core\"\n\nfunc main() { println(core.Safe(1, 2)) }\n",
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

func (s scripted) FirstFailure(_ context.Context, binary string, first uint64, count int) (*Failing, error) {
	edited := filepath.Base(filepath.Dir(binary)) != "unedited"
	if s.invariant == "" || !edited && !s.always || first+uint64(count) <= 4 {
		return nil, nil
	}
	return &Failing{Seed: 4, Tried: int(4-first) + 1, Invariant: s.invariant, Sentence: "it broke"}, nil
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
		h := Hunter{Root: root, Work: t.TempDir(), Runner: c.runner, First: 1}
		o := h.Hunt(t.Context(), bugs[0])
		require.Equal(t, c.want, o.Verdict, "%+v", o)
		if c.want != Missed {
			require.Equal(t, uint64(4), o.Seed)
			require.Equal(t, 4, o.Seeds)
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
	h := Hunter{Root: root, Work: t.TempDir(), Runner: scripted{invariant: "INV-5"}, First: 1}

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
