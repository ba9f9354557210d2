package group

import (
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// Owner is one right to commit: the coordinator would accept a commit for the
// partition from this member under this epoch. For each group and partition
// there must never be two (INV-21).
type Owner struct {
	Group     string
	Partition record.PartitionID
	Member    string
	Epoch     message.MemberEpoch
}

// ShardView is what an observer sees of one led shard.
type ShardView struct {
	Shard   int32
	Epoch   record.LeaderEpoch
	Serving bool // loaded; else requests are answered CoordinatorLoadInProgress
	Pending int  // appends under way; 0: Digest equals a fold of the committed log
	Groups  int
	Members int
	Offsets int
}

// Views describes the shards that this broker leads, in order.
func (c *Coordinator) Views() []ShardView { panic("not built yet") }

// EachOwner visits every right to commit in the shards that serve: by shard,
// group, member and partition. It stops when visit returns false.
func (c *Coordinator) EachOwner(visit func(shard int32, o Owner) bool) { panic("not built yet") }

// Digest is a hash of the whole replicated state of a shard; ok is false while
// it is not serving. Equal states have equal digests. It includes what is
// pending.
func (c *Coordinator) Digest(shard int32) (digest uint64, ok bool) { panic("not built yet") }

// Fold returns the digest of the state that replaying batches (whole batches,
// from the log start on) gives: INV-23 holds when it equals Digest.
func Fold(batches []byte) (uint64, error) { panic("not built yet") }

// Shard is the shard that holds a group when there are shards of them.
func Shard(group string, shards int32) int32 {
	h := uint32(2166136261)
	for i := range len(group) {
		h = (h ^ uint32(group[i])) * 16777619
	}
	return int32(h % uint32(shards))
}
