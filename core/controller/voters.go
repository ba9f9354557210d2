package controller

import (
	"fmt"
	"slices"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/quorum"
)

// alterControllers adds a node to those that hold the log, or removes one. A
// change goes through the log itself and is over when it is committed; an
// addition is over when the learner has become a voter, which this controller
// sees to (see promotion). No other begins before that.
func (c *Controller) alterControllers(now message.Time, m *message.AlterControllers) *decision {
	reply := &message.AlterControllersReply{}
	d := &decision{reply: reply}
	members := c.quorum.Members()
	votes, learns := slices.Contains(members.Voters, m.Node), slices.Contains(members.Learners, m.Node)
	change := &quorum.Change{Node: m.Node, Kind: quorum.AddLearner}
	if m.Remove {
		change.Kind = quorum.Remove
	}
	switch {
	case !m.Remove && (votes || learns):
		reply.Code, reply.Detail = message.DuplicateVoter, fmt.Sprintf("node %d holds the controller's log already", m.Node)
	case m.Remove && !votes && !learns:
		reply.Code, reply.Detail = message.VoterNotFound,
			fmt.Sprintf("node %d does not hold the controller's log; the voters are %v", m.Node, members.Voters)
	case len(members.Learners) > 0 && !learns:
		reply.Code = message.VotersChanging
		reply.Detail = fmt.Sprintf("node %d is catching up to become a voter: wait for it, or remove it first", members.Learners[0])
	case !m.Remove && c.image.Broker(m.Node) == nil:
		reply.Code, reply.Detail = message.InvalidRequest, fmt.Sprintf("node %d is not known: start it first, as a node of this cluster", m.Node)
	case !m.Remove && !c.image.Live(m.Node):
		reply.Code = message.BrokerNotAvailable
		reply.Detail = fmt.Sprintf("node %d is not running, or not yet let in", m.Node)
	default:
		if why := c.quorum.Objection(now, *change); why != "" {
			reply.Code, reply.Detail = message.InvalidRequest, why
			return d
		}
		d.members = change
	}
	return d
}

// promotion makes a learner a voter once it holds everything.
func (c *Controller) promotion(now message.Time) *decision {
	n := c.quorum.CaughtUp(now)
	if n == message.NoNode {
		return nil
	}
	change := quorum.Change{Node: n, Kind: quorum.Promote}
	if c.quorum.Objection(now, change) != "" {
		return nil
	}
	return &decision{members: &change}
}

// changed takes a committed change of the members: it is part of the image from
// its version on, so that every broker learns of it.
func (c *Controller) changed(now message.Time, e *quorum.Entry, out *effect.Out) error {
	change := message.Change{Controllers: &message.ControllersChange{Voters: e.Members.Voters, Learners: e.Members.Learners}}
	if err := c.image.Apply(e.Version, &change); err != nil {
		return fmt.Errorf("entry %d: %w", e.Version, err)
	}
	c.history.add(e.Version, []message.Change{change})
	// A leader that has removed itself leads no more, but knows what became of
	// this decision: it was committed in its own term.
	a := c.active
	if a != nil && a.flight != nil && a.flight.version == e.Version && a.term == e.Term {
		if d := a.flight; d.reply != nil {
			out.Send(d.request.from, d.reply)
			d.reply = nil
		}
	}
	return nil
}

// Sets are the voters by which this node goes, and those that its log will make,
// newest last. For observers.
func (c *Controller) Sets() [][]message.NodeID { return c.quorum.Sets() }

// Awaited are the nodes whose answers a voter with an empty journal waits for. For
// people.
func (c *Controller) Awaited() []message.NodeID { return c.quorum.Awaited() }

// Claimant is a registered broker that keeps a voter with an empty journal from beginning
// a cluster by itself. For observers.
func (c *Controller) Claimant() message.NodeID { return c.quorum.Claimant() }

// holdsLog says whether a node is a voter or a learner.
func (c *Controller) holdsLog(n message.NodeID) bool {
	members := c.quorum.Members()
	return slices.Contains(members.Voters, n) || slices.Contains(members.Learners, n)
}
