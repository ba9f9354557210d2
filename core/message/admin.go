package message

import "github.com/tamarack-mq/tamarack/core/record"

// Metadata asks a broker for its image of the cluster. Topics nil means all.
// A topic may be asked for by name or by id.
type Metadata struct {
	Topics []string
	IDs    []record.TopicID
}

// MetadataReply is one broker's image. A client must never go back to a lower
// Version.
type MetadataReply struct {
	ClusterID  string
	Version    Version
	Controller NodeID
	Brokers    []BrokerInfo
	Topics     []TopicInfo
	// ControllerSilent says that the broker has heard from no controller for
	// longer than a session: the rest may be out of date.
	ControllerSilent bool
	Throttle         int64 // bytes a second a broker copies for replicas being added; 0: no limit
	// Voters hold the controller's log; Learners are on their way to it.
	Voters, Learners []NodeID
}

// BrokerInfo is one registered broker.
type BrokerInfo struct {
	ID      NodeID
	Address string
	Rack    string
	Epoch   BrokerEpoch
	Fenced  bool
	// Draining says that its replicas go to others; Replicas and Leads tell how
	// many partitions it still holds and leads.
	Draining bool
	Replicas int32
	Leads    int32
}

// TopicInfo is one topic; Code is UnknownTopicOrPartition or UnknownTopicID
// when the one asked for is not there.
type TopicInfo struct {
	Code       Code
	Name       string
	ID         record.TopicID
	Internal   bool
	Config     TopicConfig
	Partitions []PartitionInfo
}

// PartitionInfo is one partition. Leader is NoNode while it is offline.
type PartitionInfo struct {
	Index          int32
	Leader         NodeID
	LeaderEpoch    record.LeaderEpoch
	PartitionEpoch PartitionEpoch
	Replicas       []NodeID
	ISR            []NodeID
	ELR            []NodeID
	Adding         []NodeID // of Replicas: those that a move under way brings
	Target         []NodeID // what Replicas become then; empty: no move
}

// TopicConfig are the settings of a topic. Zero values mean the default.
type TopicConfig struct {
	MinInsync      int32    // min.insync.replicas; default DefaultMinInsync; see LeastInsync
	SegmentBytes   int32    // segment.bytes; default 128 MiB
	RetentionBytes int64    // retention.bytes per partition; 0 or -1: no limit
	RetentionTime  Duration // retention.ms; 0: seven days, -1: no limit
	MaxBatchBytes  int32    // max.message.bytes; default 1 MiB, at most LargestBatch
	Internal       bool     // made by the cluster for itself
}

// DefaultMinInsync is min.insync.replicas where a topic does not set it.
const DefaultMinInsync = 2

// LeastInsync is the number of in-sync replicas that an acks=all produce needs:
// min.insync.replicas, and never more than there are replicas; those that a move
// is adding are not counted among them. The controller and the leaders must agree
// on it: by it the one keeps eligible replicas, and the others commit records.
func (c *TopicConfig) LeastInsync(replicas int) int {
	least := int(c.MinInsync)
	if least <= 0 {
		least = DefaultMinInsync
	}
	return max(1, min(least, replicas))
}

// LargestBatch is the most that TopicConfig.MaxBatchBytes may be: a reply with
// such a batch, and with what else is in it, must fit a frame.
const LargestBatch = 16 << 20

// CreateTopic makes a topic. ReplicationFactor 0 or -1 means the default. With Replicas nil the controller places it.
type CreateTopic struct {
	Name              string
	Partitions        int32
	ReplicationFactor int16
	Config            TopicConfig
	Replicas          [][]NodeID // by partition; for those who want to place by hand
}

// CreateTopicReply is sent after the topic is committed.
type CreateTopicReply struct {
	Code   Code
	Detail string
	ID     record.TopicID
}

// DeleteTopic removes a topic and its records.
type DeleteTopic struct{ Name string }

// DeleteTopicReply is sent after the removal is committed.
type DeleteTopicReply struct {
	Code   Code
	Detail string
}

// AddPartitions raises the number of partitions to Count.
type AddPartitions struct {
	Name  string
	Count int32
}

// AddPartitionsReply is sent after the change is committed.
type AddPartitionsReply struct {
	Code   Code
	Detail string
}

// ElectLeaders moves leadership: to the preferred replica (the first of the
// assignment), or, with Unclean and no eligible replica left, to any live one,
// which may lose records and says so in the reply. With Leader set it moves to
// that one, which must be in sync; the partitions must be named then.
type ElectLeaders struct {
	Partitions []record.PartitionID // empty: all
	Unclean    bool
	Leader     NodeID // NoNode: the preferred one
}

// ElectLeadersReply has one entry for each partition that was looked at.
type ElectLeadersReply struct {
	Code       Code
	Partitions []ElectedLeader
}

// ElectedLeader is one outcome. Detail tells what an unclean election gave up.
type ElectedLeader struct {
	ID          record.PartitionID
	Code        Code
	Leader      NodeID
	LeaderEpoch record.LeaderEpoch
	Detail      string
}

// InitProducerID gives an idempotent producer its identity. With TransactionalID
// it goes to that id's coordinator: the identity is the one that the id has, with
// a higher epoch, so that an earlier incarnation of the producer is fenced and
// what it left open is aborted.
type InitProducerID struct {
	TransactionalID string   // empty: idempotent only
	Timeout         Duration // how long a transaction may be open; 0: the broker's default
	// Incarnation tells a repeated question from another producer: the producer makes
	// it up, once in its life, as members do with their ids (KIP-1082). The same one
	// gets the same identity again and fences nobody; once it has been used, a
	// repetition is refused with InvalidTxnState and changes nothing. 0: every question
	// is another incarnation. Only with TransactionalID.
	Incarnation uint64
}

// InitProducerIDReply answers InitProducerID.
type InitProducerIDReply struct {
	Code  Code
	ID    record.ProducerID
	Epoch record.ProducerEpoch

	Detail string
}
