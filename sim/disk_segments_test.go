package sim

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/storage"
)

func TestASegmentThatIsBegunTooSoonOrTooLateIsRefused(t *testing.T) {
	for _, c := range []struct {
		segment int64 // by the settings
		before  storage.Shape
		cause   string
	}{
		{segment: 100, before: storage.Shape{Segments: 1, Last: 60}},
		{segment: 99, before: storage.Shape{Segments: 1, Last: 60}, cause: "a segment outgrows its size"},
		{segment: 10, before: storage.Shape{Segments: 1}}, // what is larger than a segment has one of its own
		{segment: 99, before: storage.Shape{Segments: 1, Last: 60, Damaged: true}},
		{segment: 99, before: storage.Shape{}},
	} {
		w, n, core := benched(t)
		core.ask(n, effect.CreateLog{Log: part})
		settle(w)
		n.drive.rolled(effect.Append{Log: part, Batches: make([]byte, 40)}, &openLog{segment: c.segment}, c.before)
		if c.cause == "" {
			require.Nil(t, w.failure)
			continue
		}
		require.Equal(t, "INV-40: "+c.cause, w.failure.Fingerprint())
	}

	// One of which the driver thinks that its segments are larger than they are.
	w, n, core := benched(t)
	core.ask(n, effect.CreateLog{Log: part, Config: effect.LogConfig{SegmentBytes: 100}})
	settle(w)
	n.drive.logs[part].segment = 1000
	core.ask(n, appending(0, batch(0, 1, "a")), appending(1, batch(1, 1, "b")))
	settle(w)
	require.Equal(t, "INV-40: a segment is begun before its time", w.failure.Fingerprint())
}
