package models

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/tamarack-mq/tamarack/history"
)

// times is INV-9 for searches by time: what is answered is the first record that
// is late enough, to the record. What was found is held against all records that
// anybody has read: one below an offset that was given out was there by then, if
// retention had not taken it yet.
func times(d *dossier) []Violation {
	var found []Violation
	read := map[Place]*timeline{}
	for i := range d.Operations {
		op := &d.Operations[i]
		at := Place{op.TopicID, op.Partition}
		if op.Kind != history.Sought || d.Gone[at] || d.at[at] == nil || d.at[at].final == nil {
			continue
		}
		p := d.at[at]
		if read[at] == nil {
			read[at] = p.timeline()
		}
		from := op.LogStart
		if from == history.None {
			from = p.final.Start
		}
		loss, lossy := d.Lossy[at] // it tells nothing of what is behind, nor of what was hidden by a log start that fell
		passed := read[at].first(op.Timestamp, max(from, loss.Start), min(op.Offset, d.kept(at)))
		there := p.seen.at(op.Offset)
		switch {
		case passed != nil:
			found = append(found, Violation{"INV-9", "search passes over a record", fmt.Sprintf(
				"client %d looked in %s for the first record from time %d on and was told %d, but %d has time %d",
				op.Client, at, op.Timestamp, op.Offset, passed.Offset, passed.Timestamp), []int64{op.ID}, ofRecord(at, passed.Offset)})
		case lossy && op.Offset >= loss.Kept:
		case len(op.Records) > 0 && there != nil && there.Timestamp != op.Records[0].Timestamp:
			found = append(found, Violation{"INV-9", "search finds another time", fmt.Sprintf(
				"client %d looked in %s for the first record from time %d on and was told %d of time %d, which has time %d",
				op.Client, at, op.Timestamp, op.Offset, op.Records[0].Timestamp, there.Timestamp), []int64{op.ID}, ofRecord(at, op.Offset)})
		}
	}
	return found
}

// timeline is the records of a partition that were read, by offset, and for each of
// them the latest time up to it.
type timeline struct {
	records []*history.Record
	latest  []int64
}

func (p *partition) timeline() *timeline {
	l := &timeline{}
	p.seen.each(func(_ int64, r *history.Record) { l.records = append(l.records, r) })
	slices.SortFunc(l.records, func(a, b *history.Record) int { return cmp.Compare(a.Offset, b.Offset) })
	until := int64(math.MinInt64)
	for _, r := range l.records {
		until = max(until, r.Timestamp)
		l.latest = append(l.latest, until)
	}
	return l
}

// first is the first record from an offset on, and below another, that is not before
// a time; nil: there is none.
func (l *timeline) first(time, from, to int64) *history.Record {
	end := sort.Search(len(l.records), func(i int) bool { return l.records[i].Offset >= to })
	if end == 0 || l.latest[end-1] < time {
		return nil // mostly
	}
	begin := sort.Search(end, func(i int) bool { return l.records[i].Offset >= from })
	for _, r := range l.records[begin:end] {
		if r.Timestamp >= time {
			return r
		}
	}
	return nil
}
