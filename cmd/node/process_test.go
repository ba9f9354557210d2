package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/client"
	protocol "github.com/tamarack-mq/tamarack/core/client"
	"github.com/tamarack-mq/tamarack/core/message"
)

// asNode makes the test binary behave as the program itself.
const asNode = "TAMARACK_TEST_AS_NODE"

func TestMain(m *testing.M) {
	if os.Getenv(asNode) != "" {
		os.Exit(run(os.Args[1:]))
	}
	os.Setenv(asNode, "1") // for the children
	os.Exit(m.Run())
}

// devForTest starts real nodes and ends them with the test.
func devForTest(t *testing.T) *devCluster {
	t.Helper()
	if testing.Short() {
		t.Skip("starts real processes")
	}
	c, err := startDev(devOptions{nodes: 3, data: t.TempDir(), extra: []string{
		"heartbeat-interval=100ms", "session-timeout=1500ms", "election-timeout=500ms", "quorum-heartbeat=50ms",
		"replica-lag=1500ms", "shutdown-limit=2s", "reserve-bytes=-1"}})
	require.NoError(t, err)
	t.Cleanup(func() {
		c.stop()
		if t.Failed() {
			for _, n := range c.nodes {
				log, _ := os.ReadFile(n.logFile)
				t.Logf("log of node %d:\n%s", n.number, log)
			}
		}
	})
	require.NoError(t, c.awaitReady(t.Context(), func(*devNode) {}))
	return c
}

// ledger is what a publisher was promised.
type ledger struct {
	mu    sync.Mutex
	acked map[client.Place]map[int64]string
	count int
	lost  []error
}

func (l *ledger) note(value string) func(client.Receipt, error) {
	return func(r client.Receipt, err error) {
		l.mu.Lock()
		defer l.mu.Unlock()
		if err != nil {
			l.lost = append(l.lost, err)
			return
		}
		place := client.Place{Topic: "orders", Partition: r.Partition}
		if l.acked[place] == nil {
			l.acked[place] = map[int64]string{}
		}
		l.acked[place][r.Offset] = value
		l.count++
	}
}

func (l *ledger) acknowledged() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.count
}

