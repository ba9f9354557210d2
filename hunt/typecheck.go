package hunt

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// Checker type-checks single packages of a source tree with edited texts in
// place of files. That takes milliseconds, where a build takes seconds.
type Checker struct {
	root    string
	exports map[string]string   // where the go command keeps what it has built, by import path
	files   map[string][]string // names of the Go files of each folder, tests not included
}

// NewChecker has the go command build the packages that match the patterns, and
// all that they import.
func NewChecker(root string, patterns ...string) (*Checker, error) {
	cmd := exec.Command("go", append([]string{"list", "-export", "-deps", "-json=ImportPath,Export,Dir,GoFiles"}, patterns...)...)
	cmd.Dir = root
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("the packages under %s cannot be listed: %w\n%s", root, err, said.Bytes())
	}
	c := &Checker{root: root, exports: map[string]string{}, files: map[string][]string{}}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			ImportPath, Export, Dir string
			GoFiles                 []string
		}
		if err := d.Decode(&p); err == io.EOF {
			return c, nil
		} else if err != nil {
			return nil, err
		}
		c.exports[p.ImportPath] = p.Export
		c.files[p.Dir] = p.GoFiles
	}
}

// parsed is a package that was parsed and type-checked.
type parsed struct {
	fset  *token.FileSet
	files []*ast.File
	names []string // of the files, from the root of the module
	texts [][]byte
	info  *types.Info
}

// Check type-checks one folder, named from the root of the module, with texts
// in place of its files.
func (c *Checker) Check(folder string, texts map[string]string) error {
	_, err := c.parse(folder, texts)
	return err
}

// parse reads and type-checks one folder.
func (c *Checker) parse(folder string, texts map[string]string) (*parsed, error) {
	dir, err := locate(c.root, folder)
	if err != nil {
		return nil, err
	}
	p := &parsed{fset: token.NewFileSet()}
	for _, name := range c.files[dir] {
		text := []byte(texts[path.Join(folder, name)])
		if len(text) == 0 {
			var err error
			if text, err = os.ReadFile(filepath.Join(dir, name)); err != nil {
				return nil, err
			}
		}
		if err := p.add(path.Join(folder, name), text); err != nil {
			return nil, err
		}
	}
	if len(p.files) == 0 {
		return nil, fmt.Errorf("%s holds no package that is built", folder)
	}
	imports := importer.ForCompiler(p.fset, "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(c.exports[path])
	})
	return p, p.check(imports)
}

func (p *parsed) add(name string, text []byte) error {
	f, err := parser.ParseFile(p.fset, name, text, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	p.files, p.names, p.texts = append(p.files, f), append(p.names, name), append(p.texts, text)
	return nil
}

func (p *parsed) check(imports types.Importer) error {
	p.info = &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}}
	conf := &types.Config{Importer: imports, Sizes: types.SizesFor("gc", runtime.GOARCH)}
	_, err := conf.Check(path.Dir(p.names[0]), p.fset, p.files, p.info)
	return err
}

// folders lists those that hold packages at or below dirs and not at or below
// without, named from the root, in order.
func (c *Checker) folders(dirs, without []string) ([]string, error) {
	var out []string
	for dir := range c.files {
		rel, err := filepath.Rel(c.root, dir)
		if err != nil {
			return nil, err
		}
		rel = filepath.ToSlash(rel)
		below := func(d string) bool { return rel == d || strings.HasPrefix(rel, d+"/") }
		if slices.ContainsFunc(dirs, below) && !slices.ContainsFunc(without, below) {
			out = append(out, rel)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("no packages in %v", dirs)
	}
	slices.Sort(out)
	return out, nil
}
