package hunt

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Root finds the root of the module: the folder with go.mod, from the present
// one upwards.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", fmt.Errorf("no go.mod above the present folder: run this from the source tree of Tamarack")
		}
		dir = up
	}
}

// Build compiles ./cmd/simrun with the given texts in place of files (by path
// from root; none: the code as it is) and returns the binary. The working tree
// is not touched; all that is made lies in work.
func Build(ctx context.Context, root, work, name string, texts map[string]string) (binary string, err error) {
	folder := filepath.Join(work, name)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", err
	}
	binary = filepath.Join(folder, "simrun")
	args := []string{"build", "-ldflags=-s -w", "-o", binary} // linked quickly: nobody debugs it
	if len(texts) > 0 {
		overlay, err := writeOverlay(root, folder, texts)
		if err != nil {
			return "", err
		}
		args = append(args, "-overlay", overlay)
	}
	modfile, err := replaceModules(root, folder, texts)
	if err != nil {
		return "", err
	}
	if modfile != "" {
		args = append(args, "-modfile", modfile)
	}
	cmd := exec.CommandContext(ctx, "go", append(args, "./cmd/simrun")...)
	cmd.Dir = root
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return "", fmt.Errorf("the code with %s was still being compiled: %w", name, ctx.Err())
		}
		return "", fmt.Errorf("the code with %s does not compile: %w\n%s", name, err, said.Bytes())
	}
	return binary, nil
}

func writeOverlay(root, folder string, texts map[string]string) (string, error) {
	replace := map[string]string{}
	for file, text := range texts {
		if foreign(file) {
			continue
		}
		at := filepath.Join(folder, fmt.Sprintf("edit%d.go", len(replace)))
		if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
			return "", err
		}
		replace[filepath.Join(root, filepath.FromSlash(file))] = at
	}
	raw, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(folder, "overlay.json")
	return overlay, os.WriteFile(overlay, raw, 0o644)
}
