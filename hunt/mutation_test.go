package hunt

import (
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// edits lists what can be done to the body of a function, as "operator: before
// -> after" in order.
func edits(t *testing.T, body string) []string {
	p := parsedFrom(t, "package core\n\nfunc f(a, b int, s []int, ok bool, g func(x, y int) int) (n int) {\n"+body+"\n}\n")
	var out []string
	for _, m := range p.mutations() {
		require.Equal(t, "f", m.Func)
		out = append(out, string(m.Operator)+": "+m.Before+" -> "+m.After)
	}
	return out
}

func parsedFrom(t *testing.T, text string) *parsed {
	p := &parsed{fset: token.NewFileSet()}
	require.NoError(t, p.add("core/f.go", []byte(text)))
	require.NoError(t, p.check(nil))
	return p
}

func TestEachOperator(t *testing.T) {
	for _, c := range []struct {
		body string
		want []string
	}{
		{"return btoi(a < b)\n}\nfunc btoi(ok bool) int { panic(ok)", []string{
			"comparison turned: return btoi(a < b) -> return btoi(a >= b)",
			"comparison off by one: return btoi(a < b) -> return btoi(a <= b)",
		}},
		{"ok = a == b\nreturn", []string{
			"assignment left out: ok = a == b -> ",
			"comparison turned: ok = a == b -> ok = a != b",
		}},
		{"return a + 7", []string{
			"plus for minus: return a + 7 -> return a - 7",
			"bound off by one: return a + 7 -> return a + 8",
			"bound off by one: return a + 7 -> return a + 6",
		}},
		{"return len(s[a:b])", []string{
			"bound off by one: return len(s[a:b]) -> return len(s[a+1:b])",
			"bound off by one: return len(s[a:b]) -> return len(s[a:b-1])",
		}},
		{"return min(a, b)", []string{"bound off by one: return min(a, b) -> return max(a, b)"}},
		{"return g(a, b)", []string{"arguments swapped: return g(a, b) -> return g(b, a)"}},
		{"return g(a, a)", nil},
		{"defer print()\nclear(s)\nreturn", []string{
			"call left out: defer print() -> ",
			"call left out: clear(s) -> ",
		}},
		{"n += a\nreturn", []string{
			"assignment left out: n += a -> ",
			"plus for minus: n += a -> n -= a",
		}},
		{"n++\nreturn", []string{
			"assignment left out: n++ -> ",
			"plus for minus: n++ -> n--",
		}},
		{"m := a\n_ = b\nreturn m", nil},
		{"if ok {\nreturn a\n}\nreturn b", []string{
			"condition always true: if ok { -> if (ok) || true {",
			"condition always false: if ok { -> if (ok) && false {",
			"return left out: return a -> ",
		}},
		{"for i := a; ok; i++ {\nbreak\n}\nreturn", []string{
			"condition always false: for i := a; ok; i++ { -> for i := a; (ok) && false; i++ {",
			"branch left out: break -> ",
		}},
		{"ok = ok && !ok\nreturn", []string{
			"assignment left out: ok = ok && !ok -> ",
			"and for or: ok = ok && !ok -> ok = ok || !ok",
		}},
		{"if a < b {\npanic(\"we are wrong\")\n}\nreturn", nil},
		{"panic(a + 1)", nil},
	} {
		require.Equal(t, c.want, edits(t, c.body), c.body)
	}
}

func TestArgumentsOfASymmetricCallAreNotSwapped(t *testing.T) {
	root := tree(t)
	text := "package core\n\nimport \"slices\"\n\nfunc Same(a, b []int) bool {\n\treturn slices.Equal(a, b)\n}\n\nfunc Cmp(a, b []int) int {\n\treturn slices.Compare(a, b)\n}\n"
	require.NoError(t, os.WriteFile(filepath.Join(root, "core", "same.go"), []byte(text), 0o644))
	c, err := NewChecker(root, "./...")
	require.NoError(t, err)
	p, err := c.parse("core", nil)
	require.NoError(t, err)
	var swapped []string
	for _, m := range p.mutations() {
		if m.Operator == Swapped {
			swapped = append(swapped, m.Func)
		}
	}
	require.Equal(t, []string{"Cmp"}, swapped)
}

func TestWhatOnlyPrintsIsNotEdited(t *testing.T) {
	p := parsedFrom(t, "package core\n\ntype t int\n\nfunc (x t) String() string { if x > 1 { return \"many\" }; return \"\" }\n\nfunc describe(x int) bool { return x > 1 }\n")
	require.Empty(t, p.mutations())
}

func TestEditsThatReadAlikeAreNumbered(t *testing.T) {
	p := parsedFrom(t, "package core\n\nfunc f(a, b bool) {\n\tif a {\n\t\treturn\n\t}\n\tif b {\n\t\treturn\n\t}\n\tprint()\n}\n")
	var returns []Mutation
	for _, m := range p.mutations() {
		if m.Operator == NoReturn {
			returns = append(returns, m)
		}
	}
	require.Equal(t, [][2]int{{0, 5}, {1, 8}}, [][2]int{{returns[0].Nth, returns[0].Line}, {returns[1].Nth, returns[1].Line}})
	require.False(t, returns[0].same(&returns[1]))
}

func TestWhatStopsAPanicIsNotEdited(t *testing.T) {
	p := parsedFrom(t, "package core\n\nfunc guard() {\n\tif recover() != nil {\n\t\tprint()\n\t}\n}\n")
	require.Empty(t, p.mutations())
}

func TestAMethodIsNamedWithItsType(t *testing.T) {
	p := parsedFrom(t, "package core\n\ntype t[K any] struct{ n int }\n\nfunc (x *t[K]) grow() {\n\tx.n++\n}\n")
	require.Equal(t, []string{"t.grow", "t.grow"}, []string{p.mutations()[0].Func, p.mutations()[1].Func})
}

// TestADrawIsTheSameForOneSeed also holds that what does not compile is drawn
// anew, and that small files are not drowned.
func TestADrawIsTheSameForOneSeed(t *testing.T) {
	root := tree(t)
	large := "package core\n\nfunc Large(n int) int {\n" + strings.Repeat("\tif n > 2 {\n\t\tn += 2\n\t}\n", 100) + "\treturn n\n}\n"
	require.NoError(t, os.WriteFile(filepath.Join(root, "core", "large.go"), []byte(large), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(root, "core", "vars.go"), []byte("package core\n\nfunc Vars(n int) (m int) {\n\tk := n\n\tm = k\n\treturn\n}\n"), 0o644))
	c, err := NewChecker(root, "./...")
	require.NoError(t, err)

	a, err := c.Draw([]string{"core"}, nil, 5, 7)
	require.NoError(t, err)
	b, err := c.Draw([]string{"core"}, nil, 5, 7)
	require.NoError(t, err)
	require.Equal(t, a, b)
	other, err := c.Draw([]string{"core"}, nil, 5, 8)
	require.NoError(t, err)
	require.NotEqual(t, a, other)

	small := 0
	for seed := range uint64(20) {
		drawn, err := c.Draw([]string{"core"}, nil, 4, seed)
		require.NoError(t, err)
		for _, m := range drawn {
			require.NotEqual(t, "core/vars.go", m.File, "leaving out the use of k does not compile")
			if m.File == "core/hw.go" {
				small++
			}
			found, ok, err := c.Find(&m.Mutation)
			require.NoError(t, err)
			require.True(t, ok)
			require.Equal(t, m.After, found.After)
		}
	}
	require.Greater(t, small, 2, "of 80 draws")

	_, err = c.Draw([]string{"core"}, nil, 5000, 1)
	require.ErrorContains(t, err, "fewer single edits")
	_, err = c.Draw([]string{"core"}, []string{"core"}, 1, 1)
	require.ErrorContains(t, err, "no packages")
	_, err = c.Draw([]string{"nowhere"}, nil, 1, 1)
	require.ErrorContains(t, err, "no packages")
}

func TestTheScoreLeavesOutWhatIsEquivalent(t *testing.T) {
	a := Mutation{File: "core/f.go", Func: "f", Operator: Turned, Line: 3, Before: "a < b", After: "a >= b"}
	b := a
	b.After = "a <= b"
	moved := b
	moved.Line = 9
	fates := []Fate{
		{Mutant: Mutant{Mutation: a}, Hunted: true, Killed: true, Invariant: "INV-1", Seeds: 3, Reaching: 30},
		{Mutant: Mutant{Mutation: b}, Hunted: true, Seeds: 50, Reaching: 60},
		{Mutant: Mutant{Mutation: Mutation{File: "core/g.go", Before: "x()"}}, Hunted: true, Seeds: 50, Reaching: 50, Differing: 4},
		{Mutant: Mutant{Mutation: Mutation{File: "core/h.go"}}, Hunted: true},
		{Mutant: Mutant{Mutation: Mutation{File: "core/i.go"}}, Hunted: true, Detail: "the code has changed there"},
		{Mutant: Mutant{Mutation: Mutation{File: "core/j.go"}}},
	}
	judged := []Judged{{Mutation: moved, Verdict: Equivalent, Why: "a is never b"}}
	require.Equal(t, "1 killed, 3 survived: 25.0%; 1 of the survivors was never reached; 1 of the survivors is equivalent, 33.3% of the others killed; 1 could not be hunted; 1 is still to be hunted", Sum(fates, judged).String())

	var page strings.Builder
	MutationSection(&page, &Sample{Seed: 7, Dirs: []string{"core", "storage"}, Budget: 50, Fates: fates}, judged)
	require.Contains(t, page.String(), "| comparison turned | 2 | 1 |\n")
	require.NotContains(t, page.String(), "core/j.go")
	require.Contains(t, page.String(), "| core/f.go `f` | comparison turned: `a < b` → `a <= b` | survives: reached by 60 seeds, and the 50 that were run take the same course with it | equivalent: a is never b |\n")
	require.Contains(t, page.String(), "| core/g.go `` | : `x()` → `nothing` | survives: 4 of the 50 seeds that were run take another course with it, and nothing broke | not looked at yet |\n")
}

func TestTheFileOfSurvivors(t *testing.T) {
	file := filepath.Join(t.TempDir(), "survivors.yaml")
	got, err := LoadSurvivors(file)
	require.NoError(t, err)
	require.Empty(t, got)

	require.NoError(t, os.WriteFile(file, []byte("- file: core/f.go\n  func: f\n  before: a < b\n  after: a <= b\n  verdict: equivalent\n  why: never equal\n"), 0o644))
	got, err = LoadSurvivors(file)
	require.NoError(t, err)
	require.Equal(t, []Judged{{Mutation: Mutation{File: "core/f.go", Func: "f", Before: "a < b", After: "a <= b"}, Verdict: Equivalent, Why: "never equal"}}, got)

	require.NoError(t, os.WriteFile(file, []byte("- file: core/f.go\n  verdict: harmless\n  why: so\n"), 0o644))
	_, err = LoadSurvivors(file)
	require.ErrorContains(t, err, "it is equivalent, closed or blind")
}

func TestASectionOfAPageIsReplaced(t *testing.T) {
	file := filepath.Join(t.TempDir(), "page.md")
	require.NoError(t, os.WriteFile(file, []byte("# Page\n"), 0o644))
	for _, s := range [][2]string{{"a", "one\n"}, {"b", "two\n"}, {"a", "three\n"}} {
		require.NoError(t, WriteSection(file, s[0], s[1]))
	}
	raw, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, "# Page\n\n<!-- a: written by a command -->\nthree\n<!-- end of a -->\n\n<!-- b: written by a command -->\ntwo\n<!-- end of b -->\n", string(raw))
}

// TestEachJudgementStillFitsTheCode: one on code that has changed is to be made
// anew, or taken away.
func TestEachJudgementStillFitsTheCode(t *testing.T) {
	root, err := Root()
	require.NoError(t, err)
	all, err := LoadSurvivors(filepath.Join(root, "scenarios", "survivors.yaml"))
	require.NoError(t, err)
	require.NotEmpty(t, all)
	for _, j := range all {
		text, err := os.ReadFile(filepath.Join(root, j.File))
		require.NoError(t, err)
		require.Contains(t, string(text), j.Before, j.File)
	}
}
