package hunt

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// shapes holds functions of every shape that a copy has to be called for.
const shapes = `package core // with a comment behind it

import "fmt"

type list[T any] struct{ all []T }

func (l *list[T]) add(more ...T) int {
	l.all = append(l.all, more...)
	return len(l.all)
}

type quiet int

func (quiet) weigh(_ int, b int) int { return b + 2 }

func split(int, string) (left int, err error) {
	if left++; left > 0 {
		n, err := fmt.Sscan("7", &left)
		return n, err
	}
	defer func() { left += 5 }()
	return left, nil
}

func pick[K comparable, V any](m map[K]V, k K) (v V) {
outer:
	for i := 0; i < 3; i++ {
		for {
			switch {
			case i == 1:
				break outer
			default:
				continue outer
			}
		}
	}
	if len(m) > 1 {
		return m[k]
	}
	return v
}

// steps counts down, by calling itself.
func steps(n int, told *[]int) {
	if n < 1 {
		return
	} else if n == 2 {
		*told = append(*told, n)
	}
	steps(n-1, told)
}

func Everything() string {
	var l list[int]
	l.add(3, 4)
	var told []int
	steps(4, &told)
	left, err := split(1, "")
	return fmt.Sprint(l.add(1), quiet(1).weigh(2, 3), left, err, pick(map[string]int{"a": 1, "b": 2}, "b"), told)
}
`

// shapely is a module whose simrun prints what the shapes give, and how often
// each edit was reached.
func shapely(t *testing.T) string {
	root := tree(t)
	source, err := os.ReadFile(filepath.Join("..", "internal", "edited", "edited.go"))
	require.NoError(t, err)
	for name, text := range map[string]string{
		"core/shapes.go":            shapes,
		"internal/edited/edited.go": string(source),
		"cmd/simrun/main.go":        "package main\n\nimport (\n\t\"fmt\"\n\n\t\"example.com/m/core\"\n\t\"example.com/m/internal/edited\"\n)\n\nfunc main() { fmt.Println(core.Everything()); fmt.Println(edited.Reached()) }\n",
	} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o644))
	}
	return root
}

// said runs a binary with an edit switched on. The edits of the shapes may loop
// for good or eat the stack.
func said(binary string, edit int) string {
	cmd := exec.Command("timeout", "-s", "KILL", "2", binary)
	cmd.Env = append(os.Environ(), fmt.Sprintf("SIMRUN_EDIT=%d", edit), "GOMEMLIMIT=100MiB")
	out, _ := cmd.Output()
	first, _, _ := strings.Cut(string(out), "\n")
	return first
}

// TestWovenEditsDoWhatTheyDoAlone: one binary with all edits of a file does, for
// each of them, what the binary with that one edit does.
func TestWovenEditsDoWhatTheyDoAlone(t *testing.T) {
	root := shapely(t)
	c, err := NewChecker(root, "./...")
	require.NoError(t, err)
	all := 16
	if testing.Short() {
		all = 8
	}
	list, err := c.Draw([]string{"core"}, nil, all, 1)
	require.NoError(t, err)
	texts, err := c.weave(list)
	require.NoError(t, err)
	work := t.TempDir()
	woven, err := Build(t.Context(), root, work, "woven", texts)
	require.NoError(t, err, texts["core/shapes.go"])
	plain, err := Build(t.Context(), root, work, "plain", nil)
	require.NoError(t, err)
	require.Equal(t, said(plain, 0), said(woven, 0))

	differ := 0
	for i, m := range list {
		alone, err := Build(t.Context(), root, work, "alone", map[string]string{m.File: m.Text})
		require.NoError(t, err)
		want := said(alone, 0)
		require.Equal(t, want, said(woven, i+1), "%s:%d %s: %s -> %s", m.File, m.Line, m.Func, m.Before, m.After)
		if want != said(plain, 0) {
			differ++
		}
	}
	require.Greater(t, differ, all/3, "edits that show")
}

// TestAWovenFunction is what becomes of one with three edits.
func TestAWovenFunction(t *testing.T) {
	root := tree(t)
	text := "package core\n\ntype t struct{ n int }\n\nfunc (x *t) grow(by int, _ string) {\n\tif by > 2 {\n\t\tx.n++\n\t}\n}\n"
	require.NoError(t, os.WriteFile(filepath.Join(root, "core", "hw.go"), []byte(text), 0o644))
	c := &Checker{root: root, files: map[string][]string{filepath.Join(root, "core"): {"hw.go"}}}
	p, err := c.parse("core", nil)
	require.NoError(t, err)
	var list []Mutant
	for _, m := range p.mutations() {
		if m.Operator == OffByOne || m.Operator == NoAssign || m.Operator == ForceTrue {
			list = append(list, Mutant{Mutation: m})
		}
	}
	texts, err := c.weave(list)
	require.NoError(t, err)
	require.Equal(t, `package core; import edited_ "example.com/m/internal/edited"

type t struct{ n int }

func (x *t) grow(by int, given1_ string) { if edited_.On == 1 { x.grow_edit1(by, given1_); return };  if edited_.On == 2 { x.grow_edit2(by, given1_); return };  if edited_.On == 3 { x.grow_edit3(by, given1_); return }; 
	if edited_.Unlike(1, true, edited_.Where(2, by > 2, by == 2)) {
		edited_.Reach(3); x.n++
	}
}

func (x *t) grow_edit1(by int, _ string) {
	if (by > 2) || true {
		x.n++
	}
}

func (x *t) grow_edit2(by int, _ string) {
	if by >= 2 {
		x.n++
	}
}

func (x *t) grow_edit3(by int, _ string) {
	if by > 2 {
		
	}
}
`, texts["core/hw.go"])
}
