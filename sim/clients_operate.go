package sim

import (
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// anyOperation draws what an operator may ask about replicas and brokers, in any
// order and with any arguments, also such as mean nothing. Only the chaos topic
// is moved: the fault budget of the others is not a stranger's to spend.
func (c *chaos) anyOperation(u *user) message.Request {
	r, w := u.random, u.world
	node := func() message.NodeID { return message.NodeID(r.Between(0, int64(w.plan.Cluster.Nodes)+1)) }
	switch r.Below(6) {
	case 0:
		return &message.DrainBroker{Node: node()}
	case 1, 2:
		return &message.DrainBroker{Node: node(), Undo: true}
	case 3:
		return &message.UnregisterBroker{Node: node()}
	case 4:
		m := &message.ElectLeaders{Leader: node()}
		if !r.OneIn(4) {
			m.Partitions = []record.PartitionID{c.partition(u, false)}
		}
		return m
	}
	m := &message.AlterReassignments{}
	if r.OneIn(4) {
		m.Throttle = r.Between(-2, 1<<20)
	}
	for range r.Between(0, 2) {
		move := message.Reassignment{ID: c.partition(u, true)}
		image := w.newest()
		switch k := r.Below(4); {
		case k == 0:
			move.Replicas = []message.NodeID{node(), node(), node()}
		case k > 1 && image != nil && image.Partition(move.ID) != nil:
			move.Replicas = drawTarget(r, image, image.Partition(move.ID))
		}
		m.Partitions = append(m.Partitions, move)
	}
	return m
}
