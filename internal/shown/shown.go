// Package shown finds the command lines that the documentation shows, so that a
// test can hold them against the program: a reader types what he sees.
package shown

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// Line is one command line of a page.
type Line struct {
	Page string // by path from the root of the tree
	Text string // of the command alone
	Args []string
}

// Commands are the lines of a program on the pages below root: those that are set
// off, and those in a sentence. Pages that quote commands of older commits are named
// in without.
func Commands(root, program string, without ...string) ([]Line, error) {
	pages, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		return nil, err
	}
	call := regexp.MustCompile(`^(?:.*[|;] *)?(?:\./bin/|go run \./cmd/)?` + program + ` ([a-z-].*)$`)
	var lines []Line
	for _, page := range append(pages, filepath.Join(root, "README.md")) {
		if slices.Contains(without, filepath.Base(page)) {
			continue
		}
		text, err := os.ReadFile(page)
		if err != nil {
			return nil, err
		}
		for _, candidate := range candidates(string(text)) {
			if m := call.FindStringSubmatch(candidate); m != nil {
				if args := words(m[1]); len(args) > 0 {
					lines = append(lines, Line{filepath.Base(page), program + " " + strings.Join(args, " "), args})
				}
			}
		}
	}
	return lines, nil
}

// candidates are what a page sets in the type of programs.
func candidates(text string) (list []string) {
	text = strings.ReplaceAll(text, "\\\n", " ")
	for line := range strings.Lines(text) {
		if set, ok := strings.CutPrefix(line, "    "); ok {
			list = append(list, strings.TrimSpace(set))
			continue
		}
		for i, piece := range strings.Split(line, "`") {
			if i%2 == 1 {
				list = append(list, piece)
			}
		}
	}
	return list
}

// words are those of one command, up to where the next one, a file or a remark
// begins. Nothing is made of what only a shell can fill in.
func words(line string) (list []string) {
	for _, w := range strings.Fields(line) {
		if strings.ContainsAny(w, "|<>#&;(") || w == "…" || w == "..." {
			break
		}
		list = append(list, strings.Trim(w, `'"`))
	}
	return list
}

// Check says what is wrong with a line, given all commands of the program: a command
// or a flag that it does not have. A word in capitals stands for anything.
func (l *Line) Check(program *cobra.Command) error {
	command, rest, err := program.Find(l.Args)
	if err != nil {
		return fmt.Errorf("%s shows `%s`: %w", l.Page, l.Text, err)
	}
	if command == program && len(rest) > 0 && !strings.HasPrefix(rest[0], "-") {
		return fmt.Errorf("%s shows `%s`: there is no command %s", l.Page, l.Text, rest[0])
	}
	command.InheritedFlags() // of the commands above it
	for _, w := range rest {
		name, ok := strings.CutPrefix(w, "-")
		if !ok {
			continue
		}
		name, long := strings.CutPrefix(name, "-")
		name, _, _ = strings.Cut(name, "=")
		known := command.Flags().Lookup(name) != nil || name == "help" || name == "version"
		if !long {
			known = len(name) == 1 && command.Flags().ShorthandLookup(name) != nil || strings.Trim(name, "0123456789h") == ""
		}
		if !known {
			return fmt.Errorf("%s shows `%s`: %s has no flag %s", l.Page, l.Text, command.CommandPath(), w)
		}
	}
	return nil
}
