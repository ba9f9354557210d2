package tape

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core"
	"github.com/tamarack-mq/tamarack/core/chance"
	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// lone is a cluster of one node whose disk answers at once, on a tape.
type lone struct {
	t       *testing.T
	core    *core.Node
	encoder *Encoder
	bytes   []byte
	now     message.Now
	steps   int64
	replies []message.Reply
	read    map[record.PartitionID][]byte
	// bend may change what is recorded of a step, not what is done.
	bend func(step int64, now *message.Now, effects []effect.Effect)
}

func newLone(t *testing.T, code string, bend func(int64, *message.Now, []effect.Effect)) *lone {
	h := &Header{
		Code: code, Started: time.Date(2026, 11, 30, 1, 2, 3, 0, time.UTC), Seed: 7,
		Config: core.Config{ID: 1, ClusterID: "oak", Address: "a:1", Voters: []message.NodeID{1}, Incarnation: 5,
			Timing: core.Timing{Silence: -1}}, // it is the first of a new cluster
		Now: message.Now{Mono: 1000, Wall: 1_700_000_000_000},
	}
	found := effect.Recovered{DiskID: 9, Fresh: true}
	l := &lone{t: t, now: h.Now, bend: bend, read: map[record.PartitionID][]byte{}}
	var err error
	l.encoder, l.bytes, err = NewEncoder(nil, h, &found)
	require.NoError(t, err)
	l.core = core.New(h.Config, found, chance.New(h.Seed), h.Now)
	return l
}

func (l *lone) step(inputs ...effect.Input) {
	for len(inputs) > 0 {
		in := inputs[0]
		inputs = inputs[1:]
		l.steps++
		now, out := l.now, effect.Out{}
		l.core.Step(now, in, &out)
		kept := append([]effect.Effect{}, out.List...)
		if l.bend != nil {
			l.bend(l.steps, &now, kept)
		}
		var err error
		l.bytes, err = l.encoder.Begin(l.bytes, now, in) // this core's inputs are not written to
		require.NoError(l.t, err)
		l.bytes, err = l.encoder.End(l.bytes, kept)
		require.NoError(l.t, err)
		for _, e := range out.List {
			if in := l.carry(e); in != nil {
				inputs = append(inputs, in)
			}
		}
	}
}

func (l *lone) carry(e effect.Effect) effect.Input {
	switch e := e.(type) {
	case effect.SaveQuorum:
		return effect.QuorumSaved{Seq: e.Seq}
	case effect.Append:
		l.read[e.Log] = append(l.read[e.Log], e.Batches...)
		return effect.Appended{Log: e.Log, Cut: e.Cut, End: e.End}
	case effect.Flush:
		return effect.Flushed{Log: e.Log, Cut: e.Cut, End: 1}
	case effect.Read:
		done := effect.ReadDone{Token: e.Token}
		for _, s := range e.Slices {
			done.Results = append(done.Results, effect.ReadResult{Batches: l.read[s.Log]})
		}
		return done
	case effect.Reply:
		l.replies = append(l.replies, e.Msg)
	}
	return nil
}

// live lets time pass.
func (l *lone) live(d message.Duration) {
	for end := l.now.Mono.Add(d); l.now.Mono < end; {
		next := min(max(l.core.Wake(), l.now.Mono+1), end)
		l.now.Wall += record.Timestamp((next - l.now.Mono) / message.Time(message.Millisecond))
		l.now.Mono = next
		l.step(effect.Tick{})
	}
}

// story is the tape of a node that forms a cluster, makes a topic, takes a batch,
// gives it to a consumer and lets the next fetch wait for half a second in vain.
type story struct {
	tape     []byte
	produced int64 // the step that takes the batch
	waits    int64 // the step that takes the fetch that waits
	steps    int64
}

func tell(t *testing.T, code string, bend func(step int64, now *message.Now, effects []effect.Effect)) story {
	l := newLone(t, code, bend)
	l.live(4 * message.Second)
	l.step(effect.Requested{Token: 1, Msg: &message.CreateTopic{Name: "t", Partitions: 1, ReplicationFactor: 1}})
	l.live(message.Second)
	require.Len(t, l.replies, 1)
	made := l.replies[0].(*message.CreateTopicReply)
	require.Equal(t, message.None, made.Code, made.Detail)
	id := record.PartitionID{Topic: made.ID}
	var b record.Builder
	require.NoError(t, b.Append(l.now.Wall, nil, []byte("v"), nil))
	batch := b.Build()
	var s story
	s.produced = l.steps + 1
	l.step(effect.Requested{Token: 2, Msg: &message.Produce{Acks: message.AcksAll, Timeout: message.Second, Partitions: []message.ProducePartition{{ID: id, Records: batch}}}})
	fetch := &message.Fetch{
		MaxWait: 500 * message.Millisecond, MinBytes: 1, MaxBytes: 1 << 20,
		Partitions: []message.FetchPartition{{ID: id, LeaderEpoch: -1, LastEpoch: -1, MaxBytes: 1 << 20}},
	}
	l.step(effect.Requested{Token: 3, Msg: fetch})
	next := *fetch
	next.Partitions = []message.FetchPartition{fetch.Partitions[0]}
	next.Partitions[0].Offset = 1
	s.waits = l.steps + 1
	l.step(effect.Requested{Token: 4, Msg: &next})
	l.live(message.Second)
	require.Len(t, l.replies, 4)
	require.Len(t, l.replies[2].(*message.FetchReply).Partitions[0].Records, len(batch))
	s.tape, s.steps = l.encoder.Finish(l.bytes, "the story is over"), l.steps
	return s
}

func play(t *testing.T, tape []byte) *Report {
	r, err := Conform(bytes.NewReader(tape), "")
	require.NoError(t, err)
	return r
}