// Three real nodes; the leader is killed with SIGKILL while records are being
// published, and started again. Every record that was acknowledged is read
// back, at the offset that was promised, and none is there twice.
func TestNoAcknowledgedRecordIsLostWhenTheLeaderIsKilled(t *testing.T) {
	c := devForTest(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cl, err := client.Dial(ctx, strings.Join(c.addresses(), ","), client.WithClusterID("dev"), client.WithRequestTimeout(2*time.Second))
	require.NoError(t, err)
	defer cl.Close(ctx)
	require.NoError(t, cl.CreateTopic(ctx, message.CreateTopic{Name: "orders", Partitions: 3, ReplicationFactor: 3}))
	info, err := awaitTopic(ctx, cl, "orders")
	require.NoError(t, err)
	leader := c.nodes[info.Partitions[0].Leader-1]

	l := &ledger{acked: map[client.Place]map[int64]string{}}
	slots := make(chan struct{}, 200)
	sent := 0
	publish := func(until func() bool) {
		for !until() {
			slots <- struct{}{}
			value := fmt.Sprint("record ", sent)
			done := l.note(value)
			cl.PublishAsync(client.Message{Topic: "orders", Partition: int32(sent % 3), Value: []byte(value)}, func(r client.Receipt, err error) {
				done(r, err)
				<-slots
			})
			sent++
		}
	}
	publish(func() bool { return l.acknowledged() > 2000 })
	require.NoError(t, leader.cmd.Process.Kill())
	atKill := l.acknowledged()
	publish(func() bool { return l.acknowledged() > atKill+4000 }) // under the new leaders, too
	<-leader.ended
	require.NoError(t, leader.start(false)) // the same data, another process
	require.NoError(t, c.awaitReady(ctx, func(*devNode) {}))
	atRestart := l.acknowledged()
	publish(func() bool { return l.acknowledged() > atRestart+2000 })
	for range cap(slots) {
		slots <- struct{}{}
	}
	require.Empty(t, l.lost, "with two of three nodes up every record is acknowledged in the end")
	require.Equal(t, sent, l.count)
	verify(t, ctx, c, l, sent)
}

// verify reads everything from the start and compares it with the ledger.
func verify(t *testing.T, ctx context.Context, c *devCluster, l *ledger, sent int) {
	t.Helper()
	cl, err := client.Dial(ctx, strings.Join(c.addresses(), ","))
	require.NoError(t, err)
	defer cl.Close(ctx)
	var starts []protocol.Start
	for p := range int32(3) {
		starts = append(starts, protocol.Start{Place: client.Place{Topic: "orders", Partition: p}})
	}
	require.NoError(t, cl.Assign(ctx, protocol.Assign{Partitions: starts}))
	seen := map[string]bool{}
	for len(seen) < sent {
		records, err := cl.Poll(ctx, 0)
		require.NoError(t, err)
		require.NotEmpty(t, records, "%d of %d records came", len(seen), sent)
		for _, r := range records {
			value := string(r.Value)
			require.False(t, seen[value], "%s is there twice", value)
			seen[value] = true
			place := client.Place{Topic: r.Topic, Partition: r.Partition}
			require.Equal(t, l.acked[place][r.Offset], value, "at %v offset %d", place, r.Offset)
		}
	}
}

// cli runs the program's commands in this process.
func cli(t *testing.T, stdin string, args ...string) (string, error) {
	t.Helper()
	var out, errs bytes.Buffer
	root := rootCommand()
	root.SetArgs(args)
	root.SetIn(strings.NewReader(stdin))
	root.SetOut(&out)
	root.SetErr(&errs)
	err := root.ExecuteContext(t.Context())
	return out.String(), err
}

// Ctrl-C ends all nodes, none with an error, and without waiting for anything.
func TestDevStopsAllNodesInGoodOrder(t *testing.T) {
	c := devForTest(t)
	for _, n := range c.nodes {
		pid, err := os.ReadFile(n.pidFile)
		require.NoError(t, err)
		require.Equal(t, strconv.Itoa(n.cmd.Process.Pid)+"\n", string(pid))
	}
	begin := time.Now()
	c.stop()
	require.Less(t, time.Since(begin), 5*time.Second)
	for _, n := range c.nodes {
		require.NoError(t, n.err, "node %d", n.number)
		require.NoFileExists(t, n.pidFile, "who reads it now would kill another process")
		log, err := os.ReadFile(n.logFile)
		require.NoError(t, err)
		require.NotContains(t, string(log), "level=ERROR")
		require.Contains(t, string(log), "halted cleanly")
	}
}

// What a newcomer does first, from the command line.
func TestTheCommandLineTellsAStory(t *testing.T) {
	c := devForTest(t)
	b := "--bootstrap=" + strings.Join(c.addresses(), ",")
	do := func(stdin string, args ...string) string {
		t.Helper()
		out, err := cli(t, stdin, append(args, b)...)
		require.NoError(t, err, "%v", args)
		return out
	}
	fails := func(says string, args ...string) {
		t.Helper()
		_, err := cli(t, "", append(args, b)...)
		require.ErrorContains(t, err, says)
	}
	require.Equal(t, "topic orders: 2 partitions, 3 replicas each\n", do("", "topic", "create", "orders", "--partitions=2"))
	fails("TOPIC_ALREADY_EXISTS", "topic", "create", "orders")
	do("", "topic", "create", "orders", "--if-not-exists")

	out := do("a:1\na:2\nb:3\n", "publish", "orders", "--key-separator=:", "--json")
	require.Equal(t, 3, strings.Count(out, `"topic":"orders"`), out)
	do(`{"who":"a","n":4}`+"\n", "publish", "orders", "--key-field=who")
	fails(`acks "2"`, "publish", "orders", "--acks=2")
	_, err := cli(t, `{"who":"a"}`, "publish", "orders", "--key-field=x", b)
	require.ErrorContains(t, err, `line 1: the object has no field "x"`)

	require.ElementsMatch(t, []string{"1", "2", "3", `{"who":"a","n":4}`}, lines(do("", "poll", "--topic=orders")))
	require.Len(t, lines(do("", "poll", "--topic=orders", "--max=2")), 2)
	require.Empty(t, do("", "poll", "--topic=orders", "--from=latest"))
	require.Contains(t, do("", "poll", "--topic=orders", "--show"), "\ta\t1")

	require.Len(t, lines(do("", "poll", "--topic=orders", "--group=g")), 4)
	require.Empty(t, do("", "poll", "--topic=orders", "--group=g"))
	require.Contains(t, do("", "group", "list"), "g")
	require.Contains(t, do("", "group", "describe", "g", "--json"), `"lag":0`)
	do("", "group", "reset-offsets", "g", "--topic=orders", "--to=earliest")
	require.Len(t, lines(do("", "poll", "--topic=orders", "--group=g", "--json")), 4)
	do("", "commit", "--group=h", "--topic=orders", "--partition=0", "--offset=0")
	fails("beyond the end of orders/0", "commit", "--group=h", "--topic=orders", "--partition=0", "--offset=99999")
	do("", "commit", "--group=h", "--topic=orders", "--partition=0", "--offset=99999", "--force")
	fails("orders has 2 partitions", "commit", "--group=h", "--topic=orders", "--partition=2", "--offset=0")
	fails("topic none: UNKNOWN_TOPIC", "publish", "none")
	fails("topic none: UNKNOWN_TOPIC", "topic", "settings", "none")
	for _, args := range [][]string{{"delete", "none"}, {"add-partitions", "none", "--to=3"}, {"alter", "none", "--set=retention=1h"}} {
		fails(`topic "none" does not exist (UNKNOWN_TOPIC`, append([]string{"topic"}, args...)...)
	}
	fails("there is no node 9", "config", "list", "--node=9")
	do("", "topic", "create", "kept", "--retention=-1h")
	began := time.Now()
	fails(`you asked for cluster "wrong", node 1 belongs to "dev"`, "status", "--cluster=wrong")
	require.Less(t, time.Since(began), 10*time.Second, "nobody will change his mind: no need to wait for all of --timeout")
	require.Regexp(t, `orders +0 .* ELECTION_NOT_NEEDED|orders +0 .* ok`, do("", "topic", "elect", "orders"))
	fails("--offset is missing", "commit", "--group=h", "--topic=orders", "--partition=0")

	require.Contains(t, do("", "status", "--check"), "0 offline")
	require.Regexp(t, `[123],[123],[123] +[123],[123],[123]`, do("", "topic", "describe", "orders", "--offsets"))
	do("", "group", "delete", "g")
	do("", "topic", "add-partitions", "orders", "--to=3")
	do("", "topic", "delete", "orders")
	fails("UNKNOWN_TOPIC", "topic", "describe", "orders")
	require.NotContains(t, do("", "topic", "list"), "orders")

	bench := do("", "bench", "produce", "--duration=200ms", "--window=16", "--json", "--timeout=20s")
	require.Contains(t, bench, `"records_per_second"`)
	bench = do("", "bench", "consume", "--duration=200ms", "--window=16", "--json", "--timeout=20s", "--metrics="+c.nodes[0].http)
	require.Contains(t, bench, `"load":"consume"`)
	bench = do("", "bench", "--transactions=10", "--duration=1ms", "--timeout=20s")
	require.Regexp(t, `(?s) one record .* plain stream .* plain .* at most once .* at least once .* transaction .*
a transaction of 10 records takes -?\d+\.\d\d flush-and-round-trip latencies over the same records without one; its rate is \d+ % of a plain stream's, and \d+ % of theirs
$`, bench)
	fails("missing what to measure", "bench")
}

func lines(out string) []string { return strings.Split(strings.TrimSuffix(out, "\n"), "\n") }

func TestErrorsComeWithAdvice(t *testing.T) {
	_, err := cli(t, "", "topic", "list", "--bootstrap=127.0.0.1:1", "--timeout=300ms")
	var hint *hintError
	require.ErrorAs(t, err, &hint)
	begin := time.Now()
	_, err = cli(t, "", "topic", "list", "--bootstrap=127.0.0.1:1")
	require.ErrorAs(t, err, &hint)
	require.Contains(t, hint.hint, "is a cluster running there?")
	require.Less(t, time.Since(begin), 10*time.Second, "nobody listens: no need to wait for all of --timeout")
	for _, args := range [][]string{{"topic", "create"}, {"poll"}, {"publish"}, {"commit"}, {"bench", "produce", "x"}, {"dev", "--nodes=0"}, {"serve", "--node=x"}, {"poll", "--topic=orders", "--max=-1"}, {"group", "reset"}, {"transaction", "end"},
		{"status", "-b", "nohost"}, {"status", "-b", "a:1,b:x"}, {"status", "-b", ","}, {"status", "-b", ":9092"}, {"dev", "--port=65535"}, {"dev", "--port=-1"}, {"bench", "produce", "--duration=0s"}} {
		_, err := cli(t, "", args...)
		var usage *usageError
		require.ErrorAs(t, err, &usage, "%v", args)
	}
	_, err = cli(t, "", "group", "reset")
	require.EqualError(t, err, `"reset" is no command of node group; did you mean reset-offsets?`)
	help, err := cli(t, "", "group")
	require.NoError(t, err)
	require.Contains(t, help, "reset-offsets")
}

func TestPositionsAreRead(t *testing.T) {
	for text, want := range map[string]protocol.Position{
		"earliest": {Kind: protocol.AtEarliest}, "latest": {Kind: protocol.AtLatest}, "17": {Kind: protocol.AtOffset, Offset: 17},
		"2026-01-31T12:00:00Z": {Kind: protocol.AtTime, Timestamp: 1769860800000},
	} {
		got, err := position(text)
		require.NoError(t, err)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "-1", "yesterday", strconv.Itoa(1) + "x"} {
		_, err := position(text)
		require.Error(t, err, text)
	}
}
