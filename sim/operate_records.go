package sim

import (
	"github.com/tamarack-mq/tamarack/core/client"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/history"
)

// deleteRecords retires all that is committed in one partition of a topic, or, within,
// all up to some record inside the last batch that has several.
func (o *operator) deleteRecords(u *user, topic string, within bool) {
	image := u.world.newest()
	if image == nil {
		return
	}
	t := image.TopicNamed(topic)
	if t == nil {
		return
	}
	id := record.PartitionID{Topic: t.ID, Index: int32(u.random.Below(int64(len(t.Partitions))))}
	before := u.world.allCommitted(id)
	if within {
		before = u.insideBatch(id, before)
	}
	o.asksLeader(u, "delete-records "+topic, id, &message.DeleteRecords{Partitions: []message.DeleteRecordsPartition{{ID: id, Before: before}}})
}

// asksLeader asks the leader of a partition.
func (o *operator) asksLeader(u *user, words string, id record.PartitionID, r message.Request) {
	o.open++
	op := u.ask(opAdmin, 0, history.Operation{}, func(op client.Op) client.Input {
		return client.Ask{Op: op, Request: r, Target: client.Target{Kind: client.LeaderOf, Partition: id}, Timeout: 20 * message.Second}
	})
	op.text = words
}

// toHighWatermark as the new log start is the high watermark of the moment, but for
// transactions that are open.
const toHighWatermark = record.Offset(-1)

// allCommitted is a log start behind all that is committed. Where a transaction is open
// the high watermark is named itself: that must be refused as long as it is.
func (w *World) allCommitted(id record.PartitionID) record.Offset {
	p, b := w.book.parts[id], &w.book.transactions
	if p == nil || p.nr >= len(b.logs) || b.logs[p.nr] == nil || b.logs[p.nr].stable(p.high) >= p.high {
		return toHighWatermark
	}
	return p.high
}

// insideBatch is a log start inside the last committed batch of several records of which
// nothing is gone; if there is none, otherwise.
func (u *user) insideBatch(id record.PartitionID, otherwise record.Offset) record.Offset {
	p := u.world.book.parts[id]
	if p == nil {
		return otherwise
	}
	for i := len(p.committed) - 1; i >= 0 && p.committed[i].BaseOffset >= p.gone(); i-- {
		if h := &p.committed[i]; h.Count > 1 {
			return h.BaseOffset + record.Offset(u.random.Between(1, int64(h.Count)-1))
		}
	}
	return otherwise
}

// searches asks by time for what is left where the log start has come to lie inside a
// batch: for the latest of its records, which may be one that is gone, and for any at all.
// That nothing which is gone is found, and nothing passed over that is there, is judged
// where the answer comes in.
func (o *operator) searches(u *user, op *openOp, result *client.Result) {
	m, ok := result.Reply.(*message.DeleteRecordsReply)
	image := u.world.newest()
	if !ok || result.Outcome != client.OK || len(m.Partitions) != 1 || image == nil || u.world.phase > faulting {
		return
	}
	id, start := m.Partitions[0].ID, m.Partitions[0].LogStart
	part, state := u.world.book.parts[id], image.Partition(id)
	if part == nil || state == nil {
		return
	}
	for i := len(part.committed) - 1; i >= 0 && part.committed[i].End() > start; i-- {
		h := &part.committed[i]
		if h.BaseOffset >= start {
			continue
		}
		u.world.mark(markStartInBatch)
		for _, at := range []record.Timestamp{0, h.MaxTimestamp} {
			o.asksLeader(u, "search "+id.String(), id, &message.ListOffsets{Partitions: []message.ListOffsetsPartition{
				{ID: id, LeaderEpoch: state.LeaderEpoch, Timestamp: at},
			}})
		}
	}
}
