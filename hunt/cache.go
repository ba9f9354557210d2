package hunt

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

// Find reads one bug: by its name in the folder from, or from a file of its own
// (*.yaml).
func Find(from, name string) (Bug, error) {
	file := filepath.Join(from, name+".yaml")
	if ext := filepath.Ext(name); ext == ".yaml" || ext == ".yml" {
		file = name
	}
	b, err := read(file)
	switch {
	case os.IsNotExist(err):
		return Bug{}, fmt.Errorf("there is no bug %q: no file %s; see simrun list", name, file)
	case err != nil:
		return Bug{}, fmt.Errorf("%s: %w", file, err)
	}
	return b, nil
}

// Planted compiles ./cmd/simrun with a bug in it and returns the binary. It is
// kept in the folder for temporary files, under a hash of the source tree and
// the bug, so that the second use costs nothing.
func Planted(ctx context.Context, root string, bug Bug) (binary string, err error) {
	texts, err := bug.Mutated(root)
	if err != nil {
		return "", err
	}
	key, err := treeHash(root, &bug)
	if err != nil {
		return "", err
	}
	shelf := filepath.Join(os.TempDir(), "simrun-planted-"+strconv.Itoa(os.Getuid()))
	if err := os.MkdirAll(shelf, 0o700); err != nil {
		return "", err
	}
	binary = filepath.Join(shelf, bug.Name+"-"+key)
	if _, err := os.Stat(binary); err == nil {
		return binary, nil
	}
	work, err := os.MkdirTemp(shelf, "build-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(work)
	built, err := Build(ctx, root, work, bug.Name, texts)
	if err != nil {
		return "", err
	}
	clearShelf(shelf, bug.Name+"-")
	return binary, os.Rename(built, binary) // whole or not at all: others may build it as well
}

// clearShelf removes what was built of a bug from other states of the code.
func clearShelf(shelf, prefix string) {
	old, _ := filepath.Glob(filepath.Join(shelf, prefix+strings.Repeat("[0-9a-f]", keyLength)))
	for _, f := range old {
		_ = os.Remove(f) // who runs it keeps it
	}
}

// keyLength is the number of hex digits of a hash that a file is named by.
const keyLength = 24

// treeHash tells two states of the code with a bug apart.
func treeHash(root string, bug *Bug) (string, error) {
	h := sha256.New()
	fmt.Fprintf(h, "%s %q %q\n", runtime.Version(), bug.Edits, bug.guardEdits())
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		name := d.Name()
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && (strings.HasPrefix(name, ".") || name == "testdata"):
			return filepath.SkipDir
		case d.IsDir() || strings.HasSuffix(name, "_test.go"):
			return nil
		case filepath.Ext(name) != ".go" && name != "go.mod" && !embedded(path):
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		fmt.Fprintf(h, "%s %d\n", path, len(text))
		h.Write(text)
		return nil
	})
	return hex.EncodeToString(h.Sum(nil))[:keyLength], err
}

// embedded says whether a file may be embedded in the binary: scenarios are, and
// templates of pages.
func embedded(path string) bool {
	switch filepath.Ext(path) {
	case ".json", ".html", ".css", ".js", ".tmpl":
		return true
	}
	return false
}
