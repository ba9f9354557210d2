package shrink

import (
	"slices"
	"strconv"
	"strings"

	"github.com/tamarack-mq/tamarack/sim"
)

// topics takes topics, partitions and replicas away.
func (s *search) topics() (helped bool) {
	for i := len(s.best.Topics) - 1; i >= 0 && len(s.best.Topics) > 1; i-- {
		helped = s.one(func(p *sim.Plan) { dropTopic(p, i) }) || helped
	}
	for i := range s.best.Topics {
		helped = s.fewer(i) || helped
	}
	return helped
}

// fewer makes one topic simpler.
func (s *search) fewer(i int) bool {
	topic := func(p *sim.Plan) *sim.TopicPlan { return &p.Topics[i] }
	helped := false
	for n := 1; n < s.best.Topics[i].Partitions; n++ {
		if s.one(func(p *sim.Plan) { dropPartitions(p, i, n) }) {
			helped = true
			break
		}
	}
	for n := 1; n < s.best.Topics[i].Replication; n++ {
		if s.one(func(p *sim.Plan) { topic(p).Replication, topic(p).MinInsync = n, min(n, topic(p).MinInsync) }) {
			helped = true
			break
		}
	}
	return s.all([]change{
		func(p *sim.Plan) bool {
			was := topic(p).RetentionTime
			topic(p).RetentionTime = 0
			return was != 0
		},
		func(p *sim.Plan) bool {
			was := topic(p).RetentionBytes
			topic(p).RetentionBytes = 0
			return was != 0
		},
		setInt(func(p *sim.Plan) *int { return &topic(p).SegmentBytes }, 0),
	}) || helped
}

// dropTopic takes a topic away, and whatever speaks of it.
func dropTopic(p *sim.Plan, i int) {
	name := p.Topics[i].Name
	p.Topics = without(p.Topics, i, i+1)
	p.Faults = slices.DeleteFunc(p.Faults, func(f sim.Fault) bool {
		topic, _, ok := rolePlace(f.Target)
		return f.Topic == name || ok && topic == name
	})
	p.Clients = slices.DeleteFunc(p.Clients, func(c sim.ClientPlan) bool {
		only := func(list []string) bool { return len(list) == 1 && list[0] == name }
		return only(c.Topics) || only(c.Into)
	})
	for k := range p.Clients {
		c := &p.Clients[k]
		c.Topics = slices.DeleteFunc(c.Topics, func(t string) bool { return t == name })
		c.Into = slices.DeleteFunc(c.Into, func(t string) bool { return t == name })
		c.Ops = deleteOps(c.Ops, func(op *sim.ClientOp) bool { return op.Topic == name })
		for o := range c.Ops {
			c.Ops[o].From = slices.DeleteFunc(slices.Clone(c.Ops[o].From), func(f string) bool { return strings.HasPrefix(f, name+"/") })
		}
	}
}

// deleteOps deletes from a list and keeps an empty one apart from none.
func deleteOps(ops []sim.ClientOp, drop func(*sim.ClientOp) bool) []sim.ClientOp {
	if ops == nil {
		return nil
	}
	kept := []sim.ClientOp{}
	for i := range ops {
		if !drop(&ops[i]) {
			kept = append(kept, ops[i])
		}
	}
	return kept
}

// dropPartitions leaves a topic n partitions; what struck another strikes the
// last one that is left.
func dropPartitions(p *sim.Plan, i, n int) {
	t := &p.Topics[i]
	t.Partitions = n
	for k := range p.Faults {
		f := &p.Faults[k]
		if topic, index, ok := rolePlace(f.Target); ok && topic == t.Name && index >= n {
			role, _, _ := strings.Cut(f.Target, " ")
			f.Target = role + " " + topic + "/" + strconv.Itoa(n-1)
		}
	}
	for k := range p.Clients {
		for o := range p.Clients[k].Ops {
			op := &p.Clients[k].Ops[o]
			op.From = slices.DeleteFunc(slices.Clone(op.From), func(f string) bool {
				place, _, _ := strings.Cut(f, " ")
				topic, index, _ := strings.Cut(place, "/")
				at, err := strconv.Atoi(index)
				return topic == t.Name && err == nil && at >= n
			})
		}
	}
}

