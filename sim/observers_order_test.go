package sim

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/core/replica"
	"github.com/tamarack-mq/tamarack/witness"
)

// numbered is a batch of one record of producer 7.
func numbered(base record.Offset, epoch record.ProducerEpoch, sequence record.Sequence) []byte {
	b := batch(base, 1, "x")
	record.SetProducer(b, 7, epoch, sequence)
	return b
}

// marker ends a transaction of producer 7, and begins an epoch.
func marker(base record.Offset, epoch record.ProducerEpoch) []byte {
	b := record.BuildMarker(0, 7, epoch, record.Marker{Outcome: record.Committed})
	record.Stamp(b, base, 1)
	return b
}

func TestATraceTellsTransactionsApart(t *testing.T) {
	b := numbered(0, 3, 0)
	record.SetTransactional(b, 7, 3, 0)
	all := append(append(b, marker(1, 4)...), numbered(2, 5, 0)...)
	require.Equal(t, "[0,1)@1/p7.3.0/t [1,2)@1/p7.4.-1/commit [2,3)@1/p7.5.0", describeBatches(all))
}

func TestSequencesWithGapsRepeatsOrFallingEpochsAreRefused(t *testing.T) {
	for _, c := range []struct {
		batches   [][]byte
		invariant string
		words     string
	}{
		{[][]byte{numbered(0, 0, 0), numbered(1, 0, 1), numbered(2, 1, 0), numbered(3, 1, 1)}, "", ""},
		{[][]byte{numbered(0, 0, 0), numbered(1, 0, 2)}, "INV-27", "the sequence 2 where 1 was due"},
		{[][]byte{numbered(0, 0, 0), numbered(1, 0, 0)}, "INV-27", "the sequence 0 where 1 was due"},
		{[][]byte{numbered(0, 0, 3)}, "INV-27", "has the sequence 3"},
		{[][]byte{numbered(0, 0, 0), numbered(1, 1, 1)}, "INV-27", "has the sequence 1"},
		{[][]byte{numbered(0, 1, 0), numbered(1, 0, 0)}, "INV-29", "in epoch 0, behind one of epoch 1"},
		{[][]byte{numbered(0, 0, 0), marker(1, 1), numbered(2, 1, 0), marker(3, 2)}, "", ""},
		{[][]byte{marker(0, 1), numbered(1, 1, 1)}, "INV-27", "the sequence 1 where 0 was due"},
		{[][]byte{numbered(0, 0, 0), marker(1, 1), numbered(2, 0, 1)}, "INV-29", "in epoch 0, behind one of epoch 1"},
		{[][]byte{numbered(0, 1, 0), marker(1, 1)}, "INV-29", "a marker of producer 7 that begins epoch 1, behind one of epoch 1"},
	} {
		s := newStage(t)
		r := s.holds(1, c.batches...)
		r.part.committed, r.part.high = r.memory.batches, r.memory.end
		s.step(&sequences{}, 1, effect.Tick{}, nil, r)
		if c.invariant == "" {
			s.passed()
		} else {
			s.refused(c.invariant, c.words)
		}
	}
}

// A failure about a repeat names both copies, so that the story of each can be told.
func TestARepeatIsAboutBothCopies(t *testing.T) {
	s := newStage(t)
	r := s.holds(1, numbered(0, 0, 0), numbered(1, 0, 1), numbered(2, 0, 0))
	r.part.committed, r.part.high = r.memory.batches, r.memory.end
	s.step(&sequences{}, 1, effect.Tick{}, nil, r)
	require.Equal(t, witness.Subject{Partition: part, Offset: 2, Copies: []int64{0}}, s.failure.Subject.witnessed())
}

func TestALeaderThatDoesNotKnowARepeatIsRefused(t *testing.T) {
	s := newStage(t)
	var batches [][]byte
	for i := range 7 {
		batches = append(batches, numbered(record.Offset(i), 0, record.Sequence(i)))
	}
	r := s.holds(1, batches...)
	s.leads(r, 1, 7)
	answer := func(sequence record.Sequence) {
		asked := &message.Produce{Acks: -1, Partitions: []message.ProducePartition{{ID: part, Records: numbered(0, 0, sequence)}}}
		reply := &message.ProduceReply{Partitions: []message.ProducedPartition{{ID: part, Code: message.OutOfOrderSequence}}}
		s.step(&sequences{}, 1, effect.Requested{Token: 3, Msg: asked}, []effect.Effect{effect.Reply{Token: 3, Msg: reply}}, r)
	}
	answer(9) // not there
	s.passed()
	answer(1) // the sixth from the end: it may be forgotten
	s.passed()
	answer(2)
	s.refused("INV-27", "sequence 2, which stands in partition 5/0 at offset 2")
}

