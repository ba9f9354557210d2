package sim

import "github.com/tamarack-mq/tamarack/core/chance"

// drawHandovers draws, in a few seeds, shards of groups that go to and fro between
// brokers while one of those is slow to read: so a log that is read for one
// leadership comes when the broker leads again, and others have led meanwhile.
func drawHandovers(r *chance.Stream, p *Plan) (faults []Fault) {
	if len(p.members("")) == 0 || p.Cluster.Nodes < 3 || !r.OneIn(6) {
		return nil
	}
	end := p.Phases.Warm + p.Phases.Faults
	for at := p.Phases.Warm + Span(r.Below(int64(3*Second))); ; {
		long := Span(r.Between(2000, 6000)) * Millisecond
		if at+long > end {
			return faults
		}
		slow := Fault{At: at, For: long, Kind: SlowReads, Strength: int(r.Between(100, 3000))}
		if slow.Node = int(r.Between(1, int64(p.Cluster.Nodes))); r.OneIn(2) {
			slow.Node, slow.Target = 0, "coordinator g0"
		}
		faults = append(faults, slow)
		pace := r.Between(100, 800)
		for move := at; move < at+long; move += Span(r.Between(pace/2, pace)) * Millisecond {
			faults = append(faults, Fault{At: move, Kind: MoveLeader, Topic: offsetsTopic})
		}
		at += long + Span(r.Between(2000, 7000))*Millisecond
	}
}
