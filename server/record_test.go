package server

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/tape"
)

// conform demands that the cores of all nodes of a test do again what they did,
// and returns a report for each run of a node, in the order of their names.
func (c *cluster) conform(t *testing.T) (reports []*tape.Report) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(c.tapes, "*"+tape.Suffix))
	require.NoError(t, err)
	for _, file := range files {
		f, err := os.Open(file)
		require.NoError(t, err)
		r, err := tape.Conform(f, "")
		f.Close()
		require.NoError(t, err, file)
		if d := r.Difference; d != nil {
			t.Errorf("%s: %v\ninput: %s", filepath.Base(file), d, d.Input)
		}
		reports = append(reports, r)
	}
	return reports
}

func TestEachRunOfANodeHasATapeThatItsCoreConformsTo(t *testing.T) {
	c := newCluster(t, 3)
	c.ready(t)
	id := c.topic(t)
	leader := c.leader(t, 0, 0)
	c.produce(t, leader, id, "one")
	c.nodes[leader].Stop()
	require.ErrorIs(t, c.nodes[leader].Wait(), errStopped)
	c.start(t, leader)
	next := c.leader(t, (leader+1)%3, c.configs[leader].Node)
	c.produce(t, next, id, "two")
	require.Equal(t, []string{"one", "two"}, c.values(t, next, id, 2))
	for _, n := range c.nodes {
		n.Stop()
		_ = n.Wait()
	}
	reports := c.conform(t)
	require.Len(t, reports, 4, "one for each run")
	steps := int64(0)
	for _, r := range reports {
		require.Equal(t, "the node has ended", r.End)
		require.Positive(t, r.Steps)
		steps += r.Steps
	}
	// One run alone may be short: how many steps it takes is a matter of time.
	require.Greater(t, steps, int64(4*20))
}

func TestANodeThatCannotRecordDoesNotStart(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	cfg := sound()
	cfg.DataDir, cfg.Listen, cfg.Record = t.TempDir(), freeAddress(t), file
	_, err := Start(cfg)
	require.ErrorContains(t, err, "server: cannot record: ")
}
