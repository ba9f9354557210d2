package sim

import "github.com/tamarack-mq/tamarack/core/chance"

// drawLate draws what comes late or does not fit: compounds of a few seeds each, every
// one from a stream of its own.
func drawLate(r *chance.Stream, p *Plan) (faults []Fault) {
	faults = append(faults, drawLateAppends(r.Split("appends"), p)...)
	faults = append(faults, drawLateMembers(r.Split("members"), p)...)
	faults = append(faults, drawMisfits(r.Split("misfits"), p)...)
	return append(faults, drawAbsences(r.Split("absences"), p)...)
}

// drawLateAppends lets a voter hear, in a few seeds, of several entries at once of which
// nobody knows yet that they are committed, one by one and some of them once more: the
// leader goes in the middle of a decision of which that voter has not heard, and its
// successor has that and an entry of its own to send. Links are slow, so that it takes
// long until that voter knows them to be committed.
func drawLateAppends(r *chance.Stream, p *Plan) (faults []Fault) {
	c := &p.Cluster
	if c.Voters < 3 || !r.OneIn(6) {
		return nil
	}
	c.Parcel = 1 // an entry at a time
	long := 5 * p.Timing.Election
	for cut := p.Phases.Warm + Span(r.Between(310, 1500))*Millisecond; cut+long < p.Phases.Warm+p.Phases.Faults; {
		begins := cut - 300*Millisecond
		slow := p.Timing.Election / Span(r.Between(7, 14)) / (p.Network.Latency + p.Network.Spread/2)
		for voter := 1; voter <= c.Voters; voter++ {
			faults = append(faults, Fault{At: begins + 20*Millisecond, For: 300 * Millisecond, Kind: StallDisk, Node: voter}) // no decision is made
			for peer := voter + 1; peer <= c.Voters; peer++ {
				faults = append(faults,
					Fault{At: cut, For: long, Kind: SlowLink, Node: voter, Peer: peer, Strength: int(max(2, slow))},
					Fault{At: cut, For: long, Kind: Duplicate, Node: voter, Peer: peer, Strength: int(r.Between(60, 100))})
			}
		}
		faults = append(faults,
			Fault{At: begins, For: 310 * Millisecond, Kind: OneWay, Target: "controller", Peer: int(r.Between(1, int64(c.Voters)))},
			Fault{At: cut, For: long, Kind: Isolate, Target: "controller"})
		for ask := begins + 20*Millisecond; ask < cut; ask += Span(r.Between(20, 80)) * Millisecond {
			wait := p.Timing.FetchWait * Span(r.Between(50, 200)) / 100 / Millisecond
			faults = append(faults, Fault{At: ask, Kind: AlterNodes, Set: []string{"fetch-wait=" + itoa(int(wait)) + "ms"}})
		}
		cut += long + Span(r.Between(1000, 3000))*Millisecond
	}
	return faults
}

// drawLateMembers lets a leader ask for a member that has caught up, in a few seeds,
// and its question be under way while that one comes back with an empty disk and copies
// nothing (KIP-903). The replica has left the in-sync set before, since its disk was
// stalled, so that its new run changes nothing about the partition.
func drawLateMembers(r *chance.Stream, p *Plan) (faults []Fault) {
	c := &p.Cluster
	if c.Nodes == c.Voters || !r.OneIn(5) {
		return nil
	}
	end := p.Phases.Warm + p.Phases.Faults
	for at := p.Phases.Warm + Span(r.Below(int64(2*Second))); at < end; {
		t := p.anyTopic(r)
		leader := "leader " + t.anyPartition(r)
		node := int(r.Between(int64(c.Voters)+1, int64(c.Nodes)))
		behind := p.Timing.ReplicaLag + Span(r.Between(500, 1500))*Millisecond
		back := at + behind // when it catches up
		late := p.Timing.BrokerSession * Span(r.Between(50, 75)) / 100
		swap := back + Span(r.Between(20, 200))*Millisecond
		faults = append(faults, Fault{At: at, For: behind, Kind: StallDisk, Node: node})
		for voter := 1; voter <= c.Voters; voter++ {
			faults = append(faults, Fault{At: back - 5*Millisecond, For: late, Kind: Clog, Target: leader, Peer: voter})
		}
		faults = append(faults,
			Fault{At: swap, For: late, Kind: OneWay, Target: leader, Peer: node},
			Fault{At: swap, For: 20 * Millisecond, Kind: SwapDisk, Node: node})
		at = back + late + Span(r.Between(2000, 5000))*Millisecond
	}
	return faults
}

// drawMisfits asks for settings of one node, in a few seeds, that do not fit those of
// all nodes: heartbeats that come too late for the session. They are to be refused.
func drawMisfits(r *chance.Stream, p *Plan) (faults []Fault) {
	if !r.OneIn(10) {
		return nil
	}
	end := p.Phases.Warm + p.Phases.Faults
	for at := p.Phases.Warm + Span(r.Below(int64(3*Second))); at < end; at += Span(r.Between(2000, 8000)) * Millisecond {
		ms := p.Timing.BrokerSession * Span(r.Between(45, 150)) / 100 / Millisecond
		faults = append(faults, Fault{
			At: at, Kind: AlterNodes, Node: int(r.Between(1, int64(p.Cluster.Nodes))), Set: []string{"heartbeat-interval=" + itoa(int(ms)) + "ms"},
		})
	}
	return faults
}

// drawAbsences cuts a node off, in a few seeds, while settings of nodes change and so
// many decisions are taken that it is sent a whole image when it is back.
func drawAbsences(r *chance.Stream, p *Plan) (faults []Fault) {
	c := &p.Cluster
	if c.Nodes < 3 || !r.OneIn(10) {
		return nil
	}
	c.Tidy = int(r.Between(4, 12))
	d := faultDraw{r: r, plan: p}
	end := p.Phases.Warm + p.Phases.Faults
	for at := p.Phases.Warm + Span(r.Below(int64(3*Second))); at < end; at += Span(r.Between(5000, 10_000)) * Millisecond {
		node, away := int(r.Between(1, int64(c.Nodes))), Span(r.Between(1500, 5000))*Millisecond
		set := Fault{At: at + away/4, Kind: AlterNodes, Set: d.nodeSettings(false)}
		if r.OneIn(2) {
			set.Node = node
		}
		faults = append(faults, Fault{At: at, For: away, Kind: Isolate, Node: node}, set)
		for ask := set.At + 100*Millisecond; ask < at+away; ask += Span(r.Between(30, 150)) * Millisecond {
			faults = append(faults, Fault{At: ask, Kind: MoveLeader, Topic: p.anyTopic(r).Name})
		}
	}
	return faults
}
