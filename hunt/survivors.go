package hunt

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/goccy/go-yaml"
)

// Judgement is what somebody thinks of a mutant that survived.
type Judgement string

// The judgements.
const (
	Equivalent Judgement = "equivalent" // no run can tell it from the code as it is, or none has to
	Closed     Judgement = "closed"     // it was a blind spot, and is one no longer
	Blind      Judgement = "blind"      // it still is one
)

// Judged is one entry of the file of survivors, kept by hand. It is found by
// the text of the edit, so that it stays true while lines move.
type Judged struct {
	Mutation `yaml:",inline"`
	Verdict  Judgement `yaml:"verdict"`
	Why      string    `yaml:"why"`
}

// LoadSurvivors reads the file of survivors; none: nobody has judged any.
func LoadSurvivors(file string) ([]Judged, error) {
	f, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var all []Judged
	if err := yaml.NewDecoder(f, yaml.DisallowUnknownField()).Decode(&all); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	for _, j := range all {
		switch j.Verdict {
		case Equivalent, Closed, Blind:
		default:
			return nil, fmt.Errorf("%s: %q in %s is judged %q: it is equivalent, closed or blind", file, j.Before, j.File, j.Verdict)
		}
		if j.Why == "" {
			return nil, fmt.Errorf("%s: the judgement on %q in %s does not say why", file, j.Before, j.File)
		}
	}
	return all, nil
}

// SampleOf makes a sample of the edits that were judged so, to hunt them again.
// They have no operator: their texts say what they are.
func SampleOf(judged []Judged, verdict Judgement) *Sample {
	s := &Sample{}
	for i := range judged {
		if judged[i].Verdict == verdict {
			s.Fates = append(s.Fates, Fate{Mutant: Mutant{Mutation: judged[i].Mutation}})
		}
	}
	return s
}

func verdictOn(judged []Judged, m *Mutation) *Judged {
	for i := range judged {
		if judged[i].Mutation.same(m) {
			return &judged[i]
		}
	}
	return nil
}

// MutantRow writes one line about a fate. The seeds are those that were run, of
// those that reach the edit.
func MutantRow(w io.Writer, f *Fate) {
	what := "SURVIVED"
	switch {
	case f.Killed:
		what = "killed by " + f.Invariant
	case f.Detail != "":
		what = "unfit"
	case f.Reaching == 0:
		what = "NEVER REACHED"
	}
	fmt.Fprintf(w, "%-16s %6d of %d seeds %7.1fs CPU  %s:%d  %s\n", what, f.Seeds, f.Reaching, f.CPU.Seconds(), f.File, f.Line, f.Operator)
}

// Survivors writes what is known of each survivor.
func Survivors(w io.Writer, fates []Fate, judged []Judged) {
	for i := range fates {
		f := &fates[i]
		if f.Killed || !f.Hunted {
			continue
		}
		fmt.Fprintf(w, "\n%s:%d  %s  %s\n", f.File, f.Line, f.Func, f.Operator)
		fmt.Fprintf(w, "    - %s\n    + %s\n    %s\n", indented(f.Before), indented(f.After), f.course())
		if j := verdictOn(judged, &f.Mutation); j != nil {
			fmt.Fprintf(w, "    %s: %s\n", j.Verdict, j.Why)
		}
	}
}

// course says what is known of what the edit does.
func (f *Fate) course() string {
	switch {
	case f.Detail != "":
		return f.Detail
	case f.Reaching == 0:
		return "never reached: the workload is blind here"
	case f.Differing == 0:
		return fmt.Sprintf("reached by %d seeds, and the %d that were run take the same course with it", f.Reaching, f.Seeds)
	}
	return fmt.Sprintf("%d of the %d seeds that were run take another course with it, and nothing broke", f.Differing, f.Seeds)
}

func indented(s string) string {
	out := ""
	for _, c := range s {
		if out += string(c); c == '\n' {
			out += "      "
		}
	}
	return out
}

// MutationSection writes a sample as a section of the scoreboard.
func MutationSection(w io.Writer, s *Sample, judged []Judged) {
	sum := Sum(s.Fates, judged)
	fmt.Fprintf(w, `## Random edits

Written by `+"`simrun mutate --sample %d --seed %d --seeds %d --scoreboard FILE`"+`: single
edits of %s, drawn at random from the syntax trees, and hunted with those seeds
that come to the place of the edit. One is killed by a seed that fails and that
the unedited code passes. What is said of the survivors is kept in
[survivors.yaml](../scenarios/survivors.yaml).

%s.

`, len(s.Fates), s.Seed, s.Budget, and(s.Dirs), sum)
	byOperator(w, s.Fates)
	fmt.Fprintf(w, "\n| survivor | edit | hunted | what it is |\n|---|---|---|---|\n")
	for i := range s.Fates {
		f := &s.Fates[i]
		j := verdictOn(judged, &f.Mutation)
		if f.Killed && j == nil || !f.Hunted {
			continue
		}
		now, why := "survives: "+f.course(), "not looked at yet"
		if f.Killed {
			now = fmt.Sprintf("%s, %d seeds", f.Invariant, f.Seeds)
		}
		if j != nil {
			why = string(j.Verdict) + ": " + j.Why
		}
		fmt.Fprintf(w, "| %s `%s` | %s: `%s` → `%s` | %s | %s |\n", f.File, f.Func, f.Operator, cell(f.Before), cell(cmp.Or(f.After, "nothing")), cell(now), cell(why))
	}
}

func and(dirs []string) string {
	out := ""
	for i, d := range dirs {
		if i > 0 {
			out += " and "
		}
		out += d
	}
	return out
}

// byOperator writes how each kind of edit fares.
func byOperator(w io.Writer, fates []Fate) {
	fmt.Fprintf(w, "| kind of edit | drawn | killed |\n|---|---:|---:|\n")
	for _, op := range []Operator{Turned, OffByOne, Bound, NoCall, NoAssign, Swapped, ForceTrue, ForceFalse, Logic, NoReturn, Arithmetic, NoBranch} {
		drawn, killed := 0, 0
		for i := range fates {
			if fates[i].Operator == op {
				drawn++
				if fates[i].Killed {
					killed++
				}
			}
		}
		fmt.Fprintf(w, "| %s | %d | %d |\n", op, drawn, killed)
	}
}
