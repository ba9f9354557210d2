package client

import (
	"fmt"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// question remembers for which position of a flow something was asked.
type question struct {
	flow  *flow
	turn  uint64
	at    record.Offset
	epoch record.LeaderEpoch // the leadership that was asked
}

// live says that the answer still concerns the flow.
func (q question) live() bool { return q.flow.turn == q.turn && !q.flow.dead }

// route gathers what is to be asked of one node.
type route struct {
	node  *node
	fetch []question
	list  []question
	check []question
}

// settle serves the polls from what is there and asks for more.
func (k *consumer) settle() {
	k.serve()
	for range 2 { // a question that cannot be sent may free another
		if !k.stir {
			return
		}
		k.stir = false
		k.plan()
		k.serve()
	}
}

// plan goes over the flows and sends what they need: per node one fetch at a
// time, and another for those that it had to leave out; and questions for offsets
// and for ends of epochs.
func (k *consumer) plan() {
	if len(k.awaited) > 0 {
		k.placeAwaited()
	}
	if len(k.list) == 0 {
		return
	}
	routes := k.routes[:0]
	k.routes = nil
	committed := false
	k.spin++
	for i := range k.list {
		f := k.list[(k.spin+i)%len(k.list)]
		switch {
		case f.leaving || f.asked || f.stage == stuck:
		case k.c.now.Mono < f.rest:
			k.c.alarms.Sooner(&k.nudge, f.rest)
		case f.stage == wantCommitted:
			committed = true
		default:
			k.planFlow(f, &routes)
		}
	}
	for i := range routes {
		r := &routes[i]
		k.sendList(r)
		k.sendCheck(r)
		k.sendFetch(r)
	}
	clear(routes)
	k.routes = routes
	if committed {
		k.askCommitted()
	}
}

func (k *consumer) planFlow(f *flow, routes *[]route) {
	part := k.c.cluster.partition(f.id)
	if part == nil {
		k.missing(f)
		return
	}
	f.missing = 0
	n := k.c.cluster.leader(f.id)
	if n == nil || n.address == "" {
		k.c.cluster.want()
		return
	}
	if !n.usable(k.c.now.Mono) {
		return // its alarm stirs the consumer
	}
	q := question{f, f.turn, f.at, part.epoch}
	r := routeTo(routes, n)
	if f.stage == wantOffset {
		r.list = append(r.list, q)
		return
	}
	if part.epoch < f.atEpoch {
		// Who leads by what is known here was deposed before the record was written that
		// was read last, or committed: its log may end below that, which would pass for a
		// truncation (KIP-320). Coordinators store no epoch that never was, so a newer
		// leader is there to be found.
		k.c.cluster.want()
		return
	}
	if f.checked < part.epoch {
		if f.atEpoch != record.NoLeaderEpoch {
			r.check = append(r.check, q) // KIP-320: has the new leader what was read?
			return
		}
		f.checked = part.epoch
	}
	if !f.paused && !f.drain && n.takes(f) && f.buffer.size < k.share() {
		r.fetch = append(r.fetch, q)
	}
}

// takes says whether a fetch of the flow may be sent. One that is held back for lack of
// records must not keep those waiting that are there: of a partition that had too much
// ahead when it was sent, or that is read from elsewhere since.
func (n *node) takes(f *flow) bool {
	return f.fetcher != n && (!n.fetching || !n.catching && f.more)
}

func routeTo(routes *[]route, n *node) *route {
	for i := range *routes {
		if (*routes)[i].node == n {
			return &(*routes)[i]
		}
	}
	*routes = append(*routes, route{node: n})
	return &(*routes)[len(*routes)-1]
}

// missing waits a while for a partition that the metadata does not show.
func (k *consumer) missing(f *flow) {
	now := k.c.now.Mono
	if f.missing == 0 {
		f.missing = now.Add(k.c.cfg.TopicTimeout)
	}
	if now >= f.missing && k.mode == manual { // of a group's, the coordinator decides
		f.stop(&Error{Problem: NoSuchTopic, Code: message.UnknownTopicID, Detail: fmt.Sprintf(
			"%s/%d does not exist any more", f.place.Topic, f.place.Partition)})
		return
	}
	k.c.cluster.lookup(f.id.Topic)
	k.c.cluster.want()
	if now < f.missing {
		k.c.alarms.Sooner(&k.nudge, f.missing)
	}
}

// share is what may be fetched ahead of each partition, so that none takes the room of
// all others. How much a fetch brings at once is another matter: who asks for little at
// a time may be far behind, and comes to the end by asking often.
func (k *consumer) share() int64 {
	return max(1, k.c.cfg.PrefetchBytes/int64(max(1, len(k.list))))
}

// room is how many bytes may be fetched ahead now. What is paused holds its own only as
// long as nobody else needs it: the application may never come back for it.
func (k *consumer) room() int64 {
	for i := 0; i < len(k.list) && k.buffered >= k.c.cfg.PrefetchBytes; i++ {
		if f := k.list[i]; f.paused && f.buffer.size > 0 {
			f.unfetch()
		}
	}
	return k.c.cfg.PrefetchBytes - k.buffered
}

// sendFetch fetches ahead, as far as the buffer allows.
func (k *consumer) sendFetch(r *route) {
	if len(r.fetch) == 0 {
		return
	}
	room := k.room()
	if room <= 0 {
		return
	}
	m := &message.Fetch{
		MaxWait: k.c.cfg.FetchWait, MinBytes: 1, MaxBytes: int32(min(int64(k.c.cfg.FetchBytes), room)),
		Isolation: k.c.cfg.Isolation, Partitions: make([]message.FetchPartition, len(r.fetch)),
	}
	for i, q := range r.fetch {
		q.flow.fetcher = r.node
		m.Partitions[i] = message.FetchPartition{ID: q.flow.id, LeaderEpoch: q.epoch, Offset: q.at,
			LastEpoch: q.flow.atEpoch, MaxBytes: k.c.cfg.PartitionFetchBytes}
	}
	n, asked, out := r.node, r.fetch, &r.node.fetching
	if n.fetching {
		out, m.MaxWait = &n.catching, 0
	}
	*out = true
	k.c.send(n.target(), m, m.MaxWait+k.c.cfg.RequestTimeout, func(reply message.Reply, how ending) {
		*out = false
		k.fetched(n, asked, reply, how)
	})
}

func (k *consumer) fetched(n *node, asked []question, reply message.Reply, how ending) {
	k.stir = true
	m, code, ok := read[*message.FetchReply](reply, how)
	for i, q := range asked {
		f := q.flow
		if q.live() && f.fetcher == n {
			f.fetcher, f.more = nil, true
		}
		if !q.live() || f.leaving || f.stage != reading || f.at != q.at {
			continue
		}
		switch {
		case !ok:
			f.refused(code, message.NoNode, record.NoLeaderEpoch)
		case i >= len(m.Partitions) || m.Partitions[i].ID != f.id:
			f.refused(message.UnknownServerError, message.NoNode, record.NoLeaderEpoch)
		default:
			f.fetched(&m.Partitions[i])
		}
	}
}

// fetched takes in what a fetch gave.
func (f *flow) fetched(e *message.FetchedPartition) {
	switch {
	case e.Code != message.None:
		f.refused(e.Code, e.Leader, e.LeaderEpoch)
	case e.Diverging != nil:
		f.diverged(*e.Diverging)
	default:
		f.failures, f.suspect = 0, false
		f.seen(e.HighWatermark, e.LogStart)
		f.stable = max(f.stable, e.LastStable)
		f.take(e.Records, f.k.aborted(e))
		f.more = len(e.Records) > 0 && f.at < f.readable()
	}
}

// sendList looks up offsets by time, or the ends of the log.
func (k *consumer) sendList(r *route) {
	if len(r.list) == 0 {
		return
	}
	m := &message.ListOffsets{Partitions: make([]message.ListOffsetsPartition, len(r.list)), Isolation: k.c.cfg.Isolation}
	for i, q := range r.list {
		at := q.flow.seek.Timestamp
		switch q.flow.seek.Kind {
		case AtEarliest:
			at = message.Earliest
		case AtLatest:
			at = message.Latest
		}
		q.flow.asked = true
		m.Partitions[i] = message.ListOffsetsPartition{ID: q.flow.id, LeaderEpoch: q.epoch, Timestamp: at}
	}
	asked := r.list
	k.c.send(r.node.target(), m, k.c.cfg.RequestTimeout, func(reply message.Reply, how ending) {
		k.stir = true
		m, code, ok := read[*message.ListOffsetsReply](reply, how)
		for i, q := range asked {
			f := q.flow
			if !q.live() {
				continue
			}
			f.asked = false
			switch {
			case !ok:
				f.refused(code, message.NoNode, record.NoLeaderEpoch)
			case i >= len(m.Partitions) || m.Partitions[i].ID != f.id || m.Partitions[i].Code == message.None && m.Partitions[i].Offset < 0:
				f.refused(message.UnknownServerError, message.NoNode, record.NoLeaderEpoch)
			case m.Partitions[i].Code != message.None:
				f.refused(m.Partitions[i].Code, message.NoNode, record.NoLeaderEpoch)
			default:
				f.listed(m.Partitions[i].Offset)
			}
		}
	})
}

// sendCheck asks whether the leader's history holds what was read (KIP-320).
func (k *consumer) sendCheck(r *route) {
	if len(r.check) == 0 {
		return
	}
	m := &message.OffsetForLeaderEpoch{Partitions: make([]message.EpochQuestion, len(r.check))}
	for i, q := range r.check {
		q.flow.asked = true
		m.Partitions[i] = message.EpochQuestion{ID: q.flow.id, LeaderEpoch: q.epoch, Epoch: q.flow.atEpoch}
	}
	asked := r.check
	k.c.send(r.node.target(), m, k.c.cfg.RequestTimeout, func(reply message.Reply, how ending) {
		k.stir = true
		m, code, ok := read[*message.OffsetForLeaderEpochReply](reply, how)
		for i, q := range asked {
			f := q.flow
			if !q.live() {
				continue
			}
			f.asked = false
			switch {
			case f.leaving: // what waits for its commit is handed over, and no more
			case !ok:
				f.refused(code, message.NoNode, record.NoLeaderEpoch)
			case i >= len(m.Partitions) || m.Partitions[i].ID != f.id:
				f.refused(message.UnknownServerError, message.NoNode, record.NoLeaderEpoch)
			case m.Partitions[i].Code != message.None:
				f.refused(m.Partitions[i].Code, message.NoNode, record.NoLeaderEpoch)
			default:
				f.checkedAgainst(q, m.Partitions[i])
			}
		}
	})
}

// checkedAgainst takes in where the leader's history of the last epoch ends.
func (f *flow) checkedAgainst(q question, a message.EpochAnswer) {
	if f.stage != reading || f.at != q.at {
		return
	}
	f.failures = 0
	if a.Epoch == f.atEpoch && a.End >= f.at {
		f.checked, f.more = q.epoch, true
		return
	}
	f.diverged(message.EpochEnd{Epoch: a.Epoch, End: a.End})
	if f.stage == reading && f.atEpoch == record.NoLeaderEpoch {
		f.checked = q.epoch
	}
}
