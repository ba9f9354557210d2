package sim

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/log"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// The limits are 100 bytes and one second.
func TestWhatMayGoByTheLimits(t *testing.T) {
	limits := log.Retention{Bytes: 100, Age: message.Second}
	require.True(t, mayGo(limits, 8_999, 10_000, 0))
	require.False(t, mayGo(limits, 9_000, 10_000, 99))
	require.True(t, mayGo(limits, 9_000, 10_000, 100))
	require.False(t, mayGo(log.Retention{Age: -1}, 0, 10_000, 1<<30), "without limits all stays")
}

// A partition has batches of 60 bytes each, just written. Its topic keeps 100 bytes.
func TestRecordsThatTheLimitsKeepAreNotRetired(t *testing.T) {
	trims := func(start record.Offset, before ...effect.Input) *stage {
		s, o := newStage(t), &keptByLimits{}
		m := s.cluster()
		change := message.Change{Topic: &message.TopicChange{ID: part.Topic, Name: "t", Config: message.TopicConfig{RetentionBytes: 100, RetentionTime: message.Second}}}
		require.NoError(t, m.Apply(20, &change))
		p, now := s.book.part(part), s.nodes[1].clock.now(s.now).Wall
		for at := record.Offset(0); at < 4; at++ {
			p.committed = append(p.committed, record.Header{BaseOffset: at, Count: 1, MaxTimestamp: now})
			o.at(p).written = append(o.at(p).written, writtenBytes{at + 1, 60})
		}
		for _, in := range before {
			s.step(o, 1, in, nil)
		}
		s.step(o, 1, nil, []effect.Effect{effect.TrimPrefix{Log: part, Start: 1}})
		s.passed()
		s.step(o, 1, nil, []effect.Effect{effect.TrimPrefix{Log: part, Start: start}})
		return s
	}
	asked := effect.Requested{Msg: &message.DeleteRecords{Partitions: []message.DeleteRecordsPartition{{ID: part, Before: 3}}}}

	trims(2).passed()
	trims(3).refused("INV-15", "the batch at 2 goes")
	trims(3, asked).passed()
}
