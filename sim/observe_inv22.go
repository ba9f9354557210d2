package sim

import (
	"slices"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// staleInert is INV-22: who is out of date changes nothing, and is told so. A
// commit under a member epoch that was replaced before the commit came is never
// taken, whichever coordinator is asked; a controller takes no word of a broker's
// run that it knows to be replaced, nor registers one again that it has seen replaced;
// a leader serves no reader that names another leadership than its own, nor tells it
// where an epoch ends; a node takes no answer to a registration that is over,
// or of another run of it, nor producer ids for a question that it has asked again; and
// what it passes on to a controller it passes on under a number that it has not used.
//
// What is up to date is known from what the cluster itself has told, not from
// what the node that is asked remembers.
type staleInert struct {
	blind
	members map[membership]memberTold
	came    map[asking]uint64 // the step in which a commit came

	sessions []earlierSession // by node
	runs     registrations    // of brokers, with the controller that decides
}

// membership is one member of one group.
type membership struct{ group, member string }

// memberTold is the highest epoch that any coordinator has told a member, and
// the step in which it was told first.
type memberTold struct {
	epoch message.MemberEpoch
	at    uint64
}

func (*staleInert) Invariant() string { return "INV-22" }

func (*staleInert) Looks() scope {
	return ofQuorum | ofSessions | ofGroups | ofGroupsTold | ofBeaten | ofTurns | ofFetched
}

func (o *staleInert) Stepped(w *World, n *Node, in effect.Input, out []effect.Effect) {
	o.earlierAnswer(w, n, in)
	if w.isAbout(ofSessions) {
		o.registers(w, n, out)
		if in, ok := in.(effect.Received); ok {
			if m, ok := in.Msg.(*message.AllocateProducerIDsReply); ok {
				o.block(w, n, m)
			}
			o.replacedRun(w, n, in, out)
		}
	}
	if w.isAbout(ofGroups) {
		o.comes(w, n, in)
	}
	if !w.isAbout(ofSessions | ofGroupsTold | ofBeaten | ofTurns | ofFetched) {
		return
	}
	for _, e := range out {
		if send, ok := e.(effect.Send); ok {
			switch m := send.Msg.(type) {
			case *message.AllocateProducerIDs:
				o.session(w, n).asked = m.Request
			case *message.Forward:
				o.passedOn(w, n, m)
			}
			continue
		}
		reply, ok := e.(effect.Reply)
		if !ok {
			continue
		}
		switch m := reply.Msg.(type) {
		case *message.GroupHeartbeatReply:
			o.told(w, n.asker(reply.Token).request, m)
		case *message.CommitOffsetsReply:
			o.committed(w, n, reply.Token, m.Code, m.Offsets)
		case *message.CommitTransactionOffsetsReply:
			o.committed(w, n, reply.Token, m.Code, m.Offsets)
		case *message.InitProducerIDReply:
			o.identified(w, n, m)
		case *message.FetchReply:
			otherLeadership(w, n, n.asker(reply.Token).request, m)
		case *message.OffsetForLeaderEpochReply:
			epochAsked(w, n, n.asker(reply.Token).request, m)
		}
	}
}

// comes notes when a commit comes in.
func (o *staleInert) comes(w *World, n *Node, in effect.Input) {
	asked, ok := in.(effect.Requested)
	if !ok {
		return
	}
	if _, ok := committerOf(asked.Msg); ok {
		if o.came == nil {
			o.came = map[asking]uint64{}
		}
		o.came[asking{n.id, n.run, asked.Token}] = w.stats.Steps
	}
}

// told notes an epoch that a member is told. One that left is told an epoch
// below zero, and under the same id it comes back under a higher one only.
func (o *staleInert) told(w *World, request message.Request, m *message.GroupHeartbeatReply) {
	asked, ok := request.(*message.GroupHeartbeat)
	if !ok || m.Code != message.None {
		return
	}
	if o.members == nil {
		o.members = map[membership]memberTold{}
	}
	at := membership{asked.Group, asked.Member}
	if m.MemberEpoch > o.members[at].epoch {
		o.members[at] = memberTold{m.MemberEpoch, w.stats.Steps}
	}
}

// committed judges a commit that is taken.
func (o *staleInert) committed(w *World, n *Node, token message.Token, code message.Code, offsets []message.CommittedOffset) {
	who, ok := committerOf(n.asker(token).request)
	if !ok {
		return
	}
	at := asking{n.id, n.run, token}
	came := o.came[at]
	delete(o.came, at)
	if who.member == "" || code != message.None || w.shardGivenUp(who.group) {
		return
	}
	told, known := o.members[who.membership]
	if !known || told.epoch <= who.epoch || told.at >= came {
		return
	}
	for i := range offsets {
		if offsets[i].Code == message.None {
			w.fail("INV-22", n.id, "a stale commit is taken", "node %d takes a commit of member %q of group %q under epoch %d for partition %s, although the member had been told epoch %d before it came", n.id, who.member, who.group, who.epoch, offsets[i].ID, told.epoch)
			return
		}
	}
}

// replacedRun judges a controller that answers a broker: what a replaced run
// says must not be taken.
func (o *staleInert) replacedRun(w *World, n *Node, in effect.Received, out []effect.Effect) {
	var said message.BrokerEpoch
	switch m := in.Msg.(type) {
	case *message.BrokerHeartbeat:
		said = m.Epoch
	case *message.AlterPartition:
		said = m.Epoch
	case *message.AllocateProducerIDs:
		said = m.Epoch
	default:
		return
	}
	c := n.Core()
	if c == nil || c.Controller() == nil {
		return
	}
	known := c.Controller().Image().Broker(in.From)
	if known == nil || said >= known.Epoch {
		return
	}
	for _, e := range out {
		if s, ok := e.(effect.Send); ok && s.To == in.From && taken(s.Msg) {
			w.fail("INV-22", n.id, "a replaced run is heard", "the controller on node %d takes %s of node %d under broker epoch %d, although it is registered under epoch %d", n.id, in.Msg.Kind(), in.From, said, known.Epoch)
			return
		}
	}
}

// taken says whether an answer to a broker means that its word was taken.
func taken(m message.Message) bool {
	switch m := m.(type) {
	case *message.BrokerHeartbeatReply:
		return m.Code == message.None
	case *message.AlterPartitionReply:
		return m.Code == message.None && len(m.Partitions) > 0 && m.Partitions[0].Code == message.None
	case *message.AllocateProducerIDsReply:
		return m.Code == message.None
	}
	return false
}

// otherLeadership judges what a reader is served: if it named a leadership, the
// one that serves it must be that one (KIP-320).
func otherLeadership(w *World, n *Node, request message.Request, m *message.FetchReply) {
	asked, ok := request.(*message.Fetch)
	if !ok || len(asked.Partitions) != len(m.Partitions) {
		return
	}
	for i := range m.Partitions {
		p, named := &m.Partitions[i], asked.Partitions[i].LeaderEpoch
		if epoch, other := leadsOtherwise(w, n, p.ID, p.Code, named); other {
			w.fail("INV-22", n.id, "a reader of another leadership is served", "node %d serves partition %s under leader epoch %d to a reader that named epoch %d", n.id, p.ID, epoch, named)
			return
		}
	}
}

// epochAsked judges who is told where an epoch ends: a reader that named a leadership
// takes the answer for the word of that one, and looks no more whether what it has read
// is there.
func epochAsked(w *World, n *Node, request message.Request, m *message.OffsetForLeaderEpochReply) {
	asked, ok := request.(*message.OffsetForLeaderEpoch)
	if !ok || len(asked.Partitions) != len(m.Partitions) {
		return
	}
	for i := range m.Partitions {
		p, named := &m.Partitions[i], asked.Partitions[i].LeaderEpoch
		if epoch, other := leadsOtherwise(w, n, p.ID, p.Code, named); other {
			w.fail("INV-22", n.id, "another leadership tells where an epoch ends", "node %d, which leads partition %s in epoch %d, tells a reader that named epoch %d where epoch %d ends", n.id, p.ID, epoch, named, asked.Partitions[i].Epoch)
			return
		}
	}
}

// leadsOtherwise says whether a node that answers for a partition, and does not refuse,
// leads it in another epoch than the one that the reader named, if any, and in which.
func leadsOtherwise(w *World, n *Node, id record.PartitionID, code message.Code, named record.LeaderEpoch) (record.LeaderEpoch, bool) {
	if code != message.None || named == record.NoLeaderEpoch {
		return 0, false
	}
	r := w.book.replica(n.id, id)
	if r.view.LeaderEpoch == named {
		return named, false
	}
	// One that ends in this very step may have answered before it ended.
	ended := slices.Contains(w.book.touched, r) && r.was.epoch == named
	return r.view.LeaderEpoch, !ended
}
