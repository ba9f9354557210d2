package server

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/internal/loopback"
	"github.com/tamarack-mq/tamarack/storage"
	"github.com/tamarack-mq/tamarack/transport/tcp"
)

// quick are timings for a cluster on one machine that must not keep tests
// waiting.
var quick = core.Timing{
	HeartbeatInterval: 100 * message.Millisecond, SessionTimeout: 1500 * message.Millisecond,
	ReplicaLag: 1500 * message.Millisecond, ElectionTimeout: 500 * message.Millisecond, QuorumHeartbeat: 50 * message.Millisecond,
}

// logger prints to the test's log when TAMARACK_TEST_LOG is set.
func logger() *slog.Logger {
	if os.Getenv("TAMARACK_TEST_LOG") == "" {
		return discard()
	}
	return slog.New(slog.NewTextHandler(os.Stderr, nil))
}

// freeAddress finds a port that nobody listens on.
func freeAddress(t *testing.T) string {
	t.Helper()
	list, err := loopback.Addresses(1)
	require.NoError(t, err)
	return list[0]
}

// cluster is some nodes in this process, on real sockets and files.
type cluster struct {
	configs []Config
	nodes   []*Node
	tapes   string // folder of the recordings of all runs
}

func newCluster(t *testing.T, size int) *cluster {
	t.Helper()
	dir := t.TempDir()
	c := &cluster{nodes: make([]*Node, size), tapes: filepath.Join(dir, "tapes")}
	var voters []Voter
	for i := range size {
		voters = append(voters, Voter{Node: message.NodeID(i + 1), Address: freeAddress(t)})
	}
	for i, v := range voters {
		c.configs = append(c.configs, Config{
			Node: v.Node, ClusterID: "oak", DataDir: filepath.Join(dir, fmt.Sprint("node", v.Node)), Listen: v.Address, Voters: voters,
			Timing: quick, HTTP: "127.0.0.1:0", ReserveBytes: -1, ShutdownLimit: 10 * time.Second, Logger: logger(), Record: c.tapes,
		})
		c.start(t, i)
	}
	t.Cleanup(func() {
		for _, n := range c.nodes {
			n.Stop()
			_ = n.Wait()
		}
		c.conform(t)
	})
	return c
}

func (c *cluster) start(t *testing.T, i int) {
	t.Helper()
	n, err := Start(c.configs[i])
	require.NoError(t, err)
	c.nodes[i] = n
}

// ready waits until the cluster lets every node serve.
func (c *cluster) ready(t *testing.T) {
	t.Helper()
	for _, n := range c.nodes {
		eventually(t, func() string { _, why := n.Ready(t.Context()); return why })
	}
}

