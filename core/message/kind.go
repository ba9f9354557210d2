package message

// Kind names a message type on the wire. The numbers are part of the protocol:
// new kinds are added at the end and none is ever reused.
type Kind uint8

// The kinds.
const (
	KindInvalid Kind = iota
	KindProduce
	KindProduceReply
	KindFetch
	KindFetchReply
	KindListOffsets
	KindListOffsetsReply
	KindOffsetForLeaderEpoch
	KindOffsetForLeaderEpochReply
	KindDeleteRecords
	KindDeleteRecordsReply
	KindMetadata
	KindMetadataReply
	KindCreateTopic
	KindCreateTopicReply
	KindDeleteTopic
	KindDeleteTopicReply
	KindAddPartitions
	KindAddPartitionsReply
	KindElectLeaders
	KindElectLeadersReply
	KindInitProducerID
	KindInitProducerIDReply
	KindFindCoordinator
	KindFindCoordinatorReply
	KindGroupHeartbeat
	KindGroupHeartbeatReply
	KindCommitOffsets
	KindCommitOffsetsReply
	KindFetchOffsets
	KindFetchOffsetsReply
	KindListGroups
	KindListGroupsReply
	KindDescribeGroup
	KindDescribeGroupReply
	KindDeleteGroup
	KindDeleteGroupReply
	KindDeleteOffsets
	KindDeleteOffsetsReply
	KindReplicaFetch
	KindReplicaFetchReply
	KindReplicaProgress
	KindQuorum
	KindRegisterBroker
	KindRegisterBrokerReply
	KindBrokerHeartbeat
	KindBrokerHeartbeatReply
	KindMetadataPush
	KindAlterPartition
	KindAlterPartitionReply
	KindAllocateProducerIDs
	KindAllocateProducerIDsReply
	KindForward
	KindForwarded
	KindRefused
	KindAlterConfig
	KindAlterConfigReply
	KindDescribeConfig
	KindDescribeConfigReply
	KindAlterControllers
	KindAlterControllersReply
	KindAlterReassignments
	KindAlterReassignmentsReply
	KindDrainBroker
	KindDrainBrokerReply
	KindUnregisterBroker
	KindUnregisterBrokerReply
	KindEndTransaction
	KindEndTransactionReply
	KindCommitTransactionOffsets
	KindCommitTransactionOffsetsReply
	KindListTransactions
	KindListTransactionsReply
	KindDescribeTransaction
	KindDescribeTransactionReply
	KindAddToTransaction
	KindAddedToTransaction
	KindWriteMarkers
	KindWroteMarkers
	kindCount
)

