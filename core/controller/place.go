package controller

import (
	"fmt"
	"slices"

	"github.com/tamarack-mq/tamarack/core/message"
)

// candidate is a broker to place replicas on.
type candidate struct {
	id       message.NodeID
	rack     int
	able     bool
	leads    int // partitions of which it is the first replica, about
	replicas int
	draw     uint64 // decides between equals
}

// place spreads new partitions: each over as many racks as there are, and all
// over the brokers so that replicas and first replicas are even. Brokers that
// cannot serve now get replicas only where there are not enough others; those
// that are being drained get none.
// replication 0 or below means the default.
func (c *Controller) place(count, replication int) ([][]message.NodeID, message.Code, string) {
	brokers, racks := c.candidates()
	if !slices.ContainsFunc(brokers, func(b candidate) bool { return b.able }) {
		return nil, message.BrokerNotAvailable, "no broker is running"
	}
	if replication <= 0 {
		replication = min(int(c.cfg.DefaultReplication), len(brokers))
	}
	if replication > len(brokers) {
		return nil, message.InvalidReplicationFactor,
			fmt.Sprintf("replication factor %d is above the number of brokers that may be given replicas, %d (those being drained may not)", replication, len(brokers))
	}
	assignment := make([][]message.NodeID, count)
	onRack := make([]int, racks)
	for i := range assignment {
		clear(onRack)
		replicas := make([]message.NodeID, 0, replication)
		for k := range replication {
			b := c.choose(brokers, replicas, onRack, k == 0)
			replicas = append(replicas, b.id)
			onRack[b.rack]++
			b.replicas++
			if k == 0 {
				b.leads++
			}
		}
		assignment[i] = replicas
	}
	return assignment, message.None, ""
}

func (c *Controller) candidates() (brokers []candidate, racks int) {
	names := map[string]int{}
	for _, b := range c.image.Brokers() {
		if b.ShuttingDown || b.Draining {
			continue
		}
		rack, known := names[b.Rack]
		if !known {
			rack = len(names)
			names[b.Rack] = rack
		}
		brokers = append(brokers, candidate{
			id: b.Node, rack: rack, able: !b.Fenced, leads: c.image.Leads(b.Node), replicas: c.image.Hosts(b.Node),
		})
	}
	return brokers, len(names)
}

// choose picks the broker for one more replica of a partition.
func (c *Controller) choose(brokers []candidate, taken []message.NodeID, onRack []int, first bool) *candidate {
	var best *candidate
	for i := range brokers {
		b := &brokers[i]
		if slices.Contains(taken, b.id) {
			continue
		}
		b.draw = c.random.Uint64()
		if best == nil || better(b, best, onRack, first) {
			best = b
		}
	}
	return best
}

func better(a, b *candidate, onRack []int, first bool) bool {
	switch {
	case a.able != b.able:
		return a.able
	case onRack[a.rack] != onRack[b.rack]:
		return onRack[a.rack] < onRack[b.rack]
	case first && a.leads != b.leads:
		return a.leads < b.leads
	case a.replicas != b.replicas:
		return a.replicas < b.replicas
	}
	return a.draw < b.draw
}
