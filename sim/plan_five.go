package sim

import (
	"strconv"

	"github.com/tamarack-mq/tamarack/core/chance"
)

// FiveBrokers is a plan of five brokers with every kind of fault and several
// clients of each role, for a seed: the case that the simulator's speed is held
// to, and one that few seeds of NewPlan come near.
func FiveBrokers(seed uint64) *Plan {
	r := chance.New(seed).Split("five brokers")
	p := &Plan{Name: "five:" + strconv.FormatUint(seed, 10), Seed: seed, Cluster: ClusterPlan{Nodes: 5, Voters: 3, Shards: 2, Tidy: 60}}
	p.Timing = drawTiming(r.Split("timing"))
	p.Phases = PhasePlan{Warm: 4 * Second, Faults: 60 * Second, Drain: 4 * Second, Rest: 120 * Second}
	p.Network = NetworkPlan{
		Latency: 500 * Microsecond, Spread: 500 * Microsecond, Tail: 5, TailScale: 20 * Millisecond,
		Reset: 500, Stale: 30, Lose: 500, Duplicate: 500, Reorder: 500,
	}
	p.Disk = DiskPlan{
		Append: 30 * Microsecond, Flush: Millisecond, FlushTail: 5, TailScale: 50 * Millisecond,
		Read: 100 * Microsecond, TornShare: 30, LossyShare: 50,
	}
	p.Topics = []TopicPlan{
		{Name: "t0", Partitions: 4, Replication: 3, MinInsync: 2, SegmentBytes: 16 << 10},
		{Name: "t1", Partitions: 3, Replication: 3, MinInsync: 2, SegmentBytes: 16 << 10},
		{Name: "short", Partitions: 1, Replication: 3, MinInsync: 2, SegmentBytes: 2 << 10, RetentionBytes: 10 << 10},
		{Name: chaosTopic, Partitions: 2, Replication: 3, MinInsync: 2, SegmentBytes: 4 << 10},
	}
	p.Clients = benchmarkClients()
	p.Faults = drawKinds(r.Split("faults"), p, func(*swarm, *chance.Stream) bool { return true })
	p.Faults = inStorms(r.Split("storms"), p)
	return p
}

// inStorms leaves faults out now and then until all that struck before have ended
// and the cluster has come back, and has something to lose again. With every kind on
// there is no such time otherwise: nothing would be promised, and nothing judged.
func inStorms(r *chance.Stream, p *Plan) (kept []Fault) {
	calm := p.Phases.Warm + Span(r.Between(4, 9))*Second
	var back, ends Span
	for _, f := range p.Faults {
		if f.At >= calm && back < calm {
			back = max(calm, ends) + Span(r.Between(2000, 5000))*Millisecond
		}
		if f.At >= back && back >= calm {
			calm = back + Span(r.Between(4, 9))*Second
		}
		if f.At >= calm {
			continue
		}
		kept = append(kept, f)
		if f.Client == 0 {
			ends = max(ends, f.At+f.For)
		}
	}
	return kept
}

// benchmarkClients are two or more of each role.
func benchmarkClients() (clients []ClientPlan) {
	both := []string{"t0", "t1"}
	add := func(c ClientPlan) {
		c.ID = len(clients) + 1
		clients = append(clients, c)
	}
	for i := range 3 {
		add(ClientPlan{Role: Producer, Topics: both, Every: 60 * Millisecond, Acks: -1, Idempotent: true, Size: 200, Burst: 4, Keys: 10, Linger: 5 * Millisecond})
		add(ClientPlan{Role: MemberOf, Group: "g0", Topics: both, Style: "at-least-once", Reset: "earliest", Every: 30 * Millisecond, Slow: 50 * Millisecond, Instance: "i" + strconv.Itoa(i)})
		add(ClientPlan{Role: MemberOf, Group: "g1", Topics: both[:1], Style: "auto", Reset: "earliest", Every: 30 * Millisecond, Slow: 50 * Millisecond})
	}
	for range 2 {
		add(ClientPlan{Role: Producer, Topics: []string{"short"}, Every: 120 * Millisecond, Acks: 1, Size: 200, Burst: 4})
		add(ClientPlan{Role: Reader, Topics: both, Every: 100 * Millisecond})
		add(ClientPlan{Role: Admin, Every: 2 * Second})
		add(ClientPlan{Role: Chaos, Every: 100 * Millisecond})
		add(ClientPlan{Role: Malformed, Every: 200 * Millisecond})
	}
	return clients
}
