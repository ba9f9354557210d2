package core

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/chance"
	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// A node whose disk failed says what failed where, and does nothing any more.
func TestAFailedDiskHaltsTheNodeAndIsNamed(t *testing.T) {
	for where, failed := range map[string]effect.DiskFailed{
		"Flush of partition 7/2: broken":           {Log: record.PartitionID{Topic: 7, Index: 2}, Op: "Flush", Detail: "broken"},
		"SaveQuorum of the quorum journal: broken": {Journal: true, Op: "SaveQuorum", Detail: "broken"},
	} {
		cfg := Config{ID: 1, ClusterID: "c", Voters: []message.NodeID{1}, Incarnation: 1}
		n := New(cfg, effect.Recovered{}, chance.New(1), message.Now{})
		var out effect.Out
		n.Step(message.Now{}, failed, &out)
		require.Equal(t, []effect.Effect{effect.Halt{Reason: "the disk failed in " + where +
			"; what it holds is unknown, so this node stops and recovers from it when it is started again"}}, out.List)
		out.Empty()
		n.Step(message.Now{}, effect.Tick{}, &out)
		require.Empty(t, out.List)
		require.Equal(t, message.Never, n.Wake())
	}
}
