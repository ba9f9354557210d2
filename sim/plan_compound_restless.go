package sim

import "github.com/tamarack-mq/tamarack/core/chance"

// drawRestless has one broker die and start again and again, in a few seeds, each time
// soon after it has registered: a controller remembers only so many runs that were
// replaced.
func drawRestless(r *chance.Stream, p *Plan) (faults []Fault) {
	if p.Cluster.Nodes < 3 || !r.OneIn(25) {
		return nil
	}
	node := int(r.Between(1, int64(p.Cluster.Nodes)))
	end := p.Phases.Warm + p.Phases.Faults
	at := p.Phases.Warm + Span(r.Below(int64(3*Second)))
	for n := r.Between(10, 16); n > 0 && at < end; n-- {
		faults = append(faults, Fault{At: at, For: 50 * Millisecond, Kind: Crash, Node: node})
		at += Span(r.Between(500, 1500)) * Millisecond
	}
	return faults
}
