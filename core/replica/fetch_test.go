package replica

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

func at(offset record.Offset) message.FetchPartition {
	return message.FetchPartition{ID: p0, LeaderEpoch: -1, Offset: offset, LastEpoch: -1, MaxBytes: 1 << 20}
}

func fetchOf(wait message.Duration, least int32, parts ...message.FetchPartition) *message.Fetch {
	return &message.Fetch{MaxWait: wait, MinBytes: least, MaxBytes: 1 << 20, Partitions: parts}
}

func TestAConsumerReadsOnlyWhatIsCommitted(t *testing.T) {
	w := newWorld(t, 2)
	w.create(p0, message.TopicConfig{}, 1, 2)
	w.put(1, "a", "b")
	w.node(2).holdDisk = true
	w.put(1, "c")
	l := w.node(1)
	l.look()
	got := l.readFrom(1)
	require.Contains(t, l.look(), effect.Effect(effect.Read{Token: 4, Slices: []effect.Slice{
		{Log: p0, From: 1, To: 2, MaxBytes: 1 << 20},
	}}), "the read ends at the high watermark, whatever the file holds by then (KAFKA-727, KAFKA-9835)")
	require.Equal(t, []string{"b0"}, values(t, got.Records))
	got.Records = nil
	require.Equal(t, message.FetchedPartition{ID: p0, HighWatermark: 2, LastStable: 2, Leader: 1}, got)

	require.Empty(t, l.readFrom(2).Records)
	require.Equal(t, message.None, l.readFrom(3).Code, "the log's end: not committed yet, but not out of range")
	require.Equal(t, message.OffsetOutOfRange, l.readFrom(4).Code)
	require.Equal(t, message.NotLeaderOrFollower, w.node(2).readFrom(0).Code)
}

func TestAFetchWaitsForEnoughBytesOrItsTime(t *testing.T) {
	w := newWorld(t, 2)
	w.create(p0, message.TopicConfig{}, 1, 2)
	w.put(1, "a")
	l := w.node(1)
	size := int32(len(batch("a", 1)))
	one := l.fetch(fetchOf(message.Second, 1, at(1)))
	two := l.fetch(fetchOf(message.Second, size+1, at(1)))
	three := l.fetch(fetchOf(message.Second, 3*size, at(1)))
	now := l.fetch(fetchOf(0, 1000, at(1)))
	require.NotNil(t, w.replies[now])
	require.Nil(t, w.replies[one])

	read := func(token message.Token) []string {
		r, ok := w.replies[token].(*message.FetchReply)
		if !ok {
			return nil
		}
		return values(t, r.Partitions[0].Records)
	}
	w.node(2).holdDisk = true
	w.put(1, "b")
	require.Nil(t, read(one), "appended, but not committed")
	w.node(2).holdDisk = false
	w.run()
	require.Equal(t, []string{"b0"}, read(one))
	require.Nil(t, read(two))
	w.put(1, "c")
	require.Equal(t, []string{"b0", "c0"}, read(two))
	require.Nil(t, read(three))
	w.pass(2 * message.Second)
	require.Equal(t, []string{"b0", "c0"}, read(three))
	require.Empty(t, l.m.replicas[p0].lead.fetches)
}

// Reads give at least one batch, whatever their limit is. A fetch of many
// partitions with low limits, or of one partition many times, must not make of
// that more than the broker answers to anybody.
func TestAnAnswerIsBoundedWhateverAFetchAsksFor(t *testing.T) {
	w := newWorld(t, 1)
	const largest = 1000
	w.create(p0, message.TopicConfig{MaxBatchBytes: largest, MinInsync: 1}, 1)
	l := w.node(1)
	l.m.cfg.FetchBytes = 4 * largest
	for range 2 * tailMarks {
		w.put(1, strings.Repeat("x", largest/2))
	}
	slices := func(f *message.Fetch) (got []effect.Slice) {
		l.look()
		l.fetch(f)
		for _, e := range l.look() {
			if r, ok := e.(effect.Read); ok {
				got = append(got, r.Slices...)
			}
		}
		return got
	}
	again := make([]message.FetchPartition, 100)
	for i := range again {
		again[i] = at(0)
		again[i].MaxBytes = 1
	}
	require.Len(t, slices(&message.Fetch{MaxBytes: math.MaxInt32, Partitions: again}), 4)

	all := at(0)
	all.MaxBytes = math.MaxInt32
	none := at(0)
	none.MaxBytes = math.MinInt32
	require.Equal(t, []effect.Slice{
		{Log: p0, From: 0, To: 2 * tailMarks, MaxBytes: 0},
		{Log: p0, From: 0, To: 2 * tailMarks, MaxBytes: 3 * largest},
	}, slices(&message.Fetch{MaxBytes: math.MaxInt32, Partitions: []message.FetchPartition{none, all, all}}))
}

