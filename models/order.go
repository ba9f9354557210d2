package models

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/tamarack-mq/tamarack/history"
)

// producerOrder is INV-9 for producers: what one client process sent to one
// partition stands there in the order sent. A retried record of a producer
// without idempotence may stand there twice; its first copy counts, so nothing
// can be said where that copy may be gone: removed by retention, or lost under
// acks=1. And one that was given up without an answer may still have been on its
// way when the next were sent, for there is no epoch by which a broker could
// refuse it: it stands behind those before it, but those after it need not stand
// behind it.
func producerOrder(d *dossier) []Violation {
	type sender struct{ client, session int32 }
	var found []Violation
	for _, at := range d.places {
		p := d.at[at]
		lossy := d.lossy(at)
		if lossy && p.final == nil {
			continue
		}
		places := func(op publish) []int64 {
			where := op.in(p)
			if lossy && len(where) > 0 { // what was seen where records were given up, and is there no more
				where = p.standsAt(where, op.Value)
			}
			return where
		}
		last := map[sender]publish{}
		for _, op := range bySequence(p.publishes) {
			if lossy && !op.Idempotent {
				continue // its first copy may have been given up
			}
			where := places(op)
			if len(where) == 0 || !op.Idempotent && (op.Acks != -1 || p.final == nil || p.final.Start > 0) {
				continue
			}
			by := sender{op.Client, op.Session}
			if before, any := last[by]; any && places(before)[0] > where[0] {
				found = append(found, Violation{"INV-9", "non-monotonic send", fmt.Sprintf(
					"client %d sent %s before %s, but they stand at %s@%d and %d", op.Client,
					name(before.Value), name(op.Value), at, places(before)[0], where[0]), []int64{before.ID, op.ID}, ofRecord(at, places(before)[0])})
			}
			if op.Idempotent || op.Outcome == history.OK {
				last[by] = op
			}
		}
	}
	return found
}

// bySequence is a list that is in the order of the calls in that of the sequences.
func bySequence(publishes []publish) []publish {
	type numbered struct{ sequence, call int }
	order := make([]numbered, len(publishes))
	for i, p := range publishes {
		order[i] = numbered{int(p.Sequence), i}
	}
	slices.SortFunc(order, func(a, b numbered) int {
		return cmp.Or(cmp.Compare(a.sequence, b.sequence), cmp.Compare(a.call, b.call))
	})
	sorted := make([]publish, len(publishes))
	for i, o := range order {
		sorted[i] = publishes[o.call]
	}
	return sorted
}

// mayBeRealTime says that realTime finds nothing, at less cost than it: none of the
// publishes was acknowledged before another one was sent that has the same offset or a
// lower one. When their offsets lie too far apart for a list, or the calls are not in the
// order of time, it says no.
func mayBeRealTime(acked []*history.Operation) bool {
	if len(acked) == 0 {
		return true
	}
	low, high, sent := acked[0].Offset, acked[0].Offset, acked[0].Invoke
	for _, op := range acked {
		if op.Invoke < sent {
			return false
		}
		low, high, sent = min(low, op.Offset), max(high, op.Offset), op.Invoke
	}
	if high-low < 0 || high-low > 4*int64(len(acked))+1024 {
		return false
	}
	// returned is by offset when the first one at it, and then at it or above, had returned.
	returned := make([]int64, high-low+1)
	for i := range returned {
		returned[i] = math.MaxInt64
	}
	for _, op := range acked {
		at := &returned[op.Offset-low]
		*at = min(*at, op.Return)
	}
	for i := len(returned) - 2; i >= 0; i-- {
		returned[i] = min(returned[i], returned[i+1])
	}
	for _, op := range acked {
		if returned[op.Offset-low] < op.Invoke {
			return false
		}
	}
	return true
}

// realTime is INV-3 over time: a publish that was acknowledged under acks=all
// before another one was sent has the lower offset of the two. It is what
// linearizability asks of appends, in linear time.
func realTime(d *dossier) []Violation {
	var found []Violation
	for _, at := range d.places {
		loss, lossy := d.Lossy[at]
		var acked []*history.Operation
		for _, op := range d.at[at].publishes {
			if op.Acks == -1 && op.Outcome == history.OK && !(lossy && loss.excuses(op.Operation)) {
				acked = append(acked, op.Operation)
			}
		}
		if mayBeRealTime(acked) {
			continue
		}
		byReturn := slices.Clone(acked)
		stableByTime(byReturn)
		var highest *history.Operation // of those that had returned when op was sent
		next := 0
		for _, op := range acked { // in the order of the calls
			for next < len(byReturn) && byReturn[next].Return < op.Invoke {
				if highest == nil || byReturn[next].Offset > highest.Offset {
					highest = byReturn[next]
				}
				next++
			}
			if highest != nil && highest.Offset >= op.Offset {
				found = append(found, Violation{"INV-3", "inconsistent offset", fmt.Sprintf(
					"%s was acknowledged at %s@%d before %s was sent, which got %d", name(highest.Value), at,
					highest.Offset, name(op.Value), op.Offset), []int64{highest.ID, op.ID}, ofRecord(at, highest.Offset)})
			}
		}
	}
	return found
}
