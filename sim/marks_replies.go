package sim

import "github.com/tamarack-mq/tamarack/core/message"

// codeMarks are the marks that a refusal stands for.
var codeMarks = map[message.Code]mark{
	message.OutOfOrderSequence:           markOutOfOrderSequence,
	message.NotEnoughReplicas:            markNotEnoughReplicas,
	message.NotEnoughReplicasAfterAppend: markNotEnoughAfterAppend,
	message.FencedLeaderEpoch:            markFencedLeaderEpoch,
	message.UnknownLeaderEpoch:           markUnknownLeaderEpoch,
	message.StaleBrokerEpoch:             markStaleBrokerEpoch,
	message.OffsetOutOfRange:             markOffsetOutOfRange,
	message.FencedMemberEpoch:            markMemberFenced,
	message.StaleMemberEpoch:             markStaleCommitRefused,
	message.UnknownMemberID:              markUnknownMemberRefused,
	message.FetchSessionNotFound:         markSessionLost,
}

func (w *World) markCode(c message.Code) {
	if c == message.None {
		return
	}
	if m, ok := codeMarks[c]; ok {
		w.mark(m)
	}
}

// markReply notes what is rare about an answer.
func (w *World) markReply(m message.Message) {
	switch m := m.(type) {
	case *message.ProduceReply:
		for i := range m.Partitions {
			w.markCode(m.Partitions[i].Code)
		}
	case *message.FetchReply:
		w.markStable(m)
		for i := range m.Partitions {
			w.markCode(m.Partitions[i].Code)
			if m.Partitions[i].Diverging != nil {
				w.mark(markReaderTruncated)
			}
		}
	case *message.MetadataPush:
		if m.Snapshot {
			w.mark(markSnapshotPushed)
		}
	case *message.ReplicaFetchReply:
		w.markCode(m.Code)
		for i := range m.Partitions {
			w.markCode(m.Partitions[i].Code)
		}
	case *message.GroupHeartbeatReply:
		w.markCode(m.Code)
	case *message.CommitOffsetsReply:
		w.markCode(m.Code)
	case *message.AlterReassignmentsReply:
		w.markOperation(m)
	case *message.AddedToTransaction, *message.WroteMarkers, *message.FetchOffsetsReply, *message.DeleteOffsetsReply:
		w.markTransaction(m)
	case *message.WriteMarkers:
		w.markMarkers(m)
	case *message.AlterPartitionReply:
		w.markCode(m.Code)
	}
}