// eventually waits until check has nothing to complain about.
func eventually(t *testing.T, check func() string) {
	t.Helper()
	end := time.Now().Add(patience)
	for {
		why := check()
		if why == "" {
			return
		}
		if time.Now().After(end) {
			t.Fatal(why)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// asker asks a node one thing after the other.
type asker struct{ replies chan message.Reply }

func (a *asker) Replied(_ uint64, m message.Reply) { a.replies <- m }
func (a *asker) Closed(error)                      { close(a.replies) }

// ask asks node i and gives the reply, or nil when the connection failed.
func (c *cluster) ask(t *testing.T, i int, r message.Request) message.Reply {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	a := &asker{make(chan message.Reply, 1)}
	conn, err := tcp.Dial(ctx, c.nodes[i].Address(), tcp.Hello{ClusterID: "oak"}, a)
	if err != nil {
		return nil
	}
	defer conn.Close()
	if conn.Send(1, r) != nil {
		return nil
	}
	select {
	case m := <-a.replies:
		return m
	case <-ctx.Done():
		t.Fatalf("no reply to %s", r.Kind())
		return nil
	}
}

// topic makes a topic of one partition and waits until all replicas are in sync.
func (c *cluster) topic(t *testing.T) record.PartitionID {
	t.Helper()
	var id record.PartitionID
	eventually(t, func() string {
		reply, _ := c.ask(t, 0, &message.CreateTopic{Name: "orders", Partitions: 1, ReplicationFactor: int16(len(c.nodes))}).(*message.CreateTopicReply)
		if reply == nil || reply.Code != message.None && reply.Code != message.TopicAlreadyExists {
			return fmt.Sprintf("no topic: %+v", reply)
		}
		id.Topic = max(id.Topic, reply.ID)
		return ""
	})
	return id
}

// leader waits until a partition has a leader that node i knows of.
func (c *cluster) leader(t *testing.T, i int, not message.NodeID) int {
	t.Helper()
	var leader message.NodeID
	eventually(t, func() string {
		m, _ := c.ask(t, i, &message.Metadata{Topics: []string{"orders"}}).(*message.MetadataReply)
		if m == nil || len(m.Topics) == 0 || len(m.Topics[0].Partitions) == 0 || m.Topics[0].Partitions[0].Leader == message.NoNode ||
			m.Topics[0].Partitions[0].Leader == not {
			return fmt.Sprintf("no leader: %+v", m)
		}
		leader = m.Topics[0].Partitions[0].Leader
		return ""
	})
	return int(leader) - 1
}

func (c *cluster) produce(t *testing.T, leader int, id record.PartitionID, value string) record.Offset {
	t.Helper()
	var offset record.Offset
	eventually(t, func() string {
		var b record.Builder
		require.NoError(t, b.Append(record.Timestamp(time.Now().UnixMilli()), nil, []byte(value), nil)) // else retention takes it
		reply, _ := c.ask(t, leader, &message.Produce{Acks: message.AcksAll, Timeout: message.Duration(patience),
			Partitions: []message.ProducePartition{{ID: id, Records: bytes.Clone(b.Build())}}}).(*message.ProduceReply)
		if reply == nil || reply.Partitions[0].Code != message.None {
			return fmt.Sprintf("not produced: %+v", reply)
		}
		offset = reply.Partitions[0].BaseOffset
		return ""
	})
	return offset
}

// values reads everything from the start of a partition.
func (c *cluster) values(t *testing.T, leader int, id record.PartitionID, count int) []string {
	t.Helper()
	var all []string
	at := record.Offset(0)
	eventually(t, func() string {
		reply, _ := c.ask(t, leader, fetchFrom(id, at)).(*message.FetchReply)
		if reply == nil || reply.Partitions[0].Code != message.None {
			return fmt.Sprintf("not fetched: %+v", reply)
		}
		batches := record.Batches(reply.Partitions[0].Records)
		for batches.Next() {
			records := record.Records(&batches.Header, record.Payload(batches.Bytes))
			for records.Next() {
				if records.Record.Offset >= at {
					all = append(all, string(records.Record.Value))
					at = records.Record.Offset + 1
				}
			}
			require.NoError(t, records.Err())
		}
		if len(all) < count {
			return fmt.Sprintf("%d of %d records", len(all), count)
		}
		return ""
	})
	return all
}

func fetchFrom(id record.PartitionID, at record.Offset) *message.Fetch {
	return &message.Fetch{MaxWait: 100 * message.Millisecond, MinBytes: 1, MaxBytes: 1 << 20,
		Partitions: []message.FetchPartition{{ID: id, LeaderEpoch: -1, LastEpoch: -1, Offset: at, MaxBytes: 1 << 20}}}
}

func get(t *testing.T, url string) (int, string) {
	t.Helper()
	r, err := http.Get(url)
	require.NoError(t, err)
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	return r.StatusCode, string(body)
}

// Records that were acknowledged outlive the loss of their leader and a
// restart of the whole cluster.
func TestAcknowledgedRecordsOutliveTheirLeader(t *testing.T) {
	if testing.Short() {
		t.Skip("real sockets, files and timeouts")
	}
	c := newCluster(t, 3)
	c.ready(t)
	id := c.topic(t)
	leader := c.leader(t, 0, message.NoNode)
	var want []string
	for i := range 50 {
		value := fmt.Sprint("before ", i)
		require.Equal(t, record.Offset(len(want)), c.produce(t, leader, id, value))
		want = append(want, value)
	}
	c.nodes[leader].Stop()
	require.ErrorIs(t, c.nodes[leader].Wait(), errStopped)
	old := leader
	leader = c.leader(t, (old+1)%3, c.configs[old].Node)
	for i := range 50 {
		value := fmt.Sprint("after ", i)
		c.produce(t, leader, id, value)
		want = append(want, value)
	}
	require.Equal(t, want, c.values(t, leader, id, len(want)))

	c.start(t, old)
	c.ready(t)
	for _, n := range c.nodes {
		n.Stop()
		_ = n.Wait()
	}
	for i := range c.nodes {
		c.start(t, i)
	}
	c.ready(t)
	leader = c.leader(t, 0, message.NoNode)
	require.Equal(t, want, c.values(t, leader, id, len(want)))
}

// One node after another is shut down in order, and the others serve on.
func TestAControlledShutdownEndsCleanly(t *testing.T) {
	if testing.Short() {
		t.Skip("real sockets, files and timeouts")
	}
	c := newCluster(t, 3)
	c.ready(t)
	id := c.topic(t)
	leader := c.leader(t, 0, message.NoNode)
	c.produce(t, leader, id, "one")
	c.nodes[leader].Shutdown()
	require.NoError(t, c.nodes[leader].Wait())
	other := c.leader(t, (leader+1)%3, c.configs[leader].Node)
	c.produce(t, other, id, "two")
	c.start(t, leader)
	c.ready(t)
	require.Equal(t, []string{"one", "two"}, c.values(t, other, id, 2))
}

// All nodes are told to go at once. The last ones find nobody to hand over to:
// they notice, flush, and end as well as the first ones do.
func TestAllNodesEndCleanlyTogether(t *testing.T) {
	if testing.Short() {
		t.Skip("real sockets, files and timeouts")
	}
	c := newCluster(t, 3)
	c.ready(t)
	id := c.topic(t)
	c.produce(t, c.leader(t, 0, message.NoNode), id, "one")
	for _, n := range c.nodes {
		n.Shutdown()
	}
	for _, n := range c.nodes {
		require.NoError(t, n.Wait())
	}
	var journals [3]journalOf
	for i := range c.nodes {
		c.configs[i].Logger = slog.New(slog.NewJSONHandler(&journals[i], nil))
		c.start(t, i)
		require.Equal(t, true, journals[i].line("opened the data folder")["clean"])
	}
	c.ready(t)
	require.Equal(t, []string{"one"}, c.values(t, c.leader(t, 0, message.NoNode), id, 1))

	for _, n := range c.nodes[1:] {
		n.Stop()
		_ = n.Wait()
	}
	begin := time.Now()
	c.nodes[0].GiveUpHandover()
	require.NoError(t, c.nodes[0].Wait())
	require.Less(t, time.Since(begin), time.Second, "told that nobody is left, it does not wait for a session")
}

func TestHealthAndMetricsOverHTTP(t *testing.T) {
	c := newCluster(t, 1)
	base := "http://" + c.nodes[0].HTTPAddress()
	c.ready(t)
	status, body := get(t, base+"/healthz")
	require.Equal(t, http.StatusOK, status, body)
	status, body = get(t, base+"/readyz")
	require.Equal(t, http.StatusOK, status, body)
	status, body = get(t, base+"/metrics")
	require.Equal(t, http.StatusOK, status)
	for _, name := range []string{`tamarack_brokers_live{node="1"} 1`, `tamarack_quorum_saves_total{node="1"}`, `tamarack_requests_total{kind="Produce",node="1"} 0`, "process_cpu_seconds_total"} {
		require.Contains(t, body, name)
	}
	status, _ = get(t, base+"/debug/pprof/")
	require.Equal(t, http.StatusNotFound, status, "profiles are off unless asked for")
}

// A node without a majority lives, is not ready, and says why.
func TestANodeAloneIsNotReady(t *testing.T) {
	c := newCluster(t, 3)
	for _, n := range c.nodes[1:] {
		n.Stop()
		_ = n.Wait()
	}
	c.nodes[0].Stop()
	_ = c.nodes[0].Wait()
	c.start(t, 0)
	base := "http://" + c.nodes[0].HTTPAddress()
	status, body := get(t, base+"/healthz")
	require.Equal(t, http.StatusOK, status, body)
	status, body = get(t, base+"/readyz")
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Contains(t, body, "majority of the voters")
}

// Two of three nodes die: the third stops saying that it is ready.
func TestANodeThatLosesItsControllersIsNotReady(t *testing.T) {
	if testing.Short() {
		t.Skip("real sockets, files and timeouts")
	}
	c := newCluster(t, 3)
	c.ready(t)
	base := "http://" + c.nodes[0].HTTPAddress()
	for _, n := range c.nodes[1:] {
		n.Stop()
		_ = n.Wait()
	}
	eventually(t, func() string {
		if status, body := get(t, base+"/readyz"); status != http.StatusServiceUnavailable || !strings.Contains(body, "majority of the voters") {
			return fmt.Sprintf("still %d %s", status, body)
		}
		return ""
	})
	m := c.ask(t, 0, &message.Metadata{}).(*message.MetadataReply)
	require.True(t, m.ControllerSilent, "and its clients are told")
	c.start(t, 1)
	eventually(t, func() string { _, why := c.nodes[0].Ready(t.Context()); return why })
}

// What is wrong with a data folder or an address is said with what to do.
func TestStartNamesWhatIsWrong(t *testing.T) {
	c := newCluster(t, 1)
	cfg := c.configs[0]
	fails := func(change func(*Config)) error {
		wrong := cfg
		wrong.Listen = "127.0.0.1:0"
		wrong.HTTP = ""
		change(&wrong)
		n, err := Start(wrong)
		if err == nil {
			n.Stop()
			_ = n.Wait()
		}
		require.Error(t, err)
		return err
	}
	err := fails(func(*Config) {})
	require.ErrorIs(t, err, storage.ErrInUse)
	require.ErrorContains(t, err, "stop it, or give this one a folder of its own")
	require.ErrorContains(t, fails(func(c *Config) { c.Listen = cfg.Listen; c.DataDir = t.TempDir() }), "is another process there?")
	require.ErrorContains(t, fails(func(c *Config) { c.DataDir = "" }), "name one that belongs to this node alone")
	require.ErrorContains(t, fails(func(c *Config) { c.Advertise = "0.0.0.0:1" }), "which nobody can connect to")
	for _, everywhere := range []string{"0.0.0.0:0", "[::]:0", ":0"} {
		require.ErrorContains(t, fails(func(c *Config) { c.Listen, c.Advertise = everywhere, "" }), "advertise the host and port at which others reach this node")
	}
	require.ErrorContains(t, fails(func(c *Config) { c.Voters = []Voter{{1, "nonsense"}} }), "give it as host:port")

	c.nodes[0].Stop()
	_ = c.nodes[0].Wait()
	err = fails(func(c *Config) { c.ClusterID = "elm" })
	require.ErrorIs(t, err, storage.ErrWrongCluster)
	require.ErrorContains(t, err, "correct the cluster id")
	err = fails(func(c *Config) { c.Node = 2; c.Voters = []Voter{{2, "127.0.0.1:1"}} })
	require.ErrorIs(t, err, storage.ErrWrongNode)
	c.start(t, 0)
}
