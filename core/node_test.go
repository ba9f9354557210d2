package core

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/group"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// created makes a topic with one partition on three nodes and waits until all
// of them are in sync.
func created(c *cluster) (id record.PartitionID) {
	c.wait("all brokers are live", func() bool {
		for _, h := range c.nodes {
			for _, o := range c.nodes {
				if !h.core.Image().Live(o.id) {
					return false
				}
			}
		}
		return true
	})
	reply := c.ask(2, &message.CreateTopic{Name: "orders", Partitions: 1, ReplicationFactor: 3})
	require.Equal(c.t, message.None, reply.(*message.CreateTopicReply).Code, "%+v", reply)
	id = record.PartitionID{Topic: reply.(*message.CreateTopicReply).ID}
	c.wait("the partition has a leader everywhere", func() bool {
		for _, h := range c.nodes {
			if h.core.Image().Partition(id) == nil {
				return false
			}
		}
		return true
	})
	return id
}

func batchOf(values ...string) []byte {
	var b record.Builder
	for _, v := range values {
		if err := b.Append(1_700_000_000_000, nil, []byte(v), nil); err != nil {
			panic(err)
		}
	}
	return b.Build()
}

func TestARecordIsReplicatedAcknowledgedAndReadAndSurvivesItsLeader(t *testing.T) {
	c := newCluster(t, 3)
	id := created(c)
	leader := c.nodes[0].core.Image().Partition(id).Leader

	produced := c.ask(leader, &message.Produce{
		Acks: message.AcksAll, Timeout: 5 * message.Second,
		Partitions: []message.ProducePartition{{ID: id, Records: batchOf("first", "second")}},
	}).(*message.ProduceReply)
	require.Equal(t, message.None, produced.Partitions[0].Code, "%+v", produced)
	require.Equal(t, record.Offset(0), produced.Partitions[0].BaseOffset)
	holders := 0
	for _, h := range c.nodes {
		if h.logs[id].end == 2 {
			holders++
		}
	}
	require.GreaterOrEqual(t, holders, 2, "acknowledged under acks=all: at least min.insync copies")

	c.crash(leader)
	survivor := c.nodes[leader%3].id
	c.wait("another broker leads", func() bool {
		p := c.nodes[survivor-1].core.Image().Partition(id)
		return p.Leader != leader && p.Leader != message.NoNode
	})
	next := c.nodes[survivor-1].core.Image().Partition(id)
	require.Greater(t, next.LeaderEpoch, record.LeaderEpoch(0))

	fetched := c.ask(next.Leader, &message.Fetch{
		MaxWait: 10 * message.Second, MinBytes: 1, MaxBytes: 1 << 20,
		Partitions: []message.FetchPartition{{ID: id, LeaderEpoch: next.LeaderEpoch, LastEpoch: -1, MaxBytes: 1 << 20}},
	}).(*message.FetchReply)
	require.Equal(t, message.None, fetched.Partitions[0].Code, "%+v", fetched)
	require.Equal(t, record.Offset(2), fetched.Partitions[0].HighWatermark)
	require.NotEmpty(t, fetched.Partitions[0].Records)

	c.restart(leader)
	c.wait("the old leader is in sync again", func() bool {
		return len(c.nodes[survivor-1].core.Image().Partition(id).ISR) == 3
	})
	require.Equal(t, record.Offset(2), c.nodes[leader-1].logs[id].end)
}

func TestAShutdownHandsLeadershipOverFirst(t *testing.T) {
	c := newCluster(t, 3)
	id := created(c)
	leader := c.nodes[0].core.Image().Partition(id).Leader
	c.shutdown(leader)
	c.wait("the node has stopped", func() bool { return c.nodes[leader-1].halted != "" })
	other := c.nodes[leader%3].core
	require.NotEqual(t, leader, other.Image().Partition(id).Leader)
	require.NotContains(t, other.Image().Partition(id).ISR, leader)
}

