package sim

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core"
	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/tape"
)

// reel is the tape of one run of one simulated process, in memory.
type reel struct {
	t       *testing.T
	node    message.NodeID
	encoder *tape.Encoder
	bytes   []byte
}

func (r *reel) Begin(now message.Now, in effect.Input) {
	var err error
	r.bytes, err = r.encoder.Begin(r.bytes, now, in)
	require.NoError(r.t, err)
}

func (r *reel) End(effects []effect.Effect) {
	var err error
	r.bytes, err = r.encoder.End(r.bytes, effects)
	require.NoError(r.t, err)
}

// A core that is given copies of its inputs does what it did when it shared them
// with other nodes, with its disk and with its own effects: nothing that it holds
// is changed behind its back, and nothing it draws on is missing from its inputs.
func TestSimulatedCoresConformToTheirTapes(t *testing.T) {
	steps := int64(0)
	for seed := range uint64(12) {
		var reels []*reel
		r := Run(NewPlan(seed), Options{taping: func(cfg core.Config, seed uint64, now message.Now, found *effect.Recovered) taper {
			one := &reel{t: t, node: cfg.ID}
			var err error
			one.encoder, one.bytes, err = tape.NewEncoder(nil, &tape.Header{Config: cfg, Seed: seed, Now: now}, found)
			require.NoError(t, err)
			reels = append(reels, one)
			return one
		}})
		for i, one := range reels {
			report, err := tape.Conform(bytes.NewReader(one.bytes), "")
			require.NoError(t, err, "seed %d, tape %d of node %d", seed, i+1, one.node)
			if d := report.Difference; d != nil {
				t.Fatalf("seed %d, tape %d of node %d: %v\ninput: %s\nagain: simrun replay %d --trace", seed, i+1, one.node, d, d.Input, seed)
			}
			steps += report.Steps
		}
		require.NotEqual(t, Broken, r.Class)
	}
	require.Greater(t, steps, int64(50_000))
}
