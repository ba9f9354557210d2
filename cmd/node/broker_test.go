package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Four real nodes. A topic moves to other nodes while it is in use; then one of
// them is drained, stopped and removed, and its number comes back with an empty
// disk. Every record is there in the end.
func TestABrokerIsDrainedRemovedAndReplaced(t *testing.T) {
	if testing.Short() {
		t.Skip("starts real processes")
	}
	c, err := startDev(devOptions{nodes: 4, data: t.TempDir(), extra: []string{
		"heartbeat-interval=100ms", "session-timeout=1500ms", "election-timeout=500ms", "quorum-heartbeat=50ms",
		"replica-lag=1500ms", "shutdown-limit=2s", "reserve-bytes=-1"}})
	require.NoError(t, err)
	t.Cleanup(c.stop)
	require.NoError(t, c.awaitReady(t.Context(), func(*devNode) {}))
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
	soon := func(is func(every *assert.CollectT, out string), args ...string) { // who answers may be behind
		t.Helper()
		require.EventuallyWithT(t, func(every *assert.CollectT) {
			out, err := cli(t, "", append(args, b)...)
			assert.NoError(every, err)
			is(every, out)
		}, 20*time.Second, 100*time.Millisecond)
	}
	shows := func(says string, args ...string) {
		t.Helper()
		soon(func(every *assert.CollectT, out string) { assert.Contains(every, out, says) }, args...)
	}
	hides := func(what string, args ...string) {
		t.Helper()
		soon(func(every *assert.CollectT, out string) { assert.NotContains(every, out, what) }, args...)
	}
	lines := func(from, to int) (text string) {
		for i := from; i < to; i++ {
			text += fmt.Sprintf("record %d\n", i)
		}
		return text
	}
	do("", "topic", "create", "orders", "--replicas", "2")
	do(lines(0, 100), "publish", "orders")
	require.Equal(t, "topic orders: 1 partition now on 4,3\n", do("", "reassign", "orders", "--to", "4,3", "--wait"))
	do(lines(100, 200), "publish", "orders")
	shows("0 partitions on the way, no throttle", "reassign", "status")
	do("", "reassign", "throttle", "20MiB")
	shows("0 partitions on the way, at most 20MiB a second to each node", "reassign", "status")
	do("", "reassign", "throttle", "none")
	fails("not registered", "reassign", "orders", "--to", "4,9")
	fails("no node", "reassign", "orders", "--to", "4,x")

	fails("still holds", "broker", "remove", "4")
	require.Equal(t, "broker 4 is drained\n", do("", "broker", "drain", "4", "--wait"))
	fails("is running", "broker", "remove", "4")
	hides("4,", "topic", "describe", "orders")
	gone := c.nodes[3]
	require.NoError(t, gone.cmd.Process.Signal(os.Interrupt))
	<-gone.ended
	// It is removed once its session is over. Who hears nothing in time asks again, and may
	// hear then that there is none.
	require.EventuallyWithT(t, func(every *assert.CollectT) {
		if out, err := cli(t, "", "broker", "remove", "4", b); err == nil {
			assert.Equal(every, "broker 4 is removed\n", out)
		} else {
			assert.ErrorContains(every, err, "broker 4 is not registered")
		}
	}, 20*time.Second, 100*time.Millisecond)
	hides(gone.address, "broker", "list")
	fails("not registered", "broker", "remove", "4")

	require.NoError(t, os.RemoveAll(gone.data))
	require.NoError(t, gone.start(false))
	require.NoError(t, c.awaitReady(t.Context(), func(*devNode) {}))
	do("", "reassign", "orders", "--to", "4,1", "--wait")
	out := do("", "poll", "--topic", "orders", "--group", "g", "--from", "earliest", "--max", "200")
	require.Equal(t, 200, strings.Count(out, "record "))
}
