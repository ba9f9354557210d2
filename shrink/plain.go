package shrink

import (
	"slices"

	"github.com/tamarack-mq/tamarack/sim"
)

// plain makes what is left simpler to read: settings of clients and topics that
// do not matter, few records in a segment, round numbers.
func (s *search) plain() (helped bool) {
	var changes []change
	for i := range s.best.Clients {
		client := func(p *sim.Plan) *sim.ClientPlan { return &p.Clients[i] }
		changes = append(changes,
			func(p *sim.Plan) bool { was := client(p).Linger; client(p).Linger = 0; return was > 0 },
			setInt(func(p *sim.Plan) *int { return &client(p).Batch }, 0),
			setInt(func(p *sim.Plan) *int { return &client(p).Fetch }, 0),
			func(p *sim.Plan) bool { was := client(p).Stop; client(p).Stop = 0; return was > 0 },
			setInt(func(p *sim.Plan) *int { return &client(p).Fan }, 0),
			setInt(func(p *sim.Plan) *int { return &client(p).Abort }, 0),
			setInt(func(p *sim.Plan) *int { return &client(p).Dawdle }, 0),
			setInt(func(p *sim.Plan) *int { return &client(p).Retry }, 0),
			setInt(func(p *sim.Plan) *int { return &client(p).Leave }, 0),
			setInt(func(p *sim.Plan) *int { return &client(p).Quit }, 0),
			func(p *sim.Plan) bool { was := client(p).Sift; client(p).Sift = false; return was },
			func(p *sim.Plan) bool { was := client(p).Limit; client(p).Limit = 0; return was > 0 },
			func(p *sim.Plan) bool { was := client(p).Instance; client(p).Instance = ""; return was != "" },
			func(p *sim.Plan) bool {
				c, changed := client(p), false
				for o := range c.Ops {
					op := &c.Ops[o]
					changed = changed || op.Key != "" || op.Headers
					op.Key, op.Headers = "", false
				}
				return changed
			},
		)
	}
	for i := range s.best.Faults {
		fault := func(p *sim.Plan) *sim.Fault { return &p.Faults[i] }
		changes = append(changes, setInt(func(p *sim.Plan) *int { return &fault(p).Strength }, 0))
	}
	changes = append(changes,
		func(p *sim.Plan) bool { // little has to pile up before it is summed up
			was := p.Cluster.Tidy
			if was > 2 {
				p.Cluster.Tidy = 2
			}
			return was > 2
		},
		func(p *sim.Plan) bool { // what the plan does not say is as everywhere
			was := p.Timing
			p.Timing = sim.TimingPlan{}
			return was != p.Timing
		},
	)
	helped = s.all(changes)
	for _, unit := range []sim.Span{100 * sim.Millisecond, 10 * sim.Millisecond, sim.Millisecond} {
		if s.all([]change{func(p *sim.Plan) bool { return round(p, unit) }}) {
			helped = true
			break
		}
	}
	return helped
}

// round rounds the times of a plan down.
func round(p *sim.Plan, unit sim.Span) (changed bool) {
	eachTime(p, func(at sim.Span) sim.Span {
		to := at / unit * unit
		changed = changed || to != at
		return to
	})
	return changed
}

// eachTime changes all moments of a plan but its end. The order of moments must
// stay.
func eachTime(p *sim.Plan, change func(sim.Span) sim.Span) {
	rests := p.Phases.Warm + p.Phases.Faults
	warm := change(p.Phases.Warm)
	drained := change(rests + p.Phases.Drain)
	rests = change(rests)
	p.Phases.Warm, p.Phases.Faults, p.Phases.Drain = warm, rests-warm, drained-rests
	for i := range p.Faults {
		f := &p.Faults[i]
		until := change(f.At + f.For)
		f.At = change(f.At)
		if f.For > 0 {
			f.For = max(until-f.At, sim.Millisecond)
		}
	}
	for i := range p.Clients {
		c := &p.Clients[i]
		if c.Start > 0 {
			c.Start = change(c.Start)
		}
		if c.Stop > 0 {
			c.Stop = max(1, change(c.Stop))
		}
		for o := range c.Ops {
			c.Ops[o].At = change(c.Ops[o].At)
		}
	}
}

// moments are the times of a plan, in order, each once.
func moments(p *sim.Plan) []sim.Span {
	list := []sim.Span{0}
	eachTime(p.Copy(), func(at sim.Span) sim.Span {
		list = append(list, at)
		return at
	})
	slices.Sort(list)
	return slices.Compact(list)
}

// time takes time away in which nothing has to happen.
func (s *search) time() bool {
	helped := s.end()
	for _, keep := range []sim.Span{0, 4, 2} {
		for s.squeeze(keep) && !s.spent() {
			helped = true
		}
	}
	return s.end() || helped
}

// squeeze makes one gap between two moments shorter: by all but a millisecond,
// or so many parts of it. The longest are tried first.
func (s *search) squeeze(part sim.Span) bool {
	base := s.best
	type gap struct{ from, to sim.Span }
	var gaps []gap
	list := moments(base)
	for i := 1; i < len(list); i++ {
		if s.best.Phases.End > 0 && list[i-1] > s.best.Phases.End {
			break
		}
		if list[i]-list[i-1] >= 20*sim.Millisecond {
			gaps = append(gaps, gap{list[i-1], list[i]})
		}
	}
	slices.SortStableFunc(gaps, func(a, b gap) int {
		x, y := a.to-a.from, b.to-b.from
		return int(min(max(y-x, -1), 1))
	})
	return s.first(len(gaps), func(i int) *sim.Plan {
		g := gaps[i]
		off := g.to - g.from - sim.Millisecond
		if part > 0 {
			off = (g.to - g.from) / part
		}
		p := base.Copy()
		eachTime(p, func(at sim.Span) sim.Span {
			if at >= g.to {
				return at - off
			}
			return at
		})
		if p.Phases.End > 0 {
			p.Phases.End -= min(off, p.Phases.End-1) / 2 // what follows may take its time
		}
		return p
	}) >= 0
}
