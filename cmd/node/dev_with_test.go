package main

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/topology"
)

// devRun runs the example on real nodes and hands every view to look.
func devRun(t *testing.T, look func(*devView)) *devSummary {
	t.Helper()
	if testing.Short() {
		t.Skip("starts real processes")
	}
	args := []string{"dev", "--with", "../../docs/examples/order-events.yaml", "--for", "8s", "--json",
		"--data", t.TempDir(), "--port", "0", "--http-port", "0"}
	for _, s := range []string{"heartbeat-interval=100ms", "session-timeout=1500ms", "election-timeout=500ms", "quorum-heartbeat=50ms",
		"replica-lag=1500ms", "shutdown-limit=2s", "reserve-bytes=-1"} {
		args = append(args, "--set", s)
	}
	in, out := io.Pipe()
	root := rootCommand()
	root.SetArgs(args)
	root.SetOut(out)
	t.Cleanup(func() { in.Close() })
	result := make(chan error, 1)
	go func() {
		result <- root.ExecuteContext(t.Context())
		out.Close()
	}()
	var summary *devSummary
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var kind struct{ Kind string }
		require.NoError(t, json.Unmarshal(lines.Bytes(), &kind), lines.Text())
		require.Nil(t, summary, "the summary is the last line")
		switch kind.Kind {
		case "view":
			var v devView
			require.NoError(t, json.Unmarshal(lines.Bytes(), &v))
			look(&v)
		case "summary":
			summary = &devSummary{}
			require.NoError(t, json.Unmarshal(lines.Bytes(), summary))
		}
	}
	require.NoError(t, lines.Err())
	require.NoError(t, <-result)
	require.NotNil(t, summary)
	require.Empty(t, summary.Problems)
	require.True(t, summary.OK)
	require.Positive(t, summary.Produced.Acknowledged)
	require.Zero(t, summary.Produced.Failed+summary.Produced.Waiting)
	require.Len(t, summary.Groups, 2)
	require.Equal(t, []int{2, 2, 2}, summary.Groups[0].Owned)
	require.Equal(t, []int{1, 1, 1, 1, 1, 1}, summary.Groups[1].Owned)
	require.Equal(t, summary.Produced.Acknowledged, summary.Groups[0].Seen)
	require.Zero(t, summary.Groups[1].Repeated)
	return summary
}

func TestTheTaughtTopologyRunsOnRealNodes(t *testing.T) {
	var last *devView
	s := devRun(t, func(v *devView) { last = v })
	require.NotNil(t, last)
	require.Equal(t, summaryOf(last)[0], s.Groups[0], "the last view shows what the summary says")
	led := 0
	for _, n := range last.Nodes {
		require.Equal(t, "up", n.State)
		led += len(n.Leads)
	}
	require.Equal(t, 6, led)
	for _, g := range last.Groups {
		for _, p := range g.Partitions {
			require.NotNil(t, p.Lag)
			require.Zero(t, *p.Lag, "%s/%d", g.Group, p.Partition)
		}
	}
}

func summaryOf(v *devView) (groups []groupSummary) {
	for _, g := range v.Groups {
		s := groupSummary{Group: g.Group, Delivery: g.Delivery, Seen: g.Seen, Missing: g.Missing, Repeated: g.Repeated, Earlier: g.Earlier}
		for _, m := range g.Members {
			s.Owned = append(s.Owned, len(m.Owns))
		}
		groups = append(groups, s)
	}
	return groups
}

