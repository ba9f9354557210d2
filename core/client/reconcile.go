package client

import (
	"slices"

	"github.com/tamarack-mq/tamarack/core/message"
)

// giving is some partitions on their way out. They are not delivered any more.
// They are given up when the application has come back from what it was given
// of them and that is committed, or when the time for it is over.
type giving struct {
	flows    []*flow
	forced   bool // do not wait for the application any longer
	stored   bool // the client's own commit was tried
	deadline alarm
	then     func() // in place of saying so with a heartbeat
}

// reconcile brings what this member owns to what the coordinator says it may
// own: first it gives up, then it takes on, then it says so.
func (m *member) reconcile() {
	if m.target == nil || m.giving != nil || m.over || m.away {
		return
	}
	var out []*flow
	for _, f := range m.k.list {
		if !slices.Contains(m.target, f.id) {
			out = append(out, f)
		}
	}
	if len(out) > 0 {
		m.giveUp(out, nil)
		return
	}
	m.takeOn()
}

// takeOn begins to read what is assigned and not owned yet.
func (m *member) takeOn() {
	var taken []*flow
	unknown := false
	for _, id := range m.target {
		if m.k.flows[id] != nil {
			continue
		}
		t := m.c.cluster.byID[id.Topic]
		if t == nil {
			m.c.cluster.lookup(id.Topic)
			unknown = true
			continue
		}
		f := m.k.add(id, Place{t.name, id.Index})
		f.begin(Position{Kind: AtCommitted})
		taken = append(taken, f)
	}
	if unknown {
		m.c.alarms.Set(&m.missing, m.c.now.Mono.Add(m.c.cfg.RetryBackoffMax))
	}
	if len(taken) > 0 {
		slices.SortFunc(taken, func(a, b *flow) int { return a.id.Compare(b.id) })
		m.c.out.Add(Event{Kind: Assigned, Group: m.group, Partitions: placed(taken), MemberEpoch: m.epoch})
		m.full = true
		m.beatNow()
	}
}

// giveUp begins to give flows up; then is told in place of the coordinator.
func (m *member) giveUp(flows []*flow, then func()) {
	g := &giving{flows: flows, then: then}
	if m.giving != nil { // everything is being given up now
		g.forced, g.stored = m.giving.forced, false
		m.stopGiving()
	}
	fresh := make([]*flow, 0, len(flows))
	for _, f := range flows {
		if !f.leaving {
			fresh = append(fresh, f)
		}
		f.leaving = true
		f.discard()
	}
	m.giving = g
	g.deadline.Due = func() {
		g.forced = true
		m.continueGiving()
	}
	m.c.alarms.Set(&g.deadline, m.c.now.Mono.Add(m.c.cfg.RebalanceTimeout/2))
	if len(fresh) > 0 && then == nil {
		m.c.out.Add(Event{Kind: Revoking, Group: m.group, Partitions: placed(fresh), MemberEpoch: m.epoch})
	}
	m.continueGiving()
}

// continueGiving gives the flows up if nothing has to be waited for.
func (m *member) continueGiving() {
	g := m.giving
	if g == nil || m.waitsForHandover(g) {
		return
	}
	if !g.forced && m.k.style == AtLeastOnce && slices.ContainsFunc(g.flows, (*flow).outside) {
		return
	}
	if m.k.auto.on && !g.stored {
		if m.k.commits.storing() {
			return // one is under way; when it is over this is called again
		}
		g.stored = true
		m.k.store(g.flows)
		if m.giving != g {
			return
		}
	}
	if m.k.commits.concerns(g.flows) {
		return
	}
	m.given(g)
}

// outside says that the application has records of the flow in hand.
func (f *flow) outside() bool { return f.used && f.given > f.processed }

func (m *member) waitsForHandover(g *giving) bool {
	if m.k.handing == nil {
		return false
	}
	for _, part := range m.k.handing.parts {
		if slices.Contains(g.flows, part.flow) {
			return true
		}
	}
	return false
}

