package archtest

import (
	"go/ast"
	"strings"
	"testing"
)

const (
	maxFileLines     = 600
	maxCoreFuncLines = 70
)

func TestNoFileAndNoCoreFunctionOutgrowsItsReader(t *testing.T) {
	for _, f := range sources(t) {
		if n := f.line(f.tree.FileEnd); n > maxFileLines {
			t.Errorf("%s has %d lines, %d at most: split it by role or by message kind", f.path, n, maxFileLines)
		}
		if f.isTest || !f.inCore() {
			continue
		}
		for _, d := range f.tree.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			if n := f.line(fn.End()) - f.line(fn.Pos()) + 1; n > maxCoreFuncLines {
				t.Errorf("%s: %s has %d lines, %d at most: name its parts", f.path, fn.Name.Name, n, maxCoreFuncLines)
			}
		}
	}
}

func TestPackagesHaveTellingNamesAndOneComment(t *testing.T) {
	docs := map[string]int{}
	for _, f := range sources(t) {
		if f.isTest {
			continue
		}
		switch name := f.tree.Name.Name; name {
		case "util", "utils", "common", "types", "helpers", "misc":
			t.Errorf("%s: package name %s says nothing: name it after what it holds", f.path, name)
		}
		docs[f.pkg] += 0
		if f.tree.Doc != nil && strings.TrimSpace(f.tree.Doc.Text()) != "" {
			docs[f.pkg]++
		}
	}
	for pkg, n := range docs {
		if n != 1 {
			t.Errorf("package %s has %d package comments, not one", pkg, n)
		}
	}
}
