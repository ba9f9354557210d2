package sim

import (
	"slices"

	"github.com/tamarack-mq/tamarack/core/chance"
)

// operations are what operators do about replicas and brokers while everything
// else goes wrong. Each kind has its own switch and strength, as faults have.
func operations() []swarm {
	return []swarm{
		{"reassign", 30, [2]int64{800, 6000}, func(d *faultDraw) Fault { return Fault{Kind: Reassign, Topic: d.anyTopic().Name} }},
		{"cancel-reassign", 20, [2]int64{800, 6000}, (*faultDraw).cancelMove},
		{"throttle", 20, [2]int64{3000, 12_000}, (*faultDraw).throttle},
		{"drain", 25, [2]int64{4000, 15_000}, func(d *faultDraw) Fault { return d.onSpare(Drain, 2000, 12_000) }},
		{"retire", 30, [2]int64{4000, 15_000}, (*faultDraw).retire},
		{"remove-broker", 8, [2]int64{2000, 10_000}, func(d *faultDraw) Fault { return d.onNode(RemoveBroker, 0, 0) }},
		{"move-leader", 20, [2]int64{800, 6000}, func(d *faultDraw) Fault { return Fault{Kind: MoveLeader, Topic: d.anyTopic().Name} }},
	}
}

// onSpare strikes a node of a cluster in which others can take what it holds;
// seldom one of a cluster that is too small, which must refuse.
func (d *faultDraw) onSpare(kind FaultKind, low, high int64) Fault {
	if d.plan.Cluster.Nodes < 4 && !d.r.OneIn(4) {
		return Fault{}
	}
	return d.onNode(kind, low, high)
}

// retire takes a node out that is no controller: others must be removed from
// those first.
func (d *faultDraw) retire() Fault {
	c := &d.plan.Cluster
	if c.Nodes == c.Voters {
		return Fault{}
	}
	node := int(d.r.Between(int64(c.Voters)+1, int64(c.Nodes)))
	return d.span(Fault{Kind: Retire, Node: node}, 3000, 12_000)
}

// cancelMove calls off the move of one partition, or all moves.
func (d *faultDraw) cancelMove() Fault {
	f := Fault{Kind: CancelReassign}
	if d.r.OneIn(2) {
		f.Topic = d.anyTopic().Name
	}
	return f
}

// throttle draws a limit in KiB a second, or none.
func (d *faultDraw) throttle() Fault {
	f := Fault{Kind: Throttle}
	if !d.r.OneIn(4) {
		f.Strength = 1 << d.r.Between(2, 9)
	}
	return f
}

// drawAbsent has some runs begin with fewer brokers than there are nodes, so
// that brokers come to a cluster that runs. Topics begin with what is there.
func drawAbsent(r *chance.Stream, p *Plan) {
	c := &p.Cluster
	most := c.Nodes - max(c.Voters, 3)
	if most < 1 || !r.OneIn(3) {
		return
	}
	c.Absent = int(r.Between(1, int64(most)))
	for i := range p.Topics {
		t := &p.Topics[i]
		t.Replication = min(t.Replication, c.Nodes-c.Absent)
		t.MinInsync = min(t.MinInsync, t.Replication)
	}
}

// drawArrivals draws when the nodes come that are absent at first.
func drawArrivals(r *chance.Stream, p *Plan) (faults []Fault) {
	for i := range p.Cluster.Absent {
		faults = append(faults, Fault{
			At: p.Phases.Warm + Span(r.Below(int64(p.Phases.Faults)*3/4)), Kind: AddBroker, Node: p.Cluster.Nodes - i,
		})
	}
	return faults
}

// drawMoves draws, in some seeds, what single operations hardly ever give:
// moves of one partition in quick succession, each replaced, called off or
// undone by the next, while a replica of it is cut off, crashes, or waits for its
// disk. So replicas
// come back to where they have just been deleted, and who was told of the one
// move meets who knows of the next.
func drawMoves(r *chance.Stream, p *Plan) (faults []Fault) {
	if p.Cluster.Nodes < 4 || !r.OneIn(4) {
		return nil
	}
	end := p.Phases.Warm + p.Phases.Faults
	for at := p.Phases.Warm + Span(r.Below(int64(2*Second))); at < end; at += Span(r.Between(1000, 5000)) * Millisecond {
		t := p.anyTopic(r)
		place := t.anyPartition(r)
		step := Span(r.Between(20, 600)) * Millisecond
		if r.OneIn(2) { // so that the moves take their time
			faults = append(faults, Fault{At: at - 10*Millisecond, Kind: Throttle, Strength: int(r.Between(1, 30))})
		}
		for k := range r.Between(2, 6) {
			f := Fault{At: at + Span(k)*step, Kind: Reassign, Topic: t.Name}
			if r.OneIn(4) {
				f.Kind = CancelReassign
			}
			faults = append(faults, f)
		}
		trouble := Fault{At: at + Span(r.Below(int64(2*Second))), For: Span(r.Between(100, 3000)) * Millisecond}
		trouble.Target = []string{"leader ", "follower "}[r.Below(2)] + place
		trouble.Kind = []FaultKind{Crash, PowerLoss, Isolate, Pause, StallDisk, StallDisk}[r.Below(6)]
		faults = append(faults, trouble)
		for k := range r.Between(0, 3) { // when who was cut off has left the in-sync set
			late := trouble.At + p.Timing.ReplicaLag + Span(k)*400*Millisecond
			faults = append(faults, Fault{At: late, Kind: CancelReassign, Topic: t.Name})
		}
	}
	return faults
}

// drawGrowth has the topic of drawRacks grow now and then, once all brokers are there, and
// sometimes two of five brokers drained at once: both replicas of some partitions leave.
func drawGrowth(r *chance.Stream, p *Plan) (faults []Fault) {
	if !slices.ContainsFunc(p.Topics, func(t TopicPlan) bool { return t.Name == rackedTopic }) {
		return nil
	}
	for range r.Between(2, 4) {
		at := p.Phases.Warm/2 + Span(r.Below(int64(p.Phases.Faults)))
		faults = append(faults, Fault{At: at, Kind: AddPartitions, Topic: rackedTopic, Strength: int(r.Between(2, 4))})
	}
	if n := int64(p.Cluster.Nodes); n > 4 && r.OneIn(2) {
		at, long := p.Phases.Warm+Span(r.Below(int64(p.Phases.Faults/2))), Span(r.Between(6000, 12_000))*Millisecond
		one := r.Between(1, n)
		for _, node := range []int64{one, (one+r.Between(0, n-2))%n + 1} {
			faults = append(faults, Fault{At: at, For: long, Kind: Drain, Node: int(node)})
		}
	}
	return faults
}
