package client

import (
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// shipment is one batch in a request.
type shipment struct {
	lane  *lane
	batch *batch
}

// pump sends to a node as many produce requests as it may owe answers to.
func (p *producer) pump(n *node) {
	for len(n.ready) > 0 && n.producing < p.c.cfg.InFlight && n.usable(p.c.now.Mono) {
		p.ship(n)
	}
}

// ship sends one request with at most one batch of each lane that queues.
func (p *producer) ship(n *node) {
	var load []shipment
	var loose []*lane // they have nothing for this node any more
	var size, i int
	for ; i < len(n.ready); i++ {
		l := n.ready[i]
		b := l.candidate()
		if b == nil || p.c.cluster.leader(l.id) != n || l.nameless() || l.flights > 0 && l.flown != n {
			loose = append(loose, l)
			continue
		}
		more := max(len(b.bytes), b.builder.Size())
		if size > 0 && size+more > int(p.c.cfg.RequestBytes) {
			break
		}
		size += more
		l.launch(b, n)
		load = append(load, shipment{l, b})
	}
	kept := copy(n.ready, n.ready[i:])
	clear(n.ready[kept:])
	n.ready = n.ready[:kept]
	for _, l := range loose {
		l.at, l.node = nowhere, nil
	}
	for _, s := range load {
		s.lane.at, s.lane.node = nowhere, nil
	}
	if len(load) > 0 {
		p.sendLoad(n, load)
	}
	for _, l := range loose {
		l.stir()
	}
	for _, s := range load {
		s.lane.stir()
	}
}

func (p *producer) sendLoad(n *node, load []shipment) {
	r := &message.Produce{Acks: p.c.cfg.Acks, TransactionalID: p.c.cfg.TransactionalID, Partitions: make([]message.ProducePartition, len(load))}
	// The leader answers by itself before this client gives the call up.
	r.Timeout = p.c.cfg.RequestTimeout * 3 / 4
	for i, s := range load {
		r.Partitions[i] = message.ProducePartition{ID: s.lane.id, Records: s.batch.bytes}
	}
	if r.Acks == message.AcksNone {
		p.sendBlind(n, r, load)
		return
	}
	n.producing++
	p.c.send(n.target(), r, p.c.cfg.RequestTimeout, func(reply message.Reply, how ending) {
		n.producing--
		p.c.touch(n)
		p.answered(load, reply, how)
	})
}

// sendBlind sends with acks=0: nobody answers, so it is done when it is sent.
// The call is kept for a moment, to hear that the broker cannot be reached.
func (p *producer) sendBlind(n *node, r *message.Produce, load []shipment) {
	id := p.c.emit(n.target(), r, true)
	k := &call{id: id, node: n, end: func(message.Reply, ending) {}}
	k.deadline.Due = func() { delete(p.c.calls, id) }
	p.c.calls[id] = k
	p.c.alarms.Set(&k.deadline, p.c.now.Mono.Add(message.Second))
	for _, s := range load {
		s.lane.landed(s.batch)
		s.lane.succeeded(s.batch, -1)
	}
}

// answered deals out the end of a request to its batches. All of them have
// landed before the first is judged, and the lanes are stirred after the last.
func (p *producer) answered(load []shipment, reply message.Reply, how ending) {
	m, code, ok := read[*message.ProduceReply](reply, how)
	for _, s := range load {
		s.lane.landed(s.batch)
	}
	for i, s := range load {
		switch {
		case ok:
			p.judge(s, entryOf(m, i, s.lane.id))
		case how == replied:
			_, isRefusal := reply.(*message.Refused)
			s.lane.refused(s.batch, code, !isRefusal, false)
		default:
			s.lane.refused(s.batch, code, how == broken, false)
		}
	}
	if !ok {
		p.c.cluster.want()
	}
	for _, s := range load {
		s.lane.stir()
	}
}

// entryOf finds the entry of a partition: at its index, if the broker keeps to
// the protocol. nil when there is none.
func entryOf(m *message.ProduceReply, i int, id record.PartitionID) *message.ProducedPartition {
	if i < len(m.Partitions) && m.Partitions[i].ID == id {
		return &m.Partitions[i]
	}
	return nil
}

func (p *producer) judge(s shipment, e *message.ProducedPartition) {
	l, b := s.lane, s.batch
	switch {
	case e == nil || e.Code == message.None && e.BaseOffset < 0:
		l.refused(b, message.UnknownServerError, true, false)
	case e.Code == message.None:
		l.succeeded(b, e.BaseOffset)
	default:
		moved := false
		switch {
		case staleLeader(e.Code):
			moved = p.c.cluster.hint(l.id, e.Leader, e.LeaderEpoch)
		case e.Code.Retriable():
			p.c.cluster.want() // a leader that is cut off cannot say that it was deposed
		}
		l.refused(b, e.Code, e.Code.Unknown(), moved)
	}
}

// staleLeader are the codes which say that another broker leads, or that the
// partition is not what the client takes it for.
func staleLeader(c message.Code) bool {
	switch c {
	case message.NotLeaderOrFollower, message.LeaderNotAvailable, message.UnknownTopicOrPartition, message.UnknownTopicID,
		message.FencedLeaderEpoch, message.UnknownLeaderEpoch, message.ReplicaNotAvailable, message.BrokerNotAvailable,
		message.StorageError, message.ShuttingDown:
		return true
	}
	return false
}

// moved says that a partition has another leader now.
func (p *producer) moved(id record.PartitionID) {
	l := p.lanes[id]
	if l == nil {
		return
	}
	if l.at == queued || l.at == leaderless {
		l.leave()
	}
	l.stir()
}
