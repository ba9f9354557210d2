package log

import (
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// Retention are the limits of a log.
type Retention struct {
	Bytes int64            // keep at least this much; below 1: no limit
	Age   message.Duration // keep records at least this long; below 0: no limit
}

// RetentionOf reads the limits from a topic's settings, with their defaults.
func RetentionOf(c message.TopicConfig) Retention { panic("not built yet") }

// SetChunkBytes sets how coarse retention works: the log start moves over
// chunks of about this size, so give it the segment size. It holds for chunks
// begun from now on. Below 1: the default of 128 MiB.
func (l *Log) SetChunkBytes(n int32) { panic("not built yet") }

// Retire returns the log start that the limits ask for now; Start() when
// nothing is to go. It is a batch boundary, never above highWatermark, and
// changes nothing by itself: see TrimPrefix. Only the leader retires; followers
// get its log start. now is the wall clock.
func (l *Log) Retire(now record.Timestamp, highWatermark record.Offset, r Retention) record.Offset {
	panic("not built yet")
}

// RetireAt is the earliest wall time at which age makes Retire move the log
// start, as far as is known now; ok is false when age never will.
func (l *Log) RetireAt(r Retention) (at record.Timestamp, ok bool) { panic("not built yet") }
