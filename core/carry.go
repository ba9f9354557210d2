package core

import (
	"github.com/tamarack-mq/tamarack/core/controller"
	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/group"
	"github.com/tamarack-mq/tamarack/core/ledger"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/quorum"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/core/replica"
	"github.com/tamarack-mq/tamarack/core/txn"
)

func replicaConfig(c Config) replica.Config {
	return replica.Config{
		ID: c.ID, Lag: c.Timing.ReplicaLag, FetchWait: c.Timing.FetchWait,
		AlterRetry: c.Timing.HeartbeatInterval, RequestTimeout: c.Timing.RequestTimeout,
		CheckpointBatches: c.Tidying.CheckpointBatches, UnflushedBytes: int64(c.Tidying.UnflushedBytes),
		ReplayBytes: int32(c.Tidying.ReplayBytes), ProducerIdle: c.Tidying.ProducerIdle,
	}
}

func groupConfig(c Config) group.Config {
	return group.Config{
		SessionTimeout: c.Groups.SessionTimeout, HeartbeatInterval: c.Groups.HeartbeatInterval,
		OffsetRetention: c.Groups.OffsetsRetention, EmptyGroupRetention: c.Tidying.EmptyGroups,
		ProducerIdle: c.Tidying.ProducerIdle,
		Ledger:       ledger.Config{SnapshotMinimum: c.Tidying.ShardRecords, MaxBatchBytes: c.Tidying.ShardBatch},
	}
}

func txnConfig(c Config) txn.Config {
	return txn.Config{
		MaxTimeout: c.Transactions.MaxTimeout, Expiration: c.Transactions.Expiration, LastEpoch: record.ProducerEpoch(c.Tidying.ProducerEpochs),
		Ledger: ledger.Config{SnapshotMinimum: c.Tidying.ShardRecords, MaxBatchBytes: c.Tidying.ShardBatch},
	}
}

func controllerConfig(c Config) controller.Config {
	return controller.Config{
		Quorum: quorum.Config{
			ClusterID: c.ClusterID, ID: c.ID, Voters: c.Voters,
			Heartbeat: c.Timing.QuorumHeartbeat, ElectionTimeout: c.Timing.ElectionTimeout, Silence: c.Timing.Silence,
			SnapshotEntries: c.Tidying.QuorumEntries, SnapshotBytes: c.Tidying.QuorumBytes, KeepEntries: c.Tidying.QuorumKept,
			MessageBytes: c.Tidying.QuorumParcel,
		},
		Start: c.start(), SessionTimeout: c.Timing.SessionTimeout, ResendAfter: c.Timing.HeartbeatInterval,
		HistoryChanges: c.Tidying.MetadataChanges, ProducerIDBlock: int64(c.Tidying.ProducerIDs),
	}
}

// carry takes what one room has for another one step further. It says whether
// there was anything.
func (n *Node) carry(now message.Now, out *effect.Out) bool {
	r, g, x := &n.replicaOut, &n.groupOut, &n.txnOut
	switch {
	case g.Halt != "":
		n.halt(g.Halt, out)
	case x.Halt != "":
		n.halt(x.Halt, out)
	case len(r.Alter) > 0 || len(r.Damaged) > 0:
		n.fromLeaders(out)
	case len(r.Led) > 0:
		led := r.Led
		r.Led = nil
		n.tellLeaderships(now, led)
	case len(r.Local) > 0:
		local := r.Local
		r.Local = nil
		n.tellWritten(now, local)
	case len(r.Replayed) > 0:
		replayed := r.Replayed
		r.Replayed = nil
		n.tellReplayed(now, replayed)
	case len(g.Replies) > 0 || len(g.Appends) > 0 || len(g.Loads) > 0 || len(g.Trims) > 0:
		n.fromGroups(now, out)
	case len(x.Replies) > 0 || len(x.Sends) > 0 || len(x.Appends) > 0 || len(x.Loads) > 0 || len(x.Trims) > 0:
		n.fromTransactions(now, out)
	case len(r.Verify) > 0 || len(g.Verify) > 0:
		n.verifyAll(now, out)
	case len(r.Marked) > 0 || len(g.Resolved) > 0:
		n.wrote(out)
	default:
		return false
	}
	return true
}

