package replica

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tamarack-mq/tamarack/core/chance"
	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// bench is one leader whose followers are played by the benchmark.
type bench struct {
	m        *Manager
	now      message.Now
	out      Out
	token    message.Token
	end      record.Offset
	sequence [2]uint32
	template []byte
	bytes    []byte
}

func newBench(tb testing.TB, partitions int32) *bench {
	b := &bench{now: message.Now{Mono: 1, Wall: 1}, out: Out{Out: &effect.Out{}}, template: batch("record-", 100)}
	b.m = New(Config{ID: 1, UnflushedBytes: 1 << 40}, nil, chance.New(1), b.now)
	b.m.SetEpoch(1)
	var states []PartitionState
	for i := range partitions {
		states = append(states, PartitionState{ID: part(i), Replicas: []message.NodeID{1, 2, 3}, ISR: []message.NodeID{1, 2, 3}, Leader: 1})
	}
	b.m.Apply(b.now, states, []BrokerState{{1, 1, true}, {2, 2, true}, {3, 3, true}}, &b.out)
	b.out.Empty()
	for f := range 2 {
		b.fetch(f)
	}
	b.bytes = make([]byte, len(b.template))
	b.commit(tb)
	return b
}

func (b *bench) fetch(f int) {
	r := &message.ReplicaFetch{
		BrokerEpoch: message.BrokerEpoch(f + 2), Session: 1, Sequence: b.sequence[f], MaxWait: message.Second, MaxBytes: 1 << 20,
		Partitions: []message.ReplicaFetchPartition{{ID: p0, Offset: b.end, LastEpoch: -1, Flushed: b.end}},
	}
	if b.end > 0 {
		r.Partitions[0].LastEpoch = 0
	}
	b.sequence[f]++
	b.m.ReplicaFetch(b.now, message.NodeID(f+2), r, &b.out)
}

// commit takes one batch from the request to the reply.
func (b *bench) commit(tb testing.TB) {
	copy(b.bytes, b.template)
	b.token++
	b.m.Produce(b.now, b.token, &message.Produce{Acks: message.AcksAll, Timeout: message.Second, Partitions: []message.ProducePartition{
		{ID: p0, Records: b.bytes},
	}}, &b.out)
	reads := [2]uint64{}
	n := 0
	for _, e := range b.out.List {
		if r, ok := e.(effect.Read); ok {
			reads[n] = r.Token
			n++
		}
	}
	results := []effect.ReadResult{{Batches: b.bytes}}
	for _, token := range reads[:n] {
		b.m.ReadDone(b.now, effect.ReadDone{Token: token, Results: results}, &b.out)
	}
	b.end += 100
	b.m.Appended(b.now, effect.Appended{Log: p0, End: b.end}, &b.out)
	b.m.Flushed(b.now, effect.Flushed{Log: p0, End: b.end}, &b.out)
	for f := range 2 {
		b.fetch(f)
	}
	last := b.out.List[len(b.out.List)-1]
	if _, ok := last.(effect.Reply); !ok {
		require.Failf(tb, "not committed", "%T", last)
	}
	b.out.Empty()
}

// BenchmarkProduceToCommit is what one batch of 100 records costs a leader of
// three replicas: the request, two answers to followers, four completions, two
// fetches, the reply. Much of it is the check of the batch itself.
func BenchmarkProduceToCommit(b *testing.B) {
	bench := newBench(b, 1)
	b.ReportAllocs()
	for b.Loop() {
		bench.commit(b)
	}
}

// BenchmarkProduceAmongMany is the same on a broker that leads 10,000 others.
func BenchmarkProduceAmongMany(b *testing.B) {
	bench := newBench(b, 10_000)
	b.ReportAllocs()
	for b.Loop() {
		bench.commit(b)
	}
}

// BenchmarkFollow is what one batch costs a follower.
func BenchmarkFollow(b *testing.B) {
	now := message.Now{Mono: 1, Wall: 1}
	out := Out{Out: &effect.Out{}}
	m := New(Config{ID: 2, UnflushedBytes: 1 << 40}, nil, chance.New(1), now)
	m.SetEpoch(2)
	m.Apply(now, []PartitionState{{ID: p0, Replicas: []message.NodeID{1, 2}, ISR: []message.NodeID{1, 2}, Leader: 1}},
		[]BrokerState{{1, 1, true}, {2, 2, true}}, &out)
	bytes := batch("record-", 100)
	var end record.Offset
	var sequence uint32
	b.ReportAllocs()
	for b.Loop() {
		record.Stamp(bytes, end, 0)
		m.ReplicaFetchReply(now, 1, &message.ReplicaFetchReply{BrokerEpoch: 1, Session: 2<<24 + 1, Sequence: sequence,
			Partitions: []message.ReplicaFetchedPartition{{ID: p0, HighWatermark: end, Records: bytes}}}, &out)
		sequence++
		end += 100
		m.Flushed(now, effect.Flushed{Log: p0, End: end}, &out)
		out.Empty()
	}
	require.EqualValues(b, end, m.Log(p0).End())
}

func TestTheWayFromProduceToCommitAllocatesLittle(t *testing.T) {
	b := newBench(t, 1)
	for range 200 {
		b.commit(t)
	}
	require.LessOrEqual(t, testing.AllocsPerRun(500, func() { b.commit(t) }), 26.0)
}
