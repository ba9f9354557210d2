package hunt

import (
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
	"testing"

	"github.com/stretchr/testify/require"
)

// published loads the bugs of this repository.
func published(t *testing.T) (root string, bugs []Bug) {
	root, err := Root()
	require.NoError(t, err)
	bugs, err = Load(filepath.Join(root, "scenarios", "bugs"))
	require.NoError(t, err)
	return root, bugs
}

// TestEachBugStillFitsTheCode: a bug whose text has moved plants nothing, and
// would be missed for a reason that says nothing about the simulator.
func TestEachBugStillFitsTheCode(t *testing.T) {
	root, bugs := published(t)
	for _, b := range bugs {
		t.Run(b.Name, func(t *testing.T) {
			for _, e := range b.Edits {
				require.NotEqual(t, e.Find, e.Replace)
			}
			_, err := b.Mutated(root)
			require.NoError(t, err)
		})
	}
}

// TestTheBugsCoverEveryArea holds what the collection promises: at least two
// published faults of each area that can break a record or a position.
func TestTheBugsCoverEveryArea(t *testing.T) {
	_, bugs := published(t)
	have := map[string]int{}
	for _, b := range bugs {
		if b.Source != "ours" {
			have[b.Area]++
		}
	}
	for _, area := range []string{"replication", "election", "controller", "storage", "retention", "group", "offsets", "idempotence", "client"} {
		require.GreaterOrEqual(t, have[area], 2, area)
	}
}

// TestEachBugCompiles type-checks every edited package: quicker than the build
// that a hunt makes of each.
func TestEachBugCompiles(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles the module")
	}
	root, bugs := published(t)
	built := exported(t, root)
	for _, b := range bugs {
		t.Run(b.Name, func(t *testing.T) {
			texts, err := b.Mutated(root)
			require.NoError(t, err)
			folders := map[string]bool{}
			for file := range texts {
				folders[path.Dir(file)] = true
			}
			for folder := range folders {
				require.NoError(t, built.check(folder, texts))
			}
		})
	}
}

// compiled knows where the go command keeps the packages that it has built.
type compiled struct {
	root    string
	exports map[string]string // by import path
	files   map[string][]string
}

func exported(t *testing.T, root string) *compiled {
	cmd := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Export,Dir,GoFiles", "./core/...", "./storage/...", "./sim")
	cmd.Dir = root
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	c := &compiled{root: root, exports: map[string]string{}, files: map[string][]string{}}
	for d := json.NewDecoder(out); ; {
		var p struct {
			ImportPath, Export, Dir string
			GoFiles                 []string
		}
		err := d.Decode(&p)
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		c.exports[p.ImportPath] = p.Export
		c.files[p.Dir] = p.GoFiles
	}
	require.NoError(t, cmd.Wait())
	return c
}

// check type-checks one folder with texts in place of its files.
func (c *compiled) check(folder string, texts map[string]string) error {
	fset := token.NewFileSet()
	var files []*ast.File
	dir := filepath.Join(c.root, filepath.FromSlash(folder))
	for _, name := range c.files[dir] {
		var src any
		if text, ok := texts[folder+"/"+name]; ok {
			src = text
		}
		f, err := parser.ParseFile(fset, filepath.Join(dir, name), src, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		files = append(files, f)
	}
	if len(files) == 0 {
		return fmt.Errorf("%s holds no package that is built", folder)
	}
	imports := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(c.exports[path])
	})
	_, err := (&types.Config{Importer: imports, Sizes: types.SizesFor("gc", "amd64")}).Check(folder, fset, files, nil)
	return err
}
