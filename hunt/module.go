package hunt

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"sync"
)

// A bug may sit in a module that this one uses (go.etcd.io/raft is a part of the
// controller as much as the code around it). The go command lets no overlay
// touch its cache of modules; so the build gets a go.mod of its own, which puts
// an edited copy in the place of the module.

// foreign says that a file is named by the import path of its package, as
// go.etcd.io/raft/v3/log.go is, and not from the root of this module.
func foreign(file string) bool {
	first, _, found := strings.Cut(file, "/")
	return found && strings.Contains(first, ".")
}

// source is where the go command finds a package of another module.
type source struct{ folder, module, moduleFolder string }

var sources sync.Map // of func() (source, error), by root and import path

func sourceOf(root, importPath string) (source, error) {
	find, _ := sources.LoadOrStore(root+" "+importPath, sync.OnceValues(func() (source, error) {
		cmd := exec.Command("go", "list", "-f", "{{.Dir}}\n{{.Module.Path}}\n{{.Module.Dir}}", importPath)
		cmd.Dir = root
		var said bytes.Buffer
		cmd.Stderr = &said
		out, err := cmd.Output()
		if err != nil {
			return source{}, fmt.Errorf("the package %s cannot be found: %w\n%s", importPath, err, said.Bytes())
		}
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		if len(lines) != 3 {
			return source{}, fmt.Errorf("the package %s belongs to no module", importPath)
		}
		return source{lines[0], lines[1], lines[2]}, nil
	}))
	return find.(func() (source, error))()
}

// locate is where a file or folder of a bug lies on this machine.
func locate(root, name string) (string, error) {
	if !foreign(name) {
		return filepath.Join(root, filepath.FromSlash(name)), nil
	}
	folder, file := name, ""
	if strings.HasSuffix(name, ".go") {
		folder, file = path.Dir(name), path.Base(name)
	}
	s, err := sourceOf(root, folder)
	return filepath.Join(s.folder, file), err
}

// replaceModules writes edited copies of the modules that texts reach into, and
// a go.mod that names them, and returns its path; empty: there are none.
func replaceModules(root, folder string, texts map[string]string) (modfile string, err error) {
	copies := map[string]string{} // by module
	for file, text := range texts {
		if !foreign(file) {
			continue
		}
		s, err := sourceOf(root, path.Dir(file))
		if err != nil {
			return "", err
		}
		if copies[s.module] == "" {
			copies[s.module] = filepath.Join(folder, "module"+fmt.Sprint(len(copies)))
			if err := os.CopyFS(copies[s.module], os.DirFS(s.moduleFolder)); err != nil {
				return "", err
			}
		}
		rel, err := filepath.Rel(s.moduleFolder, s.folder)
		if err != nil {
			return "", err
		}
		at := filepath.Join(copies[s.module], rel, path.Base(file))
		if err := os.Remove(at); err != nil { // it was copied as it is in the cache: read-only
			return "", err
		}
		if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
			return "", err
		}
	}
	if len(copies) == 0 {
		return "", nil
	}
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return "", err
	}
	sum, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		return "", err
	}
	for module, copied := range copies {
		mod = fmt.Appendf(mod, "\nreplace %s => %s\n", module, copied)
	}
	modfile = filepath.Join(folder, "go.mod")
	if err := os.WriteFile(modfile, mod, 0o644); err != nil {
		return "", err
	}
	return modfile, os.WriteFile(filepath.Join(folder, "go.sum"), sum, 0o644)
}

// modulePath reads the name of the module from its go.mod.
func modulePath(root string) (string, error) {
	raw, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(raw)) {
		if name, ok := strings.CutPrefix(line, "module "); ok {
			return strings.TrimSpace(name), nil
		}
	}
	return "", fmt.Errorf("%s/go.mod names no module", root)
}
