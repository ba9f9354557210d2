package controller

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tamarack-mq/tamarack/core/chance"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/metadata"
	"github.com/tamarack-mq/tamarack/core/record"
)

func TestTopicsComeAndGo(t *testing.T) {
	w := newWorld(t, 1, 1, 3, Config{})
	w.ready()
	first := w.create("t", []message.NodeID{11}, []message.NodeID{12})
	require.Equal(t, &message.CreateTopicReply{Code: message.TopicAlreadyExists, Detail: `topic "t" exists`},
		w.ask(&message.CreateTopic{Name: "t", Partitions: 1}))
	require.Equal(t, &message.AddPartitionsReply{}, w.ask(&message.AddPartitions{Name: "t", Count: 4}))
	require.Len(t, w.boss().image.Topic(first).Partitions, 4)
	require.Equal(t, message.InvalidPartitions, w.ask(&message.AddPartitions{Name: "t", Count: 4}).(*message.AddPartitionsReply).Code)

	require.Equal(t, &message.DeleteTopicReply{}, w.ask(&message.DeleteTopic{Name: "t"}))
	require.Nil(t, w.brokers[11].image.TopicNamed("t"))
	require.Equal(t, message.UnknownTopicOrPartition, w.ask(&message.DeleteTopic{Name: "t"}).(*message.DeleteTopicReply).Code)
	require.Equal(t, message.UnknownTopicOrPartition, w.ask(&message.AddPartitions{Name: "t", Count: 9}).(*message.AddPartitionsReply).Code)

	second := w.create("t", []message.NodeID{11})
	require.Greater(t, second, first, "a topic made again is another one")
	require.Equal(t, message.Version(second), w.boss().image.Version())
}

func TestInternalTopicsAreNotForClients(t *testing.T) {
	w := newWorld(t, 2, 1, 1, Config{})
	w.ready()
	w.ask(&message.CreateTopic{Name: "__own", Partitions: 1, Config: message.TopicConfig{Internal: true}})
	require.Equal(t, message.InvalidTopic, w.ask(&message.DeleteTopic{Name: "__own"}).(*message.DeleteTopicReply).Code)
	require.Equal(t, message.InvalidTopic, w.ask(&message.AddPartitions{Name: "__own", Count: 9}).(*message.AddPartitionsReply).Code)
	require.Equal(t, message.InvalidRequest, w.ask(&message.Metadata{}).(*message.Refused).Code)
}

func TestBadTopicsAreRefused(t *testing.T) {
	w := newWorld(t, 3, 1, 2, Config{})
	w.ready()
	for _, c := range []struct {
		why string
		m   message.CreateTopic
		is  message.Code
	}{
		{"no name", message.CreateTopic{Partitions: 1}, message.InvalidTopic},
		{"a long name", message.CreateTopic{Name: strings.Repeat("x", 250), Partitions: 1}, message.InvalidTopic},
		{"a path", message.CreateTopic{Name: "a/b", Partitions: 1}, message.InvalidTopic},
		{"no partitions", message.CreateTopic{Name: "t"}, message.InvalidPartitions},
		{"too many", message.CreateTopic{Name: "t", Partitions: 1 << 30}, message.InvalidPartitions},
		{"too many replicas", message.CreateTopic{Name: "t", Partitions: 1, ReplicationFactor: 3}, message.InvalidReplicationFactor},
		{"min.insync above replicas", message.CreateTopic{Name: "t", Partitions: 1, Config: message.TopicConfig{MinInsync: 3}}, message.InvalidConfig},
		{"replicas below none", message.CreateTopic{Name: "t", Partitions: 1, ReplicationFactor: -2}, message.InvalidReplicationFactor},
		{"batches that fit no frame", message.CreateTopic{Name: "t", Partitions: 1, Config: message.TopicConfig{MaxBatchBytes: message.LargestBatch + 1}}, message.InvalidConfig},
		{"negative size", message.CreateTopic{Name: "t", Partitions: 1, Config: message.TopicConfig{SegmentBytes: -1}}, message.InvalidConfig},
		{"retention below -1", message.CreateTopic{Name: "t", Partitions: 1, Config: message.TopicConfig{RetentionBytes: -2}}, message.InvalidConfig},
		{"empty assignment", message.CreateTopic{Name: "t", Replicas: [][]message.NodeID{}}, message.InvalidPartitions},
		{"no replica", message.CreateTopic{Name: "t", Replicas: [][]message.NodeID{{}}}, message.InvalidRequest},
		{"uneven", message.CreateTopic{Name: "t", Replicas: [][]message.NodeID{{11}, {11, 12}}}, message.InvalidRequest},
		{"a stranger", message.CreateTopic{Name: "t", Replicas: [][]message.NodeID{{99}}}, message.InvalidRequest},
		{"one twice", message.CreateTopic{Name: "t", Replicas: [][]message.NodeID{{11, 11}}}, message.InvalidRequest},
		{"another count", message.CreateTopic{Name: "t", Partitions: 2, Replicas: [][]message.NodeID{{11}}}, message.InvalidRequest},
	} {
		reply := w.ask(&c.m).(*message.CreateTopicReply)
		require.Equal(t, c.is, reply.Code, c.why)
		require.NotEmpty(t, reply.Detail, c.why)
	}
	require.Empty(t, w.boss().image.Topics())
	w.crashBroker(12)
	w.pass(8 * message.Second)
	reply := w.ask(&message.CreateTopic{Name: "t", Replicas: [][]message.NodeID{{12}}}).(*message.CreateTopicReply)
	require.Equal(t, message.BrokerNotAvailable, reply.Code)

	// A broker that is away gets replicas where it is needed, but leads nothing.
	made := w.ask(&message.CreateTopic{Name: "t", Partitions: 1, ReplicationFactor: 2}).(*message.CreateTopicReply)
	require.Equal(t, "leader 11 epoch 0/0 isr [11]", w.state(p0(made.ID)))
}

