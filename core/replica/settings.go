package replica

import (
	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/log"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// configure takes a new state and what follows from the topic's settings.
func (r *replica) configure(s *PartitionState, out *Out) {
	r.state = *s
	r.placed = true
	r.minInsync = s.minInsync()
	r.retention = log.RetentionOf(s.Config)
	if s.Config.Internal { // its readers rely on all of it; see LocalTrim
		r.retention = log.Retention{Age: -1}
	}
	r.log.SetChunks(s.Config.SegmentBytes, r.retention)
	if r.segmentBytes != s.Config.SegmentBytes {
		r.segmentBytes = s.Config.SegmentBytes
		out.Add(effect.ConfigureLog{Log: r.id, Config: effect.LogConfig{SegmentBytes: r.segmentBytes}})
	}
}

// goesBy are those settings of a topic that something follows from at once. All
// others are looked up when they are needed.
type goesBy struct {
	minInsync int
	retention log.Retention
}

func settingsOf(r *replica) goesBy { return goesBy{r.minInsync, r.retention} }

// settingsChanged does what follows from other settings than before. A minimum
// that rose above the in-sync set leaves acks=all without hope, and who waits is
// told so; one that fell may let the high watermark go on. Limits on age and size
// hold now, and not only when the timer of the old ones comes.
func (l *leader) settingsChanged(m *Manager, now message.Now, was goesBy, out *Out) {
	is := settingsOf(l.r)
	if is.minInsync != was.minInsync {
		if !l.enoughInSync() {
			l.acked.failClients(m, l, message.NotEnoughReplicasAfterAppend, out)
		}
		l.advance(m, now, out)
	}
	if is.retention != was.retention {
		l.retire(m, now, out)
		l.r.takeCareAfter(m, now, careMin)
	}
}

// Timing are the settings of a Manager that may change while it runs. Zero
// values mean the default.
type Timing struct {
	Lag        message.Duration // see Config
	FetchWait  message.Duration
	AlterRetry message.Duration
}

// SetTiming takes other settings. Waits that have begun end as they were begun,
// but for replicas that may be too far behind by the new limit.
func (m *Manager) SetTiming(now message.Now, t Timing, out *Out) {
	if m.halted {
		return
	}
	c := m.cfg
	c.Lag, c.FetchWait, c.AlterRetry = t.Lag, t.FetchWait, t.AlterRetry
	m.cfg = c.withDefaults()
	for _, r := range m.leaders {
		r.lead.reviewISR(m, now, out)
		r.lead.watchLag(m, now)
	}
	m.finish(now, out)
}

// Goes tells by which settings of its topic a replica goes, for observers.
func (m *Manager) Goes(id record.PartitionID) (minInsync int, retention log.Retention, segmentBytes int32, ok bool) {
	r := m.replicas[id]
	if r == nil || !r.placed {
		return 0, log.Retention{}, 0, false
	}
	return r.minInsync, r.retention, r.segmentBytes, true
}
