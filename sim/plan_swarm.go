package sim

import (
	"slices"

	"github.com/tamarack-mq/tamarack/core/chance"
)

// swarm is one kind of trouble in the pool that a seed draws from: how likely it
// is on, how far apart it strikes, and how it is drawn. Each kind has a stream
// of its own, so that one kind less leaves the others as they were.
type swarm struct {
	name   string
	likely int64    // percent of the seeds in which it is on
	every  [2]int64 // bounds of the mean time between two strikes, in ms
	draw   func(d *faultDraw) Fault
}

func swarms() []swarm {
	return append([]swarm{
		{"crash", 55, [2]int64{1500, 12_000}, func(d *faultDraw) Fault { return d.onNode(Crash, 50, 6000) }},
		{"power-loss", 35, [2]int64{2500, 15_000}, func(d *faultDraw) Fault { return d.onNode(PowerLoss, 50, 6000) }},
		{"blackout", 12, [2]int64{8000, 30_000}, func(d *faultDraw) Fault { return d.everywhere(PowerLoss) }},
		{"crash-loop", 10, [2]int64{6000, 25_000}, func(d *faultDraw) Fault { return d.strong(d.onNode(CrashLoop, 50, 1500), 2, 5) }},
		{"pause", 35, [2]int64{2000, 12_000}, func(d *faultDraw) Fault { return d.onNode(Pause, 100, 9000) }},
		{"restart", 20, [2]int64{4000, 15_000}, func(d *faultDraw) Fault { return d.onNode(Restart, 50, 3000) }},
		{"rolling", 10, [2]int64{8000, 30_000}, func(d *faultDraw) Fault { return d.span(Fault{Kind: Restart, Node: everyNode}, 50, 1500) }},
		{"isolate", 40, [2]int64{2000, 12_000}, func(d *faultDraw) Fault { return d.onNode(Isolate, 200, 8000) }},
		{"halves", 20, [2]int64{3000, 15_000}, (*faultDraw).halves},
		{"one-way", 20, [2]int64{3000, 15_000}, func(d *faultDraw) Fault { return d.onLink(OneWay, 200, 6000) }},
		{"bridge", 10, [2]int64{5000, 20_000}, func(d *faultDraw) Fault { return d.onNode(Bridge, 500, 8000) }},
		{"ring", 8, [2]int64{5000, 20_000}, func(d *faultDraw) Fault { return d.span(Fault{Kind: Ring}, 500, 8000) }},
		{"clog", 25, [2]int64{1500, 8000}, func(d *faultDraw) Fault { return d.onLink(Clog, 100, 4000) }},
		{"swizzle", 10, [2]int64{5000, 20_000}, func(d *faultDraw) Fault { return d.span(Fault{Kind: Clog, Node: everyNode}, 500, 5000) }},
		{"slow-link", 20, [2]int64{2000, 10_000}, func(d *faultDraw) Fault { return d.strong(d.onLink(SlowLink, 500, 8000), 5, 300) }},
		{"lossy", 20, [2]int64{2000, 10_000}, func(d *faultDraw) Fault { return d.strong(d.onLink(Lossy, 500, 8000), 2, 60) }},
		{"resets", 20, [2]int64{2000, 10_000}, func(d *faultDraw) Fault { return d.strong(d.onLink(Resets, 500, 8000), 2, 40) }},
		{"duplicate", 15, [2]int64{2000, 10_000}, func(d *faultDraw) Fault { return d.strong(d.onLink(Duplicate, 500, 8000), 2, 50) }},
		{"reorder", 15, [2]int64{2000, 10_000}, func(d *faultDraw) Fault { return d.strong(d.onLink(Reorder, 500, 8000), 2, 50) }},
		{"slow-disk", 20, [2]int64{2000, 10_000}, func(d *faultDraw) Fault { return d.strong(d.onNode(SlowDisk, 500, 8000), 5, 200) }},
		{"stall-disk", 15, [2]int64{3000, 12_000}, func(d *faultDraw) Fault { return d.onNode(StallDisk, 100, 6000) }},
		{"full-disk", 10, [2]int64{4000, 15_000}, func(d *faultDraw) Fault { return d.strong(d.onNode(FullDisk, 500, 6000), 1, 30_000) }},
		{"fail-flush", 12, [2]int64{4000, 15_000}, func(d *faultDraw) Fault { return d.onNode(FailFlush, 2000, 8000) }},
		{"flip-bits", 10, [2]int64{4000, 15_000}, func(d *faultDraw) Fault { return d.onNode(FlipBits, 0, 0) }},
		{"lose-file", 5, [2]int64{6000, 20_000}, func(d *faultDraw) Fault { return d.onNode(LoseFile, 0, 0) }},
		{"misdirect", 5, [2]int64{6000, 20_000}, func(d *faultDraw) Fault { return d.onNode(Misdirect, 0, 0) }},
		{"swap-disk", 15, [2]int64{3000, 15_000}, (*faultDraw).swap},
		{"clock-rate", 20, [2]int64{3000, 15_000}, (*faultDraw).clockRate},
		{"clock-jump", 20, [2]int64{2000, 10_000}, (*faultDraw).clockJump},
		{"client-crash", 30, [2]int64{1500, 8000}, func(d *faultDraw) Fault { return d.onClient(ClientCrash, 50, 5000) }},
		{"client-pause", 30, [2]int64{1500, 8000}, func(d *faultDraw) Fault { return d.onClient(ClientPause, 500, 12_000) }},
		{"elect", 15, [2]int64{2000, 8000}, func(d *faultDraw) Fault { return Fault{Kind: Elect} }},
		{"unclean-elect", 8, [2]int64{500, 2500}, func(d *faultDraw) Fault { return Fault{Kind: UncleanElect} }},
		{"topics", 12, [2]int64{3000, 10_000}, (*faultDraw).topics},
		{"delete-records", 10, [2]int64{2000, 8000}, func(d *faultDraw) Fault { return Fault{Kind: DeleteRecords, Topic: d.anyTopic().Name} }},
	}, append(operations(), alterations()...)...)
}