func TestAForgottenCommitIsRefused(t *testing.T) {
	s := newStage(t)
	s.book.part(part)
	o := &committedOffsets{}
	token, steps := message.Token(0), uint64(0)
	ask := func(node int32, r message.Request) message.Token {
		token, steps = token+1, steps+1
		s.stats.Steps = steps
		s.nodes[node].tokens[token] = caller{request: r}
		s.step(o, node, effect.Requested{Token: token, Msg: r}, nil)
		return token
	}
	answer := func(node int32, at message.Token, r message.Reply) {
		steps++
		s.stats.Steps = steps
		s.step(o, node, effect.Tick{}, []effect.Effect{effect.Reply{Token: at, Msg: r}})
	}
	commit := func(node int32, offset record.Offset) message.Token {
		return ask(node, &message.CommitOffsets{Group: "g", Offsets: []message.GroupOffset{{ID: part, Offset: offset}}})
	}
	stored := &message.CommitOffsetsReply{Offsets: []message.CommittedOffset{{ID: part}}}
	fetch := func(node int32) message.Token { return ask(node, &message.FetchOffsets{Group: "g"}) }
	told := func(offset record.Offset) *message.FetchOffsetsReply {
		return &message.FetchOffsetsReply{Offsets: []message.GroupOffset{{ID: part, Offset: offset}}}
	}

	lost := commit(1, 5) // never answered
	early := fetch(2)
	answer(1, commit(1, 10), stored)
	answer(2, fetch(2), told(10))
	s.passed()
	answer(2, early, told(5)) // asked before 10 was acknowledged
	s.passed()
	commit(1, 20)
	answer(2, fetch(2), told(20)) // not acknowledged, and yet it may be there
	s.passed()
	answer(2, fetch(2), told(5))
	s.refused("INV-24", "the position 5 for partition 5/0, but 10 was acknowledged")
	answer(2, fetch(2), told(message.NoOffset))
	s.refused("INV-24", "the position -1")

	gone := ask(1, &message.DeleteOffsets{Group: "g", IDs: []record.PartitionID{part}})
	answer(2, fetch(2), told(message.NoOffset)) // it may be deleted by now
	answer(1, gone, &message.DeleteOffsetsReply{})
	answer(2, fetch(2), told(message.NoOffset))
	s.passed()
	answer(1, commit(1, 30), stored)
	answer(2, fetch(2), told(message.NoOffset)) // what was deleted was another
	s.refused("INV-24", "the position -1")
	_ = lost
}

// TestPositionsMayExpireOnlyWithoutMembers: what may be gone is told from when a
// member was last answered, and from nothing else.
func TestPositionsMayExpireOnlyWithoutMembers(t *testing.T) {
	s := newStage(t)
	o := &committedOffsets{alive: map[string]Span{"g": 2 * Second}}
	at := func(now Span) bool { s.now = now; return o.mayExpire(s.World, "g", 5) }
	require.False(t, at(99*Second), "nothing ever expires")
	s.plan.Timing.OffsetRetention = 3 * Second
	require.False(t, at(4*Second))
	require.True(t, at(5*Second))
	o.lapsed = map[string]uint64{"g": 5}
	require.False(t, at(4*Second), "what was acknowledged after the gap stays")
	o.lapsed["g"] = 6
	require.True(t, at(4*Second))
	o.lapsed = nil
	s.nodes[1].clock.jump(-400)
	require.False(t, at(4*Second), "the clocks are apart, but not so far")
	s.nodes[2].clock.jump(700)
	require.True(t, at(4*Second), "who looks is 1.1 s ahead of who noted that the last member left")
	s.nodes[2].clock.jump(-700)
	require.True(t, at(4*Second), "it may have looked by then")
	require.False(t, at(3_800*Millisecond))
}

func TestAReaderThatIsNotToldOfATruncationIsRefused(t *testing.T) {
	s := newStage(t)
	r := s.holds(1, batch(0, 1, "a"), batch(1, 3, "b"), batch(2, 3, "c"))
	r.view = replica.View{ID: part, Role: replica.Leading, LeaderEpoch: 3}
	read := func(epoch record.LeaderEpoch) {
		s.nodes[1].tokens[4] = caller{client: s.clients[0].endpoint, request: &message.Fetch{
			Partitions: []message.FetchPartition{{ID: part, Offset: 2, LastEpoch: epoch}},
		}}
		reply := &message.FetchReply{Partitions: []message.FetchedPartition{{ID: part, Records: batch(2, 3, "c")}}}
		s.step(&toldOfTruncations{}, 1, effect.Tick{}, []effect.Effect{effect.Reply{Token: 4, Msg: reply}})
	}
	read(3)
	s.passed()
	read(record.NoLeaderEpoch)
	s.passed()
	read(2)
	s.refused("INV-35", "behind one of epoch 3, but it has read one of epoch 2")

	r.memory.cut(1)
	var three record.Builder
	for _, value := range []string{"b", "c", "d"} {
		require.NoError(t, three.Append(1000, nil, []byte(value), nil))
	}
	whole := three.Build()
	record.Stamp(whole, 1, 3)
	r.memory.extend(whole, 0) // it goes on inside of that
	read(3)
	s.passed()
	read(2)
	s.refused("INV-35", "behind one of epoch 3, but it has read one of epoch 2")
}

func TestAnIDForTwoProducersIsRefused(t *testing.T) {
	s := newStage(t)
	o := &sequences{}
	give := func(node int32, id record.ProducerID) {
		s.step(o, node, effect.Tick{}, []effect.Effect{effect.Reply{Token: 1, Msg: &message.InitProducerIDReply{ID: id}}})
	}
	give(1, 7)
	give(2, 8)
	s.passed()
	give(2, 7)
	s.refused("INV-27", "the id 7, which node 1 has given")
}
