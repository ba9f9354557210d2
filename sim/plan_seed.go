package sim

import (
	"slices"
	"strconv"

	"github.com/tamarack-mq/tamarack/core/chance"
)

// NewPlan expands a seed to a plan. Each seed draws which kinds of trouble are
// on and how hard they strike (swarm testing: Groce et al., ISSTA 2012): a run
// with few kinds of faults goes deeper than one with all.
func NewPlan(seed uint64) *Plan { return newPlan(seed, family{}) }

// BeyondPlan expands a seed to a plan in which damage is not bounded. NewPlan
// does so with one seed in eight.
func BeyondPlan(seed uint64) *Plan {
	p := newPlan(seed, family{beyond: true})
	p.Name = "beyond:" + strconv.FormatUint(seed, 10)
	return p
}

// TransactionPlan expands a seed to a plan in which somebody makes transactions.
// NewPlan does so with one seed in three.
func TransactionPlan(seed uint64) *Plan {
	p := newPlan(seed, family{transactions: true})
	p.Name = "transactions:" + strconv.FormatUint(seed, 10)
	return p
}

// family is what is certain about the plans that seeds are expanded to; all else is
// drawn.
type family struct{ beyond, transactions bool }

func newPlan(seed uint64, of family) *Plan {
	r := chance.New(seed).Split("plan")
	p := &Plan{Seed: seed, Beyond: of.beyond}
	p.Cluster = drawCluster(r.Split("cluster"))
	p.Timing = drawTiming(r.Split("timing"))
	p.Phases = drawPhases(r.Split("phases"), &p.Cluster)
	p.Network = drawNetwork(r.Split("network"))
	p.Disk = drawDisk(r.Split("disk"))
	drawMore(r, p)
	drawRare(r.Split("rare"), p)
	p.Topics = drawTopics(r.Split("topics"), &p.Cluster)
	drawSparse(r.Split("sparse"), p)
	drawRacks(r.Split("racks"), p)
	drawAbsent(r.Split("absent"), p)
	p.Clients = drawClients(r.Split("clients"), p, of)
	p.Timing.OffsetRetention = drawOffsetRetention(r.Split("offset retention"), p)
	drawStrangers(r.Split("strangers"), p)
	drawUndoing(r.Split("undoing"), p)
	drawQuits(r.Split("quits"), p)
	drawSift(r.Split("sift"), p)
	drawMisnamed(r.Split("misnamed"), p)
	drawIdleProducers(r.Split("idle producers"), p)
	drawLongKeys(r.Split("long keys"), p)
	p.Faults = drawFaults(r.Split("faults"), p)
	return p
}

func drawCluster(r *chance.Stream) ClusterPlan {
	c := ClusterPlan{Nodes: 3, Voters: 3}
	switch r.Below(10) {
	case 0:
		c = ClusterPlan{Nodes: 1, Voters: 1}
	case 1, 2, 3:
		c.Nodes = 5
	case 4:
		c.Nodes = 4
	case 5:
		c = ClusterPlan{Nodes: 5, Voters: 5}
	}
	if r.OneIn(4) {
		c.Racks = int(r.Between(2, 3))
	}
	c.Shards = int(r.Between(1, 4))
	c.Codec = r.OneIn(10)
	if !r.OneIn(3) {
		c.Tidy = int(r.Between(8, 150))
	}
	return c
}

func drawTiming(r *chance.Stream) TimingPlan {
	ms := func(low, high int64) Span { return Span(r.Between(low, high)) * Millisecond }
	t := TimingPlan{
		Election: ms(500, 1500), BrokerSession: ms(1500, 4000), ReplicaLag: ms(800, 3000),
		FetchWait: ms(100, 600), Request: ms(3000, 8000),
		GroupSession: ms(2000, 6000), ClientRequest: ms(1000, 5000), ClientDelivery: ms(8000, 40_000),
	}
	if r.Split("hasty").OneIn(4) { // producers that give up early and begin new epochs
		t.ClientRequest, t.ClientDelivery = t.ClientRequest/4, t.ClientDelivery/8
	}
	t.QuorumHeartbeat = t.Election / Span(r.Between(4, 8))
	t.BrokerHeartbeat = t.BrokerSession / Span(r.Between(4, 8))
	t.GroupHeartbeat = t.GroupSession / Span(r.Between(4, 8))
	return t
}

// drawOffsetRetention makes committed positions short-lived in some runs. Whoever
// asked to be given nothing twice would be, with no position left: there are
// none of them then.
func drawOffsetRetention(r *chance.Stream, p *Plan) Span {
	if p.atMostOnce() || !r.OneIn(4) {
		return 0
	}
	return Span(r.Between(1500, 8000)) * Millisecond
}

