package main

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/sim"
)

func TestJUnitTellsPartsClassesFailuresAndMarks(t *testing.T) {
	t.Setenv(bugVariable, "")
	r := &sim.Report{
		Runs: 100, Passed: 93, Void: 3, Voids: []uint64{7, 8, 9}, Wall: 90 * time.Second,
		Parts: []sim.Part{
			{Name: "seeds 1..100, shard 1/2", Code: "c0ffee", Runs: 100, Void: 3, Failed: 4, Wall: 90 * time.Second},
			{Name: "seeds 1..100, shard 2/2", Code: "c0ffee"},
		},
		Failures: []sim.Found{{
			Fingerprint: "INV-2: logs differ", Class: sim.Safety, Count: 4, Seeds: []uint64{82, 5},
			First: &sim.Result{Seed: 82, Class: sim.Safety, Hash: 0xabc, Failure: &sim.Failure{Invariant: "INV-2", Sentence: `one log has "a" & another <b>`, Event: 9778}},
		}},
		Marks: []sim.Mark{{Name: "a process crashed", Count: 12}, {Name: "a disk ran full"}},
	}
	var text strings.Builder // what run prints, with the commands
	fmt.Fprintln(&text, "failed 4 times, seeds [82 5]")
	printFailureTo(&text, "", r.Failures[0].First, "82")
	require.Contains(t, text.String(), "simrun replay 82")
	var escaped bytes.Buffer
	require.NoError(t, xml.EscapeText(&escaped, []byte(text.String())))
	path := filepath.Join(t.TempDir(), "junit.xml")
	require.NoError(t, writeJUnit(path, r, true))
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, `<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="simrun" tests="10" failures="3" errors="0" skipped="1" time="90.000">
  <testsuite name="simrun.campaign" tests="7" failures="1" errors="0" skipped="1" time="90.000">
    <testcase classname="simrun.part" name="seeds 1..100, shard 1/2" time="90.000">
      <system-out>code c0ffee: 100 runs, 3 void, 4 failed&#xA;</system-out>
    </testcase>
    <testcase classname="simrun.part" name="seeds 1..100, shard 2/2" time="0.000">
      <skipped message="no seed was run"></skipped>
      <system-out>code c0ffee: 0 runs, 0 void, 0 failed&#xA;</system-out>
    </testcase>
    <testcase classname="simrun.class" name="safety" time="0.000">
      <failure message="4 runs failed in 1 way" type="safety"></failure>
    </testcase>
    <testcase classname="simrun.class" name="liveness" time="0.000"></testcase>
    <testcase classname="simrun.class" name="nondeterminism" time="0.000"></testcase>
    <testcase classname="simrun.class" name="broken" time="0.000"></testcase>
    <testcase classname="simrun.class" name="void" time="0.000">
      <system-out>3 of 100 runs were void, seeds [7 8 9]&#xA;</system-out>
    </testcase>
  </testsuite>
  <testsuite name="simrun.failures" tests="1" failures="1" errors="0" skipped="0" time="90.000">
    <testcase classname="simrun.safety" name="INV-2: logs differ" time="0.000">
      <failure message="one log has &#34;a&#34; &amp; another &lt;b&gt;" type="safety">TEXT</failure>
    </testcase>
  </testsuite>
  <testsuite name="simrun.marks" tests="2" failures="1" errors="0" skipped="0" time="0.000">
    <testcase classname="simrun.mark" name="a process crashed" time="0.000">
      <system-out>reached 12 times&#xA;</system-out>
    </testcase>
    <testcase classname="simrun.mark" name="a disk ran full" time="0.000">
      <failure message="never reached: the campaign does not test it" type="mark"></failure>
    </testcase>
  </testsuite>
</testsuites>
`, strings.ReplaceAll(string(b), escaped.String(), "TEXT"))
	var read junitSuites
	require.NoError(t, xml.Unmarshal(b, &read))
}

// What XML cannot say must not break the file.
func TestJUnitBearsAnyText(t *testing.T) {
	r := &sim.Report{Runs: 1, Failures: []sim.Found{{
		Fingerprint: "harness: \x00\x1b", Class: sim.Broken, Count: 1,
		First: &sim.Result{Class: sim.Broken, Failure: &sim.Failure{Invariant: "harness", Sentence: "panic: \x00 \xff ]]>"}},
	}}}
	b, err := xml.Marshal(junit(r, false))
	require.NoError(t, err)
	var read junitSuites
	require.NoError(t, xml.Unmarshal(b, &read))
	require.Equal(t, 2, read.Errors)
	require.Contains(t, string(b), `"1 run failed in 1 way"`)
	require.Contains(t, string(b), "failed 1 time, seeds")
}

func TestACampaignHasALastSeedOrSomethingElseThatEndsIt(t *testing.T) {
	for _, c := range []struct {
		campaign sim.Campaign
		seeds    string
		from, to uint64
	}{
		{sim.Campaign{}, "", 1, 100},
		{sim.Campaign{}, "5..6", 5, 6},
		{sim.Campaign{Budget: time.Minute}, "", 1, 1 << 40},
		{sim.Campaign{Plateau: 100}, "", 1, 1 << 40},
		{sim.Campaign{Budget: time.Minute}, "1..500", 1, 500},
		{sim.Campaign{}, "abcdef1234567", 0xabcdef1234567, 0xabcdef1234567 + 99},
		{sim.Campaign{Budget: time.Minute}, "abcdef1234567", 0xabcdef1234567, 0xabcdef1234567 + 1<<40},
	} {
		require.NoError(t, campaignSeeds(&c.campaign, c.seeds))
		require.Equal(t, [2]uint64{c.from, c.to}, [2]uint64{c.campaign.From, c.campaign.To}, c.seeds)
	}
}

func TestWhatIsLeftOfACampaign(t *testing.T) {
	p := &progress{campaign: &sim.Campaign{Budget: time.Minute}, total: 1000, report: &sim.Report{Runs: 100, Passed: 100}}
	done, left := p.left(20 * time.Second)
	require.Equal(t, [2]any{1.0 / 3, 40 * time.Second}, [2]any{done, left}, "the budget ends first")
	require.Equal(t, "100 seeds, 5.0/s, 0 times real time, 0 failed, 40s left", p.line(20*time.Second, left))
	p.campaign.Budget = time.Hour
	done, left = p.left(20 * time.Second)
	require.Equal(t, [2]any{0.1, 3 * time.Minute}, [2]any{done, left}, "the seeds end first")
	p.campaign = &sim.Campaign{Plateau: 500}
	p.total = 1 << 40
	p.report.Ground, p.report.Passed, p.report.Void = sim.Ground{Points: 1200, Since: 40}, 98, 2
	_, left = p.left(20 * time.Second)
	require.Equal(t, "100 seeds, 5.0/s, 0 times real time, 0 failed, 2 void, 1200 points of ground, none new for 40 of 500", p.line(20*time.Second, left))
}

func TestACampaignTellsTheFirstFailureOfEachCauseAtOnce(t *testing.T) {
	p := &progress{}
	run := func(seed uint64, cause string) string {
		return p.failed(&sim.Result{Seed: seed, Failure: &sim.Failure{Invariant: "INV-5", Cause: cause, Sentence: "record " + cause + " is gone"}})
	}
	require.Equal(t, []string{"", "seed 8 failed: INV-5: record a is gone", "", "seed 10 failed: INV-5: record b is gone"},
		[]string{p.failed(&sim.Result{Seed: 7}), run(8, "a"), run(9, "a"), run(10, "b")})
}
