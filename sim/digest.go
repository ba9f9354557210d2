package sim

import (
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// digest folds the fields of a message into one number without encoding it.
// Every message that is sent is folded into the hash of the run by it.
func digest(m message.Message) uint64 {
	r := rolling(m.Kind())
	switch m := m.(type) {
	case *message.ReplicaFetch, *message.ReplicaFetchReply, *message.ReplicaProgress, *message.Quorum:
		foldReplication(&r, m)
	case *message.Produce, *message.ProduceReply, *message.Fetch, *message.FetchReply,
		*message.ListOffsets, *message.ListOffsetsReply, *message.OffsetForLeaderEpoch,
		*message.OffsetForLeaderEpochReply, *message.DeleteRecords, *message.DeleteRecordsReply:
		foldData(&r, m)
	default:
		if !foldGroup(&r, m) && !foldTransaction(&r, m) && !foldAdmin(&r, m) && !foldSettings(&r, m) && !foldOperation(&r, m) {
			foldCluster(&r, m)
		}
	}
	return uint64(r)
}

func (r *rolling) id(p record.PartitionID) { r.fold(uint64(p.Topic)<<20 ^ uint64(uint32(p.Index))) }

func (r *rolling) ids(ps []record.PartitionID) {
	r.fold(uint64(len(ps)))
	for _, p := range ps {
		r.id(p)
	}
}

func (r *rolling) nodes(ns []message.NodeID) {
	r.fold(uint64(len(ns)))
	for _, n := range ns {
		r.fold(uint64(n))
	}
}

func (r *rolling) texts(ts []string) {
	r.fold(uint64(len(ts)))
	for _, t := range ts {
		r.text(t)
	}
}

func (r *rolling) flag(b bool) {
	if b {
		r.fold(1)
	} else {
		r.fold(0)
	}
}

// pair folds two small numbers at once.
func (r *rolling) pair(a, b int64) { r.fold(uint64(a)<<32 ^ uint64(b)) }

func (r *rolling) epochEnd(e *message.EpochEnd) {
	if e != nil {
		r.pair(int64(e.Epoch), int64(e.End))
	}
}

func foldReplication(r *rolling, m message.Message) {
	switch m := m.(type) {
	case *message.ReplicaFetch:
		r.pair(int64(m.BrokerEpoch), int64(m.Sequence))
		r.fold(m.Session)
		for i := range m.Partitions {
			p := &m.Partitions[i]
			r.id(p.ID)
			r.pair(int64(p.LeaderEpoch), int64(p.Offset))
			r.pair(int64(p.LastEpoch), int64(p.Flushed))
			r.fold(uint64(p.LogStart))
			r.fold(uint64(p.MaxBytes))
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
		r.bytes(m.Data)
	}
}

func foldData(r *rolling, m message.Message) {
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
	case *message.ListOffsets:
		for i := range m.Partitions {
			r.id(m.Partitions[i].ID)
			r.pair(int64(m.Partitions[i].LeaderEpoch), int64(m.Partitions[i].Timestamp))
		}
		if m.Isolation != message.ReadUncommitted {
			r.fold(uint64(m.Isolation))
		}
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
	}
}
