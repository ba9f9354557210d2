package client

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// madness answers a client with anything at all.
type madness struct {
	*play
	t   *rapid.T
	mad int // answers in ten that are not what a healthy cluster would say
}

func (m *madness) code() message.Code {
	if rapid.Bool().Draw(m.t, "good") {
		return message.None
	}
	return message.Code(rapid.IntRange(-1, int(message.OperationNotAttempted)+1).Draw(m.t, "code"))
}

func (m *madness) number() int64 {
	return rapid.SampledFrom([]int64{-2, -1, 0, 1, 2, 5, 10, 1 << 62}).Draw(m.t, "number")
}

func (m *madness) node() message.NodeID {
	return message.NodeID(rapid.IntRange(-1, 4).Draw(m.t, "node"))
}

func (m *madness) id() record.PartitionID {
	return record.PartitionID{Topic: record.TopicID(rapid.SampledFrom([]int{0, 7, 7, 7, 9}).Draw(m.t, "topic")), Index: rapid.Int32Range(-1, 4).Draw(m.t, "index")}
}

func (m *madness) offset() record.Offset     { return record.Offset(m.number()) }
func (m *madness) epoch() record.LeaderEpoch { return record.LeaderEpoch(m.number() % 100) }

func (m *madness) bytes() []byte {
	switch rapid.IntRange(0, 3).Draw(m.t, "bytes") {
	case 0:
		return nil
	case 1:
		return rapid.SliceOf(rapid.Byte()).Draw(m.t, "noise")
	case 2:
		b := stored(m.offset(), m.epoch(), "x", "y")
		return b[:rapid.IntRange(0, len(b)).Draw(m.t, "cut")]
	}
	return append(stored(m.offset(), m.epoch(), "x", "y"), stored(m.offset(), m.epoch(), "z")...)
}

// some makes a few of something, or exactly as many as were asked for.
func some[T any](m *madness, asked int, one func(i int) T) (list []T) {
	n := asked
	if rapid.IntRange(0, 4).Draw(m.t, "wrong count") == 0 {
		n = rapid.IntRange(0, 3).Draw(m.t, "count")
	}
	for i := range n {
		list = append(list, one(i))
	}
	return list
}

func pick[T any](m *madness, i int, asked []T, id func(T) record.PartitionID) record.PartitionID {
	if i < len(asked) && rapid.IntRange(0, 9).Draw(m.t, "wrong id") > 0 {
		return id(asked[i])
	}
	return m.id()
}

func (m *madness) dataReply(r message.Request) message.Reply {
	switch r := r.(type) {
	case *message.Produce:
		return &message.ProduceReply{Partitions: some(m, len(r.Partitions), func(i int) message.ProducedPartition {
			id := pick(m, i, r.Partitions, func(p message.ProducePartition) record.PartitionID { return p.ID })
			return message.ProducedPartition{ID: id, Code: m.code(), BaseOffset: m.offset(), Leader: m.node(), LeaderEpoch: m.epoch()}
		})}
	case *message.Fetch:
		return &message.FetchReply{Partitions: some(m, len(r.Partitions), func(i int) message.FetchedPartition {
			id := pick(m, i, r.Partitions, func(p message.FetchPartition) record.PartitionID { return p.ID })
			e := message.FetchedPartition{ID: id, Code: m.code(), HighWatermark: m.offset(), LastStable: m.offset(), LogStart: m.offset(), Leader: m.node(), LeaderEpoch: m.epoch(), Records: m.bytes()}
			if rapid.IntRange(0, 5).Draw(m.t, "aborted") == 0 {
				e.Aborted = []message.AbortedTransaction{{ID: record.ProducerID(m.number()), First: m.offset()}, {ID: 1, First: m.offset()}}
			}
			if rapid.IntRange(0, 5).Draw(m.t, "diverging") == 0 {
				e.Diverging = &message.EpochEnd{Epoch: m.epoch(), End: m.offset()}
			}
			return e
		})}
	case *message.ListOffsets:
		return &message.ListOffsetsReply{Partitions: some(m, len(r.Partitions), func(i int) message.ListedOffset {
			id := pick(m, i, r.Partitions, func(p message.ListOffsetsPartition) record.PartitionID { return p.ID })
			return message.ListedOffset{ID: id, Code: m.code(), Offset: m.offset()}
		})}
	case *message.OffsetForLeaderEpoch:
		return &message.OffsetForLeaderEpochReply{Partitions: some(m, len(r.Partitions), func(i int) message.EpochAnswer {
			id := pick(m, i, r.Partitions, func(p message.EpochQuestion) record.PartitionID { return p.ID })
			return message.EpochAnswer{ID: id, Code: m.code(), Epoch: m.epoch(), End: m.offset()}
		})}
	}
	return nil
}

