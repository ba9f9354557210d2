package main

import (
	"encoding/xml"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/tamarack-mq/tamarack/sim"
)

// A report in the XML that CI systems read as results of tests (the schema of
// JUnit, as Jenkins and GitLab take it): a test case for each part of the campaign,
// for each class of failure, and for each failure, with the commands to have it
// again.
type (
	junitSuites struct {
		XMLName  xml.Name `xml:"testsuites"`
		Name     string   `xml:"name,attr"`
		Tests    int      `xml:"tests,attr"`
		Failures int      `xml:"failures,attr"`
		Errors   int      `xml:"errors,attr"`
		Skipped  int      `xml:"skipped,attr"`
		Time     string   `xml:"time,attr"`
		Suites   []junitSuite
	}
	junitSuite struct {
		XMLName  xml.Name    `xml:"testsuite"`
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Errors   int         `xml:"errors,attr"`
		Skipped  int         `xml:"skipped,attr"`
		Time     string      `xml:"time,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Class   string        `xml:"classname,attr"`
		Name    string        `xml:"name,attr"`
		Time    string        `xml:"time,attr"`
		Failure *junitProblem `xml:"failure,omitempty"`
		Error   *junitProblem `xml:"error,omitempty"`
		Skipped *junitProblem `xml:"skipped,omitempty"`
		Output  string        `xml:"system-out,omitempty"`
	}
	junitProblem struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr,omitempty"`
		Text    string `xml:",chardata"`
	}
)

// junit makes the suites of a report: its parts and classes, the failures, and,
// when they are required, the marks.
func junit(r *sim.Report, requireMarks bool) *junitSuites {
	all := &junitSuites{Name: "simrun", Time: seconds(r.Wall)}
	all.add("campaign", r.Wall, append(junitParts(r), junitClasses(r)...))
	if len(r.Failures) > 0 {
		all.add("failures", r.Wall, junitFailures(r))
	}
	if requireMarks {
		all.add("marks", 0, junitMarks(r))
	}
	return all
}

func (s *junitSuites) add(name string, took time.Duration, cases []junitCase) {
	suite := junitSuite{Name: "simrun." + name, Tests: len(cases), Time: seconds(took), Cases: cases}
	for i := range cases {
		c := &cases[i]
		switch {
		case c.Failure != nil:
			suite.Failures++
		case c.Error != nil:
			suite.Errors++
		case c.Skipped != nil:
			suite.Skipped++
		}
	}
	s.Tests += suite.Tests
	s.Failures += suite.Failures
	s.Errors += suite.Errors
	s.Skipped += suite.Skipped
	s.Suites = append(s.Suites, suite)
}

// junitParts has a case for each process that ran a part. What failed in it is
// counted once, among the failures.
func junitParts(r *sim.Report) (cases []junitCase) {
	for _, p := range r.Parts {
		c := junitCase{
			Class: "simrun.part", Name: p.Name, Time: seconds(p.Wall),
			Output: fmt.Sprintf("code %s: %d runs, %d void, %d failed\n", p.Code, p.Runs, p.Void, p.Failed),
		}
		if p.Runs == 0 {
			c.Skipped = &junitProblem{Message: "no seed was run"}
		}
		cases = append(cases, c)
	}
	return cases
}

// junitClasses has a case for each way in which a campaign can fail.
func junitClasses(r *sim.Report) (cases []junitCase) {
	for _, class := range []sim.Class{sim.Safety, sim.Liveness, sim.Nondeterminism, sim.Broken} {
		c := junitCase{Class: "simrun.class", Name: string(class), Time: seconds(0)}
		kinds, runs := 0, 0
		for i := range r.Failures {
			if r.Failures[i].Class == class {
				kinds++
				runs += r.Failures[i].Count
			}
		}
		if kinds > 0 {
			p := &junitProblem{Message: fmt.Sprintf("%s failed in %s", counted(runs, "run"), counted(kinds, "way")), Type: string(class)}
			if class == sim.Broken {
				c.Error = p
			} else {
				c.Failure = p
			}
		}
		cases = append(cases, c)
	}
	void := junitCase{Class: "simrun.class", Name: string(sim.Void), Time: seconds(0), Output: fmt.Sprintf("%d of %d runs were void, seeds %v\n", r.Void, r.Runs, r.Voids)}
	if r.Worst() == sim.Void {
		void.Failure = &junitProblem{Message: fmt.Sprintf("%d of %d runs were void: too little got done to judge by", r.Void, r.Runs), Type: string(sim.Void)}
	}
	return append(cases, void)
}

// junitFailures has a case for each fingerprint, the quickest to fail first.
func junitFailures(r *sim.Report) (cases []junitCase) {
	for i := range r.Failures {
		f := &r.Failures[i]
		var text strings.Builder
		fmt.Fprintf(&text, "failed %s, seeds %v\n", counted(f.Count, "time"), f.Seeds)
		printFailureTo(&text, bugOf(r), f.First, planName(f.First))
		p := &junitProblem{Message: f.First.Failure.Sentence, Type: string(f.Class), Text: text.String()}
		c := junitCase{Class: "simrun." + string(f.Class), Name: f.Fingerprint, Time: seconds(time.Duration(f.First.Stats.Virtual))}
		if f.Class == sim.Broken {
			c.Error = p
		} else {
			c.Failure = p
		}
		cases = append(cases, c)
	}
	return cases
}

func junitMarks(r *sim.Report) (cases []junitCase) {
	for _, m := range r.Marks {
		c := junitCase{Class: "simrun.mark", Name: m.Name, Time: seconds(0)}
		if m.Count == 0 {
			c.Failure = &junitProblem{Message: "never reached: the campaign does not test it", Type: "mark"}
		} else {
			c.Output = fmt.Sprintf("reached %s\n", counted(int(m.Count), "time"))
		}
		cases = append(cases, c)
	}
	return cases
}

func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', 3, 64) }

// writeJUnit writes a report's XML to a file.
func writeJUnit(path string, r *sim.Report, requireMarks bool) error {
	b, err := xml.MarshalIndent(junit(r, requireMarks), "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append([]byte(xml.Header), append(b, '\n')...), 0o644)
}
