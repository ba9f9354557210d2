package core

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/chance"
	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
)

// A broker that crashed while the controller had a request of its clients begins
// to count anew. The answer that then comes is none to what it asks now.
func TestAnAnswerToAnEarlierRunIsNoneToThisOne(t *testing.T) {
	begun := func(incarnation uint64) (*Node, uint64) {
		n := New(Config{ID: 2, ClusterID: "c", Address: "host:2", Voters: []message.NodeID{1}, Incarnation: incarnation}, effect.Recovered{DiskID: 2, Fresh: true}, chance.New(1), message.Now{})
		var out effect.Out
		n.forwards.send(0, 7, &message.DeleteTopic{Name: "t"}, 1, &out)
		return n, out.List[0].(effect.Send).Msg.(*message.Forward).Request
	}
	_, before := begun(0x51ab)
	n, now := begun(0xc04d)
	var out effect.Out
	n.forwards.answered(0, &message.Forwarded{Request: before, Body: &message.AlterConfigReply{}}, 0, &out)
	require.Empty(t, out.List)
	n.forwards.answered(0, &message.Forwarded{Request: now, Body: &message.DeleteTopicReply{}}, 0, &out)
	require.Equal(t, []effect.Effect{effect.Reply{Token: 7, Msg: &message.DeleteTopicReply{}}}, out.List)
}