// given ends the giving up and says so.
func (m *member) given(g *giving) {
	m.stopGiving()
	var ids []PlacedID
	for _, f := range g.flows {
		if !f.dead {
			ids = append(ids, PlacedID{f.place, f.id})
			m.k.drop(f)
		}
	}
	if len(ids) > 0 {
		m.c.out.Add(Event{Kind: Revoked, Group: m.group, Partitions: ids, MemberEpoch: m.epoch})
	}
	if g.then != nil {
		g.then()
		return
	}
	m.full = true
	m.again = m.beating // the one on its way does not say it yet
	m.reconcile()
	if !m.beating {
		m.heartbeat()
	}
}

func (m *member) stopGiving() {
	if m.giving != nil {
		m.c.alarms.Stop(&m.giving.deadline)
		m.giving = nil
	}
}

// askCommitted asks the coordinator where the group stands in the partitions
// that were assigned, all in one request.
func (k *consumer) askCommitted() {
	if k.askingCommitted {
		return
	}
	if k.c.now.Mono < k.committedRest {
		k.c.alarms.Sooner(&k.nudge, k.committedRest)
		return
	}
	k.askingCommitted = true
	group := k.group
	k.c.coordinate(office{group: group}, func(n *node, code message.Code) {
		k.askingCommitted = false
		if group != k.group {
			k.stir = true
			return
		}
		if n == nil {
			k.committedFailed(code, nil)
			return
		}
		k.sendCommitted(n, group)
	})
}

func (k *consumer) sendCommitted(n *node, group string) {
	m := &message.FetchOffsets{Group: group, MemberEpoch: -1, Stable: k.stable()}
	if k.member != nil {
		m.Member, m.MemberEpoch = k.member.id, k.member.epoch
	}
	var asked []question
	for _, f := range k.list {
		if f.stage == wantCommitted && !f.leaving {
			asked = append(asked, question{flow: f, turn: f.turn})
			m.IDs = append(m.IDs, f.id)
		}
	}
	if len(asked) == 0 {
		return
	}
	k.askingCommitted = true
	k.c.send(n.target(), m, k.c.cfg.RequestTimeout, func(reply message.Reply, how ending) {
		k.askingCommitted = false
		k.stir = true
		r, code, ok := read[*message.FetchOffsetsReply](reply, how)
		if ok {
			code = r.Code
		}
		if how != replied || lostCoordinator(code) {
			k.c.uncoordinate(office{group: group}, n)
		}
		if code != message.None {
			k.committedFailed(code, asked)
			return
		}
		k.committedFails = 0
		for _, q := range asked {
			if !q.live() || q.flow.stage != wantCommitted {
				continue
			}
			at := committedIn(r, PlacedID{q.flow.place, q.flow.id})
			switch {
			case at.Offset != message.NoOffset:
			case q.flow.goBack: // the reset policy might skip what was never processed
				q.flow.land(q.flow.origin, q.flow.originEpoch)
				continue
			default:
				q.flow.policy(message.NoOffset)
				continue
			}
			q.flow.land(at.Offset, at.LeaderEpoch)
			q.flow.committed = at.Offset
		}
	})
}

// committedFailed tries again after a pause, or tells the application.
func (k *consumer) committedFailed(code message.Code, asked []question) {
	switch code {
	case message.StaleMemberEpoch, message.UnknownMemberID, message.FencedMemberEpoch:
		if k.member != nil {
			k.member.beatNow()
		}
	default:
		if code.Retriable() || code == message.UnknownServerError {
			break
		}
		for _, q := range asked {
			if q.live() && q.flow.stage == wantCommitted {
				q.flow.stop(&Error{Problem: Refused, Code: code, Detail: "the group's position cannot be read"})
			}
		}
	}
	k.committedFails++
	k.committedRest = k.c.now.Mono.Add(k.c.backoff(k.committedFails))
	k.stir = true
	k.c.alarms.Sooner(&k.nudge, k.committedRest)
}