// faultDraw draws the faults of one kind.
type faultDraw struct {
	r    *chance.Stream
	plan *Plan
}

// drawFaults draws which kinds are on and when they strike.
func drawFaults(r *chance.Stream, p *Plan) []Fault {
	// How crowded a run is: in some only a few kinds of trouble are on.
	crowd := r.Split("crowd").Between(20, 130)
	return drawKinds(r, p, func(s *swarm, r *chance.Stream) bool {
		return r.Percent(min(100, p.likelier(s)*crowd/100))
	})
}

// drawKinds draws when the kinds that are on strike. Quiet windows without any
// new fault let the cluster find its feet now and then.
func drawKinds(r *chance.Stream, p *Plan, on func(*swarm, *chance.Stream) bool) []Fault {
	var faults []Fault
	from, to := p.Phases.Warm, p.Phases.Warm+p.Phases.Faults
	quiet := drawQuiet(r.Split("quiet"), from, to)
	for _, s := range slices.Concat(swarms(), rarer(), rarest()) {
		d := &faultDraw{r: r.Split(s.name), plan: p}
		if !on(&s, d.r) {
			continue
		}
		mean := Span(d.r.Between(s.every[0], s.every[1])) * Millisecond
		for at := from + Span(d.r.Below(int64(mean))); at < to; at += mean/4 + Span(d.r.Below(int64(mean)*3/2)) {
			f := s.draw(d)
			f.At = at
			if f.Kind != "" && !quiet.holds(at) {
				faults = append(faults, d.spread(f)...)
			}
		}
	}
	faults = append(faults, drawSacrifices(r.Split("sacrifices"), p)...)
	faults = append(faults, drawLateProposals(r.Split("late proposals"), p)...)
	faults = append(faults, drawSuccessions(r.Split("successions"), p)...)
	faults = append(faults, drawHandovers(r.Split("handovers"), p)...)
	faults = append(faults, drawDeposed(r.Split("deposed"), p)...)
	faults = append(faults, drawMoves(r.Split("moves"), p)...)
	faults = append(faults, drawZombies(r.Split("zombies"), p)...)
	faults = append(faults, drawForgetfulVoters(r.Split("forgetful voters"), p)...)
	faults = append(faults, drawArrivals(r.Split("arrivals"), p)...)
	faults = append(faults, drawGivingUp(r.Split("giving up"), p)...)
	faults = append(faults, drawShardDamage(r.Split("shard damage"), p)...)
	faults = append(faults, drawSwings(r.Split("swings"), p)...)
	faults = append(faults, drawHeldMoves(r.Split("held moves"), p)...)
	faults = append(faults, drawRelapses(r.Split("relapses"), p)...)
	faults = append(faults, drawRareFaults(r.Split("rare"), faults)...)
	faults = append(faults, drawTransactionDeaths(r.Split("transaction deaths"), p)...)
	faults = append(faults, drawDiscoveries(r.Split("discoveries"), p, faults)...)
	faults = append(faults, drawOutvoted(r.Split("outvoted"), p)...)
	faults = append(faults, drawLate(r.Split("late"), p)...)
	faults = append(faults, drawRestless(r.Split("restless"), p)...)
	faults = append(faults, drawGrowth(r.Split("growth"), p)...)
	faults = append(faults, drawUnmade(r.Split("unmade"), p)...)
	faults = append(faults, drawLostCheckpoints(r.Split("lost checkpoints"), p)...)
	faults = append(faults, drawLostSnapshots(r.Split("lost snapshots"), p)...)
	faults = drawRebounds(r.Split("rebounds"), p, faults)
	drawWithinBatches(r.Split("within batches"), faults)
	drawNoRoomAtAll(r.Split("no room at all"), faults)
	slices.SortStableFunc(faults, func(a, b Fault) int {
		switch {
		case a.At < b.At:
			return -1
		case a.At > b.At:
			return 1
		}
		return 0
	})
	return faults
}

// windows are stretches of time.
type windows [][2]Span

