package core

import (
	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/group"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/core/txn"
	"github.com/tamarack-mq/tamarack/core/verify"
)

// How transactions pass between brokers. A leader, or the coordinator of a group,
// asks the transaction's coordinator to have its partition take part; the
// coordinator has markers written by those who lead the partitions. Both ask again
// by themselves until they hear the answer: what is lost needs nothing here.

// room tells whose ticket a number is, where those of two rooms meet: of the groups
// and the transaction coordinator, in what is written; of the groups and the replicas,
// in what is asked. It is the last bit of the number.
type room uint64

const (
	ofGroups       room = 0
	ofTransactions room = 1 // in what is written
	ofReplicas     room = 1 // in what is asked
)

func tagged(ticket uint64, of room) uint64 { return ticket<<1 | uint64(of) }

func untagged(number uint64) (uint64, room) { return number >> 1, room(number & 1) }

// verify asks the coordinator of a transaction for a room of this broker. While
// nobody coordinates it the room is told to ask again later.
func (n *Node) verify(now message.Now, v verify.Question, of room, out *effect.Out) {
	to := n.coordinatorOf(&n.transactions, txn.Shard, v.TransactionalID)
	if to == message.NoNode {
		n.verified(now, v.Ticket, of, message.CoordinatorNotAvailable)
		return
	}
	out.Send(to, &message.AddToTransaction{
		BrokerEpoch: n.life.epoch, Request: tagged(v.Ticket, of), TransactionalID: v.TransactionalID,
		ID: v.ID, Epoch: v.Epoch, Partitions: []record.PartitionID{v.Partition},
	})
}

func (n *Node) verified(now message.Now, ticket uint64, of room, code message.Code) {
	if of == ofGroups {
		n.groups.Verified(now, ticket, code, &n.groupOut)
	} else {
		n.replicas.Verified(now, ticket, code, &n.replicaOut)
	}
}

// added takes a coordinator's answer. One to an earlier run of this broker is not
// meant for this one.
func (n *Node) added(now message.Now, m *message.AddedToTransaction, out *effect.Out) {
	if m.BrokerEpoch == n.life.epoch {
		n.replicas.Gather()
		defer n.release(now, out)
		ticket, of := untagged(m.Request)
		n.verified(now, ticket, of, m.Code)
		for _, o := range m.Others {
			ticket, of := untagged(o.Request)
			n.verified(now, ticket, of, o.Code)
		}
	}
}

// release has what a Gather has waited for appended, positions of groups included.
func (n *Node) release(now message.Now, out *effect.Out) {
	n.fromGroups(now, out)
	n.replicas.Release(now, &n.replicaOut)
}

// verifyAll sends the questions of the rooms.
func (n *Node) verifyAll(now message.Now, out *effect.Out) {
	records, positions := n.replicaOut.Verify, n.groupOut.Verify
	n.replicaOut.Verify, n.groupOut.Verify = nil, nil
	for _, v := range records {
		n.verify(now, v, ofReplicas, out)
	}
	for _, v := range positions {
		v.Partition = n.offsets.shard(v.Partition.Index)
		n.verify(now, v, ofGroups, out)
	}
}

// writeMarkers has the end of a transaction written to partitions that this broker
// leads. Those of the offsets topic hold no records of transactions: what is pending
// there is the group room's.
func (n *Node) writeMarkers(now message.Now, from message.NodeID, m *message.WriteMarkers, out *effect.Out) {
	n.replicas.Gather()
	defer n.release(now, out)
	outcome := record.Aborted
	if m.Commit {
		outcome = record.Committed
	}
	for _, o := range n.markers.Asked(from, m) {
		if n.offsets.id != 0 && o.Partition.Topic == n.offsets.id {
			n.groups.Resolve(now, o.Partition.Index, group.Marker{
				ID: m.ID, Epoch: m.Epoch, CoordinatorEpoch: m.CoordinatorEpoch, Commit: m.Commit,
			}, o.Ticket, &n.groupOut)
			continue
		}
		n.replicas.WriteMarker(now, o.Partition, m.ID, m.Epoch, record.Marker{
			Outcome: outcome, CoordinatorEpoch: m.CoordinatorEpoch,
		}, o.Ticket, &n.replicaOut)
	}
}

// wrote has the coordinators told of the markers whose outcome is known.
func (n *Node) wrote(out *effect.Out) {
	for _, m := range n.replicaOut.Marked {
		n.markers.Wrote(m.Ticket, m.Code)
	}
	for _, r := range n.groupOut.Resolved {
		n.markers.Wrote(r.Ticket, r.Code)
	}
	n.replicaOut.Marked, n.groupOut.Resolved = nil, nil
	for _, a := range n.markers.Answers() {
		out.Send(a.To, a.Msg)
	}
}

// fromTransactions carries out what the transaction coordinator asks for.
func (n *Node) fromTransactions(now message.Now, out *effect.Out) {
	x := n.txnOut
	n.txnOut = txn.Out{}
	for _, r := range x.Replies {
		out.Reply(r.Token, r.Msg)
	}
	for _, s := range x.Sends {
		out.Send(s.To, s.Msg)
	}
	n.keep(now, &n.transactions, &x.Out)
}

// transactionView shows the image to the transaction coordinator.
type transactionView struct{ topicView }

func (v transactionView) Leader(id record.PartitionID) message.NodeID {
	if p := v.node.image.Partition(id); p != nil {
		return p.Leader
	}
	return message.NoNode
}

// Gone compares versions: a topic's id is the version at which it was made.
func (v transactionView) Gone(id record.PartitionID) bool {
	image := v.node.image
	return image.Version() >= message.Version(id.Topic) && image.Topic(id.Topic) == nil
}
