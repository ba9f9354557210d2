package sim

import "github.com/tamarack-mq/tamarack/core/chance"

// drawSuccessions draws, in a few seeds, leaders of the controllers in quick
// succession, each of which reaches some of the others or none before it is cut
// off and the one before it comes back: the case of figure 8 of the Raft paper.
// So logs of different lengths end in different terms. Operators go on asking, so
// that there is something to decide; messages may come twice or out of order, and
// voters' disks may be slow.
func drawSuccessions(r *chance.Stream, p *Plan) (faults []Fault) {
	c := &p.Cluster
	if c.Voters < 3 || !r.OneIn(8) {
		return nil
	}
	if c.Parcel == 0 && r.OneIn(2) {
		c.Parcel = 1 // an entry at a time
	}
	end := p.Phases.Warm + p.Phases.Faults
	for at := p.Phases.Warm + Span(r.Below(int64(3*Second))); ; {
		long := min(p.Timing.Election*Span(r.Between(4, 10)), 5*Second)
		if at+long > end {
			return faults
		}
		faults = append(faults, Fault{At: at, For: long, Kind: Usurp, Strength: int([]int64{0, 3, 12, 50, 400}[r.Below(5)])})
		if kind := []FaultKind{"", Duplicate, Reorder}[r.Below(3)]; kind != "" {
			strength := int(r.Between(10, 60))
			for a := 1; a <= c.Voters; a++ {
				for b := a + 1; b <= c.Voters; b++ {
					faults = append(faults, Fault{At: at, For: long, Kind: kind, Node: a, Peer: b, Strength: strength})
				}
			}
		}
		some := int(r.Between(0, 3)) // in how many of three voters the disk is slow
		for voter := 1; voter <= c.Voters; voter++ {
			if r.Below(3) < int64(some) {
				faults = append(faults, Fault{At: at, For: long, Kind: SlowDisk, Node: voter, Strength: int(r.Between(5, 100))})
			}
		}
		for ask := at; ask < at+long; ask += Span(r.Between(30, 400)) * Millisecond {
			f := Fault{At: ask, Kind: MoveLeader, Topic: p.anyTopic(r).Name}
			if r.OneIn(3) {
				f = Fault{At: ask, Kind: Elect}
			}
			faults = append(faults, f)
		}
		at += long + Span(r.Between(3000, 8000))*Millisecond
	}
}

// drawLostSnapshots keeps a voter away, in a few seeds, until the others have summed up
// what it lacks, and lets the links of the leader lose much of what is sent when it is
// back: the snapshot too may be lost, and must be sent again when it is.
func drawLostSnapshots(r *chance.Stream, p *Plan) (faults []Fault) {
	c := &p.Cluster
	if c.Voters < 3 || !r.OneIn(10) {
		return nil
	}
	c.Tidy = int(r.Between(4, 12))
	end := p.Phases.Warm + p.Phases.Faults
	for at := p.Phases.Warm + Span(r.Below(int64(3*Second))); at < end; at += Span(r.Between(8000, 14_000)) * Millisecond {
		away := Span(r.Between(1500, 4000)) * Millisecond
		node := int(r.Between(1, int64(c.Voters)))
		faults = append(faults,
			Fault{At: at, For: away, Kind: Isolate, Node: node},
			Fault{At: at + away - 10*Millisecond, For: 2 * p.Timing.Election, Kind: Lossy, Target: "controller", Peer: node, Strength: int(r.Between(30, 70))})
		for ask := at + 100*Millisecond; ask < at+away; ask += Span(r.Between(30, 150)) * Millisecond {
			faults = append(faults, Fault{At: ask, Kind: MoveLeader, Topic: p.anyTopic(r).Name})
		}
	}
	return faults
}
