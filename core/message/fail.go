package message

// Fail answers a whole request, every partition of it, with one code.
func Fail(r Request, code Code, detail string) Reply {
	switch r := r.(type) {
	case *Produce:
		return failProduce(r, code)
	case *Fetch:
		return failFetch(r, code)
	case *ListOffsets:
		m := &ListOffsetsReply{Partitions: make([]ListedOffset, len(r.Partitions))}
		for i, p := range r.Partitions {
			m.Partitions[i] = ListedOffset{ID: p.ID, Code: code, Offset: -1, Timestamp: -1, LeaderEpoch: -1}
		}
		return m
	case *OffsetForLeaderEpoch:
		m := &OffsetForLeaderEpochReply{Partitions: make([]EpochAnswer, len(r.Partitions))}
		for i, p := range r.Partitions {
			m.Partitions[i] = EpochAnswer{ID: p.ID, Code: code, Epoch: -1, End: -1}
		}
		return m
	case *DeleteRecords:
		m := &DeleteRecordsReply{Partitions: make([]DeletedRecords, len(r.Partitions))}
		for i, p := range r.Partitions {
			m.Partitions[i] = DeletedRecords{ID: p.ID, Code: code, LogStart: -1}
		}
		return m
	case *CreateTopic:
		return &CreateTopicReply{Code: code, Detail: detail}
	case *DeleteTopic:
		return &DeleteTopicReply{Code: code, Detail: detail}
	case *AddPartitions:
		return &AddPartitionsReply{Code: code, Detail: detail}
	case *ElectLeaders:
		return &ElectLeadersReply{Code: code}
	case *InitProducerID:
		return &InitProducerIDReply{Code: code, Detail: detail}
	}
	if reply := failSettings(r, code, detail); reply != nil {
		return reply
	}
	if reply := failOperation(r, code, detail); reply != nil {
		return reply
	}
	if reply := failGroup(r, code, detail); reply != nil {
		return reply
	}
	if reply := failTransaction(r, code, detail); reply != nil {
		return reply
	}
	return &Refused{Code: code, Detail: detail}
}

func failProduce(r *Produce, code Code) Reply {
	m := &ProduceReply{Partitions: make([]ProducedPartition, len(r.Partitions))}
	for i, p := range r.Partitions {
		m.Partitions[i] = ProducedPartition{ID: p.ID, Code: code, BaseOffset: -1, LogStart: -1, LeaderEpoch: -1}
	}
	return m
}

func failFetch(r *Fetch, code Code) Reply {
	m := &FetchReply{Partitions: make([]FetchedPartition, len(r.Partitions))}
	for i, p := range r.Partitions {
		m.Partitions[i] = FetchedPartition{ID: p.ID, Code: code, HighWatermark: -1, LastStable: -1, LogStart: -1, LeaderEpoch: -1}
	}
	return m
}

// failGroup answers requests about groups, or returns nil for others.
func failGroup(r Request, code Code, detail string) Reply {
	switch r := r.(type) {
	case *FindCoordinator:
		return &FindCoordinatorReply{Code: code}
	case *GroupHeartbeat:
		return &GroupHeartbeatReply{Code: code, Detail: detail, Member: r.Member, MemberEpoch: r.MemberEpoch}
	case *CommitOffsets:
		m := &CommitOffsetsReply{Code: code, Offsets: make([]CommittedOffset, len(r.Offsets))}
		for i, o := range r.Offsets {
			m.Offsets[i] = CommittedOffset{ID: o.ID, Code: code}
		}
		return m
	case *FetchOffsets:
		return &FetchOffsetsReply{Code: code}
	case *ListGroups:
		return &ListGroupsReply{Code: code}
	case *DescribeGroup:
		return &DescribeGroupReply{Code: code, Group: r.Group}
	case *DeleteGroup:
		return &DeleteGroupReply{Code: code}
	case *DeleteOffsets:
		m := &DeleteOffsetsReply{Code: code, Offsets: make([]CommittedOffset, len(r.IDs))}
		for i, id := range r.IDs {
			m.Offsets[i] = CommittedOffset{ID: id, Code: code}
		}
		return m
	}
	return nil
}
