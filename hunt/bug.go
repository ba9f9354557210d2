// Package hunt plants bugs into the code and has the simulator find them. A
// simulator that has never found a bug is a claim; this is its test. A bug is
// a small file: what it was, where it was published, what users saw, which
// invariant must catch it, and the edit that brings it back. Each is compiled
// with the go command's -overlay, outside the working tree, so the core
// carries no switches.
package hunt

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
)

// Bug is one planted bug, as its file holds it.
type Bug struct {
	Name       string   `yaml:"-"`          // the file's name without .yaml
	Source     string   `yaml:"source"`     // where it was published; "ours" for one of our own imagining
	Area       string   `yaml:"area"`       // replication, election, controller, storage, retention, group, offsets, idempotence, client
	What       string   `yaml:"what"`       // the mechanism
	UsersSee   string   `yaml:"usersSee"`   // what it does to users
	Invariants []string `yaml:"invariants"` // by any of which it must be caught
	Edits      []Edit   `yaml:"edits"`
	Seeds      int      `yaml:"seeds"` // budget of one start; 0: 2000
	// Guard is what covers the bug in this code. The bug alone must then survive,
	// and be found with the guard off as well.
	Guard *Guard `yaml:"guard"`
}

// Guard is a second line of defence.
type Guard struct {
	What  string `yaml:"what"`  // what it is and why it suffices
	Edits []Edit `yaml:"edits"` // that switch it off, after those of the bug
	Seeds int    `yaml:"seeds"` // that the bug alone must survive, from each start; 0: 200
}

// Edit replaces one piece of text.
type Edit struct {
	// File is a Go file from the root of the module, or the folder of a package:
	// then the text may stand in any of its files but the tests. A file of a
	// module that this one uses is named by its import path.
	File    string `yaml:"file"`
	Find    string `yaml:"find"`    // must stand there exactly once
	Replace string `yaml:"replace"` // the text with the bug
}

// DefaultSeeds is the budget of a bug that names none.
const DefaultSeeds = 2000

// DefaultGuardSeeds is how many seeds a guarded bug must survive by itself when
// its file does not say.
const DefaultGuardSeeds = 200

var invariantName = regexp.MustCompile(`^INV-[1-9][0-9]*$`)

// Load reads every bug of a folder, by name.
func Load(dir string) ([]Bug, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s holds no bugs (*.yaml)", dir)
	}
	slices.Sort(files)
	bugs := make([]Bug, 0, len(files))
	for _, f := range files {
		b, err := read(f)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f, err)
		}
		bugs = append(bugs, b)
	}
	return bugs, nil
}

func read(file string) (Bug, error) {
	f, err := os.Open(file)
	if err != nil {
		return Bug{}, err
	}
	defer f.Close()
	b := Bug{Name: strings.TrimSuffix(filepath.Base(file), ".yaml")}
	if err := yaml.NewDecoder(f, yaml.DisallowUnknownField()).Decode(&b); err != nil {
		return Bug{}, err
	}
	if b.Seeds == 0 {
		b.Seeds = DefaultSeeds
	}
	return b, b.validate()
}

func (b *Bug) validate() error {
	switch {
	case b.Source == "" || b.What == "" || b.UsersSee == "" || b.Area == "":
		return errors.New("a bug names its source, its area, what it is and what users see")
	case len(b.Invariants) == 0:
		return errors.New("a bug names the invariants by which it must be caught")
	case len(b.Edits) == 0:
		return errors.New("a bug has at least one edit")
	case b.Guard != nil && (b.Guard.What == "" || len(b.Guard.Edits) == 0):
		return errors.New("a guard says what it is and has the edits that switch it off")
	}
	for _, i := range b.Invariants {
		if !invariantName.MatchString(i) {
			return fmt.Errorf("%q is no invariant: write it as INV-7", i)
		}
	}
	return nil
}

// Mutated applies the edits to the sources under root, those that switch the
// guard off included, and returns the new text of each changed file, by its path
// from root. A text that does not stand exactly once where it should is an
// error: the code has changed, and the bug must be looked at anew.
func (b *Bug) Mutated(root string) (map[string]string, error) {
	return b.with(root, slices.Concat(b.Edits, b.guardEdits()))
}

func (b *Bug) guardEdits() []Edit {
	if b.Guard == nil {
		return nil
	}
	return b.Guard.Edits
}

func (b *Bug) with(root string, edits []Edit) (map[string]string, error) {
	texts := map[string]string{}
	for _, e := range edits {
		if err := e.apply(root, texts); err != nil {
			return nil, fmt.Errorf("bug %s: %w", b.Name, err)
		}
	}
	return texts, nil
}

// apply makes one edit. texts are those of the files that were edited before.
func (e *Edit) apply(root string, texts map[string]string) error {
	files, err := e.files(root)
	if err != nil {
		return err
	}
	find := strings.TrimRight(e.Find, "\n")
	if find == "" {
		return errors.New("an edit that replaces nothing")
	}
	count, where, text := 0, "", ""
	for _, file := range files {
		content, edited := texts[file]
		if !edited {
			at, err := locate(root, file)
			if err != nil {
				return err
			}
			raw, err := os.ReadFile(at)
			if err != nil {
				return err
			}
			content = string(raw)
		}
		if n := strings.Count(content, find); n > 0 {
			count, where, text = count+n, file, content
		}
	}
	if count != 1 {
		return fmt.Errorf("the text to edit stands %d times in %s, not once: the code has changed, bring the bug up to date", count, e.File)
	}
	texts[where] = strings.Replace(text, find, strings.TrimRight(e.Replace, "\n"), 1)
	return nil
}

// files are those in which the text may stand.
func (e *Edit) files(root string) ([]string, error) {
	if strings.HasSuffix(e.File, ".go") {
		return []string{e.File}, nil
	}
	folder, err := locate(root, e.File)
	if err != nil {
		return nil, err
	}
	list, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, f := range list {
		if name := f.Name(); strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") {
			files = append(files, path.Join(e.File, name))
		}
	}
	return files, nil
}
