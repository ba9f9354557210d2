package sim

import (
	"github.com/tamarack-mq/tamarack/core/chance"
	"github.com/tamarack-mq/tamarack/storage/vfs/simdisk"
)

// rarer are further kinds of trouble, most of them at moments that the others
// seldom strike.
func rarer() []swarm {
	return []swarm{
		{"crash-inside", 20, [2]int64{1500, 8000}, func(d *faultDraw) Fault {
			return d.strong(d.onNode(CrashInside, 50, 3000), int64(simdisk.OpWrite), int64(simdisk.OpSyncDir))
		}},
		{"retune", 12, [2]int64{4000, 15_000}, (*faultDraw).retune},
		{"half-open", 15, [2]int64{2000, 10_000}, func(d *faultDraw) Fault { return d.strong(d.onLink(HalfOpen, 500, 8000), 2, 40) }},
		{"narrow-link", 12, [2]int64{2000, 10_000}, func(d *faultDraw) Fault { return d.strong(d.onLink(NarrowLink, 500, 8000), 1, 12) }},
		{"fail-write", 8, [2]int64{4000, 15_000}, func(d *faultDraw) Fault { return d.onNode(FailWrite, 2000, 8000) }},
		{"damage-file", 8, [2]int64{4000, 15_000}, func(d *faultDraw) Fault { return d.onNode(DamageFile, 0, 0) }},
		{"damage-journal", 8, [2]int64{5000, 20_000}, (*faultDraw).damageJournal},
		{"slow-client", 12, [2]int64{2000, 10_000}, func(d *faultDraw) Fault {
			return d.strong(d.onClient(SlowClient, 1000, 9000), 100, 4000)
		}},
	}
}

// retune draws settings that an operator may well give one node and not
// (yet) the others; those that the controllers decide on are altered otherwise.
func (d *faultDraw) retune() Fault {
	f := d.onNode(Retune, 50, 3000)
	t, s := &d.plan.Timing, &Settings{}
	vary := func(base Span) Span { return base * Span(d.r.Between(40, 250)) / 100 }
	if d.r.OneIn(2) {
		s.Timing.Election = vary(t.Election)
		s.Timing.QuorumHeartbeat = s.Timing.Election / Span(d.r.Between(4, 8))
	}
	if d.r.OneIn(2) {
		s.Timing.Request = vary(t.Request)
	}
	if d.r.OneIn(2) {
		s.Tidy = int(d.r.Between(4, 200))
	}
	if d.r.OneIn(2) {
		s.Cache, s.Marks = int(d.r.Between(8, 512))<<10, int(d.r.Between(1, 40))
	}
	f.Settings = s
	return f
}

// damageJournal strikes a voter, which crashes a little later and finds out.
func (d *faultDraw) damageJournal() Fault {
	return d.span(Fault{Kind: DamageJournal, Node: int(d.r.Between(1, int64(d.plan.Cluster.Voters)))}, 500, 6000)
}

// drawMore draws what came to plans later, from streams of its own.
func drawMore(r *chance.Stream, p *Plan) {
	p.Cluster.SwapVoters = r.Split("swap voters").OneIn(3)
	if d := r.Split("read tail"); d.OneIn(3) {
		p.Disk.ReadTail = int(d.Between(1, 20))
		p.Disk.TailScale = max(p.Disk.TailScale, Span(d.Between(20, 300))*Millisecond)
	}
	if d := r.Split("cut off"); p.Cluster.Nodes > 3 && d.OneIn(5) {
		p.Phases.CutOff = []int{int(d.Between(1, int64(p.Cluster.Nodes)))}
	}
	if d := r.Split("unflushed"); d.OneIn(4) {
		p.Cluster.Unflushed = int(d.Between(2, 48)) << 10
	}
	p.Beyond = p.Beyond || r.Split("beyond").OneIn(8)
	if d := r.Split("client metadata"); d.OneIn(4) {
		p.Timing.ClientMetadata = Span(d.Between(300, 6000)) * Millisecond
	}
	if d := r.Split("spoil"); d.OneIn(5) {
		p.Network.Spoil = int(d.Between(5, 200))
	}
	if d := r.Split("parcel"); d.OneIn(4) {
		p.Cluster.Parcel = int(d.Between(1, 400))
	}
}

// drawDiscoveries lets nodes start again while there still is what their recovery
// should find: voters whose journal is damaged, and every other one of those of
// which something beside the records is, before it is written anew. What was written
// anew may have to last: then there are other leaders, and another start.
func drawDiscoveries(r *chance.Stream, p *Plan, faults []Fault) (more []Fault) {
	beside, lasts := r.Split("beside"), r.Split("lasts")
	for i := range faults {
		f := &faults[i]
		crash := Fault{For: 50 * Millisecond, Kind: Crash, Node: f.Node, Target: f.Target}
		switch {
		case f.Kind == DamageJournal:
			crash.At = f.At + Span(r.Below(int64(f.For/2)))
		case f.Kind == DamageFile && beside.OneIn(2):
			crash.At = f.At + Span(beside.Between(1, 300))*Millisecond
			if again := crash; lasts.OneIn(2) {
				led := crash.At + Span(lasts.Between(500, 3000))*Millisecond
				for i := range p.Topics {
					more = append(more, Fault{At: led, Kind: MoveLeader, Topic: p.Topics[i].Name})
				}
				again.At = led + Span(lasts.Between(200, 2000))*Millisecond
				more = append(more, again)
			}
		default:
			continue
		}
		more = append(more, crash)
	}
	return more
}

// likelier is how likely a kind is on. Beyond the promise those that destroy
// data mostly are.
func (p *Plan) likelier(s *swarm) int64 {
	if !p.Beyond {
		return s.likely
	}
	switch s.name {
	case "flip-bits", "lose-file", "misdirect", "swap-disk", "damage-file":
		return 60
	}
	return s.likely
}

// drawGivingUp lets an operator give up what was lost, in half of the plans
// beyond the promise; in the others what has no copy left stays offline.
func drawGivingUp(r *chance.Stream, p *Plan) (faults []Fault) {
	if !p.Beyond || r.OneIn(2) {
		return nil
	}
	end := p.Phases.Warm + p.Phases.Faults
	for at := p.Phases.Warm + Span(r.Between(5, 15))*Second; at < end; at += Span(r.Between(1000, 6000)) * Millisecond {
		faults = append(faults, Fault{At: at, Kind: UncleanElect})
	}
	return faults
}
