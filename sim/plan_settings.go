package sim

import (
	"slices"

	"github.com/tamarack-mq/tamarack/core/chance"
)

// alterations are what operators do about settings and controllers while
// everything else goes wrong. Each kind has its own switch and strength.
func alterations() []swarm {
	return []swarm{
		{"alter-topic", 30, [2]int64{700, 6000}, (*faultDraw).alterTopic},
		{"alter-nodes", 20, [2]int64{1500, 9000}, (*faultDraw).alterNodes},
		{"add-voter", 25, [2]int64{1500, 9000}, func(d *faultDraw) Fault { return d.onNode(AddVoter, 0, 0) }},
		{"remove-voter", 25, [2]int64{2000, 10_000}, func(d *faultDraw) Fault { return d.onNode(RemoveVoter, 0, 0) }},
		{"restart-other", 10, [2]int64{4000, 15_000}, (*faultDraw).restartOther},
	}
}

// alterTopic draws other settings for a topic. They stay within what lets a
// workload get something done: batches fit, and as many replicas as there are
// can be asked for.
func (d *faultDraw) alterTopic() Fault {
	t := d.anyTopic()
	f := Fault{Kind: AlterTopic, Topic: t.Name}
	add := func(percent int64, key string, value func() string) {
		if !d.r.Percent(percent) {
			return
		}
		if d.r.OneIn(4) {
			f.Set = append(f.Set, key) // back to the default
			return
		}
		f.Set = append(f.Set, key+"="+value())
	}
	add(70, "min-insync", func() string { return itoa(int(d.r.Between(1, int64(max(1, t.Replication))))) })
	add(30, "segment-bytes", func() string { return itoa(int(d.r.Between(2, 32))) + "KiB" })
	add(25, "retention-bytes", func() string {
		if d.r.OneIn(2) {
			return "none"
		}
		return itoa(int(d.r.Between(4, 40))) + "KiB"
	})
	add(25, "retention", func() string {
		if d.r.OneIn(2) {
			return "none"
		}
		return itoa(int(d.r.Between(2, 30))) + "s"
	})
	add(15, "max-batch-bytes", func() string { return itoa(int(d.r.Between(8, 256))) + "KiB" })
	if len(f.Set) == 0 {
		f.Set = []string{"min-insync"}
	}
	return f
}

// nodeSettings draws settings of nodes around those of the plan.
func (d *faultDraw) nodeSettings(everywhere bool) (set []string) {
	t := &d.plan.Timing
	around := func(key string, normal Span, least Span) {
		if normal > 0 && d.r.OneIn(2) {
			ms := max(normal*Span(d.r.Between(40, 200))/100, least) / Millisecond
			set = append(set, key+"="+itoa(int(ms))+"ms")
		}
	}
	around("replica-lag", t.ReplicaLag, 100*Millisecond)
	around("fetch-wait", t.FetchWait, 10*Millisecond)
	if around("group-session-timeout", t.GroupSession, Second); t.GroupSession > 0 && everywhere && d.r.OneIn(4) {
		set = slices.DeleteFunc(set, func(s string) bool { return keyOf(s) == "group-session-timeout" })
		set = append(set, "group-session-timeout=1s") // the shortest that there is
	}
	around("group-heartbeat-interval", t.GroupHeartbeat, 10*Millisecond)
	if everywhere {
		around("session-timeout", t.BrokerSession, 3*t.BrokerHeartbeat)
	}
	return set
}

// alterNodes draws other settings for one node, or for all.
func (d *faultDraw) alterNodes() Fault {
	f := Fault{Kind: AlterNodes}
	if d.r.OneIn(2) {
		f.Node = int(d.r.Between(1, int64(d.plan.Cluster.Nodes)))
	}
	f.Set = d.nodeSettings(f.Node == 0)
	if d.r.OneIn(3) {
		f.Set = append(f.Set, d.heartbeat(f.Node == 0))
	}
	if d.plan.Seed%2 == 1 && f.Node == 0 && d.r.OneIn(3) {
		return d.tightest(f)
	}
	for i, s := range f.Set {
		if d.r.OneIn(4) {
			f.Set[i] = keyOf(s)
		}
	}
	return f
}

// heartbeat draws how often a node is heard of: in every other seed something of
// each node's own. It need not fit the session, and is refused then.
func (d *faultDraw) heartbeat(everywhere bool) string {
	if d.plan.Seed%2 == 1 && !everywhere || d.r.OneIn(3) {
		return "heartbeat-interval"
	}
	ms := d.plan.Timing.BrokerHeartbeat * Span(d.r.Between(40, 220)) / 100 / Millisecond
	return "heartbeat-interval=" + itoa(int(max(ms, 10))) + "ms"
}

// tightest sets a session for all nodes that just outlives two heartbeats.
func (d *faultDraw) tightest(f Fault) Fault {
	ms := int(d.plan.Timing.BrokerSession * Span(d.r.Between(30, 80)) / 100 / Millisecond)
	f.Set = []string{"heartbeat-interval=" + itoa(ms) + "ms", "session-timeout=" + itoa(2*ms) + "ms"}
	return f
}

// restartOther draws a restart with another configuration file.
func (d *faultDraw) restartOther() Fault {
	f := d.onNode(RestartOther, 50, 3000)
	f.Set = d.nodeSettings(false)
	return f
}

// drawForgetfulVoters draws, in some seeds, what single operations hardly ever
// give: a controller that has just been added, or about to be removed, loses its
// disk, while others are cut off. So who has forgotten its votes meets members who
// know of other sets of voters.
func drawForgetfulVoters(r *chance.Stream, p *Plan) (faults []Fault) {
	c := &p.Cluster
	if c.Nodes < 4 || !c.SwapVoters || !r.OneIn(2) {
		return nil
	}
	end := p.Phases.Warm + p.Phases.Faults
	for at := p.Phases.Warm + Span(r.Below(int64(3*Second))); at < end; at += Span(r.Between(4000, 10_000)) * Millisecond {
		node := int(r.Between(1, int64(c.Nodes)))
		other := int(r.Between(1, int64(c.Nodes)))
		step := Span(r.Between(100, 1500)) * Millisecond
		faults = append(faults,
			Fault{At: at, Kind: AddVoter, Node: node},
			Fault{At: at + step, Kind: RemoveVoter, Node: other},
			Fault{At: at + 2*step, For: Span(r.Between(500, 4000)) * Millisecond, Kind: Isolate, Node: int(r.Between(1, int64(c.Nodes)))},
			Fault{At: at + 2*step + Span(r.Between(0, 300))*Millisecond, For: Span(r.Between(20, 800)) * Millisecond, Kind: SwapDisk, Node: node})
	}
	return faults
}
