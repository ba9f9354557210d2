package txn

import (
	"slices"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/order"
	"github.com/tamarack-mq/tamarack/core/record"
)

// sending is the markers of one decision on their way.
type sending struct {
	shard *shard
	name  string
	left  []unmarked // by partition
	asked []request  // by node: a question that is repeated keeps its number, so that a late answer counts
}

// unmarked is a partition that is not known to have the marker.
type unmarked struct {
	id   record.PartitionID
	told message.NodeID // who was asked for it last; NoNode: nobody
}

type request struct {
	node   message.NodeID
	number uint64
}

// begin starts to write the markers of a decision that is committed.
func (s *shard) begin(now message.Now, e *entry) {
	d := &sending{shard: s, name: e.name}
	for _, p := range e.partitions {
		d.left = append(d.left, unmarked{id: p})
	}
	e.sending, s.sendings[e.name] = d, d
	s.round(now, e)
}

// round sends the markers that are missing to those who lead now. A partition
// whose topic was deleted needs none.
func (s *shard) round(now message.Now, e *entry) {
	s.impatient(now, e)
	view, d := s.home.view, e.sending
	d.left = slices.DeleteFunc(d.left, func(u unmarked) bool { return view.Gone(u.id) })
	if len(d.left) == 0 {
		s.marked(now, e)
		return
	}
	var batches []*message.WriteMarkers
	var nodes []message.NodeID
	for i := range d.left {
		u := &d.left[i]
		if u.told = view.Leader(u.id); u.told == message.NoNode {
			continue
		}
		at := slices.Index(nodes, u.told)
		if at < 0 {
			at = len(nodes)
			nodes = append(nodes, u.told)
			batches = append(batches, &message.WriteMarkers{
				BrokerEpoch: s.home.run, Request: s.number(d, u.told), CoordinatorEpoch: s.Epoch(),
				ID: e.now.ID, Epoch: e.now.Epoch, Commit: e.phase.commits(),
			})
		}
		batches[at].Partitions = append(batches[at].Partitions, u.id)
	}
	for i, m := range batches {
		s.home.send(nodes[i], m)
	}
	s.nextRound(e, now.Mono.Add(s.home.cfg.MarkerRetry))
}

// nextRound sets when markers are sent again; what is gathered may be due sooner.
func (s *shard) nextRound(e *entry, at message.Time) {
	if e.roundAt = at; len(e.gathering) > 0 {
		at = min(at, e.gatherUntil)
	}
	if at == message.Never {
		s.state.timers.Stop(&e.timer)
		return
	}
	s.state.timers.Set(&e.timer, at)
}

// number is that of the question to a node.
func (s *shard) number(d *sending, node message.NodeID) uint64 {
	for _, r := range d.asked {
		if r.node == node {
			return r.number
		}
	}
	s.home.last++
	d.asked = append(d.asked, request{node, s.home.last})
	s.home.asked[s.home.last] = d
	return s.home.last
}

// Marked takes a broker's answer to a WriteMarkers.
func (c *Coordinator) Marked(now message.Now, m *message.WroteMarkers, out *Out) {
	d := c.asked[m.Request]
	if d == nil || m.BrokerEpoch != c.run {
		return
	}
	s := d.shard
	e := s.state.entries[d.name]
	again := false
	for _, r := range m.Results {
		switch r.Code {
		case message.None:
			d.left = slices.DeleteFunc(d.left, func(u unmarked) bool { return u.id == r.ID })
		case message.TransactionCoordinatorFenced: // it will be heard of soon that another one leads
		default:
			again = true
		}
	}
	switch {
	case len(d.left) == 0:
		s.marked(now, e)
	case again:
		s.nextRound(e, min(e.roundAt, now.Mono.Add(s.home.cfg.MarkerBackoff)))
	}
	s.follow(now, &out.Out)
	s.Flush(now, &out.Out)
	c.collect(out)
}

// marked writes that a transaction is over: all its markers are committed.
func (s *shard) marked(now message.Now, e *entry) {
	s.over(e)
	as := CompleteAbort
	if e.phase == PrepareCommit {
		as = CompleteCommit
	}
	s.write(now, e.name, e.completed(as))
}

// over forgets the markers of a decision.
func (s *shard) over(e *entry) {
	for _, r := range e.sending.asked {
		delete(s.home.asked, r.number)
	}
	delete(s.sendings, e.name)
	e.sending = nil
}

// moved sends markers again whose partition has another leader, or is gone.
func (s *shard) moved(now message.Now) {
	view := s.home.view
	for _, name := range order.Keys(s.sendings) {
		for _, u := range s.sendings[name].left {
			if leader := view.Leader(u.id); view.Gone(u.id) || leader != message.NoNode && leader != u.told {
				s.round(now, s.state.entries[name])
				break
			}
		}
	}
}