// fromLeaders takes to the controller what leaders of this broker ask of it.
func (n *Node) fromLeaders(out *effect.Out) {
	r := &n.replicaOut
	if len(r.Alter) > 0 {
		n.alters++
		out.Send(n.life.target, &message.AlterPartition{
			Node: n.cfg.ID, Epoch: n.life.epoch, Request: n.alters,
			Partitions: append([]message.AlterISR(nil), r.Alter...),
		})
		clear(r.Alter)
		r.Alter = r.Alter[:0]
	}
	if len(r.Damaged) > 0 {
		r.Damaged = r.Damaged[:0]
		n.life.reregister()
	}
}

// fromGroups carries out what the coordinator asks for.
func (n *Node) fromGroups(now message.Now, out *effect.Out) {
	g := n.groupOut.Out
	n.groupOut.Out = ledger.Out{}
	for _, r := range g.Replies {
		out.Reply(r.Token, r.Msg)
	}
	n.keep(now, &n.offsets, &g)
}

// keep carries out what a coordinator wants done with its partitions.
func (n *Node) keep(now message.Now, t *internalTopic, o *ledger.Out) {
	for _, a := range o.Appends {
		n.replicas.LocalAppend(now, t.shard(a.Shard), a.Epoch, tagged(a.Ticket, t.of), a.Batch, &n.replicaOut)
	}
	for _, l := range o.Loads {
		n.replicas.LocalRead(now, t.shard(l.Shard), l.Epoch, n.logStart(t.shard(l.Shard)), &n.replicaOut)
	}
	for _, trim := range o.Trims {
		n.replicas.LocalTrim(now, t.shard(trim.Shard), trim.Epoch, trim.Before, &n.replicaOut)
	}
}

func (n *Node) logStart(id record.PartitionID) record.Offset {
	if l := n.replicas.Log(id); l != nil {
		return l.Start()
	}
	return 0
}

// toReplicas tells the replicas what changed for them.
func (n *Node) toReplicas(now message.Now, changes []message.Change) {
	var partitions []replica.PartitionState
	var brokers []replica.BrokerState
	seen := map[record.PartitionID]bool{}
	concern := func(id record.PartitionID) {
		if !seen[id] { // the image is read once, at the version of all changes
			seen[id] = true
			partitions = n.concerning(partitions, id)
		}
	}
	for i := range changes {
		switch c := &changes[i]; {
		case c.Partition != nil:
			concern(c.Partition.ID)
		case c.Topic != nil: // perhaps other settings
			if t := n.image.Topic(c.Topic.ID); t != nil {
				for _, p := range t.Partitions {
					concern(p.ID)
				}
			}
		case c.RemoveTopic != nil:
			for _, id := range n.replicas.Partitions() {
				if id.Topic == c.RemoveTopic.ID {
					partitions = append(partitions, replica.PartitionState{ID: id, Removed: true})
				}
			}
		case c.RemoveBroker != nil:
			if b := c.RemoveBroker; n.image.Broker(b.Node) == nil {
				brokers = append(brokers, replica.BrokerState{Node: b.Node, Epoch: b.Epoch})
			}
		case c.Broker != nil:
			b := n.image.Broker(c.Broker.Node)
			if b == nil {
				break // it is gone again
			}
			brokers = append(brokers, replica.BrokerState{
				Node: b.Node, Epoch: b.Epoch, Available: !b.Fenced && !b.ShuttingDown,
			})
		}
	}
	n.replicas.SetPace(now, n.image.Throttle(), &n.replicaOut)
	n.replicas.Apply(now, partitions, brokers, &n.replicaOut)
}

// concerning adds the state of a partition, as the image has it now, when this
// broker holds or held a replica of it.
func (n *Node) concerning(list []replica.PartitionState, id record.PartitionID) []replica.PartitionState {
	p := n.image.Partition(id)
	if p == nil || !holds(p, n.cfg.ID) {
		if n.replicas.Knows(id) {
			list = append(list, replica.PartitionState{ID: id, Removed: true})
		}
		return list
	}
	return append(list, replica.PartitionState{
		ID: id, Config: n.image.Topic(id.Topic).Config, Replicas: p.Replicas, Adding: p.Adding, ISR: p.ISR,
		Leader: p.Leader, LeaderEpoch: p.LeaderEpoch, PartitionEpoch: p.PartitionEpoch,
	})
}

func holds(p *message.PartitionChange, id message.NodeID) bool {
	for _, r := range p.Replicas {
		if r == id {
			return true
		}
	}
	return false
}
