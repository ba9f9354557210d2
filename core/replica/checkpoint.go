package replica

import (
	"github.com/tamarack-mq/tamarack/core/effect"
)

// checkpointIfDue stores derived state after every so much that was appended.
func (r *replica) checkpointIfDue(m *Manager, out *Out) {
	due := r.sinceCheckpoint.bytes >= m.cfg.CheckpointBytes || r.sinceCheckpoint.batches >= m.cfg.CheckpointBatches
	if due && r.log.Settled() <= r.flushed {
		r.checkpoint(out)
	}
}

// checkpoint gives out the settled state. Recovery can use it only when the
// log reaches as far, so callers see to it that the settled point is flushed.
func (r *replica) checkpoint(out *Out) {
	at, state := r.log.Checkpoint()
	out.Add(effect.Checkpoint{Log: r.id, At: at, HighWatermark: r.highWatermark, State: state})
	r.sinceCheckpoint.bytes, r.sinceCheckpoint.batches = 0, 0
}
