package core

import (
	"cmp"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/group"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/order"
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

// markers are those that are being written for transaction coordinators.
type markers struct {
	last    uint64
	waiting map[uint64]wanted // by ticket
	known   map[wanted]bool   // one that is asked for again is written once
}

// wanted is one marker of a WriteMarkers.
type wanted struct {
	from    message.NodeID
	run     message.BrokerEpoch
	request uint64
	id      record.PartitionID
}

func newMarkers() markers { return markers{waiting: map[uint64]wanted{}, known: map[wanted]bool{}} }

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
	for _, id := range m.Partitions {
		want := wanted{from, m.BrokerEpoch, m.Request, id}
		if n.markers.known[want] {
			continue // its answer comes
		}
		n.markers.last++
		ticket := n.markers.last
		n.markers.known[want], n.markers.waiting[ticket] = true, want
		if n.offsets.id != 0 && id.Topic == n.offsets.id {
			n.groups.Resolve(now, id.Index, group.Marker{
				ID: m.ID, Epoch: m.Epoch, CoordinatorEpoch: m.CoordinatorEpoch, Commit: m.Commit,
			}, ticket, &n.groupOut)
			continue
		}
		n.replicas.WriteMarker(now, id, m.ID, m.Epoch, record.Marker{
			Outcome: outcome, CoordinatorEpoch: m.CoordinatorEpoch,
		}, ticket, &n.replicaOut)
	}
}

// wrote answers for markers whose outcome is known: what belongs to one question
// and is known at once goes in one message.
func (n *Node) wrote(out *effect.Out) {
	outcomes := map[wanted]*message.WroteMarkers{}
	take := func(ticket uint64, code message.Code) {
		w, ok := n.markers.waiting[ticket]
		if !ok {
			return
		}
		delete(n.markers.waiting, ticket)
		delete(n.markers.known, w)
		question := w
		question.id = record.PartitionID{}
		answer := outcomes[question]
		if answer == nil {
			answer = &message.WroteMarkers{BrokerEpoch: w.run, Request: w.request}
			outcomes[question] = answer
		}
		answer.Results = append(answer.Results, message.MarkerResult{ID: w.id, Code: code})
	}
	for _, m := range n.replicaOut.Marked {
		take(m.Ticket, m.Code)
	}
	for _, r := range n.groupOut.Resolved {
		take(r.Ticket, r.Code)
	}
	n.replicaOut.Marked, n.groupOut.Resolved = nil, nil
	for _, question := range order.KeysBy(outcomes, wanted.compare) {
		out.Send(question.from, outcomes[question])
	}
}

func (w wanted) compare(o wanted) int {
	return cmp.Or(cmp.Compare(w.from, o.from), cmp.Compare(w.run, o.run), cmp.Compare(w.request, o.request), w.id.Compare(o.id))
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
