// Package replica holds the replicas of one broker, as leaders and as
// followers: appending, pulling, the high watermark, the in-sync set, and what
// clients may see of it (Kafka's replication protocol with KIP-101, KIP-279,
// KIP-320, KIP-497 and KIP-903).
package replica

import (
	"github.com/tamarack-mq/tamarack/core/chance"
	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// Manager is all replicas of one broker.
type Manager struct{ cfg Config }

// New builds the replicas from what recovery found. They take no role before
// the metadata is known to be current: see SetEpoch.
func New(cfg Config, found []effect.RecoveredLog, random *chance.Stream, now message.Now) *Manager {
	panic("not built yet")
}

// SetEpoch says that this run of the broker is registered under epoch. From the
// moment that an applied image holds this broker with that epoch, the image is
// at least as new as anything an earlier run has acted on: only then do
// replicas take their roles, and logs that no partition claims are deleted.
// The next Tick, which Wake asks for, does what was held back until then.
func (m *Manager) SetEpoch(epoch message.BrokerEpoch) { panic("not built yet") }

// Damaged are the logs that this broker cannot vouch for, in order.
func (m *Manager) Damaged() []record.PartitionID { panic("not built yet") }

// Stop gives out checkpoints of all logs that changed since their last one, for
// a clean shutdown. Nothing may be asked of the Manager afterwards.
func (m *Manager) Stop(out *Out) { panic("not built yet") }

// Apply takes the partitions and brokers that are new or changed in the
// metadata image, all of one version at once, in the order of versions.
func (m *Manager) Apply(now message.Now, partitions []PartitionState, brokers []BrokerState, out *Out) {
	panic("not built yet")
}

// Produce appends batches to partitions that this broker leads.
func (m *Manager) Produce(now message.Now, token message.Token, r *message.Produce, out *Out) {
	panic("not built yet")
}

// Fetch reads committed records for a consumer.
func (m *Manager) Fetch(now message.Now, token message.Token, r *message.Fetch, out *Out) {
	panic("not built yet")
}

// ListOffsets answers with log starts, high watermarks, and offsets by time.
func (m *Manager) ListOffsets(now message.Now, token message.Token, r *message.ListOffsets, out *Out) {
	panic("not built yet")
}

// OffsetForLeaderEpoch answers where epochs end.
func (m *Manager) OffsetForLeaderEpoch(now message.Now, token message.Token, r *message.OffsetForLeaderEpoch, out *Out) {
	panic("not built yet")
}

// DeleteRecords moves log starts.
func (m *Manager) DeleteRecords(now message.Now, token message.Token, r *message.DeleteRecords, out *Out) {
	panic("not built yet")
}

// ReplicaFetch takes a follower's fetch.
func (m *Manager) ReplicaFetch(now message.Now, from message.NodeID, r *message.ReplicaFetch, out *Out) {
	panic("not built yet")
}

// ReplicaFetchReply takes a leader's answer.
func (m *Manager) ReplicaFetchReply(now message.Now, from message.NodeID, r *message.ReplicaFetchReply, out *Out) {
	panic("not built yet")
}

// ReplicaProgress takes how far a follower has flushed.
func (m *Manager) ReplicaProgress(now message.Now, from message.NodeID, r *message.ReplicaProgress, out *Out) {
	panic("not built yet")
}

// AlterPartitionReply takes the outcomes of ISR proposals.
func (m *Manager) AlterPartitionReply(now message.Now, r *message.AlterPartitionReply, out *Out) {
	panic("not built yet")
}

// Appended takes that completion.
func (m *Manager) Appended(now message.Now, in effect.Appended, out *Out) { panic("not built yet") }

// Flushed takes that completion.
func (m *Manager) Flushed(now message.Now, in effect.Flushed, out *Out) { panic("not built yet") }

// ReadDone takes that completion.
func (m *Manager) ReadDone(now message.Now, in effect.ReadDone, out *Out) { panic("not built yet") }

// TimeFound takes that completion.
func (m *Manager) TimeFound(now message.Now, in effect.TimeFound, out *Out) { panic("not built yet") }

// DiskSpace takes that room has run low or is back.
func (m *Manager) DiskSpace(now message.Now, in effect.DiskSpace, out *Out) { panic("not built yet") }

// LocalAppend appends a batch of another room of this broker to a partition
// that it leads in epoch. Out.Local answers it with ticket once the batch is
// committed, or at once when it cannot be appended. It does not time out: its
// outcome is known when the batch is committed or the leadership ends. The
// Manager owns batch.
func (m *Manager) LocalAppend(now message.Now, id record.PartitionID, epoch record.LeaderEpoch, ticket uint64, batch []byte, out *Out) {
	panic("not built yet")
}

// LocalRead reads the next chunk of committed batches, from an offset on, of a
// partition that this broker leads in epoch. Out.Replayed answers it, at the
// earliest when the high watermark has reached the start of the epoch; nothing
// answers it once the leadership has ended. Read on from Replay.Next until
// Replay.Done.
func (m *Manager) LocalRead(now message.Now, id record.PartitionID, epoch record.LeaderEpoch, from record.Offset, out *Out) {
	panic("not built yet")
}

// Tick does what time asks for.
func (m *Manager) Tick(now message.Now, out *Out) { panic("not built yet") }

// Wake is when a Tick is wanted; Never when nothing waits for time.
func (m *Manager) Wake() message.Time { panic("not built yet") }
