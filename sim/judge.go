package sim

import (
	"cmp"
	"slices"

	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/history"
	"github.com/tamarack-mq/tamarack/internal/cputime"
	"github.com/tamarack-mq/tamarack/models"
)

// judge hands what clients saw to the models, once everything has come to rest
// and has been read. What they find breaks the run like a state that an
// observer finds; the event is then the last one of the run.
func (w *World) judge() {
	if w.fruitless(); w.failure != nil {
		return
	}
	if took := w.options.checking; took != nil {
		begun := cputime.Thread()
		defer func() { *took += cputime.Thread() - begun }()
	}
	c := models.Case{Operations: w.history.Operations(), Lossy: map[models.Place]models.Loss{}, Gone: map[models.Place]bool{}, Internal: map[uint64]bool{}}
	for _, t := range w.liveTopics() {
		if t.Config.Internal {
			c.Internal[uint64(t.ID)] = true
		}
	}
	c.Final = w.finalLogs(c.Internal, false)
	if w.transacted {
		c.Committed = w.finalLogs(c.Internal, true)
	}
	for _, part := range w.book.list {
		at := models.Place{TopicID: uint64(part.id.Topic), Partition: part.id.Index}
		if part.unclean {
			c.Lossy[at] = part.losses()
		}
		if part.deleted {
			c.Gone[at] = true
		}
		if part.repeats > 0 {
			if c.Repeated == nil {
				c.Repeated = map[models.Place]int64{}
			}
			c.Repeated[at] = part.repeats
		}
	}
	c.Forgotten = map[string]bool{}
	for i := range w.plan.Clients {
		if g := w.plan.Clients[i].Group; g != "" && (w.shardGivenUp(g) || w.everExpired(g)) {
			c.Forgotten[g] = true
		}
	}
	for i := range w.plan.Clients {
		if id := w.plan.Clients[i].Transactional; id != "" && w.transactionsGivenUp(id) {
			if c.Unsettled == nil {
				c.Unsettled = map[string]bool{}
			}
			c.Unsettled[id] = true
		}
	}
	for _, v := range models.Judge(&c) {
		w.fail(v.Invariant, 0, v.Anomaly, "%s: %s", v.Anomaly, v.Text)
		w.about(subjectOfViolation(&v, c.Operations))
		return
	}
}

// fewPublishes is how often a producer must have tried before it is held against
// the cluster that nothing came of it.
const fewPublishes = 10

// shortestLife is how long a producer must keep a record at least. Within less the
// cluster need not have come back from anything, and such a producer may be out of
// luck from beginning to end.
const shortestLife = 8 * Second

// fruitless is the part of INV-34 that only clients see: a producer that asked
// for an answer, and was there while nothing was wrong yet, got something through.
// It is held against the cluster only when the cluster had its chance: see hadItsChance.
func (w *World) fruitless() {
	if d := w.plan.Timing.ClientDelivery; d > 0 && d < shortestLife {
		return
	}
	tried, done := make([]int, len(w.clients)+1), make([]int, len(w.clients)+1)
	ops := w.history.Operations()
	for i := range ops {
		if op := &ops[i]; op.Kind == history.Publish && int(op.Client) < len(tried) {
			tried[op.Client]++
			if op.Outcome == history.OK {
				done[op.Client]++
			}
		}
	}
	for _, u := range w.clients {
		p := u.plan
		if p.Role == Producer && p.Acks != 0 && p.Start == 0 && p.ID < len(tried) && tried[p.ID] >= fewPublishes && done[p.ID] == 0 && u.inVain {
			w.fail("INV-34", 0, "a producer gets nothing through", "client %d published %d times in the whole run, and was never told that it is stored", p.ID, tried[p.ID])
			return
		}
	}
}

// hadItsChance says, when a client is told that a record of its came to nothing, or
// that nobody knows, that the cluster had that record for long enough after the faults
// ended, and could store it: its topic is there, and has no partition that nobody may
// lead any more. One whose client gave it up before that was out of luck, and so was
// one that waits for such a partition. A record without a key may wait for any of its
// topic.
func (w *World) hadItsChance(op *history.Operation) bool {
	calm := w.plan.Phases.Warm + w.plan.Phases.Faults
	if w.now-max(Span(op.Invoke), calm) < shortestLife {
		return false
	}
	image := w.newest() // nil: no controller was ever there to make the topic
	return image != nil && image.TopicNamed(op.Topic) != nil && !w.topicForsaken(op.Topic)
}

// finalLogs puts together what the final reading found in each partition: the one
// of all records, or that of committed ones.
func (w *World) finalLogs(internal map[uint64]bool, committed bool) []models.Log {
	logs := map[models.Place]*models.Log{}
	ops := w.history.Operations()
	for i := range ops {
		op := &ops[i]
		if op.Kind != history.Read || op.Client != auditorID || op.Committed != committed || Span(op.Invoke) < w.quiet || internal[op.TopicID] {
			continue
		}
		at := models.Place{TopicID: op.TopicID, Partition: op.Partition}
		l := logs[at]
		if l == nil {
			l = &models.Log{TopicID: op.TopicID, Partition: op.Partition, Start: op.LogStart}
			logs[at] = l
		}
		l.Start = max(l.Start, op.LogStart)
		l.End = max(l.End, op.HighWatermark, op.LogStart)
		l.Records = append(l.Records, op.Records...)
	}
	for _, l := range logs { // retention may go on while the log is read
		l.Records = slices.DeleteFunc(l.Records, func(r history.Record) bool { return r.Offset < l.Start })
	}
	list := w.heldLogs(logs, internal)
	slices.SortFunc(list, func(a, b models.Log) int {
		return cmp.Or(cmp.Compare(a.TopicID, b.TopicID), cmp.Compare(a.Partition, b.Partition))
	})
	image := w.newest()
	for i := range list {
		if t := image.Topic(record.TopicID(list[i].TopicID)); t != nil {
			list[i].Topic = t.Name
		}
	}
	return list
}

// heldLogs are those that were read, and what is known of those in which there was
// nothing to read.
func (w *World) heldLogs(logs map[models.Place]*models.Log, internal map[uint64]bool) (list []models.Log) {
	for _, part := range w.book.list {
		at := models.Place{TopicID: uint64(part.id.Topic), Partition: part.id.Index}
		if part.forsaken() { // what it has cannot be read, and it says so
			w.mark(markForsaken)
		} else if l := logs[at]; l != nil {
			list = append(list, *l)
		} else if !part.deleted && !internal[at.TopicID] {
			// Nothing to read: the reading skips what is empty, and has no word for what
			// holds nothing that counts.
			if w.transacted {
				start, end := w.readable(part)
				list = append(list, models.Log{TopicID: at.TopicID, Partition: at.Partition, Start: int64(start), End: int64(max(start, end))})
				continue
			}
			list = append(list, models.Log{TopicID: at.TopicID, Partition: at.Partition, Start: int64(part.high), End: int64(part.high)})
		}
	}
	return list
}
