package controller

import (
	"fmt"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/metadata"
	"github.com/tamarack-mq/tamarack/core/quorum"
)

// decision is what a handler wants: changes, and a reply once they are
// committed and applied.
type decision struct {
	changes []message.Change
	members *quorum.Change // in place of changes: another set of voters
	request request        // nobody asked for a chore
	reply   message.Message
	// confirm asks that a reply which changes nothing goes through the log all
	// the same: only so does a controller know that it was still the active
	// one, and its image the newest, when it looked (INV-10).
	confirm bool

	version message.Version // that the changes get
}

// begin starts a step: a leader that lost its majority must find out before it
// answers anybody.
func (c *Controller) begin(now message.Time, out *effect.Out) bool {
	if c.reason != "" {
		c.halt(c.reason, out)
	}
	if c.halted {
		return false
	}
	c.result.Out, c.result.Restored, c.result.Committed = out, nil, c.result.Committed[:0]
	c.forgive(now)
	c.quorum.Check(now, &c.result)
	c.lead(now, out)
	return true
}

// end finishes a step: applies what was committed, answers, decides what is
// next, and tells the brokers.
func (c *Controller) end(now message.Time, out *effect.Out) {
	if err := c.follow(now); err != nil {
		c.halt("controller: "+err.Error(), out)
		return
	}
	c.lead(now, out)
	if c.active == nil {
		c.shorten()
		return
	}
	c.land(out)
	c.push(now, out)
	for c.active != nil && c.active.flight == nil {
		d := c.pick(now)
		if d == nil {
			break
		}
		c.propose(now, d, out)
	}
	c.shorten()
}

// follow applies what the quorum handed out.
func (c *Controller) follow(now message.Time) error {
	if r := c.result.Restored; r != nil {
		changes, err := metadata.Decode(r.Data)
		if err != nil {
			return err
		}
		image, err := metadata.Restore(r.Version, changes)
		if err != nil {
			return err
		}
		c.image = image
		c.history.reset(r.Version)
		c.settle(now)
	}
	for _, e := range c.result.Committed {
		if e.Data != nil {
			changes, err := metadata.Decode(e.Data)
			if err != nil {
				return fmt.Errorf("entry %d: %w", e.Version, err)
			}
			for i := range changes {
				if err := c.image.Apply(e.Version, &changes[i]); err != nil {
					return fmt.Errorf("entry %d: %w", e.Version, err)
				}
				c.note(now, e.Version, &changes[i])
				c.retime(now, &changes[i])
			}
			c.history.add(e.Version, changes)
		}
		if e.Members != nil {
			if err := c.changed(now, &e, c.result.Out); err != nil {
				return err
			}
		}
		c.image.Advance(e.Version)
		c.arrived(e.Version, uint64(e.Term))
	}
	return nil
}

// arrived notes that the entry of a version was applied. Another term means
// that the decision in flight was lost, and its leadership with it.
func (c *Controller) arrived(version message.Version, term uint64) {
	a := c.active
	if a != nil && a.flight != nil && a.flight.version == version && uint64(a.term) != term {
		a.flight.reply = nil
	}
}

// land answers for the decision in flight once it was applied.
func (c *Controller) land(out *effect.Out) {
	d := c.active.flight
	if d == nil || d.version > c.image.Version() {
		return
	}
	c.active.flight = nil
	if d.reply != nil {
		out.Send(d.request.from, d.reply)
	}
}

// lead follows the quorum's leadership. A decision that was in flight when it
// ended may still be committed by the next leader, so nobody is answered for
// it; requests that were not looked at yet are turned away.
func (c *Controller) lead(now message.Time, out *effect.Out) {
	term, ready := c.quorum.Leads()
	if a := c.active; a != nil && (!ready || a.term != term) {
		c.active = nil
		for _, r := range a.queue {
			c.refuse(r.from, r.msg, message.NotController, out)
		}
	}
	if ready && c.active == nil && c.image.Version() >= c.quorum.Next()-1 {
		c.active = &active{
			term:       term,
			sessions:   map[message.NodeID]*session{},
			expireAt:   message.Never,
			balanceAt:  message.Never,
			superseded: map[message.NodeID][]uint64{},
		}
		c.renew(now)
		c.balanceLater(now)
		c.resumeMoves()
	}
}

// enqueue takes a request, or turns it away.
func (c *Controller) enqueue(r request, out *effect.Out) {
	switch a := c.active; {
	case a == nil:
		c.refuse(r.from, r.msg, message.NotController, out)
	case len(a.queue) >= c.cfg.MaxQueue:
		c.refuse(r.from, r.msg, message.RequestTimedOut, out)
	default:
		a.queue = append(a.queue, r)
	}
}

