package sim

import (
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/witness"
)

// tell is what a message says of partitions, of which group it is, and the
// error that it carries.
func tell(m message.Message) (parts []witness.Part, group, code string) {
	switch m := m.(type) {
	case *message.Forward:
		return tell(m.Body)
	case *message.Forwarded:
		if m.Body == nil {
			return nil, "", codeOf(m.Code)
		}
		return tell(m.Body)
	case *message.Refused:
		return nil, "", codeOf(m.Code)
	case *message.GroupHeartbeat:
		return owned(m.Owned), m.Group, ""
	case *message.GroupHeartbeatReply:
		return owned(m.Assignment), "", codeOf(m.Code)
	case *message.CommitOffsets:
		return offsets(m.Offsets), m.Group, ""
	case *message.CommitTransactionOffsets:
		return offsets(m.Offsets), m.Group, ""
	case *message.CommitTransactionOffsetsReply:
		return toldOf(m.Offsets), "", codeOf(m.Code)
	case *message.WriteMarkers:
		return owned(m.Partitions), "", ""
	case *message.WroteMarkers:
		for i := range m.Results {
			parts = append(parts, partWith(m.Results[i].ID, m.Results[i].Code))
		}
		return parts, "", ""
	case *message.AddToTransaction:
		return owned(m.Partitions), "", ""
	case *message.AddedToTransaction:
		return nil, "", codeOf(m.Code)
	case *message.InitProducerIDReply:
		return nil, "", codeOf(m.Code)
	case *message.EndTransactionReply:
		return nil, "", codeOf(m.Code)
	case *message.FetchOffsets:
		return owned(m.IDs), m.Group, ""
	case *message.FetchOffsetsReply:
		return offsets(m.Offsets), "", codeOf(m.Code)
	case *message.CommitOffsetsReply:
		return toldOf(m.Offsets), "", codeOf(m.Code)
	case *message.AlterReassignments:
		for i := range m.Partitions {
			p := witness.NewPart(m.Partitions[i].ID)
			p.Nodes = ids(m.Partitions[i].Replicas)
			parts = append(parts, p)
		}
		return parts, "", ""
	case *message.AlterReassignmentsReply:
		for i := range m.Partitions {
			parts = append(parts, partWith(m.Partitions[i].ID, m.Partitions[i].Code))
		}
		return parts, "", codeOf(m.Code)
	case *message.FindCoordinator:
		return nil, m.Group, ""
	case *message.DescribeGroup:
		return nil, m.Group, ""
	case *message.DeleteGroup:
		return nil, m.Group, ""
	case *message.DeleteGroupReply:
		return nil, "", codeOf(m.Code)
	case *message.DeleteOffsets:
		return owned(m.IDs), m.Group, ""
	case *message.DeleteOffsetsReply:
		return toldOf(m.Offsets), "", codeOf(m.Code)
	case *message.ReplicaFetch, *message.ReplicaFetchReply, *message.ReplicaProgress,
		*message.AlterPartition, *message.AlterPartitionReply, *message.MetadataPush:
		return tellReplication(m)
	}
	return tellData(m), "", ""
}

// transactionalOf is the transactional id that a message is about; empty: none.
func transactionalOf(m message.Message) string {
	switch m := m.(type) {
	case *message.Produce:
		return m.TransactionalID
	case *message.InitProducerID:
		return m.TransactionalID
	case *message.FindCoordinator:
		return m.TransactionalID
	case *message.CommitTransactionOffsets:
		return m.TransactionalID
	case *message.EndTransaction:
		return m.TransactionalID
	case *message.AddToTransaction:
		return m.TransactionalID
	}
	return ""
}

func codeOf(c message.Code) string {
	if c == message.None {
		return ""
	}
	return c.String()
}

func owned(list []record.PartitionID) []witness.Part {
	parts := make([]witness.Part, len(list))
	for i, id := range list {
		parts[i] = witness.NewPart(id)
	}
	return parts
}

func offsets(list []message.GroupOffset) []witness.Part {
	parts := make([]witness.Part, len(list))
	for i := range list {
		parts[i] = witness.NewPart(list[i].ID)
		parts[i].From = int64(list[i].Offset)
	}
	return parts
}

// partWith is what is said of one partition of several.
func partWith(id record.PartitionID, code message.Code) witness.Part {
	p := witness.NewPart(id)
	p.Code = codeOf(code)
	return p
}

// toldOf is what a coordinator says of positions, one by one.
func toldOf(list []message.CommittedOffset) []witness.Part {
	parts := make([]witness.Part, len(list))
	for i := range list {
		parts[i] = partWith(list[i].ID, list[i].Code)
	}
	return parts
}

