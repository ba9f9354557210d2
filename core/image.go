package core

import (
	"errors"

	"github.com/tamarack-mq/tamarack/core/controller"
	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/group"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/metadata"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/core/replica"
	"github.com/tamarack-mq/tamarack/core/txn"
)

// pushed takes committed changes from the controller and tells the rooms what
// concerns them.
func (n *Node) pushed(now message.Now, m *message.MetadataPush, out *effect.Out) {
	changes, err := n.image.Take(m)
	if errors.Is(err, metadata.ErrGap) {
		n.life.due = now.Mono // the next heartbeat tells what is missing
		return
	}
	if err != nil {
		n.halt("the controller's history contradicts this broker's: "+err.Error(), out)
		return
	}
	if n.life.fenced {
		n.life.due = now.Mono // a broker that is up to date may be unfenced
	}
	n.adopt(now, changes)
	n.toReplicas(now, changes)
	n.toCoordinators(now, changes)
}

// toCoordinators tells the rooms of coordinators.
func (n *Node) toCoordinators(now message.Now, changes []message.Change) {
	var touched []record.TopicID
	touch := func(id record.TopicID) {
		if len(touched) == 0 || touched[len(touched)-1] != id {
			touched = append(touched, id)
		}
	}
	for i := range changes {
		switch c := &changes[i]; {
		case c.Topic != nil:
			touch(c.Topic.ID)
		case c.RemoveTopic != nil:
			touch(c.RemoveTopic.ID)
		case c.Partition != nil:
			touch(c.Partition.ID.Topic)
		}
	}
	n.offsets.seen(n.image.TopicNamed(group.TopicName))
	n.transactions.seen(n.image.TopicNamed(txn.TopicName))
	n.txns.Image(now, transactionView{topicView{n}}, &n.txnOut)
	if touched != nil {
		n.groups.Topics(now, topicView{n}, touched, &n.groupOut)
	}
}

// Image is the cluster as this broker knows it. Read only.
func (n *Node) Image() *metadata.Image { return n.image }

// Replicas are this broker's replicas. Read only.
func (n *Node) Replicas() *replica.Manager { return n.replicas }

// Groups are the group shards that this broker coordinates. Read only.
func (n *Node) Groups() *group.Coordinator { return n.groups }

// Transactions are the shards of transactional ids that this broker coordinates.
// Read only.
func (n *Node) Transactions() *txn.Coordinator { return n.txns }

// Controller is this node's controller, or nil when it is no voter. Read only.
func (n *Node) Controller() *controller.Controller { return n.controller }

// Status is what a node says of itself, for people and for health checks.
type Status struct {
	Registered   bool // it has a broker epoch
	Taken        bool // not registered, because another run on another disk is, and not yet given up
	Fenced       bool // the controller does not count on it
	ShuttingDown bool
	Halted       bool
	Epoch        message.BrokerEpoch
	Controller   message.NodeID // the one that it talks to
	// ControllerHeard is when a controller last answered, on this node's
	// monotonic clock; before the first time, when this run began.
	ControllerHeard message.Time
	// ControllerSilent says that this is longer ago than a session: the quorum
	// is lost, or this node is cut off from it. What the node knows of the
	// cluster may be out of date.
	ControllerSilent bool
}

// Status tells how the node stands with the cluster at the time now.
func (n *Node) Status(now message.Time) Status {
	return Status{
		Registered: n.life.phase != registering, Taken: n.life.taken, Fenced: n.life.fenced,
		ShuttingDown: n.life.leaving, Halted: n.halted,
		Epoch: n.life.epoch, Controller: n.life.target,
		ControllerHeard: n.life.heard, ControllerSilent: n.life.unheard(now),
	}
}