// refuse answers a request that is not looked at.
func (c *Controller) refuse(to message.NodeID, msg message.Message, code message.Code, out *effect.Out) {
	if reply := Refusal(msg, code, c.Leader()); reply != nil {
		out.Send(to, reply)
	}
}

// Refusal is the answer to a request for the controller that is not looked at:
// why, and whom to ask instead as far as known. It is nil for a message to which
// nobody expects an answer, and for none at all (nobody asked for a chore).
func Refusal(msg message.Message, code message.Code, hint message.NodeID) message.Message {
	switch m := msg.(type) {
	case *message.RegisterBroker:
		return &message.RegisterBrokerReply{Incarnation: m.Incarnation, Code: code, Controller: hint}
	case *message.BrokerHeartbeat:
		return &message.BrokerHeartbeatReply{Epoch: m.Epoch, Code: code, Controller: hint}
	case *message.AlterPartition:
		return &message.AlterPartitionReply{Request: m.Request, Code: code, Controller: hint}
	case *message.AllocateProducerIDs:
		return &message.AllocateProducerIDsReply{Request: m.Request, Code: code, Controller: hint}
	case *message.Forward:
		return &message.Forwarded{Request: m.Request, Code: code, Controller: hint}
	}
	return nil
}

// pick makes the next decision, if there is one to make: chores first, then
// requests in their order.
func (c *Controller) pick(now message.Time) *decision {
	a := c.active
	if c.image.ClusterID() == "" {
		first := &message.ClusterChange{ClusterID: c.cfg.Quorum.ClusterID}
		members := c.quorum.Members()
		return &decision{changes: []message.Change{{Cluster: first}, {Controllers: &message.ControllersChange{
			Voters: members.Voters, Learners: members.Learners,
		}}}}
	}
	if d := c.chore(now); d != nil {
		return d
	}
	if d := c.promotion(now); d != nil {
		return d
	}
	if len(a.queue) == 0 {
		a.queue = nil
		return nil
	}
	r := a.queue[0]
	a.queue = a.queue[1:]
	d := c.decide(now, r)
	d.request = r
	return d
}

func (c *Controller) decide(now message.Time, r request) *decision {
	switch m := r.msg.(type) {
	case *message.RegisterBroker:
		return c.register(now, r.from, m)
	case *message.AlterPartition:
		return c.alter(m)
	case *message.AllocateProducerIDs:
		return c.allocate(m)
	case *message.Forward:
		d := c.forwarded(now, m.Body)
		d.reply = &message.Forwarded{Request: m.Request, Controller: c.id, Body: d.reply.(message.Reply)}
		d.confirm = true
		return d
	}
	panic("controller: a request of a kind that is never queued")
}

func (c *Controller) forwarded(now message.Time, body message.Request) *decision {
	switch m := body.(type) {
	case *message.CreateTopic:
		return c.createTopic(m)
	case *message.DeleteTopic:
		return c.deleteTopic(m)
	case *message.AddPartitions:
		return c.addPartitions(m)
	case *message.ElectLeaders:
		return c.electLeaders(m)
	case *message.AlterReassignments:
		return c.alterReassignments(m)
	case *message.DrainBroker:
		return c.drainBroker(m)
	case *message.UnregisterBroker:
		return c.unregister(m)
	case *message.AlterConfig:
		return c.alterConfig(m)
	case *message.AlterControllers:
		return c.alterControllers(now, m)
	}
	return &decision{reply: &message.Refused{
		Code: message.InvalidRequest, Detail: "this request is not one for the controller",
	}}
}

// propose sends a decision through the log, or answers at once when there is
// nothing to commit.
func (c *Controller) propose(now message.Time, d *decision, out *effect.Out) {
	if len(d.changes) == 0 && d.members == nil && !d.confirm {
		if d.reply != nil {
			out.Send(d.request.from, d.reply)
		}
		return
	}
	d.version = c.quorum.Next()
	c.result.Committed = c.result.Committed[:0]
	version, ok := c.append(now, d)
	switch {
	case !ok: // it does not lead any more, and nothing was appended
		c.refuse(d.request.from, d.request.msg, message.NotController, out)
		c.lead(now, out)
	case version != d.version || len(c.result.Committed) > 0:
		c.halt(fmt.Sprintf("controller: a decision for version %d became version %d", d.version, version), out)
	default:
		c.active.flight = d
	}
}

func (c *Controller) append(now message.Time, d *decision) (message.Version, bool) {
	if d.members != nil {
		return c.quorum.ProposeChange(now, *d.members, &c.result)
	}
	return c.quorum.Propose(now, metadata.Encode(d.changes), &c.result)
}

// shorten hands the quorum a snapshot when its log has grown long.
func (c *Controller) shorten() {
	if c.quorum.WantsSnapshot() {
		c.quorum.Compact(metadata.Encode(c.image.Snapshot()), &c.result)
	}
}
