package shrink

import (
	"slices"

	"github.com/tamarack-mq/tamarack/sim"
)

// strict lets judges look each time: much less has to happen before they see what
// is wrong.
func (s *search) strict() bool {
	return !s.best.Strict && s.one(func(p *sim.Plan) { p.Strict = true })
}

// end lets the run end soon: right after the failure, if that comes in the
// middle; else the rest, and the time before it, become shorter.
func (s *search) end() bool {
	p, f := s.best, s.result.Failure
	resting := p.Phases.Warm + p.Phases.Faults + p.Phases.Drain
	if f.Time < resting {
		end := (f.Time/sim.Millisecond + 1) * sim.Millisecond
		if p.Phases.End == end {
			return false
		}
		return s.one(func(p *sim.Plan) { p.Phases.End = end })
	}
	helped := false
	for _, rest := range []sim.Span{10 * sim.Second, 25 * sim.Second, 50 * sim.Second} {
		if rest < s.best.Phases.Rest && s.one(func(p *sim.Plan) { p.Phases.Rest = rest }) {
			helped = true
			break
		}
	}
	return helped
}

// clients takes clients away.
func (s *search) clients() bool {
	return s.cut(func(p *sim.Plan) int { return len(p.Clients) }, func(p *sim.Plan, from, to int) {
		p.Clients = without(p.Clients, from, to)
	})
}

// faults takes faults away.
func (s *search) faults() bool {
	count := func(p *sim.Plan) int { return len(p.Faults) }
	helped := s.cut(count, func(p *sim.Plan, from, to int) { p.Faults = without(p.Faults, from, to) })
	helped = s.cut(func(p *sim.Plan) int { return len(p.Phases.Broken) }, func(p *sim.Plan, from, to int) {
		p.Phases.Broken = without(p.Phases.Broken, from, to)
	}) || helped
	helped = s.cut(func(p *sim.Plan) int { return len(p.Phases.CutOff) }, func(p *sim.Plan, from, to int) {
		p.Phases.CutOff = without(p.Phases.CutOff, from, to)
	}) || helped
	return s.cut(func(p *sim.Plan) int { return len(p.Exact) }, func(p *sim.Plan, from, to int) {
		p.Exact = without(p.Exact, from, to)
	}) || helped
}

// calm takes off weather, jitter and features that the failure does not need.
func (s *search) calm() bool {
	zero := func(at func(*sim.Plan) *int) change { return setInt(at, 0) }
	return s.all([]change{
		zero(func(p *sim.Plan) *int { return &p.Network.Tail }),
		zero(func(p *sim.Plan) *int { return &p.Network.Reset }),
		zero(func(p *sim.Plan) *int { return &p.Network.Stale }),
		zero(func(p *sim.Plan) *int { return &p.Network.Lose }),
		zero(func(p *sim.Plan) *int { return &p.Network.Duplicate }),
		zero(func(p *sim.Plan) *int { return &p.Network.Reorder }),
		zero(func(p *sim.Plan) *int { return &p.Network.Queue }),
		zero(func(p *sim.Plan) *int { return &p.Disk.FlushTail }),
		zero(func(p *sim.Plan) *int { return &p.Disk.ReadTail }),
		zero(func(p *sim.Plan) *int { return &p.Disk.TornShare }),
		zero(func(p *sim.Plan) *int { return &p.Cluster.Absent }),
		zero(func(p *sim.Plan) *int { return &p.Cluster.Racks }),
		zero(func(p *sim.Plan) *int { return &p.Cluster.Tidy }),
		setInt(func(p *sim.Plan) *int { return &p.Cluster.Shards }, 1),
		func(p *sim.Plan) bool { was := p.Cluster.Codec; p.Cluster.Codec = false; return was },
		func(p *sim.Plan) bool { was := p.Cluster.SwapVoters; p.Cluster.SwapVoters = false; return was },
		func(p *sim.Plan) bool { was := p.Disk.Steady; p.Disk.Steady = true; return !was },
		func(p *sim.Plan) bool { was := p.Network.Spread; p.Network.Spread = 0; return was > 0 },
		func(p *sim.Plan) bool {
			if share := p.Disk.LossyShare; share != 0 && share != 100 {
				p.Disk.LossyShare = 100
				return true
			}
			return false
		},
		setInt(func(p *sim.Plan) *int { return &p.Disk.LossyShare }, 0),
	})
}

func setInt(at func(*sim.Plan) *int, to int) change {
	return func(p *sim.Plan) bool {
		was := *at(p)
		*at(p) = to
		return was != to
	}
}

