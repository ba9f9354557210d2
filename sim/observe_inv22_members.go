package sim

import (
	"slices"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
)

// membersThere is INV-22 for who is no member: while a group has members, nobody
// commits for it from outside, (INV-24) nobody deletes its positions in a topic that
// a member reads, and (INV-10) nobody is told that it is not there.
//
// When a member is expelled only its coordinator knows. So that it was there is
// proven from both sides: it was told an epoch, then came the request and was
// taken, and then a heartbeat with an epoch came to the node that took it and was
// answered well. Who has been expelled joins again first, with no epoch.
type membersThere struct {
	blind
	members map[membership]memberSince
	taken   map[string][]takenOutside // by group; the newest of each node
}

// memberSince is from when on a member of a group is known to be there, and what
// it says that it reads.
type memberSince struct {
	at     Span
	topics []string
}

// takenOutside is a request that no node may take while a group has members, and
// that one has taken; or that was told that there is no such group, by a node that was
// not deposed.
type takenOutside struct {
	node       int32
	run        uint32
	came, done Span
	topic      string // of which positions are deleted; "": it is a commit
	absent     bool   // it was answered that the group is not there
}

func (*membersThere) Invariant() string { return "INV-22" }

func (*membersThere) Looks() scope { return ofBeats | ofBeaten | ofGroupsTold }

func (o *membersThere) Stepped(w *World, n *Node, in effect.Input, out []effect.Effect) {
	if r, ok := in.(effect.Requested); ok {
		if m, ok := r.Msg.(*message.GroupHeartbeat); ok && m.MemberEpoch <= message.JoinEpoch {
			delete(o.members, membership{m.Group, m.Member})
		}
	}
	for _, e := range out {
		reply, ok := e.(effect.Reply)
		if !ok {
			continue
		}
		asked := n.asker(reply.Token)
		switch m := reply.Msg.(type) {
		case *message.GroupHeartbeatReply:
			if asked, ok := asked.request.(*message.GroupHeartbeat); ok {
				o.beaten(w, n, asked, n.asker(reply.Token).since, m)
			}
		case *message.CommitOffsetsReply:
			r, ok := asked.request.(*message.CommitOffsets)
			if ok && r.Member == "" && m.Code == message.None && slices.ContainsFunc(m.Offsets, wentWell) {
				o.take(w, n, r.Group, takenOutside{came: asked.since})
			}
		case *message.CommitTransactionOffsetsReply:
			r, ok := asked.request.(*message.CommitTransactionOffsets)
			if ok && r.Member == "" && m.Code == message.None && slices.ContainsFunc(m.Offsets, wentWell) {
				o.take(w, n, r.Group, takenOutside{came: asked.since})
			}
		case *message.DeleteGroupReply:
			if r, ok := asked.request.(*message.DeleteGroup); ok && m.Code == message.GroupIDNotFound && !w.deposedFromShard(n, r.Group) {
				o.take(w, n, r.Group, takenOutside{came: asked.since, absent: true})
			}
		case *message.DescribeGroupReply:
			if r, ok := asked.request.(*message.DescribeGroup); ok && m.Code == message.GroupIDNotFound && !w.deposedFromShard(n, r.Group) {
				o.take(w, n, r.Group, takenOutside{came: asked.since, absent: true})
			}
		case *message.DeleteOffsetsReply:
			r, ok := asked.request.(*message.DeleteOffsets)
			if ok && m.Code == message.GroupIDNotFound && !w.deposedFromShard(n, r.Group) {
				o.take(w, n, r.Group, takenOutside{came: asked.since, absent: true})
			}
			if c := n.Core(); ok && c != nil && m.Code == message.None {
				for i := range m.Offsets {
					if t := c.Image().Topic(m.Offsets[i].ID.Topic); t != nil && wentWell(m.Offsets[i]) {
						o.take(w, n, r.Group, takenOutside{came: asked.since, topic: t.Name})
					}
				}
			}
		}
	}
}

func wentWell(o message.CommittedOffset) bool { return o.Code == message.None }

// take notes a request that was taken, or told that there is no group.
func (o *membersThere) take(w *World, n *Node, group string, what takenOutside) {
	if o.taken == nil {
		o.taken = map[string][]takenOutside{}
	}
	list := slices.DeleteFunc(o.taken[group], func(t takenOutside) bool {
		return t.node == n.id && t.topic == what.topic && t.absent == what.absent
	})
	what.node, what.run, what.done = n.id, n.run, w.now
	o.taken[group] = append(list, what)
}

// beaten takes in how a heartbeat was answered, and judges what was taken
// between an earlier one and it.
func (o *membersThere) beaten(w *World, n *Node, asked *message.GroupHeartbeat, came Span, m *message.GroupHeartbeatReply) {
	at := membership{asked.Group, asked.Member}
	if m.Code != message.None || m.MemberEpoch <= message.JoinEpoch {
		delete(o.members, at)
		return
	}
	was, known := o.members[at]
	if known && asked.MemberEpoch > message.JoinEpoch && !w.shardGivenUp(asked.Group) {
		for _, t := range o.taken[asked.Group] {
			if t.node == n.id && t.run == n.run && was.at < t.came && t.done < came {
				o.judge(w, n, at, was, t)
			}
		}
	}
	switch reads := asked.Full || asked.Topics != nil; {
	case !known || asked.MemberEpoch <= message.JoinEpoch || reads && !slices.Equal(asked.Topics, was.topics):
		if o.members == nil {
			o.members = map[membership]memberSince{}
		}
		if !reads {
			return // what it reads is not known
		}
		o.members[at] = memberSince{w.now, asked.Topics}
	}
}

// judge refuses what was taken although a member was there all the time.
func (o *membersThere) judge(w *World, n *Node, at membership, was memberSince, t takenOutside) {
	switch {
	case t.absent:
		w.fail("INV-10", n.id, "a group is said not to be there, and is", "node %d answers that there is no group %q, although member %q was there before it was asked and still is", n.id, at.group, at.member)
	case t.topic == "":
		w.fail("INV-22", n.id, "a commit from outside is taken while a group has members", "node %d took a commit for group %q of somebody that is no member, although member %q was there before it came and still is", n.id, at.group, at.member)
	case slices.Contains(was.topics, t.topic):
		w.fail("INV-24", n.id, "positions are deleted that a member needs", "node %d let positions of group %q in topic %q be deleted, although member %q reads it, before the request came and still", n.id, at.group, t.topic, at.member)
	}
}
