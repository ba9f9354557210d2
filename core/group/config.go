package group

import (
	"cmp"

	"github.com/tamarack-mq/tamarack/core/message"
)

// Config bounds what groups may do. Zero fields mean the default.
type Config struct {
	SessionTimeout      message.Duration // for members that name none; 45 s
	MinSessionTimeout   message.Duration // 1 s
	MaxSessionTimeout   message.Duration // 30 min
	RebalanceTimeout    message.Duration // for members that name none; 5 min
	HeartbeatInterval   message.Duration // told to members; 5 s, never above a third of the session
	MaxMembers          int              // members of one group; 1000
	MaxNote             int              // bytes of GroupOffset.Note; 4096
	OffsetRetention     message.Duration // life of the offsets of an empty group; 7 days
	EmptyGroupRetention message.Duration // life of an empty group without offsets; 1 h
	MaxBatchBytes       int              // bytes of one appended batch; 512 KiB
	MaxWaiting          int              // replies that wait for one shard's appends; 10000
	SnapshotMinimum     int              // records in a log before a snapshot is worth it; 10000
	SnapshotFactor      int              // ... and this many records per live key; 4, at least 2
	AnswerTimeout       message.Duration // how long a reply may wait for the appends before it; 5 s (Kafka's offsets.commit.timeout.ms)
	RetryBackoff        message.Duration // between attempts to append after a failed one; 100 ms, doubled up to 32 times that
}

func (c Config) withDefaults() Config {
	c.SessionTimeout = cmp.Or(c.SessionTimeout, 45*message.Second)
	c.MinSessionTimeout = cmp.Or(c.MinSessionTimeout, message.Second)
	c.MaxSessionTimeout = cmp.Or(c.MaxSessionTimeout, 30*message.Minute)
	c.RebalanceTimeout = cmp.Or(c.RebalanceTimeout, 5*message.Minute)
	c.HeartbeatInterval = cmp.Or(c.HeartbeatInterval, 5*message.Second)
	c.OffsetRetention = cmp.Or(c.OffsetRetention, 7*24*message.Hour)
	c.EmptyGroupRetention = cmp.Or(c.EmptyGroupRetention, message.Hour)
	c.AnswerTimeout = cmp.Or(c.AnswerTimeout, 5*message.Second)
	c.RetryBackoff = cmp.Or(c.RetryBackoff, 100*message.Millisecond)
	c.MaxMembers = cmp.Or(c.MaxMembers, 1000)
	c.MaxNote = cmp.Or(c.MaxNote, 4096)
	c.MaxBatchBytes = cmp.Or(c.MaxBatchBytes, 512<<10)
	c.MaxWaiting = cmp.Or(c.MaxWaiting, 10000)
	c.SnapshotMinimum = cmp.Or(c.SnapshotMinimum, 10000)
	c.SnapshotFactor = cmp.Or(c.SnapshotFactor, 4)
	c.SnapshotFactor = max(c.SnapshotFactor, 2) // less would make one snapshot ask for the next
	return c
}