func (m *madness) groupReply(r message.Request) message.Reply {
	switch r := r.(type) {
	case *message.FindCoordinator:
		return &message.FindCoordinatorReply{Code: m.code(), Node: m.node()}
	case *message.GroupHeartbeat:
		return &message.GroupHeartbeatReply{Code: m.code(), MemberEpoch: message.MemberEpoch(m.number() % 100), Interval: message.Duration(m.number()) * message.Second % message.Minute,
			Assigned: rapid.Bool().Draw(m.t, "assigned"), Assignment: some(m, 1, func(int) record.PartitionID { return m.id() })}
	case *message.CommitOffsets:
		return &message.CommitOffsetsReply{Code: m.code(), Offsets: some(m, len(r.Offsets), func(i int) message.CommittedOffset {
			return message.CommittedOffset{ID: pick(m, i, r.Offsets, func(p message.GroupOffset) record.PartitionID { return p.ID }), Code: m.code()}
		})}
	case *message.CommitTransactionOffsets:
		return &message.CommitTransactionOffsetsReply{Code: m.code(), Offsets: some(m, len(r.Offsets), func(i int) message.CommittedOffset {
			return message.CommittedOffset{ID: pick(m, i, r.Offsets, func(p message.GroupOffset) record.PartitionID { return p.ID }), Code: m.code()}
		})}
	case *message.EndTransaction:
		return &message.EndTransactionReply{Code: m.code(), ID: record.ProducerID(m.number()), Epoch: record.ProducerEpoch(m.number() % 100)}
	case *message.FetchOffsets:
		return &message.FetchOffsetsReply{Code: m.code(), Offsets: some(m, len(r.IDs), func(i int) message.GroupOffset {
			return message.GroupOffset{ID: pick(m, i, r.IDs, func(p record.PartitionID) record.PartitionID { return p }), Offset: m.offset(), LeaderEpoch: m.epoch()}
		})}
	}
	return nil
}

func (m *madness) metadataReply() message.Reply {
	reply := &message.MetadataReply{ClusterID: "c", Version: message.Version(rapid.IntRange(8, 13).Draw(m.t, "version")), Controller: m.node()}
	reply.Brokers = some(m, 3, func(i int) message.BrokerInfo {
		return message.BrokerInfo{ID: m.node(), Address: rapid.SampledFrom([]string{"a:1", "b:1", ""}).Draw(m.t, "address"), Fenced: rapid.IntRange(0, 5).Draw(m.t, "fenced") == 0}
	})
	reply.Topics = some(m, 2, func(i int) message.TopicInfo {
		return message.TopicInfo{Code: m.code(), Name: rapid.SampledFrom([]string{"orders", "audit", ""}).Draw(m.t, "name"), ID: m.id().Topic,
			Partitions: some(m, 2, func(i int) message.PartitionInfo {
				return message.PartitionInfo{Index: m.id().Index, Leader: m.node(), LeaderEpoch: m.epoch()}
			})}
	})
	return reply
}

