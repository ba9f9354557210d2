package core

import (
	"github.com/tamarack-mq/tamarack/core/controller"
	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
)

// input hands one input to the room that it is for.
func (n *Node) input(now message.Now, in effect.Input, out *effect.Out) {
	switch in := in.(type) {
	case effect.Tick:
	case effect.Received:
		n.receive(now, in.From, in.Msg, out)
	case effect.Requested:
		n.request(now, in.Token, in.Msg, out)
	case effect.Appended:
		n.replicas.Appended(now, in, &n.replicaOut)
	case effect.Flushed:
		n.replicas.Flushed(now, in, &n.replicaOut)
	case effect.ReadDone:
		n.replicas.ReadDone(now, in, &n.replicaOut)
	case effect.TimeFound:
		n.replicas.TimeFound(now, in, &n.replicaOut)
	case effect.DiskSpace:
		n.replicas.DiskSpace(now, in, &n.replicaOut)
	case effect.DiskFailed:
		where := "partition " + in.Log.String()
		if in.Journal {
			where = "the quorum journal"
		}
		n.halt("the disk failed in "+in.Op+" of "+where+": "+in.Detail+"; what it holds is unknown, so this node stops and recovers from it when it is started again", out)
	case effect.QuorumSaved:
		if n.controller != nil {
			n.controller.Saved(now, in.Seq, out)
		}
	case effect.Shutdown:
		n.life.leave(now.Mono)
	}
}

// receive takes a message of another node, or of this one.
func (n *Node) receive(now message.Now, from message.NodeID, m message.Message, out *effect.Out) {
	switch m := m.(type) {
	case *message.ReplicaFetch:
		n.replicas.ReplicaFetch(now, from, m, &n.replicaOut)
	case *message.ReplicaFetchReply:
		n.replicas.ReplicaFetchReply(now, from, m, &n.replicaOut)
	case *message.ReplicaProgress:
		n.replicas.ReplicaProgress(now, from, m, &n.replicaOut)
	case *message.MetadataPush:
		n.pushed(now, m, out)
	case *message.RegisterBrokerReply:
		before := n.life.epoch
		if m.Code == message.NotController {
			n.life.voters = n.mayLead() // what the controller of this node has applied since is in it
		}
		switch committed := n.life.registered(now.Mono, m, out); {
		case committed && n.life.epoch == before:
			n.replicas.DamageReported(now, &n.replicaOut)
		case committed:
			n.replicas.SetEpoch(n.life.epoch)
			n.txns.SetEpoch(n.life.epoch)
		}
	case *message.BrokerHeartbeatReply:
		if n.life.heartbeatAnswered(now.Mono, m) {
			n.stop(out)
		}
	case *message.AlterPartitionReply:
		if m.Code == message.NotController {
			n.life.redirect(now.Mono, m.Controller)
		}
		n.replicas.AlterPartitionReply(now, m, &n.replicaOut)
	case *message.AllocateProducerIDsReply:
		n.ids.allocated(now.Mono, m, n.pause(), out)
	case *message.AddToTransaction:
		n.txns.Add(now, from, m, &n.txnOut)
	case *message.AddedToTransaction:
		n.added(now, m, out)
	case *message.WriteMarkers:
		n.writeMarkers(now, from, m, out)
	case *message.WroteMarkers:
		n.txns.Marked(now, m, &n.txnOut)
	case *message.Forwarded:
		n.forwards.answered(now.Mono, m, n.pause(), out)
	default:
		n.receiveAsController(now, from, m, out)
	}
}

// receiveAsController takes what brokers and voters say to a controller. A node
// that holds no metadata log answers as one that is not the controller. It
// begins to hold it when a member speaks to it as to another: it has been added.
func (n *Node) receiveAsController(now message.Now, from message.NodeID, m message.Message, out *effect.Out) {
	if _, ok := m.(*message.Quorum); ok && n.controller == nil {
		n.controller = controller.New(controllerConfig(n.began), &effect.Recovered{}, n.chances, now)
	}
	if n.controller != nil {
		n.controller.Hint(n.life.target)
		n.controller.Receive(now, from, m, out)
		return
	}
	if reply := controller.Refusal(m, message.NotController, n.life.target); reply != nil {
		out.Send(from, reply)
	}
}

// pause is how long to wait before asking again after a NotController.
func (n *Node) pause() message.Duration { return n.cfg.Timing.HeartbeatInterval / 2 }

// request takes a request of a client. Each gets exactly one Reply, but for a
// Produce with acks=0.
func (n *Node) request(now message.Now, token message.Token, r message.Request, out *effect.Out) {
	switch r := r.(type) {
	case *message.Produce:
		n.replicas.Produce(now, token, r, &n.replicaOut)
	case *message.Fetch:
		n.replicas.Fetch(now, token, r, &n.replicaOut)
	case *message.ListOffsets:
		n.replicas.ListOffsets(now, token, r, &n.replicaOut)
	case *message.OffsetForLeaderEpoch:
		n.replicas.OffsetForLeaderEpoch(now, token, r, &n.replicaOut)
	case *message.DeleteRecords:
		n.replicas.DeleteRecords(now, token, r, &n.replicaOut)
	case *message.Metadata:
		n.describe(now.Mono, token, r, out)
	case *message.InitProducerID:
		if r.TransactionalID != "" {
			n.txns.Request(now, token, r, &n.txnOut)
			return
		}
		n.ids.init(now.Mono, token, out)
	case *message.FindCoordinator:
		n.findCoordinator(now, token, r, out)
	case *message.EndTransaction, *message.ListTransactions, *message.DescribeTransaction:
		n.txns.Request(now, token, r, &n.txnOut)
	case *message.DescribeConfig:
		n.describeConfig(token, r, out)
	case *message.AlterConfig, *message.AlterControllers, *message.CreateTopic, *message.DeleteTopic, *message.AddPartitions, *message.ElectLeaders,
		*message.AlterReassignments, *message.DrainBroker, *message.UnregisterBroker:
		if why := reserved(r); why != "" {
			out.Reply(token, message.Fail(r, message.InvalidTopic, why))
			return
		}
		n.forwards.send(now.Mono, token, r, n.life.target, out)
	default:
		n.groups.Request(now, token, r, &n.groupOut)
	}
}

// stop ends a controlled shutdown: everything this node led has moved.
func (n *Node) stop(out *effect.Out) {
	n.replicas.Stop(&n.replicaOut)
	out.Add(effect.Halt{Clean: true, Reason: "shut down as asked"})
	n.halted = true
}
