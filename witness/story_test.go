package witness

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/record"
)

var (
	orders  = record.PartitionID{Topic: 11, Index: 0}
	offsets = record.PartitionID{Topic: 5, Index: 2}
)

// book is a run that is written by hand: each event a millisecond after the one
// before.
type book struct{ Run }

func newBook() *book {
	return &book{Run{
		Nodes: 3, Offsets: "__consumer_offsets",
		Topics: map[record.TopicID]string{11: "orders", 5: "__consumer_offsets"},
	}}
}

func (b *book) next() { b.Events++; b.End = int64(b.Events) * 1_000_000 }

func (b *book) add(r Row) int32 {
	r.Event, r.Time = b.Events, b.End
	b.Rows = append(b.Rows, r)
	return int32(len(b.Rows) - 1)
}

// row is a row at a place that follows from another; change says the rest.
func (b *book) row(at Place, what What, cause int32, change func(r *Row)) int32 {
	r := Row{Place: at, What: what, Cause: cause, Begin: None}
	if change != nil {
		change(&r)
	}
	return b.add(r)
}

func in(id record.PartitionID, epoch int32, from, to int64) []Part {
	p := NewPart(id)
	p.Epoch, p.From, p.To = epoch, from, to
	return []Part{p}
}

func (b *book) appends(at Place, cause int32, id record.PartitionID, epoch int32, from, to int64) {
	b.row(at, Append, cause, func(r *Row) { r.Parts = in(id, epoch, from, to) })
}

func (b *book) flushes(at Place, id record.PartitionID, to int64) {
	b.next()
	b.row(at, Flushed, None, func(r *Row) { r.Parts = in(id, None, None, to); r.Parts[0].Flushed = to })
}

func (b *book) stands(at Place, id record.PartitionID, role string, epoch int32, end, high int64) {
	b.row(at, State, None, func(r *Row) {
		r.Name = role
		p := NewPart(id)
		p.Epoch, p.Start, p.End, p.Flushed, p.High, p.Nodes = epoch, 0, end, end, high, []int32{1, 2}
		r.Parts = []Part{p}
	})
}

// lostRecord is a record that is committed on nodes 1 and 2 and then cut by both.
func lostRecord() *book {
	b := newBook()
	b.stands(1, orders, "leading", 0, 20, 20)
	b.next()
	ask := b.row(ClientAt(7), Ask, None, func(r *Row) { r.Name, r.Text = "publish", `topic orders, value "a"` })
	call := b.row(ClientAt(7), Call, ask, func(r *Row) { r.Name, r.Peer = "Produce", 1 })
	b.next()
	request := b.row(1, Request, call, func(r *Row) { r.Name, r.Peer = "Produce", ClientAt(7) })
	b.appends(1, request, orders, 0, 20, 22)
	b.stands(1, orders, "leading", 0, 22, 20)
	send := b.row(1, Send, request, func(r *Row) { r.Name, r.Peer = "ReplicaFetchReply", 2 })
	b.next()
	got := b.row(2, Recv, send, func(r *Row) { r.Name, r.Peer = "ReplicaFetchReply", 1 })
	b.appends(2, got, orders, 0, 20, 22)
	b.appends(2, got, orders, 0, 22, 30) // others
	b.flushes(1, orders, 22)
	b.flushes(2, orders, 30)
	tells := b.row(2, Send, None, func(r *Row) { r.Name, r.Peer = "ReplicaProgress", 1 })
	b.next()
	heard := b.row(1, Recv, tells, func(r *Row) {
		r.Name, r.Peer, r.Parts = "ReplicaProgress", 2, in(orders, 0, None, None)
		r.Parts[0].Flushed = 30
	})
	b.stands(1, orders, "leading", 0, 22, 22)
	reply := b.row(1, Reply, heard, func(r *Row) {
		r.Name, r.Peer, r.Begin, r.Parts = "ProduceReply", ClientAt(7), request, in(orders, None, 20, 22)
	})
	b.next()
	answer := b.row(ClientAt(7), Answer, reply, func(r *Row) { r.Name, r.Peer = "ProduceReply", 1 })
	b.row(ClientAt(7), Done, answer, func(r *Row) { r.Name, r.Code, r.Begin, r.Parts = "publish", "ok", ask, in(orders, None, 21, 22) })
	b.next()
	b.row(2, Down, None, func(r *Row) { r.Name = "power lost" })
	b.next()
	start := b.row(2, Start, None, nil)
	b.row(2, Found, start, func(r *Row) { r.Parts = in(orders, None, None, None); r.Parts[0].Start, r.Parts[0].End = 0, 21 })
	b.next()
	b.row(3, Meta, None, func(r *Row) {
		r.Parts, r.Text = in(orders, 1, None, None), "leader 1 in epoch 0 → 2 in epoch 1"
		r.Parts[0].Leader = 2
	})
	b.next()
	b.stands(2, orders, "leading", 1, 21, 20)
	b.next()
	cut := b.row(1, Recv, None, func(r *Row) { r.Name, r.Peer = "ReplicaFetchReply", 2 })
	b.row(1, Truncate, cut, func(r *Row) { r.Parts = in(orders, None, 21, 22) })
	b.row(1, Broken, cut, func(r *Row) { r.Name, r.Text = "INV-4", "node 1 cuts a committed record" })
	b.Failure = &Failure{Invariant: "INV-4", Sentence: "node 1 cuts a committed record", Event: b.Events, Place: 1, Subject: Subject{Partition: orders, Offset: 21}}
	return b
}