// drawIdleProducers lets brokers forget silent producers in some runs, and some
// producers be silent for longer. What expires must not be tried any more: only
// producers that give up early allow a time that a run has room for.
func drawIdleProducers(r *chance.Stream, p *Plan) {
	if p.Timing.ClientDelivery > 5*Second || r.OneIn(2) {
		return
	}
	idle := p.Timing.ClientDelivery + Span(r.Between(6000, 9000))*Millisecond
	p.Timing.ProducerIdle = idle
	p.Phases.Faults = max(p.Phases.Faults, 2*idle)
	for i := range p.Clients {
		if c := &p.Clients[i]; c.Role == Producer && r.OneIn(2) {
			c.Work = Span(r.Between(1500, 6000)) * Millisecond
			c.Nap = idle + Span(r.Between(int64(idle)/4, int64(idle)))
		}
	}
}

func drawPhases(r *chance.Stream, c *ClusterPlan) PhasePlan {
	p := PhasePlan{
		Warm:   Span(r.Between(3000, 6000)) * Millisecond,
		Faults: Span(r.Between(10, 40)) * Second,
		Drain:  Span(r.Between(2000, 6000)) * Millisecond,
		Rest:   120 * Second,
	}
	if c.Nodes > 3 && r.OneIn(4) {
		p.Broken = []int{int(r.Between(1, int64(c.Nodes)))}
	}
	return p
}

func drawNetwork(r *chance.Stream) NetworkPlan {
	n := NetworkPlan{
		Latency: Span(r.Between(100, 2000)) * Microsecond,
		Spread:  Span(r.Between(50, 2000)) * Microsecond,
		Stale:   int(r.Between(0, 60)),
	}
	if r.OneIn(2) {
		n.Tail, n.TailScale = int(r.Between(1, 20)), Span(r.Between(5, 80))*Millisecond
	}
	if r.OneIn(3) {
		n.Reset = int(r.Between(100, 5000))
	}
	if r.OneIn(4) {
		n.Lose = int(r.Between(100, 5000))
	}
	if r.OneIn(4) {
		n.Duplicate = int(r.Between(100, 5000))
	}
	if r.OneIn(4) {
		n.Reorder = int(r.Between(100, 5000))
	}
	if r.OneIn(10) {
		n.Queue = int(r.Between(20, 200))
	}
	return n
}

func drawDisk(r *chance.Stream) DiskPlan {
	d := DiskPlan{
		Append: Span(r.Between(10, 100)) * Microsecond,
		Flush:  Span(r.Between(200, 5000)) * Microsecond,
		Read:   Span(r.Between(20, 500)) * Microsecond,
	}
	if r.OneIn(3) {
		d.FlushTail, d.TailScale = int(r.Between(1, 30)), Span(r.Between(20, 300))*Millisecond
	}
	d.TornShare = int(r.Between(0, 70))
	d.LossyShare = int(r.Between(0, 80))
	return d
}

// drawSparse adds, in some plans, a topic with many partitions of one replica each:
// with some brokers away partitions next to one another have no leader.
func drawSparse(r *chance.Stream, p *Plan) {
	if p.Cluster.Nodes > 1 && r.OneIn(6) {
		p.Topics = append(p.Topics, TopicPlan{
			Name: "sparse", Partitions: int(r.Between(5, 9)), Replication: 1, MinInsync: 1, SegmentBytes: int(r.Between(2, 16)) << 10,
		})
	}
}

// rackedTopic is the name of the topic that drawRacks adds.
const rackedTopic = "racked"

// drawRacks gives some clusters three racks for four or five brokers, so that some racks
// have two of them, and a topic of two replicas: whoever places those may find two
// brokers that are free and stand on one rack. It comes first, where brokers hold nothing
// yet: later those who share a rack hold less than others, and are taken one by one.
func drawRacks(r *chance.Stream, p *Plan) {
	if p.Cluster.Nodes > 3 && r.OneIn(4) {
		p.Cluster.Racks = 3
		p.Topics = slices.Insert(p.Topics, 0, TopicPlan{
			Name: rackedTopic, Partitions: int(r.Between(3, 6)), Replication: 2, MinInsync: int(r.Between(1, 2)), SegmentBytes: int(r.Between(2, 16)) << 10,
		})
	}
}

func drawTopics(r *chance.Stream, c *ClusterPlan) []TopicPlan {
	var topics []TopicPlan
	for i := range r.Between(1, 3) {
		t := TopicPlan{
			Name: "t" + strconv.Itoa(int(i)), Partitions: int(r.Between(1, 4)),
			Replication: min(3, c.Nodes), SegmentBytes: int(r.Between(2, 32)) << 10,
		}
		if r.OneIn(5) {
			t.Replication = min(int(r.Between(1, 5)), c.Nodes)
		}
		t.MinInsync = min(2, t.Replication)
		if r.OneIn(6) {
			t.MinInsync = int(r.Between(1, int64(t.Replication)))
		}
		topics = append(topics, t)
	}
	// One topic from which retention takes; nobody counts its records.
	if r.OneIn(3) {
		t := TopicPlan{Name: "short", Partitions: int(r.Between(1, 2)), Replication: min(3, c.Nodes), MinInsync: min(2, c.Nodes), SegmentBytes: 2 << 10}
		if r.OneIn(2) {
			t.RetentionBytes = r.Between(4, 20) << 10
		} else {
			t.RetentionTime = Span(r.Between(2000, 8000)) * Millisecond
		}
		topics = append(topics, t)
	}
	return topics
}