func tellReplication(m message.Message) (parts []witness.Part, group, code string) {
	switch m := m.(type) {
	case *message.ReplicaFetch:
		for i := range m.Partitions {
			f := &m.Partitions[i]
			p := witness.NewPart(f.ID)
			p.Epoch, p.From, p.Start, p.Flushed = int32(f.LeaderEpoch), int64(f.Offset), int64(f.LogStart), int64(f.Flushed)
			parts = append(parts, p)
		}
	case *message.ReplicaFetchReply:
		for i := range m.Partitions {
			f := &m.Partitions[i]
			p := witness.NewPart(f.ID)
			p.Epoch, p.High, p.Start, p.Code = int32(f.LeaderEpoch), int64(f.HighWatermark), int64(f.LogStart), codeOf(f.Code)
			p.From, p.To = span(f.Records)
			if f.Diverging != nil {
				p.End, p.Code = int64(f.Diverging.End), "diverging"
			}
			parts = append(parts, p)
		}
		code = codeOf(m.Code)
	case *message.ReplicaProgress:
		for i := range m.Partitions {
			f := &m.Partitions[i]
			p := witness.NewPart(f.ID)
			p.Epoch, p.Flushed = int32(f.LeaderEpoch), int64(f.Flushed)
			parts = append(parts, p)
		}
	case *message.AlterPartition:
		for i := range m.Partitions {
			f := &m.Partitions[i]
			p := witness.NewPart(f.ID)
			p.Epoch = int32(f.LeaderEpoch)
			for _, n := range f.ISR {
				p.Nodes = append(p.Nodes, int32(n.Node))
			}
			parts = append(parts, p)
		}
	case *message.AlterPartitionReply:
		for i := range m.Partitions {
			parts = append(parts, partWith(m.Partitions[i].ID, m.Partitions[i].Code))
		}
		code = codeOf(m.Code)
	case *message.MetadataPush:
		for i := range m.Changes {
			if c := m.Changes[i].Partition; c != nil {
				p := witness.NewPart(c.ID)
				p.Epoch, p.Leader, p.Nodes = int32(c.LeaderEpoch), int32(c.Leader), ids(c.ISR)
				parts = append(parts, p)
			}
		}
	}
	return parts, "", code
}

func tellData(m message.Message) (parts []witness.Part) {
	add := func(id record.PartitionID) *witness.Part {
		parts = append(parts, witness.NewPart(id))
		return &parts[len(parts)-1]
	}
	switch m := m.(type) {
	case *message.Produce:
		for i := range m.Partitions {
			p := add(m.Partitions[i].ID)
			if h, err := record.DecodeHeader(m.Partitions[i].Records); err == nil {
				p.To = int64(h.LastOffsetDelta) + 1 // so many records, no offsets yet
			}
		}
	case *message.ProduceReply:
		for i := range m.Partitions {
			f := &m.Partitions[i]
			p := add(f.ID)
			p.From, p.Start, p.Code = int64(f.BaseOffset), int64(f.LogStart), codeOf(f.Code)
		}
	case *message.Fetch:
		for i := range m.Partitions {
			f := &m.Partitions[i]
			p := add(f.ID)
			p.Epoch, p.From = int32(f.LeaderEpoch), int64(f.Offset)
		}
	case *message.FetchReply:
		for i := range m.Partitions {
			f := &m.Partitions[i]
			p := add(f.ID)
			p.High, p.Start, p.Code = int64(f.HighWatermark), int64(f.LogStart), codeOf(f.Code)
			p.From, p.To = span(f.Records)
		}
	case *message.ListOffsets:
		for i := range m.Partitions {
			add(m.Partitions[i].ID).Epoch = int32(m.Partitions[i].LeaderEpoch)
		}
	case *message.ListOffsetsReply:
		for i := range m.Partitions {
			p := add(m.Partitions[i].ID)
			p.From, p.Code = int64(m.Partitions[i].Offset), codeOf(m.Partitions[i].Code)
		}
	case *message.OffsetForLeaderEpoch:
		for i := range m.Partitions {
			add(m.Partitions[i].ID).Epoch = int32(m.Partitions[i].Epoch)
		}
	case *message.OffsetForLeaderEpochReply:
		for i := range m.Partitions {
			p := add(m.Partitions[i].ID)
			p.Epoch, p.End, p.Code = int32(m.Partitions[i].Epoch), int64(m.Partitions[i].End), codeOf(m.Partitions[i].Code)
		}
	case *message.DeleteRecords:
		for i := range m.Partitions {
			add(m.Partitions[i].ID).From = int64(m.Partitions[i].Before)
		}
	case *message.DeleteRecordsReply:
		for i := range m.Partitions {
			p := add(m.Partitions[i].ID)
			p.Start, p.Code = int64(m.Partitions[i].LogStart), codeOf(m.Partitions[i].Code)
		}
	}
	return parts
}

// span is the range of offsets of whole batches.
func span(batches []byte) (from, to int64) {
	from, to = witness.None, witness.None
	for it := record.Batches(batches); it.Next(); {
		if from < 0 {
			from = int64(it.Header.BaseOffset)
		}
		to = int64(it.Header.End())
	}
	return from, to
}
