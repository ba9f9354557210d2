package sim

import (
	"github.com/tamarack-mq/tamarack/core/chance"
	"github.com/tamarack-mq/tamarack/storage/vfs/simdisk"
)

// rarest are the kinds of trouble that came last.
func rarest() []swarm {
	return []swarm{
		{"fail-op", 12, [2]int64{3000, 12_000}, func(d *faultDraw) Fault {
			return d.strong(d.onNode(FailOp, 500, 6000), int64(simdisk.OpWrite), int64(simdisk.OpSyncDir))
		}},
		{"fail-recovery", 12, [2]int64{3000, 12_000}, func(d *faultDraw) Fault {
			return d.strong(d.onNode(FailRecovery, 50, 2000), 1, 60)
		}},
		{"damage-root", 10, [2]int64{3000, 12_000}, func(d *faultDraw) Fault {
			return d.strong(d.onNode(DamageRoot, 0, 0), markTwice, identityOnce)
		}},
		{"lose-folder", 6, [2]int64{5000, 20_000}, func(d *faultDraw) Fault { return d.onNode(LoseFolder, 0, 0) }},
		{"cut-file", 8, [2]int64{4000, 15_000}, func(d *faultDraw) Fault { return d.onNode(CutFile, 0, 0) }},
	}
}

// drawRare draws knobs that came last, each from a stream of its own.
func drawRare(r *chance.Stream, p *Plan) {
	if d := r.Split("stray"); d.OneIn(3) {
		p.Network.Stray = int(d.Between(5, 100))
	}
	if d := r.Split("spoil copies"); d.OneIn(6) {
		p.Network.SpoilCopies = int(d.Between(5, 100))
	}
	if d := r.Split("cache"); d.OneIn(4) {
		p.Disk.Cache = int(d.Between(-1, 16)) << 10 // below 0: none
	}
	if d := r.Split("quorum bytes"); d.OneIn(4) {
		p.Cluster.QuorumBytes = int(d.Between(1, 16)) << 10
	}
	if d := r.Split("group batch"); d.OneIn(4) {
		p.Cluster.GroupBatch = int(d.Between(100, 600))
	}
}

// drawRareFaults draws what goes together with faults that are there: starts that
// find what was damaged before it is written anew, and a clean end whose mark is
// damaged before the next start.
func drawRareFaults(r *chance.Stream, faults []Fault) (more []Fault) {
	root, clean := r.Split("root"), r.Split("clean")
	for i := range faults {
		f := &faults[i]
		switch {
		case f.Kind == DamageRoot && !root.OneIn(4):
			crash := Fault{At: f.At + Span(root.Between(0, 200))*Millisecond, For: 50 * Millisecond, Kind: Crash, Node: f.Node, Target: f.Target}
			if root.OneIn(2) {
				crash.Kind = Restart
			}
			more = append(more, crash)
		case f.Kind == Restart && f.Node > 0 && clean.OneIn(4):
			more = append(more, Fault{At: f.At + Span(clean.Between(20, 300))*Millisecond, Kind: DamageRoot, Node: f.Node, Strength: cleanMark})
		}
	}
	return more
}

// drawShardDamage damages the log of a shard of groups where it is not coordinated,
// and then takes the coordinator away: whoever is next may find the damage while it
// loads.
func drawShardDamage(r *chance.Stream, p *Plan) (faults []Fault) {
	if p.Cluster.Voters < 3 || !r.OneIn(8) {
		return nil
	}
	end := p.Phases.Warm + p.Phases.Faults
	for at := p.Phases.Warm + Span(r.Below(int64(4*Second))); at < end; at += Span(r.Between(6000, 14_000)) * Millisecond {
		place := offsetsTopic + "/" + itoa(int(r.Below(int64(max(1, p.Cluster.Shards)))))
		faults = append(faults,
			Fault{At: at, Kind: FlipBits, Target: "follower " + place, Topic: offsetsTopic},
			Fault{At: at + Span(r.Between(5, 400))*Millisecond, For: 2 * p.Timing.BrokerSession, Kind: Crash, Target: "leader " + place})
	}
	return faults
}

// drawRelapses lets a process end and start again, and soon after the power go at the
// same machine, in a few seeds: what the second process has found in the page cache
// must be durable by then. At best the first end comes when an epoch has just begun.
func drawRelapses(r *chance.Stream, p *Plan) (faults []Fault) {
	if !r.OneIn(6) {
		return nil
	}
	end := p.Phases.Warm + p.Phases.Faults
	for at := p.Phases.Warm + Span(r.Below(int64(3*Second))); at < end; at += Span(r.Between(2500, 7000)) * Millisecond {
		t := &p.Topics[r.Below(int64(len(p.Topics)))]
		leader := "leader " + t.Name + "/" + itoa(int(r.Below(int64(t.Partitions))))
		if r.OneIn(2) {
			faults = append(faults, Fault{At: at, Kind: MoveLeader, Topic: t.Name})
		}
		node := int(r.Between(1, int64(p.Cluster.Nodes)))
		first := Fault{At: at + Span(r.Between(1, 60))*Millisecond, For: 20 * Millisecond, Kind: Crash, Node: node}
		if r.OneIn(2) {
			first.Node, first.Target = 0, leader
		}
		second := first
		second.Kind, second.At = PowerLoss, first.At+first.For+Span(r.Between(20, 2500))*Millisecond
		faults = append(faults, first, second)
	}
	return faults
}