func drawQuiet(r *chance.Stream, from, to Span) (w windows) {
	for at := from + Span(r.Between(4, 10))*Second; at < to; at += Span(r.Between(6, 14)) * Second {
		w = append(w, [2]Span{at, at + Span(r.Between(1000, 4000))*Millisecond})
	}
	return w
}

func (w windows) holds(at Span) bool {
	for _, q := range w {
		if at >= q[0] && at < q[1] {
			return true
		}
	}
	return false
}

func (d *faultDraw) span(f Fault, low, high int64) Fault {
	if high > 0 {
		f.For = Span(d.r.Between(low, high)) * Millisecond
	}
	return f
}

func (d *faultDraw) strong(f Fault, low, high int64) Fault {
	f.Strength = int(d.r.Between(low, high))
	return f
}

func (d *faultDraw) anyTopic() *TopicPlan { return d.plan.anyTopic(d.r) }

// where draws whom a fault strikes: any node, or whoever matters most.
func (d *faultDraw) where(f Fault) Fault {
	switch d.r.Below(8) {
	case 0:
		f.Target = "controller"
	case 1, 2:
		t := d.anyTopic()
		f.Target = "leader " + t.anyPartition(d.r)
	case 3:
		t := d.anyTopic()
		f.Target = "follower " + t.anyPartition(d.r)
	case 4:
		f.Target = "coordinator g0"
	default:
		f.Node = int(d.r.Between(1, int64(d.plan.Cluster.Nodes)))
	}
	return f
}

func (d *faultDraw) onNode(kind FaultKind, low, high int64) Fault {
	f := d.where(d.span(Fault{Kind: kind}, low, high))
	if kind == Isolate && d.r.OneIn(3) {
		f.Strength = cutFromClients
	}
	return f
}

func (d *faultDraw) onLink(kind FaultKind, low, high int64) Fault {
	f := d.where(d.span(Fault{Kind: kind}, low, high))
	if d.r.OneIn(2) {
		f.Peer = int(d.r.Between(1, int64(d.plan.Cluster.Nodes)))
	}
	return f
}

// spread turns what goes round the nodes into one fault each. A rolling restart
// takes them one after the other; a swizzle (FoundationDB's word) stops some of
// them one by one and lets them go again in another order.
func (d *faultDraw) spread(f Fault) (out []Fault) {
	if f.Node != everyNode || f.Kind == PowerLoss {
		return []Fault{f}
	}
	at := f.At
	for id := 1; id <= d.plan.Cluster.Nodes; id++ {
		one := f
		one.Node, one.At = id, at
		if f.Kind == Clog {
			at += Span(d.r.Between(50, 800)) * Millisecond
			one.For = f.For/2 + Span(d.r.Below(int64(f.For)))
			if d.r.OneIn(2) {
				continue
			}
		} else {
			at += f.For + Span(d.r.Between(500, 3000))*Millisecond
		}
		out = append(out, one)
	}
	return out
}

// everywhere strikes all nodes at once.
func (d *faultDraw) everywhere(kind FaultKind) Fault {
	return d.span(Fault{Kind: kind, Node: everyNode}, 100, 3000)
}

// swap strikes mostly nodes that do not vote: the others keep their disks in
// most plans.
func (d *faultDraw) swap() Fault {
	f := d.onNode(SwapDisk, 20, 3000)
	if c := &d.plan.Cluster; c.Nodes > c.Voters && !d.r.OneIn(4) {
		f.Target, f.Node = "", int(d.r.Between(int64(c.Voters)+1, int64(c.Nodes)))
	}
	return f
}

func (d *faultDraw) halves() Fault {
	var side []int
	for id := 1; id <= d.plan.Cluster.Nodes; id++ {
		if d.r.OneIn(2) {
			side = append(side, id)
		}
	}
	if len(side) == 0 {
		return Fault{}
	}
	return d.span(Fault{Kind: Halves, Groups: [][]int{side}}, 300, 8000)
}

func (d *faultDraw) clockRate() Fault {
	f := d.where(d.span(Fault{Kind: ClockRate}, 1000, 10_000))
	f.Strength = int(d.r.Between(-150, 150))
	return f
}

func (d *faultDraw) clockJump() Fault {
	f := d.where(Fault{Kind: ClockJump})
	f.Strength = int(d.r.Between(-60_000, 60_000))
	return f
}

func (d *faultDraw) onClient(kind FaultKind, low, high int64) Fault {
	c := &d.plan.Clients[d.r.Below(int64(len(d.plan.Clients)))]
	return d.span(Fault{Kind: kind, Client: c.ID}, low, high)
}

func (d *faultDraw) topics() Fault {
	t := d.anyTopic()
	if t.Name == chaosTopic {
		switch d.r.Below(3) {
		case 0:
			return Fault{Kind: DeleteTopic, Topic: t.Name}
		case 1:
			return Fault{Kind: CreateTopic, Topic: t.Name}
		}
	}
	return Fault{Kind: AddPartitions, Topic: t.Name, Strength: 1}
}
