package sim

import "github.com/tamarack-mq/tamarack/core/chance"

// drawUnmade takes the last byte of a disk, in a few seeds, just when there are logs to
// be made on it: what was begun of them must not stay for nothing.
func drawUnmade(r *chance.Stream, p *Plan) (faults []Fault) {
	if !r.OneIn(8) {
		return nil
	}
	end := p.Phases.Warm + p.Phases.Faults
	for at := p.Phases.Warm + Span(r.Below(int64(3*Second))); at < end; at += Span(r.Between(4000, 9000)) * Millisecond {
		t := p.anyTopic(r)
		faults = append(faults, Fault{At: at, Kind: AddPartitions, Topic: t.Name, Strength: int(r.Between(1, 2))})
		for node := 1; node <= p.Cluster.Nodes; node++ {
			if r.OneIn(2) {
				full := at + Span(r.Between(0, 12))*Millisecond
				faults = append(faults, Fault{At: full, For: Span(r.Between(300, 3000)) * Millisecond, Kind: FullDisk, Node: node})
			}
		}
	}
	return faults
}

// drawLostCheckpoints has, in a few seeds, the first records of a log deleted, then its
// checkpoint lost and its node start again: what producers did in those records nothing
// tells any more, and the log must not pass for whole.
func drawLostCheckpoints(r *chance.Stream, p *Plan) (faults []Fault) {
	if !r.OneIn(6) {
		return nil
	}
	end := p.Phases.Warm + p.Phases.Faults
	for at := p.Phases.Warm/2 + Span(r.Below(int64(3*Second))); at < end; at += Span(r.Between(3000, 8000)) * Millisecond {
		t := p.anyTopic(r)
		lost := Fault{At: at + Span(r.Between(30, 900))*Millisecond, Kind: DamageFile, Topic: t.Name, Strength: 1}
		lost.Target = []string{"leader ", "follower "}[r.Below(2)] + t.anyPartition(r)
		if r.OneIn(2) {
			lost.Target, lost.Node = "", int(r.Between(1, int64(p.Cluster.Nodes)))
		}
		crash := Fault{At: lost.At + Span(r.Between(1, 50))*Millisecond, For: 50 * Millisecond, Kind: Crash, Node: lost.Node, Target: lost.Target}
		faults = append(faults, Fault{At: at, Kind: DeleteRecords, Topic: t.Name}, lost, crash)
	}
	return faults
}
