package sim

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/metadata"
)

func TestWhatIsOpenForNothingIsSeen(t *testing.T) {
	for _, c := range []struct {
		names    []string
		nameless int
		want     string
	}{
		{names: []string{"a", "b"}},
		{names: []string{"a"}, nameless: 2, want: "node 1 holds 2 files open at rest that have no name any more"},
		{names: []string{"a", "b", "b"}, want: "node 1 holds b open 2 times at rest"},
	} {
		w := newWorld(NewPlan(1), Options{})
		(&closedFiles{}).judge(w, w.nodes[1], c.names, c.nameless)
		if c.want == "" {
			require.Nil(t, w.failure)
			continue
		}
		require.Equal(t, "INV-38", w.failure.Invariant)
		require.Equal(t, c.want, w.failure.Sentence)
	}
}

func TestMarksThatAreHeldForNothingAreSeen(t *testing.T) {
	s := newStage(t)
	o := &closedFiles{}
	o.marked(s.World, s.nodes[1], 5, 5)
	s.passed()
	o.marked(s.World, s.nodes[1], 7, 5)
	s.refused("INV-38", "node 1 has 5 logs at rest, and holds 7 marks for logs")
}

func TestFilesInUseThatAreMiscountedAreSeen(t *testing.T) {
	s := newStage(t)
	o := &closedFiles{}
	o.counted(s.World, s.nodes[1], 3, 3)
	s.passed()
	o.counted(s.World, s.nodes[1], -2, 3)
	s.refused("INV-38", "node 1 counts -2 files of logs as in use at rest, and 3 are")
}

func TestHowLargeAChunkMayBe(t *testing.T) {
	w := newWorld(&Plan{Topics: []TopicPlan{{Name: "t", SegmentBytes: 4096}}}, Options{})
	topic := &metadata.Topic{Name: "t", Config: message.TopicConfig{SegmentBytes: 2048}}
	most, ok := w.largestChunk(topic)
	require.True(t, ok)
	require.EqualValues(t, 4096, most)
	w.plan.Faults = []Fault{{Kind: AlterTopic, Topic: "t", Set: []string{"segment-bytes=8KiB"}}, {Kind: AlterTopic, Topic: "u", Set: []string{"segment-bytes"}}}
	most, _ = w.largestChunk(topic)
	require.EqualValues(t, 8192, most)
	w.plan.Faults[1].Topic = "t" // for a time it has the default
	_, ok = w.largestChunk(topic)
	require.False(t, ok)
}
