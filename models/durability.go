package models

import (
	"bytes"
	"fmt"
	"slices"
	"sort"

	"github.com/tamarack-mq/tamarack/history"
)

// durability is INV-1 and INV-36: a publish that was acknowledged under
// acks=all stands at the offset that was answered, exactly as it was sent, in
// the log at rest, unless retention removed it or an operator gave it up.
func durability(d *dossier) []Violation {
	var found []Violation
	for _, at := range d.places {
		p := d.at[at]
		if p.final == nil {
			continue
		}
		loss, lossy := d.Lossy[at]
		for _, op := range p.publishes {
			if op.Acks != -1 || op.Outcome != history.OK || op.Offset < p.final.Start || lossy && loss.excuses(op.Operation) {
				continue
			}
			r := p.final.at(op.Offset)
			switch {
			case r == nil:
				found = append(found, Violation{"INV-1", "lost write", fmt.Sprintf(
					"%s was acknowledged under acks=all at %s@%d, but the log at rest ends at %d", name(op.Value), at, op.Offset, p.final.End), []int64{op.ID}, ofRecord(at, op.Offset)})
			case !bytes.Equal(r.Value, op.Value):
				found = append(found, Violation{"INV-1", "lost write", fmt.Sprintf(
					"%s was acknowledged under acks=all at %s@%d, but %s stands there", name(op.Value), at, op.Offset, name(r.Value)), []int64{op.ID}, ofRecord(at, op.Offset)})
			default:
				found = append(found, same(op.Operation, r, at)...)
			}
		}
	}
	return found
}

// at is the record at an offset, or nil. Without holes before it, which are where
// markers of transactions stand, a record stands at its distance from the first; with
// holes, not far before that.
func (l *Log) at(offset int64) *history.Record {
	n := len(l.Records)
	if n == 0 || offset < l.Records[0].Offset || offset > l.Records[n-1].Offset {
		return nil
	}
	high := min(int(offset-l.Records[0].Offset), n-1)
	if l.Records[high].Offset == offset {
		return &l.Records[high]
	}
	low := 0
	for step := 1; step < high; step *= 2 {
		if l.Records[high-step].Offset <= offset {
			low = high - step
			break
		}
		high -= step
	}
	i := low + sort.Search(high-low, func(i int) bool { return l.Records[low+i].Offset >= offset })
	if l.Records[i].Offset != offset {
		return nil
	}
	return &l.Records[i]
}

// same is INV-36: nothing is changed on the way.
func same(op *history.Operation, r *history.Record, at Place) []Violation {
	what := ""
	switch {
	case !equalOrBothNil(op.Key, r.Key):
		what = "key"
	case !equalOrBothNil(op.Value, r.Value):
		what = "value"
	case op.Timestamp != 0 && op.Timestamp != r.Timestamp:
		what = "timestamp"
	case !slices.EqualFunc(op.Headers, r.Headers, func(a, b history.Header) bool {
		return a.Key == b.Key && equalOrBothNil(a.Value, b.Value)
	}):
		what = "headers"
	default:
		return nil
	}
	return []Violation{{"INV-36", "altered record", fmt.Sprintf(
		"the %s of %s changed on the way to %s@%d", what, name(op.Value), at, r.Offset), []int64{op.ID}, ofRecord(at, r.Offset)}}
}

func equalOrBothNil(a, b []byte) bool { return (a == nil) == (b == nil) && bytes.Equal(a, b) }

// name prints a value for people.
func name(value []byte) string {
	if len(value) > 40 {
		return fmt.Sprintf("%q...", value[:40])
	}
	return fmt.Sprintf("%q", value)
}

// identity is INV-3 and INV-8: an offset that was read once holds that record
// for every reader and at rest.
func identity(d *dossier) []Violation {
	found := differing(d)
	for _, at := range d.places {
		found = append(found, vanished(d, d.at[at])...)
	}
	return found
}

// differing is INV-3.
func differing(d *dossier) []Violation {
	if !d.differ {
		return nil // all records were compared as they were taken up
	}
	var found []Violation
	var at Place
	var p *partition // at, when its records may be compared
	var kept int64
	check := func(op *history.Operation, r *history.Record) {
		if now := (Place{r.TopicID, r.Partition}); p == nil || now != at {
			at, p = now, nil
			if kept = d.kept(at); !d.Internal[at.TopicID] {
				p = d.at[at]
			}
		}
		if p == nil || r.Offset >= kept {
			return
		}
		if first := p.seen.at(r.Offset); !bytes.Equal(first.Value, r.Value) {
			found = append(found, Violation{"INV-3", "inconsistent offset", fmt.Sprintf(
				"%s@%d was read as %s, but elsewhere as %s", at, r.Offset, name(r.Value), name(first.Value)), []int64{op.ID}, ofRecord(at, r.Offset)})
		}
	}
	for i := range d.Operations {
		op := &d.Operations[i]
		if op.Kind != history.Poll && op.Kind != history.Read {
			continue
		}
		for j := range op.Records {
			check(op, &op.Records[j])
		}
	}
	return found
}

