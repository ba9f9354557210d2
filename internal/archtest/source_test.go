package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// source is one Go file of the module.
type source struct {
	path   string // from the module's root
	pkg    string // its folder, the same way
	isTest bool
	set    *token.FileSet
	tree   *ast.File
}

var load = sync.OnceValues(func() ([]source, error) {
	const root = "../.."
	var all []source
	set := token.NewFileSet()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() && path != root && (strings.HasPrefix(name, ".") || name == "testdata" || name == "tamarack-data") {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(name, ".go") {
			return nil
		}
		tree, err := parser.ParseFile(set, path, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		all = append(all, source{
			path: filepath.ToSlash(rel), pkg: filepath.ToSlash(filepath.Dir(rel)),
			isTest: strings.HasSuffix(name, "_test.go"), set: set, tree: tree,
		})
		return nil
	})
	return all, err
})

// sources returns every Go file of the module.
func sources(t *testing.T) []source {
	t.Helper()
	all, err := load()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 20 {
		t.Fatalf("only %d source files found: the walk looks in the wrong place", len(all))
	}
	return all
}

func (f *source) imports() []string {
	var paths []string
	for _, spec := range f.tree.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			panic(err)
		}
		paths = append(paths, path)
	}
	return paths
}

func (f *source) inCore() bool { return f.pkg == "core" || strings.HasPrefix(f.pkg, "core/") }

func (f *source) line(p token.Pos) int { return f.set.Position(p).Line }
