package models

import (
	"fmt"
	"math"
	"sort"

	"github.com/tamarack-mq/tamarack/history"
)

// times is INV-9 for searches by time: what is answered is the first record that
// is late enough, to the record. What was found is held against the log at rest:
// a record below an offset that was given out was there by then, and one that is
// there still was not retired.
func times(d *dossier) []Violation {
	var found []Violation
	latest := map[Place][]int64{}
	for i := range d.Operations {
		op := &d.Operations[i]
		at := Place{op.TopicID, op.Partition}
		if op.Kind != history.Sought || d.Gone[at] || d.at[at] == nil || d.at[at].final == nil {
			continue
		}
		log := d.at[at].final
		loss, lossy := d.Lossy[at] // it tells nothing of what is behind, nor of what was hidden by a log start that fell
		if latest[at] == nil {
			latest[at] = latestSoFar(log, loss.Start)
		}
		known := min(op.Offset, d.kept(at))
		n := sort.Search(len(log.Records), func(i int) bool { return log.Records[i].Offset >= known })
		switch {
		case n > 0 && latest[at][n-1] >= op.Timestamp:
			passed := sort.Search(n, func(i int) bool { return latest[at][i] >= op.Timestamp })
			r := &log.Records[passed]
			found = append(found, Violation{"INV-9", "search passes over a record", fmt.Sprintf(
				"client %d looked in %s for the first record from time %d on and was told %d, but %d has time %d",
				op.Client, at, op.Timestamp, op.Offset, r.Offset, r.Timestamp), []int64{op.ID}})
		case lossy && op.Offset >= loss.Kept:
		case len(op.Records) > 0 && n < len(log.Records) && log.Records[n].Offset == op.Offset && log.Records[n].Timestamp != op.Records[0].Timestamp:
			found = append(found, Violation{"INV-9", "search finds another time", fmt.Sprintf(
				"client %d looked in %s for the first record from time %d on and was told %d of time %d, which has time %d",
				op.Client, at, op.Timestamp, op.Offset, op.Records[0].Timestamp, log.Records[n].Timestamp), []int64{op.ID}})
		}
	}
	return found
}

// latestSoFar is, for each record of a log, the latest time from an offset up to it.
func latestSoFar(log *Log, from int64) []int64 {
	list := make([]int64, len(log.Records))
	for i := range log.Records {
		list[i] = math.MinInt64
		if log.Records[i].Offset >= from {
			list[i] = log.Records[i].Timestamp
		}
		if i > 0 {
			list[i] = max(list[i], list[i-1])
		}
	}
	return list
}