// sane answers as a healthy cluster might.
func (m *madness) sane(r message.Request) message.Reply {
	switch r := r.(type) {
	case *message.Metadata:
		reply := m.image
		return &reply
	case *message.InitProducerID:
		return &message.InitProducerIDReply{ID: 3}
	case *message.Produce:
		return produced(r, 100)
	case *message.FindCoordinator:
		return &message.FindCoordinatorReply{Node: 2}
	case *message.GroupHeartbeat:
		a := &message.GroupHeartbeatReply{MemberEpoch: max(r.MemberEpoch, 1), Interval: 3 * message.Second}
		if a.Assigned = rapid.Bool().Draw(m.t, "assigned"); a.Assigned {
			a.Assignment = rapid.SampledFrom([][]record.PartitionID{nil, {orders0}, {orders0, orders1}, {orders1, orders2}}).Draw(m.t, "assignment")
		}
		return a
	case *message.EndTransaction:
		return &message.EndTransactionReply{ID: r.ID, Epoch: r.Epoch + 1}
	case *message.FetchOffsets:
		a := &message.FetchOffsetsReply{}
		for _, id := range r.IDs {
			a.Offsets = append(a.Offsets, message.GroupOffset{ID: id, Offset: record.Offset(rapid.IntRange(-1, 3).Draw(m.t, "committed")), LeaderEpoch: 5})
		}
		return a
	case *message.Fetch:
		a := message.Fail(r, message.None, "").(*message.FetchReply)
		for i, p := range r.Partitions {
			if p.Offset < 1000 {
				a.Partitions[i].Records = stored(p.Offset, 5, "x", "y", "z")
			}
		}
		return a
	case *message.OffsetForLeaderEpoch:
		a := message.Fail(r, message.None, "").(*message.OffsetForLeaderEpochReply)
		for i, q := range r.Partitions {
			a.Partitions[i].Epoch, a.Partitions[i].End = q.Epoch, 2000
		}
		return a
	case *message.ListOffsets:
		a := message.Fail(r, message.None, "").(*message.ListOffsetsReply)
		for i := range a.Partitions {
			a.Partitions[i].Offset = 7
		}
		return a
	}
	return message.Fail(r, message.None, "")
}

func (m *madness) reply(r message.Request) message.Reply {
	if rapid.IntRange(1, 10).Draw(m.t, "sane") > m.mad {
		return m.sane(r)
	}
	switch rapid.IntRange(0, 9).Draw(m.t, "kind of answer") {
	case 0:
		k := rapid.SampledFrom(message.Kinds()).Draw(m.t, "kind")
		if reply, ok := message.New(k).(message.Reply); ok {
			return reply
		}
		return nil
	case 1:
		return &message.Refused{Code: m.code()}
	case 2:
		return message.Fail(r, m.code(), "")
	}
	if reply := m.dataReply(r); reply != nil {
		return reply
	}
	if reply := m.groupReply(r); reply != nil {
		return reply
	}
	switch r.(type) {
	case *message.Metadata:
		return m.metadataReply()
	case *message.InitProducerID:
		return &message.InitProducerIDReply{Code: m.code(), ID: record.ProducerID(m.number()), Epoch: record.ProducerEpoch(rapid.SampledFrom([]int16{0, 0, 32767, -1}).Draw(m.t, "producer epoch"))}
	}
	return message.Fail(r, m.code(), "")
}

func (m *madness) place() Place {
	return Place{rapid.SampledFrom([]string{"orders", "orders", "orders", "audit", "nope", ""}).Draw(m.t, "name"), rapid.Int32Range(-1, 3).Draw(m.t, "partition")}
}

func (m *madness) start() Start {
	return Start{m.place(), Position{PositionKind(rapid.IntRange(0, 5).Draw(m.t, "position")), m.offset(), record.Timestamp(m.number())}}
}

