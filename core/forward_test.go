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

// A request that a controller has sent back is passed on under another number: a
// second copy of that answer would have it passed on once more, while the controller
// that it went to is at work on it.
func TestARequestThatWasSentBackIsPassedOnOnce(t *testing.T) {
	n := New(Config{ID: 2, ClusterID: "c", Address: "host:2", Voters: []message.NodeID{1, 3}, Incarnation: 0x51ab}, effect.Recovered{DiskID: 2, Fresh: true}, chance.New(1), message.Now{})
	f := &n.forwards
	var out effect.Out
	f.send(0, 7, &message.DeleteTopic{Name: "t"}, 1, &out)
	back := &message.Forwarded{Request: out.List[0].(effect.Send).Msg.(*message.Forward).Request, Code: message.NotController}
	f.answered(0, back, 5, &out)
	f.answered(1, back, 5, &out) // before it goes on: that only takes longer
	require.Len(t, out.List, 1)
	f.tick(f.wake(), 3, &out)
	require.Len(t, out.List, 2)
	again := out.List[1].(effect.Send)
	require.Equal(t, message.NodeID(3), again.To)
	require.NotEqual(t, back.Request, again.Msg.(*message.Forward).Request)
	f.answered(8, back, 5, &out)
	f.tick(20, 3, &out)
	require.Len(t, out.List, 2)
	f.answered(21, &message.Forwarded{Request: again.Msg.(*message.Forward).Request, Body: &message.DeleteTopicReply{}}, 5, &out)
	require.Equal(t, effect.Reply{Token: 7, Msg: &message.DeleteTopicReply{}}, out.List[2])
}