// table is the one place where kinds, names and types meet.
var table = [kindCount]struct {
	name string
	make func() Message
}{
	KindProduce:                       {"Produce", func() Message { return new(Produce) }},
	KindProduceReply:                  {"ProduceReply", func() Message { return new(ProduceReply) }},
	KindFetch:                         {"Fetch", func() Message { return new(Fetch) }},
	KindFetchReply:                    {"FetchReply", func() Message { return new(FetchReply) }},
	KindListOffsets:                   {"ListOffsets", func() Message { return new(ListOffsets) }},
	KindListOffsetsReply:              {"ListOffsetsReply", func() Message { return new(ListOffsetsReply) }},
	KindOffsetForLeaderEpoch:          {"OffsetForLeaderEpoch", func() Message { return new(OffsetForLeaderEpoch) }},
	KindOffsetForLeaderEpochReply:     {"OffsetForLeaderEpochReply", func() Message { return new(OffsetForLeaderEpochReply) }},
	KindDeleteRecords:                 {"DeleteRecords", func() Message { return new(DeleteRecords) }},
	KindDeleteRecordsReply:            {"DeleteRecordsReply", func() Message { return new(DeleteRecordsReply) }},
	KindMetadata:                      {"Metadata", func() Message { return new(Metadata) }},
	KindMetadataReply:                 {"MetadataReply", func() Message { return new(MetadataReply) }},
	KindCreateTopic:                   {"CreateTopic", func() Message { return new(CreateTopic) }},
	KindCreateTopicReply:              {"CreateTopicReply", func() Message { return new(CreateTopicReply) }},
	KindDeleteTopic:                   {"DeleteTopic", func() Message { return new(DeleteTopic) }},
	KindDeleteTopicReply:              {"DeleteTopicReply", func() Message { return new(DeleteTopicReply) }},
	KindAddPartitions:                 {"AddPartitions", func() Message { return new(AddPartitions) }},
	KindAddPartitionsReply:            {"AddPartitionsReply", func() Message { return new(AddPartitionsReply) }},
	KindElectLeaders:                  {"ElectLeaders", func() Message { return new(ElectLeaders) }},
	KindElectLeadersReply:             {"ElectLeadersReply", func() Message { return new(ElectLeadersReply) }},
	KindInitProducerID:                {"InitProducerID", func() Message { return new(InitProducerID) }},
	KindInitProducerIDReply:           {"InitProducerIDReply", func() Message { return new(InitProducerIDReply) }},
	KindFindCoordinator:               {"FindCoordinator", func() Message { return new(FindCoordinator) }},
	KindFindCoordinatorReply:          {"FindCoordinatorReply", func() Message { return new(FindCoordinatorReply) }},
	KindGroupHeartbeat:                {"GroupHeartbeat", func() Message { return new(GroupHeartbeat) }},
	KindGroupHeartbeatReply:           {"GroupHeartbeatReply", func() Message { return new(GroupHeartbeatReply) }},
	KindCommitOffsets:                 {"CommitOffsets", func() Message { return new(CommitOffsets) }},
	KindCommitOffsetsReply:            {"CommitOffsetsReply", func() Message { return new(CommitOffsetsReply) }},
	KindFetchOffsets:                  {"FetchOffsets", func() Message { return new(FetchOffsets) }},
	KindFetchOffsetsReply:             {"FetchOffsetsReply", func() Message { return new(FetchOffsetsReply) }},
	KindListGroups:                    {"ListGroups", func() Message { return new(ListGroups) }},
	KindListGroupsReply:               {"ListGroupsReply", func() Message { return new(ListGroupsReply) }},
	KindDescribeGroup:                 {"DescribeGroup", func() Message { return new(DescribeGroup) }},
	KindDescribeGroupReply:            {"DescribeGroupReply", func() Message { return new(DescribeGroupReply) }},
	KindDeleteGroup:                   {"DeleteGroup", func() Message { return new(DeleteGroup) }},
	KindDeleteGroupReply:              {"DeleteGroupReply", func() Message { return new(DeleteGroupReply) }},
	KindDeleteOffsets:                 {"DeleteOffsets", func() Message { return new(DeleteOffsets) }},
	KindDeleteOffsetsReply:            {"DeleteOffsetsReply", func() Message { return new(DeleteOffsetsReply) }},
	KindReplicaFetch:                  {"ReplicaFetch", func() Message { return new(ReplicaFetch) }},
	KindReplicaFetchReply:             {"ReplicaFetchReply", func() Message { return new(ReplicaFetchReply) }},
	KindReplicaProgress:               {"ReplicaProgress", func() Message { return new(ReplicaProgress) }},
	KindQuorum:                        {"Quorum", func() Message { return new(Quorum) }},
	KindRegisterBroker:                {"RegisterBroker", func() Message { return new(RegisterBroker) }},
	KindRegisterBrokerReply:           {"RegisterBrokerReply", func() Message { return new(RegisterBrokerReply) }},
	KindBrokerHeartbeat:               {"BrokerHeartbeat", func() Message { return new(BrokerHeartbeat) }},
	KindBrokerHeartbeatReply:          {"BrokerHeartbeatReply", func() Message { return new(BrokerHeartbeatReply) }},
	KindMetadataPush:                  {"MetadataPush", func() Message { return new(MetadataPush) }},
	KindAlterPartition:                {"AlterPartition", func() Message { return new(AlterPartition) }},
	KindAlterPartitionReply:           {"AlterPartitionReply", func() Message { return new(AlterPartitionReply) }},
	KindAllocateProducerIDs:           {"AllocateProducerIDs", func() Message { return new(AllocateProducerIDs) }},
	KindAllocateProducerIDsReply:      {"AllocateProducerIDsReply", func() Message { return new(AllocateProducerIDsReply) }},
	KindForward:                       {"Forward", func() Message { return new(Forward) }},
	KindForwarded:                     {"Forwarded", func() Message { return new(Forwarded) }},
	KindRefused:                       {"Refused", func() Message { return new(Refused) }},
	KindAlterReassignments:            {"AlterReassignments", func() Message { return new(AlterReassignments) }},
	KindAlterReassignmentsReply:       {"AlterReassignmentsReply", func() Message { return new(AlterReassignmentsReply) }},
	KindDrainBroker:                   {"DrainBroker", func() Message { return new(DrainBroker) }},
	KindDrainBrokerReply:              {"DrainBrokerReply", func() Message { return new(DrainBrokerReply) }},
	KindUnregisterBroker:              {"UnregisterBroker", func() Message { return new(UnregisterBroker) }},
	KindUnregisterBrokerReply:         {"UnregisterBrokerReply", func() Message { return new(UnregisterBrokerReply) }},
	KindEndTransaction:                {"EndTransaction", func() Message { return new(EndTransaction) }},
	KindEndTransactionReply:           {"EndTransactionReply", func() Message { return new(EndTransactionReply) }},
	KindCommitTransactionOffsets:      {"CommitTransactionOffsets", func() Message { return new(CommitTransactionOffsets) }},
	KindCommitTransactionOffsetsReply: {"CommitTransactionOffsetsReply", func() Message { return new(CommitTransactionOffsetsReply) }},
	KindListTransactions:              {"ListTransactions", func() Message { return new(ListTransactions) }},
	KindListTransactionsReply:         {"ListTransactionsReply", func() Message { return new(ListTransactionsReply) }},
	KindDescribeTransaction:           {"DescribeTransaction", func() Message { return new(DescribeTransaction) }},
	KindDescribeTransactionReply:      {"DescribeTransactionReply", func() Message { return new(DescribeTransactionReply) }},
	KindAddToTransaction:              {"AddToTransaction", func() Message { return new(AddToTransaction) }},
	KindAddedToTransaction:            {"AddedToTransaction", func() Message { return new(AddedToTransaction) }},
	KindWriteMarkers:                  {"WriteMarkers", func() Message { return new(WriteMarkers) }},
	KindWroteMarkers:                  {"WroteMarkers", func() Message { return new(WroteMarkers) }},
	KindAlterConfig:                   {"AlterConfig", func() Message { return new(AlterConfig) }},
	KindAlterConfigReply:              {"AlterConfigReply", func() Message { return new(AlterConfigReply) }},
	KindDescribeConfig:                {"DescribeConfig", func() Message { return new(DescribeConfig) }},
	KindDescribeConfigReply:           {"DescribeConfigReply", func() Message { return new(DescribeConfigReply) }},
	KindAlterControllers:              {"AlterControllers", func() Message { return new(AlterControllers) }},
	KindAlterControllersReply:         {"AlterControllersReply", func() Message { return new(AlterControllersReply) }},
}

