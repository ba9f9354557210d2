package hunt

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
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

// Scoreboard writes outcomes as a section of a page of the documentation.
func Scoreboard(w io.Writer, outcomes []Outcome, starts []uint64) {
	found, guarded := 0, 0
	for i := range outcomes {
		switch outcomes[i].Verdict {
		case Found:
			found++
		case Guarded:
			guarded++
		}
	}
	fmt.Fprintf(w, `## Planted bugs

Written by `+"`simrun bugs --starts %d --scoreboard FILE`"+`. Each row is a fault, most of
them published ones of real systems, that was planted in the code and hunted by
the simulator. Seeds and CPU seconds (of the process, user and system, on all
cores) are medians over searches that began at the seeds %s. It is *found* when a
seed breaks one of the invariants that the fault must break, and the code without
it passes that very seed; *guarded* when a second guard covers it, and it is found
once that guard is off as well. *Thin* are those that took more than %d seeds, or
were not found from every start: there workloads or faults are thin.

Of %d, %d are found and %d are guarded; %d are not.

| bug | source | area | what it is | broke | seeds | CPU s | verdict |
|---|---|---|---|---|---:|---:|---|
`, len(starts), listed(starts), DefaultSeeds, len(outcomes), found, guarded, len(outcomes)-found-guarded)
	for i := range outcomes {
		o := &outcomes[i]
		what := o.Bug.What
		if o.Bug.Guard != nil {
			what += " Guard: " + o.Bug.Guard.What
		}
		fmt.Fprintf(w, "| [%s](../scenarios/bugs/%s.yaml) | %s | %s | %s | %s | %d | %.1f | %s |\n",
			o.Bug.Name, o.Bug.Name, cell(o.Bug.Source), o.Bug.Area, cell(what), o.Best().Invariant, o.Seeds, o.CPU.Seconds(), o.told())
	}
}

func listed(seeds []uint64) string {
	var b []string
	for _, s := range seeds {
		b = append(b, fmt.Sprint(s))
	}
	return strings.Join(b, ", ")
}

// cell is text that fits into a table.
func cell(s string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(s), " "), "|", "\\|")
}

// WriteSection puts text between the marks of a section of a page, which other
// commands write other sections of. A page without the marks gets them at its
// end.
func WriteSection(file, name, text string) error {
	begin, end := "<!-- "+name+": written by a command -->\n", "<!-- end of "+name+" -->\n"
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