// placer is a controller that knows some brokers and is asked to place.
func placer(seed uint64, racks []string) *Controller {
	c := &Controller{image: metadata.NewImage(), random: chance.New(seed)}
	c.cfg.complete()
	for i, rack := range racks {
		v := message.Version(i + 1)
		if err := c.image.Apply(v, &message.Change{Broker: &message.BrokerChange{
			Node: message.NodeID(v), Epoch: message.BrokerEpoch(v), Rack: rack,
		}}); err != nil {
			panic(err)
		}
	}
	return c
}

// Replicas of a partition are on different brokers and on as many racks as
// there are; the load is even.
func TestPlacementIsSpreadAndEven(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		nRacks := rapid.IntRange(1, 4).Draw(rt, "racks")
		perRack := rapid.IntRange(1, 4).Draw(rt, "per rack")
		var racks []string
		for i := range nRacks * perRack {
			racks = append(racks, fmt.Sprint(i%nRacks))
		}
		replication := rapid.IntRange(1, min(len(racks), 4)).Draw(rt, "replication")
		count := rapid.IntRange(1, 200).Draw(rt, "partitions")
		c := placer(rapid.Uint64().Draw(rt, "seed"), racks)
		assignment, code, _ := c.place(count, replication)
		require.Equal(rt, message.None, code)
		replicas, leads := map[message.NodeID]int{}, map[message.NodeID]int{}
		for _, nodes := range assignment {
			seen, rackSeen := map[message.NodeID]bool{}, map[string]bool{}
			for _, n := range nodes {
				seen[n], rackSeen[racks[n-1]] = true, true
				replicas[n]++
			}
			leads[nodes[0]]++
			require.Len(rt, seen, replication)
			require.Len(rt, rackSeen, min(replication, nRacks))
		}
		for n := range racks {
			id := message.NodeID(n + 1)
			require.InDelta(rt, float64(count)/float64(len(racks)), leads[id], 1, "leads of %d: %v", id, leads)
			require.InDelta(rt, float64(count*replication)/float64(len(racks)), replicas[id], 3, "replicas of %d: %v", id, replicas)
		}
	})
}

func TestPlacementFollowsWhatIsThere(t *testing.T) {
	c := placer(1, []string{"", "", ""})
	require.NoError(t, c.image.Apply(4, &message.Change{Topic: &message.TopicChange{ID: 4, Name: "old"}}))
	for i := range int32(10) {
		require.NoError(t, c.image.Apply(4, &message.Change{Partition: &message.PartitionChange{
			ID: record.PartitionID{Topic: 4, Index: i}, Replicas: []message.NodeID{1}, ISR: []message.NodeID{1}, Leader: 1,
		}}))
	}
	assignment, _, _ := c.place(8, 1)
	for _, nodes := range assignment {
		require.NotEqual(t, message.NodeID(1), nodes[0])
	}
}
