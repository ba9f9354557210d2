package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/sim"
)

const leaderLosesPower = "../../scenarios/leader-loses-power.json"

// ran runs one of the verbs that look into a run.
func ran(t *testing.T, args ...string) (string, error) {
	t.Helper()
	for _, c := range seeCommands() {
		if c.Name() == args[0] {
			var out bytes.Buffer
			c.SetOut(&out)
			c.SetErr(&out)
			c.SetArgs(args[1:])
			c.SilenceUsage = true
			err := c.Execute()
			return out.String(), err
		}
	}
	t.Fatalf("there is no %s", args[0])
	return "", nil
}

func TestWhyTellsOfARecordThatIsThere(t *testing.T) {
	story, err := ran(t, "why", leaderLosesPower, "--record", "orders/0@5")
	require.NoError(t, err)
	for _, part := range []string{"record 5 of partition ", " publishes it: topic orders", " appends it for client ", " has flushed it", "it is committed", " acknowledges it to ", " is told: ok", " is given it"} {
		require.Contains(t, story, part)
	}
	_, err = ran(t, "why", leaderLosesPower)
	require.ErrorContains(t, err, "nothing broke in this run: name a record")
	_, err = ran(t, "why", leaderLosesPower, "--record", "teapots/0@5")
	require.ErrorContains(t, err, "is no record of this run")
}

func TestWhyTellsOfACommit(t *testing.T) {
	story, err := ran(t, "why", leaderLosesPower, "--commit", "billing")
	require.NoError(t, err)
	for _, part := range []string{`group "billing": commit of `, "kept as record ", " takes it", " acknowledges it to "} {
		require.Contains(t, story, part)
	}
}

func TestExplainWritesAPage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "report.html")
	said, err := ran(t, "explain", leaderLosesPower, "-o", path, "--record", "orders/0@5")
	require.NoError(t, err)
	require.Contains(t, said, "wrote "+path)
	html, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Contains(t, string(html), "leader-loses-power")
	require.Contains(t, string(html), "record 5 of partition ")
	require.Less(t, len(html), 4<<20)
}

func TestADumpGoesToAnyEvent(t *testing.T) {
	raw, err := os.ReadFile(leaderLosesPower)
	require.NoError(t, err)
	plan, err := sim.ParsePlan(raw)
	require.NoError(t, err)
	var out bytes.Buffer
	require.NoError(t, dumpNode(&out, plan, 2000, 1))
	require.Contains(t, out.String(), "process = up\n")
	require.ErrorContains(t, dumpNode(&out, plan, 2000, 9), "there is no node 9")
}

func TestRemarksStandBehindTheSignOfTheColumns(t *testing.T) {
	var out bytes.Buffer
	fmt.Fprintf(&remarks{to: &out}, "safety: hash 1\n  broken    INV-1\n")
	require.Equal(t, "# safety: hash 1\n#   broken    INV-1\n", out.String())
}
