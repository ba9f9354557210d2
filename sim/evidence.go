package sim

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/tamarack-mq/tamarack/history"
)

// evidence is what a history shows of what a scenario is about. It judges
// nothing: whether the guarantees held is for observers and models to say. It
// tells whether the thing that the scenario promises really happened.
type evidence struct {
	ops   []history.Operation
	final map[place]map[int64]*history.Record // what the last reading found
	start map[place]int64
}

// place is one partition of one topic.
type place struct {
	topic uint64
	index int32
}

func newEvidence(ops []history.Operation) *evidence {
	e := &evidence{ops: ops, final: map[place]map[int64]*history.Record{}, start: map[place]int64{}}
	for i := range ops {
		op := &ops[i]
		if op.Kind != history.Read || op.Client != auditorID {
			continue
		}
		at := place{op.TopicID, op.Partition}
		if e.final[at] == nil {
			e.final[at] = map[int64]*history.Record{}
		}
		e.start[at] = max(e.start[at], op.LogStart)
		for j := range op.Records {
			e.final[at][op.Records[j].Offset] = &op.Records[j]
		}
	}
	return e
}

// unshown says which of its promises a scenario has not shown.
func unshown(x *Expect, e *evidence) []string {
	var missing []string
	miss := func(format string, args ...any) { missing = append(missing, fmt.Sprintf(format, args...)) }
	if x.NoLoss {
		if lost := LostAcked(e.ops); lost > 0 {
			miss("%d acknowledged records were lost, none was to be", lost)
		}
	}
	for _, o := range x.Owned {
		if got := e.owned(o.Group, o.At); !slices.Equal(got, o.Counts) {
			miss("at %v the members of %s own %v partitions, not %v", o.At, o.Group, got, o.Counts)
		}
	}
	for i := range x.Groups {
		e.group(&x.Groups[i], miss)
	}
	if x.KeysInOrder {
		if where := e.keyOutOfOrder(); where != "" {
			miss("%s", where)
		}
	}
	if x.KeysMoved && !e.keyMoved() {
		miss("no key has records in two partitions")
	}
	if x.Reread && !e.reread() {
		miss("no record was read by two clients, and twice by one")
	}
	return missing
}

// owned are the numbers of partitions that the members of a group own at a
// moment, in falling order. A member is there when it has polled lately.
func (e *evidence) owned(group string, at Span) []int {
	const lately = 3 * Second
	held := map[int32]map[place]bool{}
	polled := map[int32]Span{}
	for i := range e.ops {
		op := &e.ops[i]
		if Span(op.Invoke) > at {
			break
		}
		if op.Kind == history.Restarted {
			delete(held, op.Client)
		}
		if op.Group != group {
			continue
		}
		if held[op.Client] == nil {
			held[op.Client] = map[place]bool{}
		}
		switch op.Kind {
		case history.Poll:
			polled[op.Client] = Span(op.Invoke)
		case history.Assigned, history.Revoked:
			for _, p := range op.Positions {
				held[op.Client][place{p.TopicID, p.Partition}] = op.Kind == history.Assigned
			}
		}
	}
	var counts []int
	for client, last := range polled {
		if at-last > lately || held[client] == nil {
			continue
		}
		n := 0
		for _, owns := range held[client] {
			if owns {
				n++
			}
		}
		counts = append(counts, n)
	}
	slices.SortFunc(counts, func(a, b int) int { return cmp.Compare(b, a) })
	return counts
}

// keyOutOfOrder looks for a key whose records of one producer stand in another
// order than they were sent in, within one partition.
func (e *evidence) keyOutOfOrder() string {
	type origin struct {
		client, session int32
		sequence        int64
	}
	sent := map[string]origin{} // by value
	for i := range e.ops {
		if op := &e.ops[i]; op.Kind == history.Publish && op.Key != nil {
			sent[string(op.Value)] = origin{op.Client, op.Session, op.Sequence}
		}
	}
	type stream struct {
		at              place
		key             string
		client, session int32
	}
	last := map[stream]*history.Record{}
	for _, at := range e.places() {
		for _, r := range e.records(at) {
			from, known := sent[string(r.Value)]
			if !known {
				continue
			}
			s := stream{at, string(r.Key), from.client, from.session}
			if before := last[s]; before != nil && sent[string(before.Value)].sequence > from.sequence {
				return fmt.Sprintf("key %q: %q stands before %q, which was sent first", r.Key, before.Value, r.Value)
			}
			last[s] = r
		}
	}
	if len(last) == 0 {
		return "no record has a key"
	}
	return ""
}

// keyMoved says whether some key has records in two partitions.
func (e *evidence) keyMoved() bool {
	home := map[string]place{}
	for _, at := range e.places() {
		for _, r := range e.records(at) {
			if r.Key == nil {
				continue
			}
			if first, known := home[string(r.Key)]; known && first != at && first.topic == at.topic {
				return true
			}
			home[string(r.Key)] = at
		}
	}
	return false
}

// reread says whether reading takes nothing away: one record came to two
// clients, and twice to one of them.
func (e *evidence) reread() bool {
	type given struct {
		client int32
		at     place
		offset int64
	}
	times := map[given]int{}
	readers := map[given]map[int32]bool{}
	for i := range e.ops {
		op := &e.ops[i]
		if op.Kind != history.Poll && op.Kind != history.Read || op.Client == auditorID {
			continue
		}
		for j := range op.Records {
			r := &op.Records[j]
			at := place{r.TopicID, r.Partition}
			times[given{op.Client, at, r.Offset}]++
			all := given{0, at, r.Offset}
			if readers[all] == nil {
				readers[all] = map[int32]bool{}
			}
			readers[all][op.Client] = true
		}
	}
	for g, n := range times {
		if n > 1 && len(readers[given{0, g.at, g.offset}]) > 1 {
			return true
		}
	}
	return false
}

func (e *evidence) places() []place {
	var list []place
	for at := range e.final {
		list = append(list, at)
	}
	slices.SortFunc(list, func(a, b place) int {
		return cmp.Or(cmp.Compare(a.topic, b.topic), cmp.Compare(a.index, b.index))
	})
	return list
}

// records are those of one partition at rest, by offset.
func (e *evidence) records(at place) []*history.Record {
	var list []*history.Record
	for _, r := range e.final[at] {
		list = append(list, r)
	}
	slices.SortFunc(list, func(a, b *history.Record) int { return cmp.Compare(a.Offset, b.Offset) })
	return list
}
