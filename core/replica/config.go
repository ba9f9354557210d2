package replica

import (
	"cmp"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/verify"
)

// Config are the settings of a Manager. A zero value means the default.
type Config struct {
	ID message.NodeID // this broker; needed

	// Lag is how long a replica may go without having been at the leader's log
	// end before the leader asks for it to leave the ISR. Default 3 s.
	Lag message.Duration
	// FetchWait is how long a leader may hold a follower's fetch that has no
	// news. Default 500 ms.
	FetchWait message.Duration
	// FetchGrace is how much longer than FetchWait a follower waits for the
	// answer before it takes the session for lost. Default 500 ms.
	FetchGrace message.Duration
	// NewsDelay is how long a moved high watermark may wait for records to
	// travel with, before it is sent to followers by itself. Default 5 ms.
	NewsDelay message.Duration
	// RetryMin and RetryMax bound the pause before a lost session, or a
	// partition that its leader answered with an error, is tried again. It
	// doubles from one attempt to the next. Defaults 20 ms and 1 s.
	RetryMin, RetryMax message.Duration
	// AlterRetry is how long an ISR proposal waits for its outcome before it is
	// sent again. Default 500 ms.
	AlterRetry message.Duration
	// RequestTimeout is how long DeleteRecords may wait for the ISR. Default 10 s.
	RequestTimeout message.Duration
	// ProducerIdle is how long the state of a silent producer is kept. Default
	// 7 days.
	ProducerIdle message.Duration
	// Verify is how transaction coordinators are asked. Its Timeout is not used: a
	// produce has its own.
	Verify verify.Config

	// FetchBytes bounds the records of one answer, to a follower or a consumer,
	// but for the first batch of its last partition. Default 8 MiB.
	FetchBytes int32
	// UnflushedBytes bounds what is appended and not yet durable: beyond it
	// produces are held back and followers do not fetch. The fetches that are with
	// leaders ask together for no more than that, either, and for the less the more
	// is not durable. They may have asked when little was, and their records come
	// when produces have used it up; so the most is twice as much, but for the last
	// request of a producer, one batch for each fetch (or for each replica that is
	// held back by a pace), and what other rooms of this broker append, which never
	// waits. Default 64 MiB.
	UnflushedBytes int64
	// HeldBytes bounds the produces that are held back, for the disk or for a
	// transaction coordinator; beyond it they are refused with BrokerNotAvailable.
	// Default 64 MiB.
	HeldBytes int64
	// ReplayBytes bounds what one LocalRead gives, but for its first batch. Default
	// 1 MiB.
	ReplayBytes int32
	// CheckpointBytes is how much is appended to a log between two checkpoints
	// of its derived state. Default 16 MiB.
	CheckpointBytes int64
	// CheckpointBatches is the same in batches. Default 4096.
	CheckpointBatches int
}

func (c Config) withDefaults() Config {
	c.Lag = cmp.Or(c.Lag, 3*message.Second)
	c.FetchWait = cmp.Or(c.FetchWait, 500*message.Millisecond)
	c.FetchGrace = cmp.Or(c.FetchGrace, 500*message.Millisecond)
	c.NewsDelay = cmp.Or(c.NewsDelay, 5*message.Millisecond)
	c.RetryMin = cmp.Or(c.RetryMin, 20*message.Millisecond)
	c.RetryMax = cmp.Or(c.RetryMax, message.Second)
	c.AlterRetry = cmp.Or(c.AlterRetry, 500*message.Millisecond)
	c.RequestTimeout = cmp.Or(c.RequestTimeout, 10*message.Second)
	c.ProducerIdle = cmp.Or(c.ProducerIdle, 7*24*message.Hour)
	c.Verify.Timeout = 0
	c.FetchBytes = cmp.Or(c.FetchBytes, 8<<20)
	c.UnflushedBytes = cmp.Or(c.UnflushedBytes, 64<<20)
	c.HeldBytes = cmp.Or(c.HeldBytes, 64<<20)
	c.ReplayBytes = cmp.Or(c.ReplayBytes, 1<<20)
	c.CheckpointBytes = cmp.Or(c.CheckpointBytes, 16<<20)
	c.CheckpointBatches = cmp.Or(c.CheckpointBatches, 4096)
	return c
}
