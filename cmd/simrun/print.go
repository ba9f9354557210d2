package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/tamarack-mq/tamarack/sim"
	"github.com/tamarack-mq/tamarack/tape"
)

// codeVersion is the commit that this binary was built from.
func codeVersion() string { return tape.Code() }

// printReport prints what came of a campaign.
func printReport(r *sim.Report) {
	for i := range r.Failures {
		f := &r.Failures[i]
		fmt.Printf("FAILED %s, class %s\n", counted(f.Count, "time"), f.Class)
		printFailureTo(os.Stdout, bugOf(r), f.First, planName(f.First))
		fmt.Printf("  seeds     %v\n\n", f.Seeds)
	}
	fmt.Println("marks")
	never := 0
	for _, m := range r.Marks {
		if m.Count == 0 {
			never++
			continue
		}
		fmt.Printf("  %10d  %s\n", m.Count, m.Name)
	}
	if never > 0 {
		fmt.Println("  never reached:")
		for _, m := range r.Marks {
			if m.Count == 0 {
				fmt.Printf("              %s\n", m.Name)
			}
		}
	}
	s, wall, busy := &r.Stats, r.Wall.Seconds(), max(r.Busy.Seconds(), 1e-9)
	fmt.Printf(`
runs        %d: %d passed, %d void%s, %d failed; %d run twice
speed       %.1f seeds/s; on one core %.0f times real time, %.0f core steps/s
checking    %s
virtual     %s in %s
work        %d acknowledged, %d polled, %d commits; %d failed, %d unknown
events      %d; %d messages, %d core steps, %d faults
ground      %s
memory      %s
code        %s
`,
		r.Runs, r.Passed, r.Void, voids(r), r.Failed(), r.Twice,
		float64(r.Runs)/wall, time.Duration(s.Virtual).Seconds()*factor(r)/busy, float64(s.Steps)*factor(r)/busy,
		checking(r), time.Duration(s.Virtual).Round(time.Second), r.Wall.Round(time.Millisecond),
		s.Acked, s.Polled, s.Commits, s.Failed, s.Unknown,
		s.Events, s.Messages, s.Steps, s.Faults, ground(r), memory(r), codeOf(r))
	if bug := bugOf(r); bug != "" {
		fmt.Printf("bug         %s, planted\n", bug)
	}
}

// counted is a number of things, each of which is called one: "1 time", "2 times".
func counted(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}

// codeOf is the commit that a report was made by.
func codeOf(r *sim.Report) string {
	if len(r.Parts) == 0 {
		return codeVersion()
	}
	return r.Parts[0].Code
}

// bugOf is the bug that was planted in the code that a report was made by; empty:
// none. All parts have the same.
func bugOf(r *sim.Report) string {
	if len(r.Parts) == 0 {
		return ""
	}
	return r.Parts[0].Bug
}

// voids names the first void seeds.
func voids(r *sim.Report) string {
	if len(r.Voids) == 0 {
		return ""
	}
	return fmt.Sprintf(" %v", r.Voids)
}

// checking says what part of the time observers and models take.
func checking(r *sim.Report) string {
	if r.Watched.Runs == 0 {
		return "not measured: no run was made twice"
	}
	return fmt.Sprintf("%.0f%% of the time of a run, measured in %d of them", 100*r.Watched.Share(), r.Watched.Runs)
}

// ground says how much of what marks can tell apart was covered.
func ground(r *sim.Report) string {
	s := fmt.Sprintf("%d points", r.Ground.Points)
	if r.Ground.Last > 0 {
		s += fmt.Sprintf("; the last new one by seed %d, %d runs before the end", r.Ground.Last, r.Ground.Since)
	}
	if r.Plateau {
		s += ": a plateau, so it ended"
	}
	return s
}

func memory(r *sim.Report) string {
	if r.Peak == 0 {
		return "not known"
	}
	return fmt.Sprintf("at most %d MiB", r.Peak>>20)
}

// factor corrects figures for the runs that were made twice and count once.
func factor(r *sim.Report) float64 {
	if r.Runs == 0 {
		return 1
	}
	return float64(r.Runs+r.Twice) / float64(r.Runs)
}

// printFailure prints everything that is needed to have a failure again.
func printFailure(r *sim.Result, what string) {
	printFailureTo(os.Stdout, os.Getenv(bugVariable), r, what)
}

// printFailureTo is printFailure for what failed in the code with a bug in it; empty:
// in none.
func printFailureTo(to io.Writer, bug string, r *sim.Result, what string) {
	f := r.Failure
	where := ""
	if f.Node > 0 {
		where = fmt.Sprintf(", node %d", f.Node)
	}
	fmt.Fprintf(to, "  broken    %s\n  what      %s\n  where     event %d, %s%s\n  seed      %d, hash %016x\n",
		f.Invariant, f.Sentence, f.Event, f.Time, where, r.Seed, r.Hash)
	printCommandsTo(to, bug, what, f.Event)
}

// printCommands names what can be done with a failure next.
func printCommands(bug, what string, event uint64) { printCommandsTo(os.Stdout, bug, what, event) }

func printCommandsTo(to io.Writer, bug, what string, event uint64) {
	fmt.Fprintf(to, "  replay    %s\n", plantedCommand(bug, "replay", what))
	fmt.Fprintf(to, "  story     %s\n", plantedCommand(bug, "replay", what, "--story", "--from", strconv.FormatUint(max(event, 201)-200, 10)))
	name := nameOfPlan(what)
	if !strings.HasPrefix(name, "small") { // as shrink calls what cannot be smaller
		fmt.Fprintf(to, "  shrink    %s\n", plantedCommand(bug, "shrink", what, "-o", "small-"+name+".json"))
	}
	fmt.Fprintf(to, "  why       %s\n", plantedCommand(bug, "why", what))
	fmt.Fprintf(to, "  explain   %s\n", plantedCommand(bug, "explain", what, "-o", "report-"+name+".html"))
	fmt.Fprintf(to, "  debug     %s\n", plantedCommand(bug, "debug", what))
}

// nameOfPlan is what files that are made of a seed or a plan are called after.
func nameOfPlan(what string) string {
	return strings.ReplaceAll(strings.TrimSuffix(filepath.Base(what), ".json"), ":", "-")
}

// planName is what LoadPlan finds the plan of a campaign's run by.
func planName(r *sim.Result) string { return cmp.Or(r.Plan, strconv.FormatUint(r.Seed, 10)) }

// saveFailures saves the plan of each failure's first seed.
func saveFailures(dir string, r *sim.Report) error {
	if dir == "" || len(r.Failures) == 0 {
		return nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for i := range r.Failures {
		first := r.Failures[i].First
		path := filepath.Join(dir, fmt.Sprintf("seed-%s.json", nameOfPlan(planName(first))))
		plan, err := sim.LoadPlan(planName(first))
		if err != nil {
			return err
		}
		failed := sim.Run(plan, sim.Options{Record: true})
		if failed.Failure != nil { // it may be nondeterministic
			plan = sim.Failed(plan, failed, codeVersion(), os.Getenv(bugVariable))
		}
		if err := plan.Save(path); err != nil {
			return err
		}
		fmt.Printf("saved %s (%s)\n", path, r.Failures[i].Fingerprint)
	}
	return nil
}
