package hunt

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// Coverage knows which lines of the unedited code some seeds reach.
type Coverage struct {
	blocks map[string][]block // by file, from the root of the module
}

type block struct {
	from, to int // lines, both included
	hit      bool
}

// Reached says whether a line was executed. Lines that hold no statement by
// themselves belong to the one that they are part of.
func (c *Coverage) Reached(file string, line int) bool {
	for _, b := range c.blocks[file] {
		if b.hit && b.from <= line && line <= b.to {
			return true
		}
	}
	return false
}

// Cover runs seeds with a simrun that counts what it reaches in dirs.
func (h *Hunter) Cover(ctx context.Context, dirs []string, first uint64, count int) (*Coverage, error) {
	folder := filepath.Join(h.Work, "coverage")
	data := filepath.Join(folder, "data")
	if err := os.MkdirAll(data, 0o755); err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	var packages []string
	for _, d := range dirs {
		packages = append(packages, "./"+d+"/...")
	}
	binary := filepath.Join(folder, "simrun")
	profile := filepath.Join(folder, "profile")
	for _, args := range [][]string{
		{"go", "build", "-cover", "-coverpkg=" + strings.Join(packages, ","), "-o", binary, "./cmd/simrun"},
		{binary, "run", "--seeds", fmt.Sprintf("%d..%d", first, first+uint64(count)-1)},
		{"go", "tool", "covdata", "textfmt", "-i=" + data, "-o=" + profile},
	} {
		cmd := exec.CommandContext(ctx, args[0], args[1:]...)
		cmd.Dir = h.Root
		cmd.Env = append(os.Environ(), "GOCOVERDIR="+data)
		if said, err := cmd.CombinedOutput(); err != nil && args[0] == "go" { // a campaign may end with any code
			return nil, fmt.Errorf("what the seeds reach could not be counted: %w\n%s", err, tail(said))
		}
	}
	f, err := os.Open(profile)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	c := &Coverage{blocks: map[string][]block{}}
	module, err := modulePath(h.Root)
	if err != nil {
		return nil, err
	}
	for s := bufio.NewScanner(f); s.Scan(); {
		c.add(module, s.Text())
	}
	return c, nil
}

// add reads one line of a profile: FILE:LINE.COLUMN,LINE.COLUMN STATEMENTS COUNT.
func (c *Coverage) add(module, line string) {
	at := strings.LastIndexByte(line, ':')
	fields := strings.FieldsFunc(line[at+1:], func(r rune) bool { return r == '.' || r == ',' || r == ' ' })
	if at < 0 || len(fields) != 6 {
		return // the first line, which names the mode
	}
	from, _ := strconv.Atoi(fields[0])
	to, _ := strconv.Atoi(fields[2])
	file := strings.TrimPrefix(line[:at], module+"/")
	c.blocks[file] = append(c.blocks[file], block{from, to, fields[5] != "0"})
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