func printed(t *testing.T, run *Run, s *Story) string {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, run.WriteStory(&out, s))
	return out.String()
}

func TestTheLifeOfARecord(t *testing.T) {
	b := lostRecord()
	require.Equal(t, `record 21 of partition 11/0 (orders/0)
       1          1ms  client 7 publishes it: topic orders, value "a"
       1          1ms  client 7 sends it to node 1
       2          2ms  node 1 appends it for client 7: offsets [20, 22), epoch 0
       3          3ms  node 2 appends it as it came from node 1: offsets [20, 22), epoch 0
       4          4ms  node 1 has flushed it: its log is durable up to 22
       5          5ms  node 2 has flushed it: its log is durable up to 30
       6          6ms  node 1 hears that node 2 has flushed up to 30
       6          6ms  node 1 moves the high watermark to 22: it is committed (in sync: [1 2])
       6          6ms  node 1 acknowledges it to client 7, offsets [20, 22)
       7          7ms  client 7 is told: ok
       8          8ms  node 2 ends (power lost); it is durable there
       9          9ms  node 2 recovers without it: its log ends at 21
      10         10ms  the controller on node 3: leader 1 in epoch 0 → 2 in epoch 1
      11         11ms  node 2 leads in epoch 1, without it: log [0, 21), high watermark 20
      12         12ms  node 1 cuts its log at 21 and drops it
      12         12ms  broken: INV-4 node 1 cuts a committed record
`, printed(t, &b.Run, b.Why()))
	require.Equal(t, `record 20 of partition 11/0 (orders/0)`, b.Record(orders, 20).Title)
	require.NotContains(t, printed(t, &b.Run, b.Record(orders, 20)), "drops it", "another record is not cut")
	require.Equal(t, `record 99 of partition 11/0 (orders/0): nobody ever wrote it`, b.Record(orders, 99).Title)
	end := int64(30)
	require.True(t, b.Record(orders, end).unwritten)
	b.Failure.Subject.Offset = end
	require.Equal(t, `record 30 of partition 11/0 (orders/0): nobody ever wrote it; so the one before it, record 29`, b.Why().Title)
	require.Contains(t, printed(t, &b.Run, b.Why()), "node 2 recovers without it")
}

func TestAnotherRecordInItsPlaceIsToldApart(t *testing.T) {
	b := lostRecord()
	b.Rows, b.Failure = b.Rows[:len(b.Rows)-1], nil
	b.next()
	b.appends(2, None, orders, 1, 21, 22)
	b.flushes(2, orders, 22)
	b.next()
	b.appends(1, None, orders, 1, 21, 22)
	story := printed(t, &b.Run, b.Record(orders, 21))
	require.Equal(t, 2, strings.Count(story, "appends another record in its place"))
	require.Equal(t, 1, strings.Count(story, "node 2 has flushed it"), "what is flushed now is the other one")
}

// Of a record that stands twice the story tells how it came to both places.
func TestTheStoryOfARepeatTellsOfBothCopies(t *testing.T) {
	b := newBook()
	b.stands(1, orders, "leading", 0, 20, 20)
	b.next()
	b.appends(1, None, orders, 0, 20, 21)
	b.next()
	b.appends(1, None, orders, 0, 21, 22) // another
	b.next()
	b.appends(1, None, orders, 0, 22, 23)
	b.row(1, Broken, None, func(r *Row) { r.Name, r.Text = "INV-27", "a repeat" })
	b.Failure = &Failure{Invariant: "INV-27", Sentence: "a repeat", Event: b.Events, Place: 1, Subject: Subject{Partition: orders, Offset: 22, Copies: []int64{20}}}
	require.Equal(t, `record 22 of partition 11/0 (orders/0), which is also record 20
       1          1ms  [20] node 1 appends it: offsets [20, 21), epoch 0
       3          3ms  [22] node 1 appends it: offsets [22, 23), epoch 0
       3          3ms  broken: INV-27 a repeat
`, printed(t, &b.Run, b.Why()))
}

