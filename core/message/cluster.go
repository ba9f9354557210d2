package message

import "github.com/tamarack-mq/tamarack/core/record"

// Quorum carries one message of the consensus engine between two voters.
type Quorum struct{ Data []byte }

// RegisterBroker is the first thing a broker says in each run. Incarnation is
// drawn anew for each process start; DiskID is drawn when a data folder is
// made, so that a swapped disk is seen.
type RegisterBroker struct {
	ClusterID   string
	Node        NodeID
	Incarnation uint64
	DiskID      uint64
	Address     string // host:port for clients and brokers
	Rack        string
	// Damaged are the partitions whose log this broker cannot vouch for: it
	// leaves their in-sync and eligible sets. A run that is registered already names
	// only those of which it has no answer that they are known.
	Damaged []record.PartitionID
	// Report counts how often this run has found damage since it first asked to be
	// registered. A message that says no more than what is known is a repeat.
	Report uint64
}

// RegisterBrokerReply gives the run its epoch.
type RegisterBrokerReply struct {
	Incarnation uint64
	Code        Code
	Epoch       BrokerEpoch
	Controller  NodeID // hint when Code is NotController
	Report      uint64 // of the request: what was found since then is not known yet
}

// BrokerHeartbeat keeps a session with the controller alive. Applied is the
// version of the broker's metadata image: the controller sends what is missing.
type BrokerHeartbeat struct {
	Node         NodeID
	Epoch        BrokerEpoch
	Applied      Version
	WantShutdown bool
}

// BrokerHeartbeatReply answers a heartbeat. MayShutdown is set once the broker
// leads nothing and is out of every in-sync set that can spare it.
type BrokerHeartbeatReply struct {
	Epoch       BrokerEpoch
	Code        Code
	Fenced      bool
	MayShutdown bool
	Controller  NodeID
}

// MetadataPush carries committed changes, in order, to a broker. A push with a
// Snapshot replaces the image; else it applies only to an image at version
// From. It brings the image to version To.
type MetadataPush struct {
	From     Version
	To       Version
	Snapshot bool
	Changes  []Change
}

// AlterPartition asks the controller to change in-sync sets (KIP-497).
type AlterPartition struct {
	Node       NodeID
	Epoch      BrokerEpoch
	Request    uint64 // echoed
	Partitions []AlterISR
}

// AlterISR proposes one in-sync set. Members carry the broker epoch with which
// they were seen to be caught up (KIP-903).
type AlterISR struct {
	ID             record.PartitionID
	LeaderEpoch    record.LeaderEpoch
	PartitionEpoch PartitionEpoch
	ISR            []Member
}

// Member is one run of one broker.
type Member struct {
	Node  NodeID
	Epoch BrokerEpoch
}

// AlterPartitionReply has one entry for each proposal. The committed state
// itself reaches the broker through MetadataPush.
type AlterPartitionReply struct {
	Request    uint64
	Code       Code
	Controller NodeID
	Partitions []AlteredISR
}

// AlteredISR is the outcome of one proposal. On None, PartitionEpoch is the
// epoch that the change made.
type AlteredISR struct {
	ID             record.PartitionID
	Code           Code
	PartitionEpoch PartitionEpoch
}

// AllocateProducerIDs asks for a block of producer ids (KIP-730).
type AllocateProducerIDs struct {
	Node    NodeID
	Epoch   BrokerEpoch
	Request uint64
}

// AllocateProducerIDsReply hands out [First, First+Count).
type AllocateProducerIDsReply struct {
	Request    uint64
	Code       Code
	Controller NodeID
	First      record.ProducerID
	Count      int64
}

// Forward carries an admin request from the broker that a client spoke to, to
// the controller.
type Forward struct {
	Request uint64 // echoed
	Body    Request
}

// Forwarded answers a Forward. Code is not None when the receiver is not the
// active controller; Body is nil then.
type Forwarded struct {
	Request    uint64
	Code       Code
	Controller NodeID
	Body       Reply
}