// vanished is INV-8: what somebody was shown is there at rest.
func vanished(d *dossier, p *partition) []Violation {
	if p.final == nil {
		return nil
	}
	var gone []int64
	kept := d.kept(p.place)
	p.seen.each(func(_ int64, r *history.Record) {
		if r.Offset >= p.final.Start && r.Offset < kept && p.final.at(r.Offset) == nil {
			gone = append(gone, r.Offset)
		}
	})
	if len(gone) == 0 {
		return nil
	}
	slices.Sort(gone)
	return []Violation{{"INV-8", "uncommitted read", fmt.Sprintf(
		"%s at %s@%d was read, but the log at rest ends at %d", name(p.seen.at(gone[0]).Value), p.place, gone[0], p.final.End), nil, ofRecord(p.place, gone[0])}}
}

// uniqueness is INV-27: a record of an idempotent producer stands in the log
// once, and at the offset that was answered (INV-28). (A producer without
// idempotence may have left several copies, of which retention removes some.)
func uniqueness(d *dossier) []Violation {
	var found []Violation
	for _, at := range d.places {
		p := d.at[at]
		loss, lossy := d.Lossy[at]
		if lossy && (p.final == nil || loss.Unknown) {
			continue
		}
		for _, op := range p.publishes {
			where := op.in(p)
			if lossy && len(where) > 1 { // what was given up was sent again, if its answer was lost
				where = p.standsAt(where, op.Value)
			}
			if op.Idempotent && len(where) > 1 {
				found = append(found, Violation{"INV-27", "duplicate", fmt.Sprintf(
					"%s of an idempotent producer stands at %s@%d and again at %d", name(op.Value), at, where[0], where[1]), []int64{op.ID}, p.twice(where, op.Value)})
			}
			if op.Idempotent && op.Outcome == history.OK && len(where) > 0 && !slices.Contains(where, op.Offset) && !(lossy && loss.excuses(op.Operation)) {
				found = append(found, Violation{"INV-10", "inconsistent offset", fmt.Sprintf(
					"%s was answered with %s@%d but stands at %d", name(op.Value), at, op.Offset, where[0]), []int64{op.ID}, ofRecord(at, op.Offset)})
			}
		}
	}
	return append(found, doubleOffsets(d)...)
}

// twice is about a record that stands at several offsets: the last one at rest should not
// be there.
func (p *partition) twice(where []int64, value []byte) About {
	if p.final != nil {
		where = p.standsAt(where, value)
	}
	if len(where) == 0 { // none of them is left
		return ofPlace(p.place)
	}
	last := len(where) - 1
	return About{Place: p.place, Offset: where[last], Again: where[:last]}
}

// doubleOffsets is INV-3 from the producers' side: under acks=all no two of
// them are given the same offset.
func doubleOffsets(d *dossier) []Violation {
	var found []Violation
	for _, at := range d.places {
		kept := d.kept(at)
		var given byOffset[history.Operation]
		for _, op := range d.at[at].publishes {
			if op.Acks != -1 || op.Outcome != history.OK || op.Offset >= kept {
				continue
			}
			if other := given.at(op.Offset); other != nil {
				found = append(found, Violation{"INV-3", "inconsistent offset", fmt.Sprintf(
					"%s and %s were both acknowledged at %s@%d", name(other.Value), name(op.Value), at, op.Offset), []int64{other.ID, op.ID}, ofRecord(at, op.Offset)})
			}
			given.put(op.Offset, op.Operation)
		}
	}
	return found
}

// truth is INV-10: a publish that failed for certain is never seen, and nothing
// is seen that nobody sent.
func truth(d *dossier) []Violation {
	var found []Violation
	for _, at := range d.places {
		p := d.at[at]
		var wrong []*sent // nearly always nothing
		for _, s := range p.standing {
			if s.op == nil || s.op.Outcome == history.Failed {
				wrong = append(wrong, s)
			}
		}
		slices.SortFunc(wrong, func(a, b *sent) int { return bytes.Compare(a.value, b.value) })
		for _, s := range wrong {
			switch op := s.op; {
			case op == nil:
				found = append(found, Violation{"INV-10", "phantom", fmt.Sprintf(
					"%s at %s@%d was never sent", name(s.value), at, s.in(p)[0]), nil, ofRecord(at, s.in(p)[0])})
			case op.Outcome == history.Failed:
				found = append(found, Violation{"INV-10", "aborted read", fmt.Sprintf(
					"%s failed (%s), but stands at %s@%d", name(op.Value), op.Error, at, s.in(p)[0]), []int64{op.ID}, ofRecord(at, s.in(p)[0])})
			}
		}
	}
	return found
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
