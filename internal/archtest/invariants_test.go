package archtest

import (
	"go/ast"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestEachInvariantHasItsJudges holds the table of docs/invariants.md against the
// code: what it lists has judges, which are where it says, and no judge enforces
// what it does not list.
func TestEachInvariantHasItsJudges(t *testing.T) {
	listed, enforced := invariantsListed(t), invariantsEnforced(t)
	for _, inv := range slices.Sorted(maps.Keys(listed)) {
		if len(listed[inv]) == 0 {
			t.Errorf("docs/invariants.md names no judge of %s", inv)
		}
		for _, file := range listed[inv] {
			if !enforced[inv][file] {
				t.Errorf("docs/invariants.md says that %s is judged in %s: nothing there refuses anything in its name", inv, file)
			}
		}
	}
	for _, inv := range slices.Sorted(maps.Keys(enforced)) {
		if _, ok := listed[inv]; !ok {
			t.Errorf("%s is enforced in %v, but docs/invariants.md does not list it", inv, slices.Sorted(maps.Keys(enforced[inv])))
			continue
		}
		for _, file := range slices.Sorted(maps.Keys(enforced[inv])) {
			if !slices.Contains(listed[inv], file) {
				t.Errorf("%s enforces %s: add it to the judges in docs/invariants.md", file, inv)
			}
		}
	}
}

// invariantsListed are the files that the table names, by invariant. A cell names
// a folder before its first file, and files after that without the folder.
func invariantsListed(t *testing.T) map[string][]string {
	text, err := os.ReadFile("../../docs/invariants.md")
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string][]string{}
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(line, "|")
		if len(cells) != 5 || !strings.HasPrefix(cells[1], " INV-") {
			continue
		}
		inv := strings.Fields(cells[1])[0]
		if _, twice := listed[inv]; twice {
			t.Errorf("docs/invariants.md lists %s twice", inv)
		}
		folder := ""
		listed[inv] = nil
		for i, word := range strings.Split(cells[3], "`") {
			if i%2 == 0 {
				continue
			}
			if dir := path.Dir(word); dir != "." {
				folder = dir
			}
			listed[inv] = append(listed[inv], folder+"/"+path.Base(word)+".go")
		}
	}
	if len(listed) < 30 {
		t.Fatalf("docs/invariants.md lists only %d invariants with three cells each", len(listed))
	}
	return listed
}

var invariant = regexp.MustCompile(`^"(INV-[0-9]+)"$`)

// invariantsEnforced are the files of the simulator and the models that refuse
// something in the name of an invariant: they fail a run, report a violation, or
// are its observer.
func invariantsEnforced(t *testing.T) map[string]map[string]bool {
	enforced := map[string]map[string]bool{}
	for _, f := range sources(t) {
		if f.isTest || f.pkg != "sim" && f.pkg != "models" {
			continue
		}
		note := func(e ast.Expr) {
			lit, ok := e.(*ast.BasicLit)
			if !ok {
				return
			}
			if m := invariant.FindStringSubmatch(lit.Value); m != nil {
				if enforced[m[1]] == nil {
					enforced[m[1]] = map[string]bool{}
				}
				enforced[m[1]][f.pkg+"/"+path.Base(f.path)] = true
			}
		}
		ast.Inspect(f.tree, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr: // w.fail("INV-5", …)
				if s, ok := n.Fun.(*ast.SelectorExpr); ok && s.Sel.Name == "fail" && len(n.Args) > 0 {
					note(n.Args[0])
				}
			case *ast.CompositeLit: // Violation{"INV-1", anomaly, text, ops, about}
				if _, list := n.Type.(*ast.ArrayType); !list && len(n.Elts) == 5 {
					note(n.Elts[0])
				}
			case *ast.KeyValueExpr: // Failure{Invariant: "INV-37", …}
				if k, ok := n.Key.(*ast.Ident); ok && k.Name == "Invariant" {
					note(n.Value)
				}
			case *ast.FuncDecl: // func (*x) Invariant() string { return "INV-5" }
				if n.Name.Name == "Invariant" && len(n.Body.List) == 1 {
					if r, ok := n.Body.List[0].(*ast.ReturnStmt); ok {
						note(r.Results[0])
					}
				}
			}
			return true
		})
	}
	return enforced
}
