package group

import (
	"fmt"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/order"
	"github.com/tamarack-mq/tamarack/core/record"
)

// replay is what loading has seen of a log besides its state.
type replay struct {
	started  bool
	start    record.Offset // of the first record
	records  int
	begin    place // the snapshot that began last
	complete place // the last one that has its end
}

// place is a place in the log: an offset and how many records came before it.
type place struct {
	set    bool
	run    uint64
	offset record.Offset
	before int
}

// take replays one record.
func (r *replay) take(s *state, at record.Offset, c change) {
	if !r.started {
		r.started, r.start = true, at
	}
	if v, ok := c.value.(markerValue); ok {
		switch c.key.mark {
		case markBegin:
			r.begin = place{set: true, run: v.run, offset: at, before: r.records}
		case markEnd:
			if r.begin.set && r.begin.run == v.run {
				r.complete = r.begin
			}
		}
	}
	r.records++
	s.apply(c)
}

// replayed takes the next part of the log.
func (s *shard) replayed(now message.Now, batches []byte, done bool, out *Out) {
	err := eachRecord(batches, func(at record.Offset, c change) { s.replay.take(s.state, at, c) })
	if err != nil {
		out.Halt = fmt.Sprintf("shard %d of %s: %v; it was written by a newer release, or the log is damaged: "+
			"start the newer release, or restore the partition", s.index, TopicName, err)
		return
	}
	if done {
		s.serve(now, out)
	}
}

// serve ends loading: everybody gets a fresh session, what a crash left half
// done is mended, and what topics did in the meantime is caught up with.
func (s *shard) serve(now message.Now, out *Out) {
	s.phase = serving
	s.records = s.replay.records
	if c := s.replay.complete; c.set {
		s.records -= c.before
		if c.offset > s.replay.start {
			out.Trims = append(out.Trims, Trim{Shard: s.index, Epoch: s.epoch, Before: c.offset})
		}
	}
	names := order.Keys(s.state.groups)
	s.state.reindex(names)
	for _, name := range names {
		g := s.state.groups[name]
		for _, m := range g.seats {
			s.refresh(now, m)
			s.watchRevocation(now, m)
		}
		s.mend(now, g)
		s.adapt(now, g, nil, true)
	}
	s.flush(now, out)
}

// mend repairs what a decision leaves that was cut between two of its batches.
func (s *shard) mend(now message.Now, g *group) {
	for _, id := range order.Keys(g.targets) {
		if g.members[id] == nil {
			s.write(key{kind: kindTarget, group: g.name, member: id}, nil)
		}
	}
	if s.state.groups[g.name] == nil {
		return // there was nothing else
	}
	empty := len(g.seats) == 0
	if !g.made || empty != (g.record.emptySince != occupied) {
		s.writeGroup(now, g)
	}
	if empty {
		s.armGroup(now, g)
	}
}
