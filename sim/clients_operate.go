package sim

import (
	"slices"

	"github.com/tamarack-mq/tamarack/core/client"
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
		w.leaderNamed = true
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
			if move.Replicas[0] == move.Replicas[1] { // it would be refused for that
				move.Replicas = move.Replicas[:1]
			}
		case k > 1 && image != nil && image.Partition(move.ID) != nil:
			move.Replicas = drawTarget(r, image, image.Partition(move.ID))
		}
		m.Partitions = append(m.Partitions, move)
	}
	return m
}

// moved judges that no move is granted to fewer replicas than min.insync (INV-43),
// where a topic keeps the one of the plan.
func (c *chaos) moved(u *user, op *openOp, result *client.Result) {
	ask, _ := op.ask.(client.Ask)
	asked, ok := ask.Request.(*message.AlterReassignments)
	m, _ := result.Reply.(*message.AlterReassignmentsReply)
	if !ok || m == nil || len(m.Partitions) != len(asked.Partitions) || m.Code != message.None {
		return
	}
	image := u.world.newest()
	for i, p := range m.Partitions {
		t := image.Topic(p.ID.Topic)
		if p.Code != message.None || t == nil || len(asked.Partitions[i].Replicas) == 0 {
			continue
		}
		if least := u.world.plan.keptMinInsync(t.Name); len(asked.Partitions[i].Replicas) < least {
			u.world.fail("INV-43", 0, "a move to too few replicas is granted", "client %d asks for replicas %v of partition %s, whose min.insync is %d, and is told that it is done", u.plan.ID, asked.Partitions[i].Replicas, p.ID, least)
		}
	}
}

// granted judges that a move that somebody is told of as begun has been committed as
// it was asked for (INV-43): all else rests on that.
func (w *World) granted(u *user, op *openOp, result *client.Result) {
	ask, _ := op.ask.(client.Ask)
	asked, ok := ask.Request.(*message.AlterReassignments)
	m, _ := result.Reply.(*message.AlterReassignmentsReply)
	if !ok || m == nil || len(m.Partitions) != len(asked.Partitions) || m.Code != message.None {
		return
	}
	for i, p := range m.Partitions {
		to := asked.Partitions[i].Replicas
		if p.Code != message.None || len(to) == 0 {
			continue
		}
		if part := w.book.parts[p.ID]; part != nil && part.state != nil && !part.unsure && !part.meantToBe(to) {
			w.fail("INV-43", 0, "a move is granted and not begun", "client %d is told that partition %s is on its way to replicas %v, which no committed change says", u.plan.ID, p.ID, to)
			return
		}
	}
}

// keptMinInsync is the min.insync of a topic that is never altered; 0: of others.
func (p *Plan) keptMinInsync(name string) int {
	if slices.ContainsFunc(p.Faults, func(f Fault) bool { return f.Kind == AlterTopic && f.Topic == name }) {
		return 0
	}
	if i := slices.IndexFunc(p.Topics, func(t TopicPlan) bool { return t.Name == name }); i >= 0 {
		return p.Topics[i].MinInsync
	}
	return 0
}
