package sim

import (
	"slices"

	"github.com/tamarack-mq/tamarack/topology"
)

// TopologyPlan makes a scenario of the configuration that newcomers are taught:
// its topic, a producer that keys its records, and all members of its groups,
// with leaders that crash and lose power meanwhile. It promises that each
// group shares the partitions evenly and that both see everything.
func TopologyPlan(t *topology.Topology) *Plan {
	nodes := max(3, t.ReplicationFactor)
	p := &Plan{
		Name: t.Topic, Seed: 1,
		Prose:   "The topology of " + t.Topic + ", through crashes and power losses of leaders.",
		Cluster: ClusterPlan{Nodes: nodes, Voters: 3, Shards: 2},
		Timing: TimingPlan{
			BrokerSession: 2 * Second, BrokerHeartbeat: 400 * Millisecond, ReplicaLag: 2 * Second,
			GroupSession: 4 * Second, GroupHeartbeat: 600 * Millisecond,
			ClientRequest: 2 * Second, ClientDelivery: 30 * Second,
		},
		Phases:  PhasePlan{Warm: 10 * Second, Faults: 15 * Second, Drain: 5 * Second, Rest: 60 * Second},
		Network: NetworkPlan{Latency: 500 * Microsecond, Spread: 500 * Microsecond},
		Disk:    DiskPlan{Append: 50 * Microsecond, Flush: 2 * Millisecond, Read: 100 * Microsecond, TornShare: 50, LossyShare: 100},
		Topics: []TopicPlan{{
			Name: t.Topic, Partitions: t.Partitions, Replication: t.ReplicationFactor,
			MinInsync: min(2, t.ReplicationFactor), SegmentBytes: 64 << 10,
		}},
		Faults: []Fault{
			{At: 11 * Second, For: 4 * Second, Kind: PowerLoss, Target: "leader " + t.Topic + "/0"},
			{At: 18 * Second, For: 4 * Second, Kind: Crash, Target: "leader " + t.Topic + "/0"},
		},
		Expect: Expect{
			Holds: []string{"INV-1", "INV-9", "INV-21"}, NoLoss: true,
			Seen: []string{markNames[markPowerLost], markNames[markLeaderElected]},
		},
	}
	producer := ClientPlan{ID: 1, Role: Producer, Every: 20 * Millisecond, Topics: []string{t.Topic},
		Acks: -1, Idempotent: true, Size: 100, Burst: 4}
	if t.Producer.PartitionKey != "" {
		producer.Keys = 50
		p.Expect.KeysInOrder = true
	}
	p.Clients = append(p.Clients, producer)
	for i := range t.ConsumerGroups {
		p.addGroup(t, &t.ConsumerGroups[i])
	}
	return p
}

// addGroup adds the members of a group, and that they share the partitions.
func (p *Plan) addGroup(t *topology.Topology, g *topology.Group) {
	style := string(topology.AtLeastOnce)
	if g.OffsetCommit == topology.BeforeProcessing {
		style = string(topology.AtMostOnce)
	}
	var counts []int
	for i := range g.Instances {
		p.Clients = append(p.Clients, ClientPlan{
			ID: len(p.Clients) + 1, Role: MemberOf, Every: 20 * Millisecond, Topics: []string{t.Topic},
			Group: g.Name, Style: style, Reset: "earliest",
		})
		share := t.Partitions / g.Instances
		if i < t.Partitions%g.Instances {
			share++
		}
		counts = append(counts, share)
	}
	slices.SortFunc(counts, func(a, b int) int { return b - a })
	p.Expect.Owned = append(p.Expect.Owned, OwnedExpect{Group: g.Name, At: p.Phases.Warm, Counts: counts})
	p.Expect.Groups = append(p.Expect.Groups, GroupExpect{Group: g.Name, All: true})
}
