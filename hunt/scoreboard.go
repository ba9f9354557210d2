package hunt

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"time"
)

// Table writes outcomes for people at a terminal.
func Table(w io.Writer, outcomes []Outcome) {
	fmt.Fprintf(w, "%-46s %-12s %-9s %7s %8s  %s\n", "bug", "area", "broke", "seeds", "time", "verdict")
	for i := range outcomes {
		Row(w, &outcomes[i])
	}
}

// Row writes one line of the table, and why a bug was not found below it.
func Row(w io.Writer, o *Outcome) {
	best := o.Best()
	fmt.Fprintf(w, "%-46s %-12s %-9s %7d %8s  %s\n", o.Bug.Name, o.Bug.Area, best.Invariant, o.Seeds, o.Took.Round(100*time.Millisecond), o.told())
	switch o.Verdict {
	case Found, Guarded:
	case Mistaken:
		fmt.Fprintf(w, "    seed %d broke %s, not %s: %s\n", best.Seed, best.Invariant, strings.Join(o.Bug.Invariants, " or "), best.Sentence)
	default:
		if o.Detail != "" {
			fmt.Fprintf(w, "    %s\n", strings.ReplaceAll(strings.TrimSpace(o.Detail), "\n", "\n    "))
		}
	}
}

// told is the verdict, and how sure it is.
func (o *Outcome) told() string {
	s := string(o.Verdict)
	if n := o.FoundIn(); n > 0 && n < len(o.Trials) {
		s += fmt.Sprintf(" from %d of %d", n, len(o.Trials))
	}
	if o.Thin() {
		s += ", thin"
	}
	return s
}

// Board is the table of planted bugs on a page of the documentation: a row for
// each bug, by name. It is read from the page again, so that bugs may be hunted in
// parts, and a single one again.
type Board map[string]string

// boardHead begins the table; a page whose table has another one is written anew.
const boardHead = `| bug | source | area | what it is | broke | starts | seeds | CPU s | verdict |
|---|---|---|---|---|---:|---:|---:|---|
`

// BoardOf reads the rows of the bugs that there are from a page. Without a page, or
// with a table of another form, there are none.
func BoardOf(file string, bugs []Bug) (Board, error) {
	raw, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	board := Board{}
	_, section, _ := strings.Cut(string(raw), sectionBegin(bugSection))
	section, _, _ = strings.Cut(section, sectionEnd(bugSection))
	_, rows, _ := strings.Cut(section, boardHead)
	for row := range strings.Lines(rows) {
		for i := range bugs {
			if strings.HasPrefix(row, "| "+link(&bugs[i])+" |") {
				board[bugs[i].Name] = row
			}
		}
	}
	return board, nil
}

func link(b *Bug) string { return fmt.Sprintf("[%s](../scenarios/bugs/%s.yaml)", b.Name, b.Name) }

// Add puts the rows of outcomes in the place of earlier ones. A hunt that ran out
// of time says nothing, so that what was known of its bug stays.
func (board Board) Add(outcomes []Outcome) {
	for i := range outcomes {
		o := &outcomes[i]
		if o.Verdict == Late {
			continue
		}
		what := o.Bug.What
		if o.Bug.Guard != nil {
			what += " Guard: " + o.Bug.Guard.What
		}
		board[o.Bug.Name] = fmt.Sprintf("| %s | %s | %s | %s | %s | %d | %d | %.1f | %s |\n",
			link(&o.Bug), cell(o.Bug.Source), o.Bug.Area, cell(what), o.Best().Invariant, len(o.Trials), o.Seeds, o.CPU.Seconds(), o.told())
	}
}

// Write puts the table into its section of a page.
func (board Board) Write(file string) error {
	var b strings.Builder
	board.write(&b)
	return WriteSection(file, bugSection, b.String())
}

func (board Board) write(w io.Writer) {
	names := slices.Sorted(maps.Keys(board))
	found, guarded := 0, 0
	for _, name := range names {
		cells := strings.Split(board[name], " | ")
		switch verdict := cells[len(cells)-1]; {
		case strings.HasPrefix(verdict, string(Found)):
			found++
		case strings.HasPrefix(verdict, string(Guarded)):
			guarded++
		}
	}
	fmt.Fprintf(w, `## Planted bugs

Written by `+"`simrun bugs --starts N --scoreboard FILE`"+`, which replaces the rows of the
bugs that it hunts. Each row is a fault, most of them published ones of real systems,
that was planted in the code and hunted by the simulator, as often as *starts* says: from
seed 1, seed 1000001 and so on. Seeds and CPU seconds (of the process, user and system,
on all cores) are medians. It is *found* when a seed breaks one of the invariants that
the fault must break, and the code without it passes that very seed; *guarded* when a
second guard covers it, and it is found once that guard is off as well. *Thin* are those
that took more than %d seeds, or were not found from every start: there workloads or
faults are thin. *Unfounded*: the code without it fails at that seed as well.

Of %d, %d are found and %d are guarded; %d are not.

`+boardHead, DefaultSeeds, len(names), found, guarded, len(names)-found-guarded)
	for _, name := range names {
		io.WriteString(w, board[name])
	}
}

// cell is text that fits into a table.
func cell(s string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(s), " "), "|", "\\|")
}

// WriteSection puts text between the marks of a section of a page, which other
// commands write other sections of. A page without the marks gets them at its
// end.
func WriteSection(file, name, text string) error {
	begin, end := sectionBegin(name), sectionEnd(name)
	raw, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	page := string(raw)
	before, rest, ok := strings.Cut(page, begin)
	_, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		if before, after = page, ""; before != "" {
			before = strings.TrimRight(before, "\n") + "\n\n"
		}
	}
	return os.WriteFile(file, []byte(before+begin+text+end+after), 0o644)
}

// bugSection is the name of the section with the planted bugs.
const bugSection = "planted bugs"

func sectionBegin(name string) string { return "<!-- " + name + ": written by a command -->\n" }
func sectionEnd(name string) string   { return "<!-- end of " + name + " -->\n" }