func TestALongStoryKeepsWhatMatters(t *testing.T) {
	b := lostRecord()
	last := b.Rows[len(b.Rows)-1]
	b.Rows = b.Rows[:len(b.Rows)-1]
	for range 40 {
		b.next()
		b.row(ClientAt(8), Done, None, func(r *Row) { r.Name, r.Parts = "poll", in(orders, None, 15, 25) })
	}
	b.add(last)
	story := b.Record(orders, 21)
	require.Len(t, story.Steps, Longest)
	require.Equal(t, 32, story.Left)
	text := printed(t, &b.Run, story)
	for _, kept := range []string{"cuts its log at 21", "acknowledges it", "publishes it", "broken: INV-4", "(32 lesser steps left out)"} {
		require.Contains(t, text, kept)
	}
}

func TestTheLifeOfACommit(t *testing.T) {
	b := newBook()
	b.stands(1, offsets, "leading", 4, 7, 7)
	b.next()
	ask := b.row(ClientAt(3), Ask, None, func(r *Row) { r.Name, r.Group = "commit", "billing" })
	call := b.row(ClientAt(3), Call, ask, func(r *Row) { r.Name, r.Peer, r.Group = "CommitOffsets", 1, "billing" })
	b.next()
	request := b.row(1, Request, call, func(r *Row) {
		r.Name, r.Peer, r.Group, r.Parts = "CommitOffsets", ClientAt(3), "billing", in(orders, None, 30, None)
	})
	b.appends(1, request, offsets, 4, 7, 8)
	b.stands(1, offsets, "leading", 4, 8, 7)
	b.flushes(1, offsets, 8)
	b.stands(1, offsets, "leading", 4, 8, 8)
	b.row(1, Reply, None, func(r *Row) {
		r.Name, r.Peer, r.Group, r.Begin, r.Parts = "CommitOffsetsReply", ClientAt(3), "billing", request, in(orders, None, 30, None)
	})
	b.next()
	b.row(2, Reply, None, func(r *Row) {
		r.Name, r.Peer, r.Group, r.Parts = "FetchOffsetsReply", ClientAt(4), "billing", in(orders, None, 28, None)
	})
	require.Equal(t, `group "billing": commit of 30 in partition 11/0 (orders/0), kept as record 7 of partition 5/2 (__consumer_offsets/2)
       1          1ms  client 3 commits
       1          1ms  client 3 sends it to node 1
       2          2ms  node 1, the coordinator, takes it
       2          2ms  node 1 appends it for client 3: offsets [7, 8), epoch 4
       3          3ms  node 1 has flushed it: its log is durable up to 8
       3          3ms  node 1 moves the high watermark to 8: it is committed (in sync: [1 2])
       3          3ms  node 1 acknowledges it to client 3
       4          4ms  node 2 tells client 4 the position 28
`, printed(t, &b.Run, b.Commit("billing", orders, None)))
	require.Equal(t, `group "books": no such commit was acknowledged`, b.Commit("books", orders, None).Title)
}

func TestASubjectIsFoundInTheSentenceWhenTheJudgeNamesNone(t *testing.T) {
	b := lostRecord()
	b.Failure.Subject, b.Failure.Sentence = Subject{Offset: None}, "after 30s partition 11/0 has no leader, 4/5 do"
	require.Equal(t, Subject{Partition: orders, Offset: None}, b.Subject())
	require.Equal(t, "partition 11/0 (orders/0)", b.Why().Title)
	b.Failure.Sentence = `30s after the last fault the cluster has not come to rest: a partition of a group has no owner: orders/0 of group "billing"; the coordinator says ""; 4/5 do`
	require.Equal(t, Subject{Partition: orders, Offset: None, Group: "billing", Member: "any"}, b.Subject())
	require.Equal(t, `group "billing": who owns partition 11/0 (orders/0)`, b.Why().Title)
	b.Failure.Sentence = `30s after the last fault the cluster has not come to rest: client 3 of group "billing" is at 4 of 7 in partition 11/0`
	require.Equal(t, Subject{Partition: orders, Offset: None, Group: "billing"}, b.Subject())
	b.Failure.Sentence = `30s after the last fault the cluster has not come to rest: node 2 has that of "t1", {3 0}, in shard 1 as Ongoing with the partitions [11/0]; group "billing"`
	require.Equal(t, "t1", b.Subject().Transactional)
	b.Failure.Sentence, b.Failure.Place = "30s after the last fault the cluster has not come to rest: node 2 has not come back", 0
	require.Equal(t, Subject{Offset: None, Node: 2}, b.Subject())
	require.Equal(t, "node 2, and what led to event 12", b.Why().Title)
	b.Failure.Sentence = "nobody knows"
	require.Equal(t, "what led to event 12", b.Why().Title)
	b.Failure = nil
	require.Nil(t, b.Why())
}

