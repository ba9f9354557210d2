package ledger

import (
	"cmp"

	"github.com/tamarack-mq/tamarack/core/message"
)

// Config bounds what a ledger does. Zero fields mean the default.
type Config struct {
	Topic           string           // name of the internal topic
	MaxBatchBytes   int              // bytes of one appended batch; 512 KiB
	MaxWaiting      int              // replies that wait for one shard's appends; 10000
	SnapshotMinimum int              // records in a log before a snapshot is worth it; 10000
	SnapshotFactor  int              // ... and this many records per live key; 4, at least 2
	AnswerTimeout   message.Duration // how long a reply may wait for the appends before it; 5 s (Kafka's offsets.commit.timeout.ms)
	RetryBackoff    message.Duration // between attempts to append after a failed one; 100 ms, doubled up to 32 times that
}

func (c Config) withDefaults() Config {
	c.AnswerTimeout = cmp.Or(c.AnswerTimeout, 5*message.Second)
	c.RetryBackoff = cmp.Or(c.RetryBackoff, 100*message.Millisecond)
	c.MaxBatchBytes = cmp.Or(c.MaxBatchBytes, 512<<10)
	c.MaxWaiting = cmp.Or(c.MaxWaiting, 10000)
	c.SnapshotMinimum = cmp.Or(c.SnapshotMinimum, 10000)
	c.SnapshotFactor = cmp.Or(c.SnapshotFactor, 4)
	c.SnapshotFactor = max(c.SnapshotFactor, 2) // less would make one snapshot ask for the next
	return c
}
