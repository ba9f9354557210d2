package message

// Code tells how a request, or one partition of it, ended. The names are
// Kafka's. Code is an error, but for None.
type Code int16

// The codes. Retriable tells which of them a client may try again.
const (
	None Code = iota
	UnknownServerError
	OffsetOutOfRange
	CorruptMessage
	UnknownTopicOrPartition
	UnknownTopicID
	LeaderNotAvailable
	NotLeaderOrFollower
	RequestTimedOut
	BrokerNotAvailable
	ReplicaNotAvailable
	MessageTooLarge
	NotEnoughReplicas
	NotEnoughReplicasAfterAppend
	InvalidRequiredAcks
	InvalidTopic
	TopicAlreadyExists
	InvalidPartitions
	InvalidReplicationFactor
	InvalidConfig
	InvalidRequest
	NotController
	StaleBrokerEpoch
	DuplicateBrokerRegistration
	FencedLeaderEpoch
	UnknownLeaderEpoch
	InvalidUpdateVersion
	NewLeaderElected
	IneligibleReplica
	EligibleLeadersNotAvailable
	ElectionNotNeeded
	OutOfOrderSequence
	InvalidProducerEpoch
	UnknownProducerID
	CoordinatorNotAvailable
	CoordinatorLoadInProgress
	NotCoordinator
	InvalidGroupID
	GroupIDNotFound
	NonEmptyGroup
	GroupSubscribedToTopic
	UnknownMemberID
	FencedMemberEpoch
	StaleMemberEpoch
	UnreleasedInstanceID
	FencedInstanceID
	GroupMaxSizeReached
	OffsetMetadataTooLarge
	StorageError
	DiskFull
	FetchSessionNotFound
	InvalidFetchSessionEpoch
	ClusterIDMismatch
	UnsupportedVersion
	ShuttingDown
	DuplicateVoter
	VoterNotFound
	VotersChanging
	BrokerIDNotRegistered
	InvalidReplicaAssignment
	NoReassignmentInProgress
	InvalidTxnState
	ProducerFenced
	InvalidProducerIDMapping
	ConcurrentTransactions
	InvalidTransactionTimeout
	TransactionCoordinatorFenced
	TransactionalIDNotFound
	UnstableOffsetCommit
	TransactionAbortable
	OperationNotAttempted
	codeCount
)

var codeNames = [codeCount]string{
	"NONE", "UNKNOWN_SERVER_ERROR", "OFFSET_OUT_OF_RANGE", "CORRUPT_MESSAGE",
	"UNKNOWN_TOPIC_OR_PARTITION", "UNKNOWN_TOPIC_ID", "LEADER_NOT_AVAILABLE",
	"NOT_LEADER_OR_FOLLOWER", "REQUEST_TIMED_OUT", "BROKER_NOT_AVAILABLE",
	"REPLICA_NOT_AVAILABLE", "MESSAGE_TOO_LARGE", "NOT_ENOUGH_REPLICAS",
	"NOT_ENOUGH_REPLICAS_AFTER_APPEND", "INVALID_REQUIRED_ACKS", "INVALID_TOPIC",
	"TOPIC_ALREADY_EXISTS", "INVALID_PARTITIONS", "INVALID_REPLICATION_FACTOR",
	"INVALID_CONFIG", "INVALID_REQUEST", "NOT_CONTROLLER", "STALE_BROKER_EPOCH",
	"DUPLICATE_BROKER_REGISTRATION", "FENCED_LEADER_EPOCH", "UNKNOWN_LEADER_EPOCH",
	"INVALID_UPDATE_VERSION", "NEW_LEADER_ELECTED", "INELIGIBLE_REPLICA",
	"ELIGIBLE_LEADERS_NOT_AVAILABLE", "ELECTION_NOT_NEEDED", "OUT_OF_ORDER_SEQUENCE_NUMBER",
	"INVALID_PRODUCER_EPOCH", "UNKNOWN_PRODUCER_ID", "COORDINATOR_NOT_AVAILABLE",
	"COORDINATOR_LOAD_IN_PROGRESS", "NOT_COORDINATOR", "INVALID_GROUP_ID",
	"GROUP_ID_NOT_FOUND", "NON_EMPTY_GROUP", "GROUP_SUBSCRIBED_TO_TOPIC",
	"UNKNOWN_MEMBER_ID", "FENCED_MEMBER_EPOCH", "STALE_MEMBER_EPOCH",
	"UNRELEASED_INSTANCE_ID", "FENCED_INSTANCE_ID", "GROUP_MAX_SIZE_REACHED",
	"OFFSET_METADATA_TOO_LARGE", "STORAGE_ERROR", "DISK_FULL",
	"FETCH_SESSION_NOT_FOUND", "INVALID_FETCH_SESSION_EPOCH", "CLUSTER_ID_MISMATCH",
	"UNSUPPORTED_VERSION", "SHUTTING_DOWN", "DUPLICATE_VOTER", "VOTER_NOT_FOUND",
	"VOTERS_CHANGING", "BROKER_ID_NOT_REGISTERED", "INVALID_REPLICA_ASSIGNMENT",
	"NO_REASSIGNMENT_IN_PROGRESS", "INVALID_TXN_STATE", "PRODUCER_FENCED",
	"INVALID_PRODUCER_ID_MAPPING", "CONCURRENT_TRANSACTIONS", "INVALID_TRANSACTION_TIMEOUT",
	"TRANSACTION_COORDINATOR_FENCED", "TRANSACTIONAL_ID_NOT_FOUND", "UNSTABLE_OFFSET_COMMIT",
	"TRANSACTION_ABORTABLE", "OPERATION_NOT_ATTEMPTED",
}

// String is the code's name in Kafka's spelling.
func (c Code) String() string {
	if c < 0 || c >= codeCount {
		return "UNKNOWN_CODE"
	}
	return codeNames[c]
}

// Error makes a Code usable as an error.
func (c Code) Error() string { return c.String() }

// Retriable says whether the same request may succeed when it is sent again,
// to the same node or to another one, without the caller changing it.
func (c Code) Retriable() bool {
	switch c {
	case UnknownTopicOrPartition, UnknownTopicID, LeaderNotAvailable, NotLeaderOrFollower,
		RequestTimedOut, BrokerNotAvailable, ReplicaNotAvailable, NotEnoughReplicas,
		NotEnoughReplicasAfterAppend, NotController, FencedLeaderEpoch, UnknownLeaderEpoch,
		CoordinatorNotAvailable, CoordinatorLoadInProgress, NotCoordinator, StorageError,
		FetchSessionNotFound, InvalidFetchSessionEpoch, ShuttingDown, DiskFull,
		EligibleLeadersNotAvailable, UnreleasedInstanceID, VotersChanging,
		ConcurrentTransactions, UnstableOffsetCommit:
		return true
	}
	return false
}

// Unknown says whether, after this code, the request may have taken effect all
// the same, or may still do so. A judge must treat such an operation as open.
func (c Code) Unknown() bool {
	switch c {
	case RequestTimedOut, NotEnoughReplicasAfterAppend, NotLeaderOrFollower, UnknownServerError,
		StorageError, NotCoordinator, CoordinatorNotAvailable, NotController, ShuttingDown:
		return true
	}
	return false
}