func TestEveryLineOfATraceHasTheSameColumns(t *testing.T) {
	b := lostRecord()
	var out bytes.Buffer
	require.NoError(t, b.WriteTrace(&out, 2, 4))
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	head := strings.Fields(strings.ReplaceAll(lines[0], "#", ""))
	require.Equal(t, []string{"event", "time", "row", "cause", "place", "peer", "what", "name", "partition", "epoch", "from", "to", "start", "end", "flushed", "high", "code", "text"}, head)
	for _, line := range lines[1:] {
		require.GreaterOrEqual(t, len(strings.Fields(line)), len(head), line)
	}
	require.Equal(t, []string{"2", "2000000", "4", "3", "n1", "-", "append", "-", "11/0", "0", "20", "22", "-", "-", "-", "-", "-", "-"}, strings.Fields(lines[2]))
	require.Equal(t, "4", strings.Fields(lines[len(lines)-1])[0])
}

func TestARecordIsReadByNameOrNumber(t *testing.T) {
	b := newBook()
	for text, want := range map[string]int64{"orders/0@22": 22, "11/0@22": 22, "orders/0": None} {
		id, offset, err := b.ParseRecord(text)
		require.NoError(t, err)
		require.Equal(t, orders, id)
		require.Equal(t, want, offset)
	}
	for _, text := range []string{"", "orders", "orders/x", "12/0@1", "orders/0@x", "none/0"} {
		_, _, err := b.ParseRecord(text)
		require.ErrorContains(t, err, "is no record of this run", text)
	}
}

func TestWhoOwnsAPartition(t *testing.T) {
	b := newBook()
	beat := func(client int, owned bool) int32 {
		b.next()
		return b.row(1, Request, None, func(r *Row) {
			r.Name, r.Peer, r.Group, r.Text = "GroupHeartbeat", ClientAt(client), "billing", "GroupHeartbeat{Full:true}"
			if owned {
				r.Parts = in(orders, None, None, None)
			}
		})
	}
	answer := func(client int, request int32, given bool) {
		b.row(1, Reply, request, func(r *Row) {
			r.Name, r.Peer, r.Group, r.Begin, r.Text = "GroupHeartbeatReply", ClientAt(client), "billing", request, "GroupHeartbeatReply{Assigned:true}"
			if given {
				r.Parts = in(orders, None, None, None)
			}
		})
	}
	answer(1, beat(1, false), true)
	beat(1, true)
	answer(1, beat(1, true), false)
	answer(2, beat(2, false), true)
	beat(2, true)
	beat(1, false)
	b.row(1, Broken, None, func(r *Row) { r.Name, r.Text = "INV-21", "two owners" })
	b.Failure = &Failure{Invariant: "INV-21", Subject: Subject{Partition: orders, Offset: None, Group: "billing", Member: "1"}}
	require.Equal(t, `group "billing": who owns partition 11/0 (orders/0)
       1          1ms  node 1 assigns it to client 1
       2          2ms  client 1 tells node 1, the coordinator, that it has it
       3          3ms  node 1 takes it from client 1
       4          4ms  node 1 assigns it to client 2
       5          5ms  client 2 tells node 1, the coordinator, that it has it
       6          6ms  client 1 tells node 1, the coordinator, that it does not have it any more
       6          6ms  broken: INV-21 two owners
`, printed(t, &b.Run, b.Why()))
}

func TestAGroupThatIsNotThereIsRefused(t *testing.T) {
	b := newBook()
	require.EqualError(t, b.KnowsGroup("nope"), "there is no group nope in this run: it has none")
	b.Clients = []Client{{ID: 1}, {ID: 3, Group: "billing"}}
	b.row(ClientAt(1), Call, None, func(r *Row) { r.Group = "audit" })
	require.EqualError(t, b.KnowsGroup("nope"), "there is no group nope in this run; it has audit, billing")
	require.NoError(t, b.KnowsGroup("audit"))
}

func TestAReaderThatPassesOverARecord(t *testing.T) {
	b := newBook()
	b.appends(1, None, orders, 0, 20, 22)
	given := func(client int, from, to int64) {
		b.next()
		b.row(ClientAt(client), Done, None, func(r *Row) { r.Name, r.Parts = "poll", in(orders, None, from, to) })
	}
	given(1, 18, 20)
	given(2, 30, 31) // it began there
	given(1, 22, 24)
	given(1, 24, 25)
	var out bytes.Buffer
	require.NoError(t, b.WriteStory(&out, b.Record(orders, 21)))
	require.Equal(t, `record 21 of partition 11/0 (orders/0)
       0           0s  node 1 appends it: offsets [20, 22), epoch 0
       3          3ms  client 1 is given the records [22, 24), and was given those below 20 before: it passes over it
`, out.String())
}
