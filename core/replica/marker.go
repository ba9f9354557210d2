package replica

import (
	"github.com/tamarack-mq/tamarack/core/log"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// Marked is the outcome of the WriteMarker with the same Ticket.
type Marked struct {
	Ticket uint64
	Code   message.Code
}

// WriteMarker appends the end of a transaction to a partition that this broker
// leads. epoch is one above that of the transaction. Out.Marked answers it with
// ticket:
//
//   - None once a marker is committed, this one or one that was there before
//   - TransactionCoordinatorFenced when a coordinator of a later epoch has written
//     one for that producer
//   - NotLeaderOrFollower, UnknownTopicOrPartition, StorageError: ask whoever leads
//   - NotEnoughReplicas, NotEnoughReplicasAfterAppend: try again later
//   - InvalidTopic for a topic of the cluster's own, InvalidRequest for numbers that
//     cannot be
//
// It does not time out: whoever waits may ask again, here or elsewhere. A full
// disk does not keep a marker out: without it nothing behind the transaction could
// ever be retired.
func (m *Manager) WriteMarker(now message.Now, partition record.PartitionID, id record.ProducerID, epoch record.ProducerEpoch, marker record.Marker, ticket uint64, out *Out) {
	if m.halted {
		return
	}
	l, code := m.leading(partition)
	var added addition
	if code == message.None {
		added = l.mark(m, now, id, epoch, marker, out)
		code = added.code
	}
	if code == message.None && added.end > l.r.highWatermark {
		l.acked.push(waiter{end: added.end, base: added.base, ticket: ticket, marker: true})
	} else {
		out.Marked = append(out.Marked, Marked{Ticket: ticket, Code: code})
	}
	m.finish(now, out)
}

// mark is WriteMarker of one leader.
func (l *leader) mark(m *Manager, now message.Now, id record.ProducerID, epoch record.ProducerEpoch, marker record.Marker, out *Out) addition {
	r := l.r
	refuse := func(code message.Code) addition { return addition{code: code, base: -1} }
	switch {
	case r.state.Config.Internal: // its rooms keep their own books
		return refuse(message.InvalidTopic)
	case r.damage.what != "":
		return refuse(message.StorageError)
	case marker.Outcome == record.NoOutcome:
		return refuse(message.InvalidRequest)
	}
	switch v := r.log.CheckMarker(id, epoch, marker.CoordinatorEpoch); {
	case v.Outcome == log.Refused:
		return refuse(v.Code)
	case v.Outcome == log.Duplicate && v.End > r.highWatermark && !l.enoughInSync():
		return refuse(message.NotEnoughReplicasAfterAppend)
	case v.Outcome == log.Duplicate:
		return addition{base: v.Base, end: v.End}
	case !l.enoughInSync():
		return refuse(message.NotEnoughReplicas)
	}
	batch := record.BuildMarker(now.Wall, id, epoch, marker)
	h, err := record.Validate(batch)
	if err != nil {
		m.halt(r, "it has made a marker that is not valid: "+err.Error(), out)
		return refuse(message.UnknownServerError)
	}
	return l.append(m, now, &h, batch, out)
}

// lastStable is the last stable offset: who reads committed records sees nothing
// from there on.
func (l *leader) lastStable() record.Offset { return l.r.log.LastStable(l.r.highWatermark) }
