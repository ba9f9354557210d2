package sim

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/pack"
)

func TestASnapshotThatIsSentAgainTooSoonIsRefused(t *testing.T) {
	s, o := newStage(t), &snapshotsOnce{}
	s.plan.Timing.Election = Second
	n, members := s.nodes[1], message.Version(3) // the entry that made the members
	sends := func(at Span, term uint64, to message.NodeID) {
		s.now = at
		o.sends(s.World, n, toldVoter{to, raftMessage{kind: raftSnapshot, term: term}}, members)
	}
	sends(1*Second, 4, 2)
	sends(2*Second, 4, 3) // another node
	sends(3*Second, 4, 2) // it may be lost
	sends(4*Second, 5, 2) // another term
	said := []byte{quorumEngine}
	for _, v := range []uint64{9, raftAppendReply, 5, 0, 7, 7, 0} { // of the cluster, its kind, and what else is at the head
		said = pack.Uint(said, v)
	}
	reply, ok := s.heardVoter(effect.Received{From: 2, Msg: &message.Quorum{Data: said}})
	require.True(t, ok)
	o.heard(n, 2, reply)
	sends(5*Second, 5, 2)
	members = 9 // node 2 has gone and come: they are as they were
	sends(6*Second, 5, 2)
	s.passed()
	sends(7*Second, 5, 2)
	s.refused("INV-38", "node 1, which leads the controllers in term 5, sends node 2 a snapshot 1000 ms after another that had no answer, and should wait for 2000 ms")
}