// The node that leads the cluster is killed with SIGKILL after three seconds:
// the others take over its partitions, and the run goes on by itself.
func TestARunGoesOnWhenANodeIsKilled(t *testing.T) {
	killed, atKill, down := 0, 0, false
	s := devRun(t, func(v *devView) {
		for _, n := range v.Nodes {
			if killed == 0 && n.Controller && v.Seconds > 3 {
				require.NotZero(t, n.Pid)
				require.NoError(t, syscall.Kill(n.Pid, syscall.SIGKILL))
				killed, atKill = n.Node, v.Produced.Acknowledged
			}
			if n.Node == killed && n.State == "down" && len(n.Leads) == 0 {
				require.Contains(t, n.Note, "node serve --config")
				require.Zero(t, n.Pid)
				down = true
			}
		}
	})
	require.True(t, down, "the views show that node %d is down and leads nothing", killed)
	require.Greater(t, s.Produced.Acknowledged, atKill)
}

// Whatever is wrong with what was asked for is said before a node is started.
func TestWrongRunsAreRefusedBeforeAnythingStarts(t *testing.T) {
	dir := t.TempDir()
	file := func(text string) string {
		path := filepath.Join(dir, "topology.yaml")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		return path
	}
	data := filepath.Join(dir, "data")
	for _, c := range []struct {
		says string
		args []string
	}{
		{"no topic", []string{"--with", file("partitions: 3")}},
		{"no such file", []string{"--with", filepath.Join(dir, "none.yaml")}},
		{"--rate goes with --with", []string{"--rate", "5"}},
		{"--json goes with --with", []string{"--json"}},
	} {
		_, err := cli(t, "", append([]string{"dev", "--data", data}, c.args...)...)
		var usage *usageError
		require.ErrorAs(t, err, &usage)
		require.ErrorContains(t, err, c.says)
	}
	for text, args := range map[string][]string{
		"replicationFactor: 10": {"--with", file("topic: t\nreplicationFactor: 10")},
		"--rate 0":              {"--with", "../../docs/examples/order-events.yaml", "--rate", "0"},
		"--for -1s":             {"--with", "../../docs/examples/order-events.yaml", "--for", "-1s"},
	} {
		_, err := cli(t, "", append([]string{"dev", "--data", data}, args...)...)
		require.ErrorContains(t, err, text)
	}
	require.NoDirExists(t, data)
}

func TestTheNumberOfNodesFollowsTheFile(t *testing.T) {
	for _, c := range []struct {
		factor          string
		args            []string
		nodes, replicas int
	}{
		{"3", nil, 3, 3}, {"2", nil, 3, 2}, {"5", nil, 5, 5},
		{"3", []string{"--nodes=1"}, 1, 1}, {"5", []string{"--nodes=4"}, 4, 4}, {"12", []string{"--nodes=3"}, 3, 3},
	} {
		path := filepath.Join(t.TempDir(), "topology.yaml")
		require.NoError(t, os.WriteFile(path, []byte("topic: t\nreplicationFactor: "+c.factor), 0o644))
		cmd := devCommand()
		require.NoError(t, cmd.ParseFlags(append(c.args, "--with", path)))
		nodes, err := cmd.Flags().GetInt("nodes")
		require.NoError(t, err)
		d := devOptions{nodes: nodes}
		plan, err := (&withOptions{file: path, rate: 1}).check(cmd, &d)
		require.NoError(t, err)
		require.Equal(t, [...]int{c.nodes, c.replicas}, [...]int{d.nodes, plan.ReplicationFactor}, c)
	}
}

func TestATopicOfAnotherShapeIsRefused(t *testing.T) {
	plan := &topology.Topology{Topic: "orders", Partitions: 2, ReplicationFactor: 2}
	two := []message.NodeID{1, 2}
	info := &message.TopicInfo{Name: "orders", Partitions: []message.PartitionInfo{{Replicas: two}, {Replicas: two}}}
	require.NoError(t, sameShape(info, plan))
	plan.Partitions = 3
	require.EqualError(t, sameShape(info, plan), "topic orders is there already with 2 partitions and 2 replicas each, and the file asks for 3 and 2")
	plan.Partitions = 2
	info.Partitions[1].Replicas = two[:1]
	require.ErrorContains(t, sameShape(info, plan), "2 partitions and 1 replicas each")
}
