package sim

import "github.com/tamarack-mq/tamarack/core/chance"

// drawSacrifices draws what ends in an unclean election, in a few seeds. Single
// faults hardly ever get there: one replica must have fallen behind and be back
// when the others, and whoever else is eligible, are gone.
func drawSacrifices(r *chance.Stream, p *Plan) []Fault {
	if p.Cluster.Nodes < 4 || !r.OneIn(4) {
		return nil
	}
	t := p.anyTopic(r)
	place := t.anyPartition(r)
	lag, session := p.Timing.ReplicaLag, p.Timing.BrokerSession
	var faults []Fault
	for at := p.Phases.Warm + Span(r.Below(int64(3*Second))); ; {
		behind := lag + Span(r.Between(500, 2500))*Millisecond
		gone := 3*session + Span(r.Between(1000, 4000))*Millisecond
		if at+behind+gone > p.Phases.Warm+p.Phases.Faults {
			return faults
		}
		faults = append(faults,
			Fault{At: at, For: behind + 200*Millisecond, Kind: Isolate, Target: "follower " + place},
			Fault{At: at + behind, For: gone, Kind: Crash, Target: "leader " + place},
			Fault{At: at + behind + 10*Millisecond, For: gone, Kind: Crash, Target: "follower " + place})
		// Who sleeps meanwhile wakes up to other records where it had read on.
		for _, c := range p.readers(t.Name) {
			if r.OneIn(2) {
				nap := gone + Span(r.Between(500, 4000))*Millisecond
				faults = append(faults, Fault{At: at + behind, For: nap, Kind: ClientPause, Client: c})
			}
		}
		for ask := at + behind + session; ask < at+behind+gone; ask += session / 2 {
			faults = append(faults, Fault{At: ask, Kind: UncleanElect})
		}
		at += behind + gone + Span(r.Between(3000, 9000))*Millisecond
	}
}

// drawOutvoted gives a topic two replicas, in a few seeds, and lets the one that has
// fallen behind be all that is left of them: what readers have read is given up, while
// they sleep until others have written as much again in its place. Among three replicas
// that hardly comes about: with two of them the majority of the controllers is gone.
func drawOutvoted(r *chance.Stream, p *Plan) (faults []Fault) {
	if p.Cluster.Nodes < 3 || !r.OneIn(7) {
		return nil
	}
	t := p.anyTopic(r)
	readers := p.readers(t.Name)
	if len(readers) == 0 {
		return nil
	}
	t.Replication, t.MinInsync = 2, 1
	lag, session, end := p.Timing.ReplicaLag, p.Timing.BrokerSession, p.Phases.Warm+p.Phases.Faults
	for at := p.Phases.Warm + Span(r.Below(int64(2*Second))); ; {
		place := t.anyPartition(r)
		behind := lag + Span(r.Between(200, 1000))*Millisecond
		gone := 2*session + behind + Span(r.Between(1000, 3000))*Millisecond
		if at+behind+gone > end {
			return faults
		}
		faults = append(faults,
			Fault{At: at, For: behind + 50*Millisecond, Kind: Isolate, Target: "follower " + place},
			Fault{At: at + behind, For: gone, Kind: Crash, Target: "leader " + place})
		for _, c := range readers {
			if !r.OneIn(4) {
				nap := session + behind + Span(r.Between(500, 3000))*Millisecond
				faults = append(faults, Fault{At: at + behind, For: nap, Kind: ClientPause, Client: c})
			}
		}
		for ask := at + behind + session; ask < at+behind+gone; ask += session / 4 {
			faults = append(faults, Fault{At: ask, Kind: UncleanElect})
		}
		at += behind + gone + Span(r.Between(1000, 3000))*Millisecond
	}
}

// drawLateProposals draws disks that are swapped while a leader cannot tell the
// controller that their node has caught up: what it has proposed arrives when
// the node is another one (KIP-903). The proposal must be made, and arrive,
// within the leader's session.
func drawLateProposals(r *chance.Stream, p *Plan) []Fault {
	c := &p.Cluster
	if c.Nodes == c.Voters || !r.OneIn(6) {
		return nil
	}
	var faults []Fault
	end := p.Phases.Warm + p.Phases.Faults
	for at := p.Phases.Warm + Span(r.Below(int64(3*Second))); at < end; at += Span(r.Between(3000, 8000)) * Millisecond {
		t := p.anyTopic(r)
		leader := "leader " + t.anyPartition(r)
		node := int(r.Between(int64(c.Voters)+1, int64(c.Nodes)))
		mute := p.Timing.BrokerSession * Span(r.Between(50, 95)) / 100
		faults = append(faults, Fault{At: at, For: Span(r.Between(20, 200)) * Millisecond, Kind: Crash, Node: node})
		for voter := 1; voter <= c.Voters; voter++ {
			faults = append(faults, Fault{At: at + 20*Millisecond, For: mute, Kind: OneWay, Target: leader, Peer: voter})
		}
		faults = append(faults, Fault{At: at + mute/2, For: 20 * Millisecond, Kind: SwapDisk, Node: node})
	}
	return faults
}

// drawZombies cuts the coordinator of a group off from the other brokers and from
// the group's members for so long that these have found its successor and commit
// there, in a few seeds. It goes on answering whoever else asks it.
func drawZombies(r *chance.Stream, p *Plan) []Fault {
	if p.Cluster.Nodes < 3 || !r.OneIn(8) || len(p.members("")) == 0 {
		return nil
	}
	var faults []Fault
	end := p.Phases.Warm + p.Phases.Faults
	for at := p.Phases.Warm + Span(r.Below(int64(4*Second))); at < end; {
		gone := p.Timing.BrokerSession + p.Timing.ClientRequest + p.Timing.GroupHeartbeat + Span(r.Between(2000, 8000))*Millisecond
		faults = append(faults, Fault{At: at, For: gone, Kind: Isolate, Target: "coordinator g0", Strength: cutFromMembers})
		at += gone + Span(r.Between(3000, 8000))*Millisecond
	}
	return faults
}