func TestAFetchOfManyPartitionsIsAnsweredOnceAndForgottenEverywhere(t *testing.T) {
	w := newWorld(t, 2)
	p1 := record.PartitionID{Topic: 7, Index: 1}
	w.create(p0, message.TopicConfig{}, 1, 2)
	w.create(p1, message.TopicConfig{}, 1, 2)
	l := w.node(1)
	other := at(0)
	other.ID = p1
	first := l.fetch(fetchOf(message.Minute, 1, at(0), other, at(0)))
	second := l.fetch(fetchOf(message.Minute, 1, other))
	w.put(1, "a")
	require.Len(t, w.replies[first].(*message.FetchReply).Partitions, 3)
	require.Nil(t, w.replies[second])
	require.Empty(t, l.m.replicas[p0].lead.fetches)
	require.Len(t, l.m.replicas[p1].lead.fetches, 1)
	wrong := at(9)
	quick := l.fetch(fetchOf(message.Minute, 1, other, wrong))
	require.Equal(t, message.OffsetOutOfRange, w.replies[quick].(*message.FetchReply).Partitions[1].Code, "an error does not wait")
	require.NotNil(t, w.replies[l.fetch(fetchOf(message.Minute, 1))])
}

// KIP-320, KAFKA-7747: without it a consumer reads on past records that were
// rewritten.
func TestAConsumerIsToldThatHistoriesHaveParted(t *testing.T) {
	w := newWorld(t, 2)
	junk(t, w)
	w.node(2).holdMeta = false
	w.setISR(p0, 2)
	w.run()
	l := w.node(2)
	ask := func(p message.FetchPartition) message.FetchedPartition {
		token := l.fetch(fetchOf(message.Minute, 1, p))
		w.run()
		return w.replies[token].(*message.FetchReply).Partitions[0]
	}
	p := at(3) // behind two of the junk records
	p.LastEpoch = 0
	require.Equal(t, &message.EpochEnd{Epoch: 0, End: 1}, ask(p).Diverging)
	p.Offset = 1
	require.Nil(t, ask(p).Diverging)
	p.LeaderEpoch = 0
	require.Equal(t, message.FencedLeaderEpoch, ask(p).Code)
	p.LeaderEpoch = 2
	require.Equal(t, message.UnknownLeaderEpoch, ask(p).Code)
}

// A new leader's own high watermark may lag behind what clients have seen from
// the one before (KIP-207).
func TestANewLeaderShowsNothingBeforeItsEpochHasBegunForTheISR(t *testing.T) {
	w := newWorld(t, 3)
	w.create(p0, message.TopicConfig{}, 1, 2, 3)
	w.put(1, "a")
	w.pass(message.Second)
	w.put(1, "b") // 2 and 3 have it, but not the high watermark
	l := w.node(2)
	w.apart(3)
	w.node(1).crash()
	w.elect(p0, 2, 2, 3)
	w.run()
	v := l.view(p0)
	require.Equal(t, []record.Offset{1, 2}, []record.Offset{v.HighWatermark, v.EpochStart})
	require.False(t, v.Shown)

	require.Equal(t, message.FetchedPartition{
		ID: p0, Code: message.LeaderNotAvailable, HighWatermark: -1, LastStable: -1, LogStart: -1, Leader: 2, LeaderEpoch: 1,
	}, l.readFrom(0))
	waits := l.fetch(fetchOf(message.Minute, 1, at(1)))
	list := l.list(message.Latest)
	require.Equal(t, message.LeaderNotAvailable, w.replies[list].(*message.ListOffsetsReply).Partitions[0].Code)
	deleted := w.deleteBefore(2, 0)
	require.Equal(t, message.LeaderNotAvailable, w.replies[deleted].(*message.DeleteRecordsReply).Partitions[0].Code)
	l.do(func(m *Manager, now message.Now, out *Out) { m.LocalRead(now, p0, 1, 0, out) })
	require.Empty(t, l.replayed)

	w.together()
	w.pass(2 * message.Second)
	require.Equal(t, []string{"b0"}, values(t, w.replies[waits].(*message.FetchReply).Partitions[0].Records))
	require.Equal(t, []string{"a0", "b0"}, values(t, l.replayed[0].Batches))
}

func (n *node) list(times ...record.Timestamp) message.Token {
	n.w.tokens++
	token := n.w.tokens
	r := &message.ListOffsets{}
	for _, at := range times {
		r.Partitions = append(r.Partitions, message.ListOffsetsPartition{ID: p0, LeaderEpoch: -1, Timestamp: at})
	}
	n.do(func(m *Manager, now message.Now, out *Out) { m.ListOffsets(now, token, r, out) })
	return token
}

