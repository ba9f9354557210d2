package main

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
)

// refusal is what a command line ends with.
func refusal(c *cobra.Command, args ...string) error {
	c.SetArgs(args)
	c.SetOut(io.Discard)
	c.SetErr(io.Discard)
	c.SilenceUsage, c.SilenceErrors = true, true
	return c.Execute()
}

// A search that tries nothing must not look like one that finds nothing.
func TestASearchForCrashesThatTriesNothingIsRefused(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"3", "--every", "0"}, "--every and --limit are 1 or above, --points 0 or above"},
		{[]string{"3", "--limit", "0"}, "--every and --limit are 1 or above, --points 0 or above"},
		{[]string{"3", "--points", "-1"}, "--every and --limit are 1 or above, --points 0 or above"},
		{[]string{"3", "--at", "noon"}, "--at noon: it is event, sync or op"},
		{[]string{"3", "--node", "99"}, "there is no node 99: the run has nodes 1 to 5"},
		{[]string{"3", "--every", "99999999"}, "there is no such point: try a smaller --every"},
		{[]string{"3", "--event", "5"}, "--event needs --node: whose power goes"},
		{[]string{"3", "--event", "99999999999", "--node", "1"}, "no world was played: node 1 of this run never comes to event 99999999999"},
	} {
		require.EqualError(t, refusal(crashCommand(), c.args...), c.want)
	}
}

func TestWhatIsNoReportIsNotMerged(t *testing.T) {
	for content, want := range map[string]string{
		"garbage": " is no report: invalid character 'g' looking for beginning of value",
		"[]":      " is no report: json: cannot unmarshal array into Go value of type sim.Report",
		"{}":      " is no report: it does not say what was run",
	} {
		file := filepath.Join(t.TempDir(), "report.json")
		require.NoError(t, os.WriteFile(file, []byte(content), 0o600))
		require.EqualError(t, refusal(mergeCommand(), file), file+want)
	}
}
