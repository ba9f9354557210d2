package message

import "github.com/tamarack-mq/tamarack/core/record"

// Change is one record of the controller's log: exactly one field is set. Its
// meaning is core/metadata's; it is here because it travels to every broker.
type Change struct {
	Cluster     *ClusterChange     `codec:",omitempty"`
	Broker      *BrokerChange      `codec:",omitempty"`
	Topic       *TopicChange       `codec:",omitempty"`
	Partition   *PartitionChange   `codec:",omitempty"`
	RemoveTopic *RemoveTopicChange `codec:",omitempty"`
	ProducerIDs *ProducerIDsChange `codec:",omitempty"`
	Settings    *SettingsChange    `codec:",omitempty"`
	Controllers *ControllersChange `codec:",omitempty"`

	RemoveBroker *RemoveBrokerChange `codec:",omitempty"`
	Throttle     *ThrottleChange     `codec:",omitempty"`
}

// ClusterChange names the cluster; it is the first change of all.
type ClusterChange struct{ ClusterID string }

// BrokerChange is the whole state of one broker.
type BrokerChange struct {
	Node         NodeID
	Epoch        BrokerEpoch
	Incarnation  uint64
	DiskID       uint64
	Address      string
	Rack         string
	Fenced       bool
	ShuttingDown bool
	Draining     bool // its replicas go to others, and it gets none
	// Report is the last of RegisterBroker.Report that was taken from this run.
	Report uint64
}

// TopicChange makes a topic or changes its settings.
type TopicChange struct {
	ID     record.TopicID
	Name   string
	Config TopicConfig
}

// PartitionChange is the whole state of one partition.
type PartitionChange struct {
	ID             record.PartitionID
	Replicas       []NodeID
	ISR            []NodeID
	ELR            []NodeID // eligible leader replicas (KIP-966)
	Leader         NodeID
	LeaderEpoch    record.LeaderEpoch
	PartitionEpoch PartitionEpoch
	Unclean        bool // this leadership came from an unclean election
	// Of a move under way (KIP-455). Replicas are then those of before, in their
	// order, and behind them Adding: those that the move brings. Target, empty
	// when there is no move, is what Replicas become.
	Adding []NodeID
	Target []NodeID
}

// RemoveTopicChange removes a topic with all its partitions.
type RemoveTopicChange struct{ ID record.TopicID }

// ProducerIDsChange moves the first producer id that was never given out.
type ProducerIDsChange struct{ Next record.ProducerID }
