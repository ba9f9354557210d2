package sim

import "github.com/tamarack-mq/tamarack/core/message"

func foldReplication(r *rolling, m message.Message) {
	switch m := m.(type) {
	case *message.ReplicaFetch:
		r.pair(int64(m.BrokerEpoch), int64(m.Sequence))
		r.fold(m.Session)
		r.pair(int64(m.MaxWait), int64(m.MaxBytes))
		r.size(len(m.Partitions))
		for i := range m.Partitions {
			p := &m.Partitions[i]
			r.id(p.ID)
			r.pair(int64(p.LeaderEpoch), int64(p.Offset))
			r.pair(int64(p.LastEpoch), int64(p.Flushed))
			r.pair(int64(p.LogStart), int64(p.MaxBytes))
		}
		r.ids(m.Forget)
	case *message.ReplicaFetchReply:
		r.pair(int64(m.BrokerEpoch), int64(m.Sequence))
		r.pair(int64(m.Session), int64(m.Code))
		for i := range m.Partitions {
			p := &m.Partitions[i]
			r.id(p.ID)
			r.pair(int64(p.LeaderEpoch), int64(p.HighWatermark))
			r.pair(int64(p.Code), int64(p.LogStart))
			r.epochEnd(p.Diverging)
			if len(p.CarryOver) > 0 {
				r.bytes(p.CarryOver)
			}
			r.bytes(p.Records)
		}
	case *message.ReplicaProgress:
		r.fold(uint64(m.BrokerEpoch))
		for i := range m.Partitions {
			p := &m.Partitions[i]
			r.id(p.ID)
			r.pair(int64(p.LeaderEpoch), int64(p.Flushed))
		}
	case *message.Quorum:
		words(r, m.Data) // which has no sum of its own
	}
}

// foldRecords folds what carries the records of clients.
func foldRecords(r *rolling, m message.Message) {
	switch m := m.(type) {
	case *message.Produce:
		r.pair(int64(m.Acks), int64(m.Timeout))
		for i := range m.Partitions {
			r.id(m.Partitions[i].ID)
			r.bytes(m.Partitions[i].Records)
		}
		if m.TransactionalID != "" {
			r.text(m.TransactionalID)
		}
	case *message.ProduceReply:
		for i := range m.Partitions {
			p := &m.Partitions[i]
			r.id(p.ID)
			r.pair(int64(p.Code), int64(p.BaseOffset))
			r.pair(int64(p.Leader), int64(p.LogStart))
			r.fold(uint64(p.LeaderEpoch))
		}
	case *message.Fetch:
		r.pair(int64(m.MaxWait), int64(m.MaxBytes))
		r.pair(int64(m.MinBytes), int64(m.Isolation))
		for i := range m.Partitions {
			p := &m.Partitions[i]
			r.id(p.ID)
			r.pair(int64(p.LeaderEpoch), int64(p.Offset))
			r.pair(int64(p.LastEpoch), int64(p.MaxBytes))
		}
	case *message.FetchReply:
		for i := range m.Partitions {
			p := &m.Partitions[i]
			r.id(p.ID)
			r.pair(int64(p.Code), int64(p.HighWatermark))
			r.pair(int64(p.LastStable), int64(p.LogStart))
			r.pair(int64(p.Leader), int64(p.LeaderEpoch))
			r.epochEnd(p.Diverging)
			r.bytes(p.Records)
			for _, a := range p.Aborted {
				r.pair(int64(a.ID), int64(a.First))
			}
		}
	}
}

// foldOffsets folds what clients ask about offsets, and the answers.
func foldOffsets(r *rolling, m message.Message) bool {
	switch m := m.(type) {
	case *message.ListOffsets:
		for i := range m.Partitions {
			r.id(m.Partitions[i].ID)
			r.pair(int64(m.Partitions[i].LeaderEpoch), int64(m.Partitions[i].Timestamp))
		}
		r.fold(uint64(m.Isolation))
	case *message.ListOffsetsReply:
		for i := range m.Partitions {
			p := &m.Partitions[i]
			r.id(p.ID)
			r.pair(int64(p.Code), int64(p.Offset))
			r.pair(int64(p.LeaderEpoch), int64(p.Timestamp))
		}
	case *message.OffsetForLeaderEpoch:
		for i := range m.Partitions {
			r.id(m.Partitions[i].ID)
			r.pair(int64(m.Partitions[i].LeaderEpoch), int64(m.Partitions[i].Epoch))
		}
	case *message.OffsetForLeaderEpochReply:
		for i := range m.Partitions {
			p := &m.Partitions[i]
			r.id(p.ID)
			r.pair(int64(p.Code), int64(p.Epoch))
			r.fold(uint64(p.End))
		}
	case *message.DeleteRecords:
		for i := range m.Partitions {
			r.id(m.Partitions[i].ID)
			r.fold(uint64(m.Partitions[i].Before))
		}
	case *message.DeleteRecordsReply:
		for i := range m.Partitions {
			r.id(m.Partitions[i].ID)
			r.pair(int64(m.Partitions[i].Code), int64(m.Partitions[i].LogStart))
		}
	default:
		return false
	}
	return true
}