// list turns the endless loops of clients into lists of what they did.
func (s *search) list() bool {
	if !slices.ContainsFunc(s.best.Clients, func(c sim.ClientPlan) bool { return c.Ops == nil }) {
		return false
	}
	listed := s.result.Recorded.List(s.best)
	for i := range listed.Clients { // what only the loop looks at
		c := &listed.Clients[i]
		c.Burst, c.Keys, c.Headers, c.Slow, c.Count, c.Every = 0, 0, false, 0, 0, 0
	}
	return s.one(func(p *sim.Plan) { *p = *listed })
}

// place is where an operation is in a plan.
type place struct{ client, op int }

// places lists all operations of a plan by time.
func places(p *sim.Plan) []place {
	var list []place
	for c := range p.Clients {
		for o := range p.Clients[c].Ops {
			list = append(list, place{c, o})
		}
	}
	slices.SortStableFunc(list, func(a, b place) int {
		x, y := p.Clients[a.client].Ops[a.op].At, p.Clients[b.client].Ops[b.op].At
		return int(min(max(x-y, -1), 1))
	})
	return list
}

// ops takes operations of clients away: of one client after the other, then of
// all by time.
func (s *search) ops() (helped bool) {
	for i := range s.best.Clients {
		helped = s.cut(func(p *sim.Plan) int { return len(p.Clients[i].Ops) }, func(p *sim.Plan, from, to int) {
			p.Clients[i].Ops = withoutOps(p.Clients[i].Ops, from, to)
		}) || helped
	}
	return s.cut(func(p *sim.Plan) int { return len(places(p)) }, func(p *sim.Plan, from, to int) {
		drop := places(p)[from:to]
		slices.SortFunc(drop, func(a, b place) int { return b.op - a.op }) // the last first: numbers below stay
		for _, d := range drop {
			c := &p.Clients[d.client]
			c.Ops = withoutOps(c.Ops, d.op, d.op+1)
		}
	}) || helped
}

// withoutOps removes operations; a list that becomes empty is still a list.
func withoutOps(ops []sim.ClientOp, from, to int) []sim.ClientOp {
	return append(append([]sim.ClientOp{}, ops[:from]...), ops[to:]...)
}

// script lets a script decide what chance has decided, if that was anything.
func (s *search) script() bool {
	if s.best.Script != nil || len(s.result.Recorded.Decisions) == 0 {
		return false
	}
	scripted := s.result.Recorded.Script(s.best)
	return s.one(func(p *sim.Plan) { *p = *scripted })
}

// byTime has the script's decisions count from their time on, so that less may happen
// before them.
func (s *search) byTime() (helped bool) {
	if s.best.Script == nil || s.result.Recorded == nil {
		return false
	}
	noted := map[string]sim.Decision{}
	for _, d := range s.result.Recorded.Decisions {
		noted[d.When+d.Then] = d
	}
	for i := range s.best.Script.Decisions {
		e := s.best.Script.Decisions[i]
		if timed, ok := noted[e.When+e.Then].Timed(); ok {
			helped = s.one(func(p *sim.Plan) { p.Script.Decisions[i] = timed }) || helped
		}
		helped = s.earlier(i) || helped
	}
	return helped
}

// earlier has a decision count from a rounder time on, as early as does. The time that
// was noted is that of the moment itself: with it the decision misses its moment, and
// takes the next, as soon as that comes some microseconds earlier, which it does with
// every message that is left out before.
func (s *search) earlier(i int) bool {
	after := s.best.Script.Decisions[i].After
	for _, unit := range []sim.Span{100 * sim.Millisecond, 10 * sim.Millisecond, sim.Millisecond, sim.Millisecond / 10} {
		round := after - after%unit
		if round == after {
			return false
		}
		if round > 0 && s.one(func(p *sim.Plan) { p.Script.Decisions[i].After = round }) {
			return true
		}
	}
	return false
}

// decisions takes entries of the script away, then parts of what power cuts
// leave.
func (s *search) decisions() bool {
	if s.best.Script == nil {
		return false
	}
	helped := s.cut(func(p *sim.Plan) int { return len(p.Script.Decisions) }, func(p *sim.Plan, from, to int) {
		p.Script.Decisions = without(p.Script.Decisions, from, to)
	})
	for i := range s.best.Script.Decisions {
		helped = s.cut(func(p *sim.Plan) int { return len(p.Script.Decisions[i].Left) }, func(p *sim.Plan, from, to int) {
			d := &p.Script.Decisions[i]
			d.Left = without(d.Left, from, to)
		}) || helped
	}
	return helped
}
