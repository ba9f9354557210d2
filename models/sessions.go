package models

import (
	"fmt"

	"github.com/tamarack-mq/tamarack/history"
)

// sessions is INV-35: what one client process is told of one partition never
// goes back, but for what was given up of it. A raw read also gets its
// records in order, from the offset that it asked for, without a hole but for
// markers and what is not for it (INV-9), and nothing at or above the high watermark that came with them (INV-8).
func sessions(d *dossier) []Violation {
	type session struct{ client, session int32 }
	type bounds struct {
		highWatermark, logStart int64
		op                      int64
		returned                int64
	}
	var found []Violation
	for _, at := range d.places {
		last := map[session]bounds{}
		for _, op := range d.at[at].reads {
			if op.Outcome != history.OK {
				continue
			}
			found = append(found, d.contiguous(op, at)...)
			s := session{op.Client, op.Session}
			before, known := last[s]
			if known && before.returned < op.Invoke {
				least := before
				if loss, lossy := d.Lossy[at]; lossy && op.Return >= loss.From {
					least.highWatermark, least.logStart = min(least.highWatermark, loss.Kept), min(least.logStart, loss.Low)
				}
				if op.HighWatermark != history.None && op.HighWatermark < least.highWatermark {
					found = append(found, Violation{"INV-35", "high watermark went back", fmt.Sprintf(
						"client %d saw the high watermark of %s at %d and then at %d", op.Client, at,
						before.highWatermark, op.HighWatermark), []int64{before.op, op.ID}, ofPlace(at)})
				}
				if op.LogStart != history.None && op.LogStart < least.logStart {
					found = append(found, Violation{"INV-35", "log start went back", fmt.Sprintf(
						"client %d saw the log start of %s at %d and then at %d", op.Client, at,
						before.logStart, op.LogStart), []int64{before.op, op.ID}, ofPlace(at)})
				}
			}
			if !known || before.returned < op.Return {
				last[s] = bounds{max(op.HighWatermark, before.highWatermark), max(op.LogStart, before.logStart), op.ID, op.Return}
			}
		}
	}
	return found
}

func (d *dossier) contiguous(op *history.Operation, at Place) []Violation {
	var found []Violation
	next := op.Offset
	for i := range op.Records {
		r := &op.Records[i]
		if next >= 0 && r.Offset != next && (r.Offset < next || !d.maySkipAll(d.at[at], next, r.Offset, op.Committed)) {
			found = append(found, Violation{"INV-9", "skipped read", fmt.Sprintf(
				"a read of %s from %d got %d where %d was due", at, op.Offset, r.Offset, next), []int64{op.ID}, ofRecord(at, next)})
		}
		next = r.Offset + 1
		if op.HighWatermark != history.None && r.Offset >= op.HighWatermark {
			found = append(found, Violation{"INV-8", "uncommitted read", fmt.Sprintf(
				"a read of %s got offset %d with the high watermark at %d", at, r.Offset, op.HighWatermark), []int64{op.ID}, ofRecord(at, r.Offset)})
		}
	}
	return found
}