func TestAGroupCommitsAndAnotherCoordinatorRemembers(t *testing.T) {
	c := newCluster(t, 3)
	id := created(c)
	coordinator := c.coordinator("readers")
	join := c.ask(coordinator, &message.GroupHeartbeat{
		Group: "readers", Member: "m1", MemberEpoch: message.JoinEpoch, Full: true, Topics: []string{"orders"},
	}).(*message.GroupHeartbeatReply)
	require.Equal(t, message.None, join.Code, "%+v", join)
	require.Equal(t, []record.PartitionID{id}, join.Assignment)
	commit := c.ask(coordinator, &message.CommitOffsets{
		Group: "readers", Member: "m1", MemberEpoch: join.MemberEpoch,
		Offsets: []message.GroupOffset{{ID: id, Offset: 7}},
	}).(*message.CommitOffsetsReply)
	require.Equal(t, []message.CommittedOffset{{ID: id}}, commit.Offsets)

	c.crash(coordinator)
	var got *message.FetchOffsetsReply
	c.wait("another coordinator answers", func() bool {
		next := c.coordinator("readers")
		if next == coordinator {
			return false
		}
		got = c.ask(next, &message.FetchOffsets{Group: "readers"}).(*message.FetchOffsetsReply)
		return got.Code == message.None
	})
	require.Equal(t, []message.GroupOffset{{ID: id, Offset: 7}}, got.Offsets)
}

func TestClientsCannotWriteToTheClustersOwnTopic(t *testing.T) {
	c := newCluster(t, 3)
	created(c)
	coordinator := c.coordinator("readers")
	shard := record.PartitionID{
		Topic: c.nodes[0].core.Image().TopicNamed(group.TopicName).ID, Index: group.Shard("readers", 2),
	}
	produced := c.ask(coordinator, &message.Produce{
		Acks: message.AcksAll, Timeout: message.Second,
		Partitions: []message.ProducePartition{{ID: shard, Records: batchOf("not a group record")}},
	}).(*message.ProduceReply)
	require.Equal(t, message.InvalidTopic, produced.Partitions[0].Code)
	deleted := c.ask(coordinator, &message.DeleteRecords{
		Partitions: []message.DeleteRecordsPartition{{ID: shard, Before: 0}},
	}).(*message.DeleteRecordsReply)
	require.Equal(t, message.InvalidTopic, deleted.Partitions[0].Code)
	require.Equal(t, record.Offset(0), c.nodes[coordinator-1].logs[shard].end)
}

func TestClientsCannotMakeTheClustersOwnTopics(t *testing.T) {
	c := newCluster(t, 3)
	created(c)
	for _, m := range []*message.CreateTopic{
		{Name: group.TopicName, Partitions: 1, ReplicationFactor: 3},
		{Name: "mine", Partitions: 1, ReplicationFactor: 3, Config: message.TopicConfig{Internal: true}},
	} {
		reply := c.ask(1, m).(*message.CreateTopicReply)
		require.Equal(t, message.InvalidTopic, reply.Code)
		require.NotEmpty(t, reply.Detail)
	}
	c.coordinator("readers")
	require.True(t, c.nodes[0].core.Image().TopicNamed(group.TopicName).Config.Internal)
}

func TestATopicIsDescribedOnceHoweverOftenItIsAskedFor(t *testing.T) {
	c := newCluster(t, 3)
	id := created(c)
	m := c.ask(1, &message.Metadata{
		Topics: []string{"orders", "none", "orders", "none"}, IDs: []record.TopicID{id.Topic, 99, id.Topic, 99},
	}).(*message.MetadataReply)
	codes := make([]message.Code, len(m.Topics))
	for i, topic := range m.Topics {
		codes[i] = topic.Code
	}
	require.Equal(t, []message.Code{
		message.None, message.UnknownTopicOrPartition, message.None, message.UnknownTopicID,
	}, codes)
}

// A node that is left without a controller knows it after a session, and says so
// to clients with all that it still tells them.
func TestANodeNoticesThatNoControllerAnswers(t *testing.T) {
	c := newCluster(t, 3)
	created(c)
	last := c.nodes[2]
	silent := func() [2]bool {
		m := c.ask(3, &message.Metadata{}).(*message.MetadataReply)
		require.Len(t, m.Brokers, 3)
		return [2]bool{last.core.Status(c.now.Mono).ControllerSilent, m.ControllerSilent}
	}
	require.Equal(t, [2]bool{false, false}, silent())
	c.crash(1)
	c.crash(2)
	heard := last.core.Status(c.now.Mono).ControllerHeard
	c.pass(2 * message.Second)
	require.Equal(t, [2]bool{false, false}, silent(), "within a session")
	c.pass(4 * message.Second)
	require.Equal(t, [2]bool{true, true}, silent())
	require.Less(t, last.core.Status(c.now.Mono).ControllerHeard.Sub(heard), message.Second)
	c.restart(1)
	c.pass(10 * message.Second)
	require.Equal(t, [2]bool{false, false}, silent(), "a majority is back")
}