func (m *madness) input(op Op) Input {
	p := m.place()
	switch rapid.IntRange(0, 20).Draw(m.t, "input") {
	case 0, 1, 2:
		return Publish{Op: op, Topic: p.Topic, Partition: p.Partition, Key: m.bytes(), Value: m.bytes()}
	case 3:
		return FlushAll{op}
	case 4, 5:
		style := Style(rapid.IntRange(0, 1).Draw(m.t, "style"))
		return Subscribe{Op: op, Group: rapid.SampledFrom([]string{"g", "g", "g", "h"}).Draw(m.t, "group"), Instance: rapid.SampledFrom([]string{"", "", "", "i"}).Draw(m.t, "instance"),
			Topics: []string{p.Topic}, Style: style, Reset: Reset(rapid.IntRange(0, 2).Draw(m.t, "reset")), AutoCommit: style == AtLeastOnce && rapid.Bool().Draw(m.t, "auto")}
	case 6:
		return Assign{Op: op, Partitions: []Start{m.start(), m.start()}, Group: rapid.SampledFrom([]string{"", "g"}).Draw(m.t, "group"), Style: Style(rapid.IntRange(0, 1).Draw(m.t, "style"))}
	case 7:
		return Seek{op, m.start()}
	case 8, 9:
		return Poll{op, rapid.IntRange(0, 3).Draw(m.t, "max"), message.Duration(m.number()) * message.Second % message.Minute}
	case 10:
		if rapid.Bool().Draw(m.t, "all") {
			return Commit{Op: op}
		}
		return Commit{op, []CommitOffset{{Place: p, Offset: m.offset()}}}
	case 11:
		return Pause{op, []Place{p}}
	case 12:
		return Resume{Op: op}
	case 13:
		return Committed{Op: op}
	case 14:
		if rapid.Bool().Draw(m.t, "rare") {
			return Unsubscribe{op}
		}
		return Positions{op}
	case 15, 16:
		return Begin{Op: op}
	case 17:
		return AddOffsets{Op: op, Offsets: []CommitOffset{{Place: p, Offset: m.offset()}}[:rapid.IntRange(0, 1).Draw(m.t, "offsets")]}
	case 18:
		return End{Op: op, Commit: rapid.Bool().Draw(m.t, "commit")}
	case 19:
		return Rewind{op}
	}
	k := rapid.SampledFrom(message.Kinds()).Draw(m.t, "request")
	r, _ := message.New(k).(message.Request)
	return Ask{Op: op, Request: r, Target: Target{Kind: TargetKind(rapid.IntRange(0, 6).Draw(m.t, "target")), Group: "g", Place: p, Partition: m.id(), Node: m.node()}, Once: rapid.Bool().Draw(m.t, "once")}
}

// INV-37 and INV-38: whatever brokers answer, nothing panics, no timer spins,
// every operation has exactly one result, and a Close comes to its end even
// when nobody answers any more.
func TestWhateverIsAnsweredEveryOperationEnds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &madness{t: t}
		m.play = newPlay(t, func(c *Config) {
			c.Acks = message.Acks(rapid.IntRange(-1, 1).Draw(t, "acks"))
			c.BatchBytes, c.PrefetchBytes = 200, 500
			c.MaxPollInterval = 20 * message.Second
			c.TransactionalID = rapid.SampledFrom([]string{"", "", "t"}).Draw(t, "transactional id")
			c.Isolation = message.Isolation(rapid.IntRange(0, 1).Draw(t, "isolation"))
		})
		m.mad = rapid.IntRange(0, 9).Draw(t, "madness")
		for range rapid.IntRange(1, 100).Draw(t, "steps") {
			switch what := rapid.IntRange(0, 9).Draw(t, "what"); {
			case what <= 2:
				m.op++
				m.step(m.input(m.op))
			case what <= 7 && len(m.calls) > 0:
				i := rapid.IntRange(0, len(m.calls)-1).Draw(t, "which")
				c := m.calls[i]
				m.calls = slices.Delete(m.calls, i, i+1)
				m.answer(c, m.reply(c.Request))
			case what == 8 && len(m.calls) > 0:
				c := m.calls[0]
				m.calls = m.calls[1:]
				m.step(Failed{c.Call, Reason(rapid.IntRange(0, 1).Draw(t, "reason"))})
			default:
				m.pass(message.Duration(rapid.IntRange(0, 9000).Draw(t, "ms")) * message.Millisecond)
			}
		}
		m.op++
		m.step(Close{m.op})
		m.op++
		m.step(m.input(m.op)) // too late
		m.pass(10 * message.Minute)
		for op := Op(1); op <= m.op; op++ {
			r, ok := m.done[op]
			require.True(t, ok, "operation %d has no result", op)
			require.Equal(t, r.Outcome == OK, r.Err == nil)
		}
		require.Equal(t, message.Never, m.c.Wake())
		require.Zero(t, m.c.producer.buffered)
	})
}