func TestOffsetsAreListedByTimeUpToTheHighWatermark(t *testing.T) {
	w := newWorld(t, 2)
	w.create(p0, message.TopicConfig{}, 1, 2)
	w.put(1, "a", "b", "c")
	w.node(2).holdDisk = true
	w.put(1, "d")
	l := w.node(1)
	token := l.list(message.Earliest, message.Latest, 1_000_000, 2_000_000, -7)
	w.run()
	require.Equal(t, []message.ListedOffset{
		{ID: p0, Offset: 0, Timestamp: -1},
		{ID: p0, Offset: 3, Timestamp: -1},
		{ID: p0, Offset: 0, Timestamp: 1_000_000},
		{ID: p0, Offset: 3, Timestamp: -1},
		{ID: p0, Code: message.InvalidRequest, Offset: -1, Timestamp: -1},
	}, w.replies[token].(*message.ListOffsetsReply).Partitions)
}

// A read takes time. By the time its bytes are there the leadership may be
// another one.
func TestWhatWasReadIsNotGivenAwayAfterTheLeadershipHasEnded(t *testing.T) {
	w := newWorld(t, 2)
	w.create(p0, message.TopicConfig{}, 1, 2)
	w.put(1, "a")
	l := w.node(1)
	l.holdReads = true
	read := l.fetch(fetchOf(0, 1, at(0)))
	list := l.list(0)
	l.do(func(m *Manager, now message.Now, out *Out) { m.LocalRead(now, p0, 0, 0, out) })
	w.elect(p0, 2)
	w.elect(p0, 1) // again leader, but in another epoch
	w.run()
	l.holdReads = false
	w.run()
	p := w.replies[read].(*message.FetchReply).Partitions[0]
	require.Equal(t, message.FetchedPartition{
		ID: p0, Code: message.NotLeaderOrFollower, HighWatermark: -1, LastStable: -1, LogStart: -1, Leader: 1, LeaderEpoch: 2,
	}, p)
	require.Equal(t, []message.ListedOffset{
		{ID: p0, Code: message.NotLeaderOrFollower, Offset: -1, Timestamp: -1, LeaderEpoch: -1},
	}, w.replies[list].(*message.ListOffsetsReply).Partitions)
	require.Empty(t, l.replayed)
}

func TestAnAnswerToAFollowerCarriesNothingOfAnEndedLeadership(t *testing.T) {
	w := newWorld(t, 2)
	w.create(p0, message.TopicConfig{}, 1, 2)
	l := w.node(1)
	l.holdReads = true
	w.put(1, "a")
	w.node(2).holdMeta = true // it still follows
	w.elect(p0, 2)
	w.run()
	l.look()
	l.holdReads = false
	w.run()
	for _, m := range sent[*message.ReplicaFetchReply](l) {
		require.Empty(t, m.Partitions)
	}
	require.EqualValues(t, 0, w.node(2).view(p0).End)
}

// A position that was stated while the answer to the one before was read makes
// that answer void: judged by it, the follower would cut twice.
func TestAnAnswerThatIsOvertakenByANewPositionTellsNothing(t *testing.T) {
	w := newWorld(t, 2)
	w.create(p0, message.TopicConfig{}, 1, 2)
	l := w.node(1)
	l.holdReads = true
	w.put(1, "a")
	s := l.m.session(2)
	w.held = func(x wire) bool { return true }
	w.deliver(wire{2, 1, &message.ReplicaFetch{BrokerEpoch: 2, Session: s.id, Sequence: s.sequence + 1, MaxWait: message.Second, MaxBytes: 100,
		Partitions: []message.ReplicaFetchPartition{{ID: p0, Offset: 0, LastEpoch: -1}}}})
	l.look()
	l.holdReads = false
	l.complete(l.nextRead())
	answers := sent[*message.ReplicaFetchReply](l)
	require.Len(t, answers, 1)
	require.Empty(t, answers[0].Partitions)
	l.complete(l.nextRead())
	require.Equal(t, []string{"a0"}, values(t, sent[*message.ReplicaFetchReply](l)[0].Partitions[0].Records))
}

func TestMaxBytesBoundsAnAnswerOverAllPartitions(t *testing.T) {
	w := newWorld(t, 1)
	p1 := record.PartitionID{Topic: 7, Index: 1}
	w.create(p0, message.TopicConfig{}, 1)
	w.create(p1, message.TopicConfig{}, 1)
	w.put(1, "a", "b")
	l := w.node(1)
	size := int32(len(batch("a", 1)))
	other := at(0)
	other.ID = p1
	l.look()
	l.fetch(&message.Fetch{MaxBytes: 2*size + 5, Partitions: []message.FetchPartition{at(0), at(1), other, at(0)}})
	require.Equal(t, []effect.Slice{
		{Log: p0, From: 0, To: 2, MaxBytes: 2*size + 5},
		{Log: p0, From: 1, To: 2, MaxBytes: 5},
	}, l.look()[0].(effect.Read).Slices)
}