func TestALateRegistrationOfADeadRunDoesNotEndTheLiveOne(t *testing.T) {
	c := newCluster(t, 3)
	created(c)
	live := c.nodes[1]
	before := live.core.Status(c.now.Mono).Epoch
	for _, h := range c.nodes { // whoever is the controller takes it
		h.inbox = append(h.inbox, effect.Received{From: live.id, Msg: &message.RegisterBroker{
			ClusterID: "test", Node: live.id, Incarnation: 999, DiskID: uint64(live.id), Address: "host:2",
		}})
	}
	c.wait("the live run is registered again", func() bool {
		s := live.core.Status(c.now.Mono)
		return s.Epoch > before && !s.Fenced && c.nodes[0].core.Image().Live(live.id)
	})
	require.Greater(t, live.core.Status(c.now.Mono).Epoch, before+1, "the dead run had an epoch of its own in between")
}

// idle is a node that is not the controller.
func (c *cluster) idle() *host {
	for _, h := range c.nodes {
		if !h.core.Controller().Active() {
			return h
		}
	}
	panic("all are the controller")
}

// registersElsewhere has all nodes hear of a run of a node on another disk.
func (c *cluster) registersElsewhere(id message.NodeID) {
	for _, h := range c.nodes {
		h.inbox = append(h.inbox, effect.Received{From: id, Msg: &message.RegisterBroker{
			ClusterID: "test", Node: id, Incarnation: 999, DiskID: 77, Address: "elsewhere",
		}})
	}
}

// A run that serves keeps its place when a dead one is heard of late that had lived
// on another disk, or when somebody gives its number away once more.
func TestARunThatServesIsNotReplacedByOneOnAnotherDisk(t *testing.T) {
	c := newCluster(t, 3)
	created(c)
	before := c.nodes[1].core.Status(c.now.Mono).Epoch
	c.registersElsewhere(2)
	c.pass(10 * message.Second)
	require.Equal(t, before, c.nodes[0].core.Image().Broker(2).Epoch)
	require.True(t, c.nodes[0].core.Image().Live(2))
	require.Equal(t, before, c.nodes[1].core.Status(c.now.Mono).Epoch, "and it is not told of it")
}

func TestANodeWithAnotherDiskWaitsUntilTheRunBeforeIsGivenUp(t *testing.T) {
	c := newCluster(t, 3)
	created(c)
	h := c.idle()
	c.crash(h.id)
	h.logs, h.disk = map[record.PartitionID]*memoryLog{}, 77 // the voter keeps its journal: this is about the broker
	c.restart(h.id)
	c.wait("it is told to wait", func() bool { return h.core.Status(c.now.Mono).Taken })
	require.False(t, h.core.Status(c.now.Mono).Registered)
	since := c.now.Mono
	c.wait("it is let in", func() bool {
		s := h.core.Status(c.now.Mono)
		return s.Registered && !s.Fenced && !s.Taken
	})
	require.Less(t, c.now.Mono.Sub(since), 4*message.Second, "a session, and the time until it asks again")
}

func TestAnotherProcessUnderTheSameNumberIsToldSo(t *testing.T) {
	c := newCluster(t, 3)
	created(c)
	h, watch := c.idle(), c.nodes[0]
	if h == watch {
		watch = c.nodes[1]
	}
	h.mayHalt = true
	first := h.core.Status(c.now.Mono).Epoch
	c.crash(h.id) // it hangs, and goes on later
	c.wait("it is given up", func() bool { return !watch.core.Image().Live(h.id) })
	c.registersElsewhere(h.id)
	c.wait("the other process is registered", func() bool {
		return watch.core.Image().Broker(h.id).Epoch > first
	})
	for _, n := range c.nodes {
		n.inbox = append(n.inbox, effect.Received{From: h.id, Msg: &message.BrokerHeartbeat{
			Node: h.id, Epoch: watch.core.Image().Broker(h.id).Epoch,
		}})
	}
	h.down = false
	c.wait("the first process stops", func() bool { return h.halted != "" })
	require.Contains(t, h.halted, "registered by another process")
}
