package sim

import (
	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
)

// snapshotsOnce is INV-38 for the snapshots of the controllers, which may be large: a
// leader sends another one to a node that has not answered the last only when that may be
// taken for lost, two election timeouts later by its own clock and by the settings
// that its run was started with. When the members change it may have to begin anew with
// one that has gone and come, which may leave the members as they were.
type snapshotsOnce struct {
	blind
	sent map[sender]sentSnapshot
}

// sender is who sends snapshots to whom.
type sender struct {
	from int32
	to   message.NodeID
}

// sentSnapshot is one that has no answer.
type sentSnapshot struct {
	run     uint32
	term    uint64
	members message.Version // the entry that made those by which its sender went
	at      message.Time    // by the clock of its sender
}

func (*snapshotsOnce) Invariant() string { return "INV-38" }

func (*snapshotsOnce) Looks() scope { return ofQuorum }

func (o *snapshotsOnce) Stepped(w *World, n *Node, in effect.Input, out []effect.Effect) {
	c := n.Core()
	if c == nil || c.Controller() == nil {
		return
	}
	if r, ok := in.(effect.Received); ok {
		if m, ok := w.heardVoter(r); ok {
			o.heard(n, r.From, m)
		}
	}
	for _, m := range w.toldVoters(out) {
		if m.kind == raftSnapshot {
			o.sends(w, n, m, w.quorumOf(n).MembersAt)
		}
	}
}

// heard takes in what another node says of its log: with that it has answered.
func (o *snapshotsOnce) heard(n *Node, from message.NodeID, said raftMessage) {
	if said.kind == raftAppendReply {
		delete(o.sent, sender{n.id, from})
	}
}

// sends judges one snapshot.
func (o *snapshotsOnce) sends(w *World, n *Node, m toldVoter, members message.Version) {
	if o.sent == nil {
		o.sent = map[sender]sentSnapshot{}
	}
	of, now := sender{n.id, m.to}, n.clock.now(w.now).Mono
	last, again := o.sent[of]
	o.sent[of] = sentSnapshot{n.run, m.term, members, now}
	patience := 2 * message.Duration(n.settings.over(w.plan.Timing).Election)
	again = again && last.run == n.run && last.term == m.term && last.members == members
	if since := now.Sub(last.at); again && since < patience {
		w.fail("INV-38", n.id, "a snapshot is sent again too soon", "node %d, which leads the controllers in term %d, sends node %d a snapshot %d ms after another that had no answer, and should wait for %d ms", n.id, m.term, m.to, since/message.Millisecond, patience/message.Millisecond)
	}
}
