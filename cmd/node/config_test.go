package main

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/client"
	"github.com/tamarack-mq/tamarack/core/message"
)

// Real nodes: settings hold on every node without a restart, and who votes is
// changed, also away from the node that is active, and holds when it comes back.
func TestSettingsAndControllersChangeWhileNodesRun(t *testing.T) {
	c := devForTest(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cl, err := client.Dial(ctx, strings.Join(c.addresses(), ","), client.WithClusterID("dev"), client.WithRequestTimeout(2*time.Second))
	require.NoError(t, err)
	defer cl.Close(ctx)

	require.NoError(t, cl.AlterConfig(ctx, message.AlterConfig{Set: []message.Setting{{Key: "replica-lag", Value: "7s"}}}))
	require.NoError(t, cl.AlterConfig(ctx, message.AlterConfig{Node: 2, Set: []message.Setting{{Key: "replica-lag", Value: "9s"}}}))
	for node, want := range map[message.NodeID]string{1: "7s cluster", 2: "9s node", 3: "7s cluster"} {
		require.Eventually(t, func() bool {
			_, list, err := cl.DescribeNodeConfig(ctx, node)
			return err == nil && slices.ContainsFunc(list, func(s message.SettingInfo) bool {
				return s.Key == "replica-lag" && s.Value+" "+s.Source.String() == want
			})
		}, 20*time.Second, 20*time.Millisecond, "node %d", node)
	}
	err = cl.AlterConfig(ctx, message.AlterConfig{Set: []message.Setting{{Key: "replica-leg", Value: "7s"}}})
	require.ErrorContains(t, err, `there is no setting "replica-leg"`)

	m, err := cl.Metadata(ctx)
	require.NoError(t, err)
	require.Equal(t, []message.NodeID{1, 2, 3}, m.Voters)
	removed := m.Controller
	voters := func(want ...message.NodeID) {
		require.Eventually(t, func() bool {
			m, err := cl.Metadata(ctx)
			return err == nil && slices.Equal(m.Voters, want) && len(m.Learners) == 0
		}, 20*time.Second, 20*time.Millisecond, "%v", want)
	}
	require.NoError(t, cl.AlterControllers(ctx, removed, true))
	left := slices.DeleteFunc([]message.NodeID{1, 2, 3}, func(n message.NodeID) bool { return n == removed })
	voters(left...)
	require.NoError(t, cl.AlterControllers(ctx, removed, false))
	voters(1, 2, 3)
	require.ErrorIs(t, cl.AlterControllers(ctx, removed, false), message.DuplicateVoter)
	require.NoError(t, cl.CreateTopic(ctx, message.CreateTopic{Name: "after", Partitions: 1, ReplicationFactor: 3}))
}
