package sim

import (
	"github.com/tamarack-mq/tamarack/core/chance"
	"github.com/tamarack-mq/tamarack/core/client"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/metadata"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/history"
)

// patience is how long the operator waits for the answer to one request about
// replicas or brokers.
const patience = 15 * message.Second

// order sends a request about replicas or brokers. It is no part of the
// history: what became of it shows in the metadata.
func (o *operator) order(u *user, words string, r message.Request) {
	o.open++
	op := u.ask(opAdmin, 0, history.Operation{}, func(op client.Op) client.Input {
		return client.Ask{Op: op, Request: r, Target: client.Target{Kind: client.Controller}, Timeout: patience}
	})
	op.text = words
}

// move strikes with what an operator does about replicas: it acts on one
// partition of a topic, but for cancel-reassign without a topic, which calls
// all moves off.
func (o *operator) move(w *World, u *user, f *Fault) {
	image := w.newest()
	if image == nil {
		return
	}
	if f.Kind == Throttle {
		rate := int64(f.Strength) << 10
		if rate <= 0 {
			rate = -1
		}
		o.order(u, "throttle", &message.AlterReassignments{Throttle: rate})
		return
	}
	if f.Kind == CancelReassign && f.Topic == "" {
		o.cancel(u, movesOf(image, func(*message.PartitionChange) bool { return true }))
		return
	}
	t := image.TopicNamed(f.Topic)
	if t == nil || len(t.Partitions) == 0 {
		return
	}
	p := t.Partitions[u.random.Below(int64(len(t.Partitions)))]
	switch f.Kind {
	case Reassign:
		if target := drawTarget(u.random, image, p); target != nil {
			o.order(u, "reassign", &message.AlterReassignments{Partitions: []message.Reassignment{{ID: p.ID, Replicas: target}}})
		}
	case CancelReassign:
		o.cancel(u, []record.PartitionID{p.ID})
	case MoveLeader:
		to := p.Replicas[u.random.Below(int64(len(p.Replicas)))]
		if f.Strength > 0 {
			to = p.Replicas[min(f.Strength, len(p.Replicas))-1]
		}
		w.leaderNamed = true
		o.order(u, "move-leader", &message.ElectLeaders{Partitions: []record.PartitionID{p.ID}, Leader: to})
	}
}

// cancel calls moves off.
func (o *operator) cancel(u *user, ids []record.PartitionID) {
	if len(ids) == 0 {
		return
	}
	m := &message.AlterReassignments{}
	for _, id := range ids {
		m.Partitions = append(m.Partitions, message.Reassignment{ID: id})
	}
	o.order(u, "cancel-reassign", m)
}

// movesOf lists the moves under way that are of some kind.
func movesOf(image *metadata.Image, which func(*message.PartitionChange) bool) (ids []record.PartitionID) {
	for p := range image.Partitions() {
		if len(p.Target) > 0 && which(p) {
			ids = append(ids, p.ID)
		}
	}
	return ids
}

// drawTarget draws where a partition is to go: mostly as many replicas as
// before, sometimes one more or less, and never fewer than min.insync, which is
// what the fault budget is measured by. nil: there is nowhere to go.
func drawTarget(r *chance.Stream, image *metadata.Image, p *message.PartitionChange) []message.NodeID {
	var brokers []message.NodeID
	for _, b := range image.Brokers() {
		if !b.Draining || r.OneIn(8) { // that is refused
			brokers = append(brokers, b.Node)
		}
	}
	size := metadata.Factor(p)
	least := image.Topic(p.ID.Topic).Config.LeastInsync(size)
	switch r.Below(8) {
	case 0:
		size++
	case 1:
		size--
	}
	size = min(max(size, least), len(brokers))
	if size < least || size == 0 {
		return nil
	}
	for i := range brokers { // a shuffle
		k := i + int(r.Below(int64(len(brokers)-i)))
		brokers[i], brokers[k] = brokers[k], brokers[i]
	}
	return brokers[:size]
}
