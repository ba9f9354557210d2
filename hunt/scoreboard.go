package hunt

import (
	"fmt"
	"io"
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
	fmt.Fprintf(w, "%-46s %-12s %-9s %7d %8s  %s\n", o.Bug.Name, o.Bug.Area, o.Invariant, o.Seeds, o.Took.Round(100*time.Millisecond), o.Verdict)
	switch o.Verdict {
	case Found:
	case Mistaken:
		fmt.Fprintf(w, "    seed %d broke %s, not %s: %s\n", o.Seed, o.Invariant, strings.Join(o.Bug.Invariants, " or "), o.Sentence)
	default:
		if o.Detail != "" {
			fmt.Fprintf(w, "    %s\n", strings.ReplaceAll(strings.TrimSpace(o.Detail), "\n", "\n    "))
		}
	}
}

// Scoreboard writes outcomes as a page of the documentation.
func Scoreboard(w io.Writer, outcomes []Outcome, first uint64) {
	found := 0
	for i := range outcomes {
		if outcomes[i].Verdict == Found {
			found++
		}
	}
	fmt.Fprintf(w, `# Scoreboard

Written by `+"`simrun bugs --scoreboard`"+`. Each row is a fault, most of them published
ones of real systems, that was planted in the code and hunted by the simulator
from seed %d on. It counts as found when a seed breaks one of the invariants that
the fault must break, and the code without it passes that very seed.

Found: %d of %d.

| bug | source | area | what it is | broke | seeds | time | verdict |
|---|---|---|---|---|---:|---:|---|
`, first, found, len(outcomes))
	for i := range outcomes {
		o := &outcomes[i]
		fmt.Fprintf(w, "| [%s](../scenarios/bugs/%s.yaml) | %s | %s | %s | %s | %d | %s | %s |\n",
			o.Bug.Name, o.Bug.Name, cell(o.Bug.Source), o.Bug.Area, cell(o.Bug.What), o.Invariant, o.Seeds,
			o.Took.Round(time.Second), o.Verdict)
	}
}

// cell is text that fits into a table.
func cell(s string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(s), " "), "|", "\\|")
}