func TestTheGroupRoomAppendsAndReplays(t *testing.T) {
	w := newWorld(t, 2)
	w.create(p0, message.TopicConfig{Internal: true}, 1, 2)
	l := w.node(1)
	require.Equal(t, []LeadershipChange{{ID: p0, Epoch: 0, Leading: true}}, l.led)
	local := func(epoch record.LeaderEpoch, ticket uint64, b []byte) {
		l.do(func(m *Manager, now message.Now, out *Out) { m.LocalAppend(now, p0, epoch, ticket, b, out) })
	}
	w.node(2).holdDisk = true
	local(0, 1, batch("a", 2))
	local(0, 2, batch("b", 1))
	local(5, 3, batch("c", 1))
	require.Equal(t, []LocalResult{{Ticket: 3, Code: message.NotLeaderOrFollower, Base: -1}}, l.local)
	w.setISR(p0, 1)
	w.holdAlters = true
	w.run()
	local(0, 4, batch("d", 1))
	require.Equal(t, []LocalResult{{Ticket: 4, Code: message.NotEnoughReplicas, Base: -1}}, l.local[1:],
		"what is appended already still has no outcome")
	w.setISR(p0, 1, 2)
	w.node(2).holdDisk = false
	w.run()
	require.Equal(t, []LocalResult{{Ticket: 1, Base: 0}, {Ticket: 2, Base: 2}}, l.local[2:])

	replay := func(from record.Offset) Replay {
		l.replayed = nil
		l.do(func(m *Manager, now message.Now, out *Out) { m.LocalRead(now, p0, 0, from, out) })
		w.run()
		require.Len(t, l.replayed, 1)
		return l.replayed[0]
	}
	all := replay(0)
	require.Equal(t, []string{"a0", "a1", "b0"}, values(t, all.Batches))
	all.Batches = nil
	require.Equal(t, Replay{ID: p0, Next: 3, Done: true}, all)
	require.Equal(t, Replay{ID: p0, Next: 3, Done: true}, replay(3))

	l.do(func(m *Manager, now message.Now, out *Out) { m.LocalTrim(now, p0, 0, 2, out) })
	w.pass(2 * message.Second)
	require.EqualValues(t, 2, l.view(p0).ShownStart)
	require.Equal(t, []string{"b0"}, values(t, replay(0).Batches))
	l.do(func(m *Manager, now message.Now, out *Out) {
		m.LocalTrim(now, p0, 9, 3, out)
		m.LocalRead(now, p0, 9, 0, out)
	})
	require.EqualValues(t, 2, l.view(p0).Start)
}

// What a record has removed is said nowhere else. Once the log start has moved over it,
// who has read what it removed, and goes on behind the start, would keep that.
func TestALocalReadThatTheLogStartOvertakesBeginsAnew(t *testing.T) {
	w := newWorld(t, 2)
	w.create(p0, message.TopicConfig{}, 1, 2)
	l := w.node(1)
	l.m.cfg.ReplayBytes = 1 // a batch at a time
	w.put(1, "a", "b", "c", "d")
	w.pass(message.Second)
	read := func(from record.Offset) (Replay, []string) {
		l.replayed = nil
		l.do(func(m *Manager, now message.Now, out *Out) { m.LocalRead(now, p0, 0, from, out) })
		w.run()
		require.Len(t, l.replayed, 1)
		got := values(t, l.replayed[0].Batches)
		l.replayed[0].Batches = nil
		return l.replayed[0], got
	}
	first, got := read(0)
	require.Equal(t, Replay{ID: p0, Next: 1}, first)
	require.Equal(t, []string{"a0"}, got)
	trim := func(before record.Offset) {
		l.do(func(m *Manager, now message.Now, out *Out) { m.LocalTrim(now, p0, 0, before, out) })
		w.pass(2 * message.Second)
	}
	trim(1)
	second, got := read(1)
	require.Equal(t, Replay{ID: p0, Next: 2}, second, "nothing was skipped")
	require.Equal(t, []string{"b0"}, got)
	trim(3)
	third, got := read(2)
	require.Equal(t, Replay{ID: p0, Next: 4, Anew: true, Done: true}, third)
	require.Equal(t, []string{"d0"}, got)
	trim(4)
	last, _ := read(2)
	require.Equal(t, Replay{ID: p0, Next: 4, Anew: true, Done: true}, last, "there is nothing left to read")
}