// Kinds returns every valid kind, in rising order.
func Kinds() []Kind {
	kinds := make([]Kind, 0, kindCount-1)
	for k := KindInvalid + 1; k < kindCount; k++ {
		kinds = append(kinds, k)
	}
	return kinds
}

// String is the name of the type.
func (k Kind) String() string {
	if k == KindInvalid || k >= kindCount {
		return "invalid"
	}
	return table[k].name
}

// New returns an empty message of a kind, or nil when there is no such kind.
func New(k Kind) Message {
	if k == KindInvalid || k >= kindCount {
		return nil
	}
	return table[k].make()
}

// Kind is KindProduce.
func (*Produce) Kind() Kind { return KindProduce }

// Kind is KindProduceReply.
func (*ProduceReply) Kind() Kind { return KindProduceReply }

// Kind is KindFetch.
func (*Fetch) Kind() Kind { return KindFetch }

// Kind is KindFetchReply.
func (*FetchReply) Kind() Kind { return KindFetchReply }

// Kind is KindListOffsets.
func (*ListOffsets) Kind() Kind { return KindListOffsets }

// Kind is KindListOffsetsReply.
func (*ListOffsetsReply) Kind() Kind { return KindListOffsetsReply }

// Kind is KindOffsetForLeaderEpoch.
func (*OffsetForLeaderEpoch) Kind() Kind { return KindOffsetForLeaderEpoch }