// rolePlace reads the partition out of "leader t0/1".
func rolePlace(target string) (topic string, index int, ok bool) {
	_, place, _ := strings.Cut(target, " ")
	topic, at, ok := strings.Cut(place, "/")
	index, err := strconv.Atoi(at)
	return topic, index, ok && err == nil
}

// nodes takes nodes away, as many as it can at once, and votes.
func (s *search) nodes() (helped bool) {
	for to := 1; to < s.best.Cluster.Nodes && !s.spent(); to++ {
		base := s.best
		ways := choices(base.Cluster.Nodes, to)
		if s.first(2*len(ways), func(i int) *sim.Plan { return keepNodes(base, ways[i/2], i%2 == 1) }) >= 0 {
			helped = true
			break
		}
	}
	for to := 1; to < s.best.Cluster.Voters; to++ {
		if s.one(func(p *sim.Plan) { p.Cluster.Voters = to }) {
			return true
		}
	}
	return helped
}

// choices lists the ways to keep k of n nodes, those with low numbers first; of
// many only the first sixteen.
func choices(n, k int) (ways [][]int) {
	var choose func(from int, have []int)
	choose = func(from int, have []int) {
		if len(ways) == 16 {
			return
		}
		if len(have) == k {
			ways = append(ways, slices.Clone(have))
			return
		}
		for id := from; id <= n; id++ {
			choose(id+1, append(have, id))
		}
	}
	choose(1, nil)
	return ways
}

// keepNodes is a plan with those nodes only, numbered anew. Faults of a node that
// is gone are gone too, or strike one that is left.
func keepNodes(base *sim.Plan, keep []int, move bool) *sim.Plan {
	p := base.Copy()
	number := func(id int) int {
		if i := slices.Index(keep, id); i >= 0 {
			return i + 1
		}
		if move {
			return (id-1)%len(keep) + 1
		}
		return 0
	}
	numbers := func(ids []int) (out []int) {
		for _, id := range ids {
			if n := number(id); n > 0 && !slices.Contains(out, n) {
				out = append(out, n)
			}
		}
		return out
	}
	voters := 0
	for _, id := range keep {
		if id <= base.Cluster.Voters {
			voters++
		}
	}
	p.Cluster.Nodes, p.Cluster.Voters = len(keep), max(1, voters)
	p.Phases.Broken, p.Phases.CutOff = numbers(p.Phases.Broken), numbers(p.Phases.CutOff)
	p.Cluster.Absent = min(p.Cluster.Absent, len(keep)-p.Cluster.Voters)
	p.Exact = slices.DeleteFunc(slices.Clone(p.Exact), func(x sim.ExactCrash) bool { return number(x.Node) == 0 })
	for i := range p.Exact {
		p.Exact[i].Node = number(p.Exact[i].Node)
	}
	p.Faults = slices.DeleteFunc(p.Faults, func(f sim.Fault) bool {
		return f.Node > 0 && number(f.Node) == 0 || f.Peer > 0 && f.Peer <= base.Cluster.Nodes && number(f.Peer) == 0
	})
	for i := range p.Faults {
		f := &p.Faults[i]
		if f.Node > 0 {
			f.Node = number(f.Node)
		}
		if f.Peer > 0 {
			f.Peer = number(f.Peer)
		}
		for k := range f.Groups {
			f.Groups[k] = numbers(f.Groups[k])
		}
	}
	for i := range p.Topics {
		t := &p.Topics[i]
		t.Replication = min(t.Replication, len(keep))
		t.MinInsync = min(t.MinInsync, t.Replication)
	}
	return p
}
