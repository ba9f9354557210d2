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
			f := d.strong(d.onNode(FailRecovery, 50, 2000), 1, 60)
			if d.r.OneIn(2) { // one of a kind
				kind := max(simdisk.OpWrite, simdisk.Op(d.r.Between(-3, int64(simdisk.OpSyncDir)))) // writes are most
				f.Strength = int(kind)*100 + int(d.r.Between(1, 10))
			}
			return f
		}},
		{"damage-root", 14, [2]int64{2500, 10_000}, func(d *faultDraw) Fault {
			return d.strong(d.onNode(DamageRoot, 0, 0), markTwice, identityOnce)
		}},
		{"lose-folder", 6, [2]int64{5000, 20_000}, func(d *faultDraw) Fault { return d.onNode(LoseFolder, 0, 0) }},
		{"cut-file", 8, [2]int64{4000, 15_000}, func(d *faultDraw) Fault { return d.onNode(CutFile, 0, 0) }},
		{"mark-and-log", 12, [2]int64{2000, 8000}, func(d *faultDraw) Fault {
			f := d.onNode(DamageRoot, 0, 0)
			f.Strength = markAndLog
			return f
		}},
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
		p.Cluster.GroupBatch = int(d.Between(1, 300))
	}
	if d := r.Split("open files"); d.OneIn(4) {
		p.Disk.OpenFiles = int(d.Between(2, 16))
	}
	if d := r.Split("segment"); d.OneIn(4) {
		p.Disk.Segment = int(d.Between(1, 16)) << 10
	}
	if d := r.Split("replay bytes"); d.OneIn(3) {
		p.Cluster.ReplayBytes = int(d.Between(1, 3000))
	}
}

// drawRareFaults draws what goes together with faults that are there: starts that
// find what was damaged before it is written anew, a clean end whose mark is damaged
// before the next start, and marks that go with a file: nothing tells then what else
// there was.
func drawRareFaults(r *chance.Stream, faults []Fault) (more []Fault) {
	root, clean, lost := r.Split("root"), r.Split("clean"), r.Split("lost")
	for i := range faults {
		f := &faults[i]
		switch {
		case f.Kind == DamageRoot && !root.OneIn(4):
			crash := Fault{At: f.At + Span(root.Between(0, 200))*Millisecond, For: 50 * Millisecond, Kind: Crash, Node: f.Node, Target: f.Target}
			if root.OneIn(2) {
				crash.Kind = Restart
			}
			more = append(more, crash)
		case f.Kind == LoseFile && f.Node > 0 && lost.OneIn(2):
			at := f.At + Span(lost.Between(0, 20))*Millisecond
			more = append(more,
				Fault{At: at, Kind: DamageRoot, Node: f.Node, Strength: marksGone},
				Fault{At: at + Span(lost.Between(1, 100))*Millisecond, For: 50 * Millisecond, Kind: Crash, Node: f.Node})
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
		if r.OneIn(2) { // who finds it can tell the controllers only when it leads no more
			for voter := 1; voter <= p.Cluster.Voters; voter++ {
				faults = append(faults, Fault{
					At: at + p.Timing.BrokerSession/2, For: 3 * p.Timing.BrokerSession, Kind: OneWay, Target: "follower " + place, Peer: voter,
				})
			}
		}
		faults = append(faults,
			Fault{At: at, Kind: FlipBits, Target: "follower " + place, Topic: offsetsTopic},
			Fault{At: at + Span(r.Between(5, 400))*Millisecond, For: 2 * p.Timing.BrokerSession, Kind: Crash, Target: "leader " + place})
	}
	return faults
}

// drawSwings lets leaderships go back and forth between two replicas while what their
// leaders send is under way for long, in a few seeds: an answer of the epoch before the
// last one comes from whoever leads again.
func drawSwings(r *chance.Stream, p *Plan) (faults []Fault) {
	if p.Cluster.Nodes < 3 || !r.OneIn(6) {
		return nil
	}
	end := p.Phases.Warm + p.Phases.Faults
	for at := p.Phases.Warm + Span(r.Below(int64(3*Second))); at < end; at += Span(r.Between(3000, 8000)) * Millisecond {
		t := p.anyTopic(r)
		leader := "leader " + t.anyPartition(r)
		faults = append(faults, Fault{At: at, For: 2 * Second, Kind: SlowLink, Target: leader, Strength: int(r.Between(20, 200))})
		gap := Span(r.Between(20, 300)) * Millisecond
		for k := range r.Between(2, 5) {
			swing := at + 100*Millisecond + 2*Span(k)*gap
			faults = append(faults, Fault{At: swing, Kind: MoveLeader, Topic: t.Name}, Fault{At: swing + gap, Kind: Elect})
		}
	}
	return faults
}

// drawHeldMoves lets moves wait for nothing but a lower min.insync, and has it lowered,
// in a few seeds; some of the controllers that decide so do not live to see the end.
func drawHeldMoves(r *chance.Stream, p *Plan) (faults []Fault) {
	if p.Cluster.Nodes < 4 || !r.OneIn(6) {
		return nil
	}
	end := p.Phases.Warm + p.Phases.Faults
	for at := p.Phases.Warm + Span(r.Below(int64(2*Second))); at < end; at += Span(r.Between(8000, 16_000)) * Millisecond {
		t := p.anyTopic(r)
		least := func(n int) []string { return []string{"min-insync=" + itoa(n)} }
		away := Span(r.Between(4000, 30_000)) * Millisecond
		lowered := at + p.Timing.ReplicaLag + p.Timing.BrokerSession + Span(r.Between(500, 4000))*Millisecond
		faults = append(faults,
			Fault{At: at, Kind: AlterTopic, Topic: t.Name, Set: least(t.Replication)},
			Fault{At: at + 300*Millisecond, For: away, Kind: Crash, Target: "follower " + t.Name + "/0"})
		for k := range Span(3) {
			faults = append(faults, Fault{At: at + 500*Millisecond + k*200*Millisecond, Kind: Reassign, Topic: t.Name})
		}
		if r.OneIn(3) {
			faults = append(faults, Fault{At: lowered + Span(r.Between(0, 10))*Millisecond, For: 3 * Second, Kind: Isolate, Target: "controller"})
		}
		faults = append(faults, Fault{At: lowered, Kind: AlterTopic, Topic: t.Name, Set: least(max(1, t.Replication-1))})
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
		t := p.anyTopic(r)
		leader := "leader " + t.anyPartition(r)
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