// Kind is KindOffsetForLeaderEpochReply.
func (*OffsetForLeaderEpochReply) Kind() Kind { return KindOffsetForLeaderEpochReply }

// Kind is KindDeleteRecords.
func (*DeleteRecords) Kind() Kind { return KindDeleteRecords }

// Kind is KindDeleteRecordsReply.
func (*DeleteRecordsReply) Kind() Kind { return KindDeleteRecordsReply }

// Kind is KindMetadata.
func (*Metadata) Kind() Kind { return KindMetadata }

// Kind is KindMetadataReply.
func (*MetadataReply) Kind() Kind { return KindMetadataReply }

// Kind is KindCreateTopic.
func (*CreateTopic) Kind() Kind { return KindCreateTopic }

// Kind is KindCreateTopicReply.
func (*CreateTopicReply) Kind() Kind { return KindCreateTopicReply }

// Kind is KindDeleteTopic.
func (*DeleteTopic) Kind() Kind { return KindDeleteTopic }

// Kind is KindDeleteTopicReply.
func (*DeleteTopicReply) Kind() Kind { return KindDeleteTopicReply }

// Kind is KindAddPartitions.
func (*AddPartitions) Kind() Kind { return KindAddPartitions }

// Kind is KindAddPartitionsReply.
func (*AddPartitionsReply) Kind() Kind { return KindAddPartitionsReply }

// Kind is KindElectLeaders.
func (*ElectLeaders) Kind() Kind { return KindElectLeaders }

// Kind is KindElectLeadersReply.
func (*ElectLeadersReply) Kind() Kind { return KindElectLeadersReply }

// Kind is KindInitProducerID.
func (*InitProducerID) Kind() Kind { return KindInitProducerID }

// Kind is KindInitProducerIDReply.
func (*InitProducerIDReply) Kind() Kind { return KindInitProducerIDReply }

// Kind is KindFindCoordinator.
func (*FindCoordinator) Kind() Kind { return KindFindCoordinator }

// Kind is KindFindCoordinatorReply.
func (*FindCoordinatorReply) Kind() Kind { return KindFindCoordinatorReply }

// Kind is KindGroupHeartbeat.
func (*GroupHeartbeat) Kind() Kind { return KindGroupHeartbeat }

// Kind is KindGroupHeartbeatReply.
func (*GroupHeartbeatReply) Kind() Kind { return KindGroupHeartbeatReply }

// Kind is KindCommitOffsets.
func (*CommitOffsets) Kind() Kind { return KindCommitOffsets }

// Kind is KindCommitOffsetsReply.
func (*CommitOffsetsReply) Kind() Kind { return KindCommitOffsetsReply }

// Kind is KindFetchOffsets.
func (*FetchOffsets) Kind() Kind { return KindFetchOffsets }

// Kind is KindFetchOffsetsReply.
func (*FetchOffsetsReply) Kind() Kind { return KindFetchOffsetsReply }

// Kind is KindListGroups.
func (*ListGroups) Kind() Kind { return KindListGroups }

// Kind is KindListGroupsReply.
func (*ListGroupsReply) Kind() Kind { return KindListGroupsReply }

// Kind is KindDescribeGroup.
func (*DescribeGroup) Kind() Kind { return KindDescribeGroup }

// Kind is KindDescribeGroupReply.
func (*DescribeGroupReply) Kind() Kind { return KindDescribeGroupReply }

// Kind is KindDeleteGroup.
func (*DeleteGroup) Kind() Kind { return KindDeleteGroup }

// Kind is KindDeleteGroupReply.
func (*DeleteGroupReply) Kind() Kind { return KindDeleteGroupReply }

// Kind is KindDeleteOffsets.
func (*DeleteOffsets) Kind() Kind { return KindDeleteOffsets }

