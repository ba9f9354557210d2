package main

import (
	"io"
	"path/filepath"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
)

// TestWrongUsageIsToldBeforeAnythingRuns: each of these would do nothing, something
// else, or hours of work that cannot be written down.
func TestWrongUsageIsToldBeforeAnythingRuns(t *testing.T) {
	nowhere := filepath.Join(t.TempDir(), "nowhere", "file")
	for _, c := range []struct {
		command *cobra.Command
		args    []string
		says    string
	}{
		{runCommand(), []string{"3"}, "seeds are given with --seeds"},
		{runCommand(), []string{"--workers", "-1"}, "--workers -1"},
		{runCommand(), []string{"--json", nowhere}, "there is no folder"},
		{runCommand(), []string{"--junit", t.TempDir()}, "it is a folder"},
		{replayCommand(), nil, "Give a seed, or the file of a plan"},
		{replayCommand(), []string{"1", "2"}, `"2" is one argument too many`},
		{replayCommand(), []string{"1", "--story", "--trace"}, "choose one"},
		{replayCommand(), []string{"1", "--from", "5"}, "--from goes with"},
		{replayCommand(), []string{"1", "--script"}, "no decisions were saved"},
		{shrinkCommand(), []string{"1", "-o", nowhere}, "there is no folder"},
		{crashCommand(), []string{leaderLosesPower, "--node", "77"}, "there is no node 77: the run has nodes 1 to 3"},
		{shrinkCommand(), []string{leaderLosesPower}, "nothing to shrink, and no file was written"},
		{whyCommand(), []string{leaderLosesPower, "--commit", "nope"}, "there is no group nope in this run"},
		{replayCommand(), []string{"usage_test.go"}, "usage_test.go: not a plan"},
		{explainCommand(), []string{"1", "-o", nowhere}, "there is no folder"},
		{seriesCommand(), []string{"x"}, `"x" is no seed`},
		{conformCommand(), nil, "give a recording"},
		{mergeCommand(), nil, "give the files"},
		{mutateCommand(), []string{"--judged", "foo"}, "it is blind, closed or equivalent"},
		{mutateCommand(), []string{"--sample", "0"}, "1 or above"},
		{liveCommand(), []string{"--for", "-3s"}, "a time above 0"},
	} {
		c.command.SilenceUsage, c.command.SilenceErrors = true, true
		c.command.SetOut(io.Discard)
		c.command.SetArgs(append([]string{}, c.args...))
		require.ErrorContains(t, c.command.Execute(), c.says, "%v", c.args)
	}
}