// Kind is KindDeleteOffsetsReply.
func (*DeleteOffsetsReply) Kind() Kind { return KindDeleteOffsetsReply }

// Kind is KindReplicaFetch.
func (*ReplicaFetch) Kind() Kind { return KindReplicaFetch }

// Kind is KindReplicaFetchReply.
func (*ReplicaFetchReply) Kind() Kind { return KindReplicaFetchReply }

// Kind is KindReplicaProgress.
func (*ReplicaProgress) Kind() Kind { return KindReplicaProgress }

// Kind is KindQuorum.
func (*Quorum) Kind() Kind { return KindQuorum }

// Kind is KindRegisterBroker.
func (*RegisterBroker) Kind() Kind { return KindRegisterBroker }

// Kind is KindRegisterBrokerReply.
func (*RegisterBrokerReply) Kind() Kind { return KindRegisterBrokerReply }

// Kind is KindBrokerHeartbeat.
func (*BrokerHeartbeat) Kind() Kind { return KindBrokerHeartbeat }

// Kind is KindBrokerHeartbeatReply.
func (*BrokerHeartbeatReply) Kind() Kind { return KindBrokerHeartbeatReply }

// Kind is KindMetadataPush.
func (*MetadataPush) Kind() Kind { return KindMetadataPush }

// Kind is KindAlterPartition.
func (*AlterPartition) Kind() Kind { return KindAlterPartition }

// Kind is KindAlterPartitionReply.
func (*AlterPartitionReply) Kind() Kind { return KindAlterPartitionReply }

// Kind is KindAllocateProducerIDs.
func (*AllocateProducerIDs) Kind() Kind { return KindAllocateProducerIDs }

// Kind is KindAllocateProducerIDsReply.
func (*AllocateProducerIDsReply) Kind() Kind { return KindAllocateProducerIDsReply }

// Kind is KindForward.
func (*Forward) Kind() Kind { return KindForward }

// Kind is KindForwarded.
func (*Forwarded) Kind() Kind { return KindForwarded }

// Kind is KindRefused.
func (*Refused) Kind() Kind { return KindRefused }

func (*Produce) isRequest()              {}
func (*Fetch) isRequest()                {}
func (*ListOffsets) isRequest()          {}
func (*OffsetForLeaderEpoch) isRequest() {}
func (*DeleteRecords) isRequest()        {}
func (*Metadata) isRequest()             {}
func (*CreateTopic) isRequest()          {}
func (*DeleteTopic) isRequest()          {}
func (*AddPartitions) isRequest()        {}
func (*ElectLeaders) isRequest()         {}
func (*InitProducerID) isRequest()       {}
func (*FindCoordinator) isRequest()      {}
func (*GroupHeartbeat) isRequest()       {}
func (*CommitOffsets) isRequest()        {}
func (*FetchOffsets) isRequest()         {}
func (*ListGroups) isRequest()           {}
func (*DescribeGroup) isRequest()        {}
func (*DeleteGroup) isRequest()          {}
func (*DeleteOffsets) isRequest()        {}

func (*ProduceReply) isReply()              {}
func (*FetchReply) isReply()                {}
func (*ListOffsetsReply) isReply()          {}
func (*OffsetForLeaderEpochReply) isReply() {}
func (*DeleteRecordsReply) isReply()        {}
func (*MetadataReply) isReply()             {}
func (*CreateTopicReply) isReply()          {}
func (*DeleteTopicReply) isReply()          {}
func (*AddPartitionsReply) isReply()        {}
func (*ElectLeadersReply) isReply()         {}
func (*InitProducerIDReply) isReply()       {}
func (*FindCoordinatorReply) isReply()      {}
func (*GroupHeartbeatReply) isReply()       {}
func (*CommitOffsetsReply) isReply()        {}
func (*FetchOffsetsReply) isReply()         {}
func (*ListGroupsReply) isReply()           {}
func (*DescribeGroupReply) isReply()        {}
func (*DeleteGroupReply) isReply()          {}
func (*DeleteOffsetsReply) isReply()        {}
func (*Refused) isReply()                   {}
