package client

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

func readCommitted(c *Config) { c.Isolation = message.ReadCommitted }

// inTransaction is stored for a batch of a producer's transaction.
func inTransaction(base record.Offset, id record.ProducerID, values ...string) []byte {
	b := stored(base, 5, values...)
	record.SetTransactional(b, id, 0, 0)
	return b
}

// ends is the marker of a producer as a log holds it.
func ends(base record.Offset, id record.ProducerID, how record.Outcome) []byte {
	b := record.BuildMarker(100, id, 1, record.Marker{Outcome: how})
	record.Stamp(b, base, 5)
	return b
}

func concat(batches ...[]byte) (all []byte) {
	for _, b := range batches {
		all = append(all, b...)
	}
	return all
}

// Two producers' transactions lie across each other, and a record of no
// transaction between them.
func crossed() message.FetchedPartition {
	return message.FetchedPartition{
		HighWatermark: 20, LastStable: 8,
		Aborted: []message.AbortedTransaction{{ID: 1, First: 0}},
		Records: concat(inTransaction(0, 1, "a"), inTransaction(1, 2, "b", "c"), stored(3, 5, "d"),
			inTransaction(4, 1, "e"), ends(5, 1, record.Aborted), inTransaction(6, 1, "f"), ends(7, 2, record.Committed)),
	}
}

func TestAbortedRecordsAreNotHandedOver(t *testing.T) {
	s := readingFrom(t, 0, readCommitted, ResetNone)
	r := s.fetched(crossed())
	require.Equal(t, message.ReadCommitted, r.Isolation)
	got := s.done[s.poll(9, 0)]
	require.Equal(t, []string{"orders/0 1=b 2=c 3=d 6=f"}, given(got), "f is of the next transaction of the producer whose last one was aborted")
	d := got.Polled[0]
	require.Equal(t, []record.Offset{8, 20, 8}, []record.Offset{d.Next, d.HighWatermark, d.LastStable}, "nothing is left to read")
}

func TestReadUncommittedGivesWhatWasAborted(t *testing.T) {
	s := readingFrom(t, 0, nil, ResetNone)
	s.fetched(crossed())
	require.Equal(t, []string{"orders/0 0=a 1=b 2=c 3=d 4=e 6=f"}, given(s.done[s.poll(9, 0)]), "but no markers")
}

func TestReadingBeginsInsideAnAbortedTransaction(t *testing.T) {
	s := readingFrom(t, 4, readCommitted, ResetNone)
	e := crossed()
	e.Records = concat(inTransaction(4, 1, "e"), ends(5, 1, record.Aborted), inTransaction(6, 1, "f"))
	s.fetched(e)
	require.Equal(t, []string{"orders/0 6=f"}, given(s.done[s.poll(9, 0)]))
}

// A fetch says all about what it gives: nothing is carried over to the next one,
// which begins inside the same transaction.
func TestEachFetchNamesItsAbortedTransactions(t *testing.T) {
	s := readingFrom(t, 0, readCommitted, ResetNone)
	aborted := []message.AbortedTransaction{{ID: 1, First: 0}}
	s.fetched(message.FetchedPartition{Aborted: aborted, Records: inTransaction(0, 1, "a")})
	s.fetched(message.FetchedPartition{Aborted: aborted, Records: concat(inTransaction(1, 1, "b"), ends(2, 1, record.Aborted))})
	s.fetched(message.FetchedPartition{Records: concat(inTransaction(3, 1, "c"), ends(4, 1, record.Committed))})
	require.Equal(t, []string{"orders/0 3=c"}, given(s.done[s.poll(9, 0)]))
}

// What is skipped at the end of a log counts as processed: it is committed with
// the rest, so that the group's lag comes to nothing, and nobody is waited for.
func TestSkippedRecordsCountAsProcessed(t *testing.T) {
	s := readingFrom(t, 0, readCommitted, ResetNone)
	waiting := s.poll(9, message.Minute)
	s.fetched(message.FetchedPartition{LastStable: 2, Aborted: []message.AbortedTransaction{{ID: 1, First: 0}},
		Records: concat(inTransaction(0, 1, "a"), ends(1, 1, record.Aborted))})
	require.NotContains(t, s.done, waiting)
	f := s.c.consumer.list[0]
	require.Equal(t, []record.Offset{2, 2}, []record.Offset{f.given, f.processed})
	require.False(t, f.outside())
	s.fetched(message.FetchedPartition{LastStable: 3, Records: stored(2, 5, "b")})
	require.Equal(t, []string{"orders/0 2=b"}, given(s.done[waiting]))
	require.True(t, f.outside(), "b is in the application's hands")
	s.fetched(message.FetchedPartition{LastStable: 4, Records: ends(3, 1, record.Committed)})
	require.Equal(t, record.Offset(2), f.processed, "a marker behind it does not take it back")
}

func TestTheEndIsTheLastStableOffset(t *testing.T) {
	s := newPlay(t, readCommitted)
	s.do(func(op Op) Input {
		return Assign{Op: op, Partitions: []Start{{Place{"orders", 0}, Position{Kind: AtLatest}}}}
	})
	s.metadata()
	c, r := next[*message.ListOffsets](s)
	require.Equal(t, message.ReadCommitted, r.Isolation)
	s.answer(c, &message.ListOffsetsReply{Partitions: []message.ListedOffset{{ID: orders0, Offset: 6}}})
	require.Equal(t, record.Offset(6), s.c.consumer.list[0].stable)
}

// KIP-447: while a transaction is open that may move a position, a member that
// reads committed waits for its end.
func TestPositionsWaitUntilTheyAreStable(t *testing.T) {
	s := newPlay(t, readCommitted)
	s.subscribe(nil)
	s.metadata()
	s.coordinator(3)
	s.beat(message.GroupHeartbeatReply{MemberEpoch: 1, Interval: 5 * message.Second, Assigned: true, Assignment: []record.PartitionID{orders0}})
	c, r := next[*message.FetchOffsets](s)
	require.True(t, r.Stable)
	s.answer(c, &message.FetchOffsetsReply{Code: message.UnstableOffsetCommit})
	require.Zero(t, has[*message.FetchOffsets](s))
	s.pass(message.Second)
	c, _ = next[*message.FetchOffsets](s)
	s.answer(c, &message.FetchOffsetsReply{Offsets: []message.GroupOffset{{ID: orders0, Offset: 30, LeaderEpoch: record.NoLeaderEpoch}}})
	_, f := next[*message.Fetch](s)
	require.Equal(t, record.Offset(30), f.Partitions[0].Offset)
}

// wholeLog is a random log: its batches, and what somebody who sees all of it says
// is to be handed over.
type wholeLog struct {
	batches [][]byte
	ends    []record.Offset
	aborted []abortedRange
	want    []string
}

type abortedRange struct{ first, marker record.Offset }

// randomLog has up to three producers' transactions across each other.
func randomLog(t *rapid.T) *wholeLog {
	type open struct {
		first record.Offset
		at    []int // of want
	}
	log, transactions := &wholeLog{}, map[record.ProducerID]*open{}
	var end record.Offset
	add := func(batch []byte, records int) {
		end += record.Offset(records)
		log.batches, log.ends = append(log.batches, batch), append(log.ends, end)
	}
	for range rapid.IntRange(1, 25).Draw(t, "batches") {
		id := record.ProducerID(rapid.IntRange(0, 3).Draw(t, "producer"))
		o := transactions[id]
		values := make([]string, rapid.IntRange(1, 3).Draw(t, "records"))
		for i := range values {
			values[i] = fmt.Sprintf("%d=%d", end+record.Offset(i), id)
		}
		switch {
		case id == 0:
			log.want = append(log.want, values...)
			add(stored(end, 5, texts(values)...), len(values))
		case o != nil && rapid.Bool().Draw(t, "end"):
			how := rapid.SampledFrom([]record.Outcome{record.Aborted, record.Committed}).Draw(t, "how")
			if how == record.Aborted {
				for _, i := range o.at {
					log.want[i] = ""
				}
				log.aborted = append(log.aborted, abortedRange{o.first, end})
			}
			delete(transactions, id)
			add(ends(end, id, how), 1)
		default:
			if o == nil {
				o = &open{first: end}
				transactions[id] = o
			}
			for _, v := range values {
				o.at = append(o.at, len(log.want))
				log.want = append(log.want, v)
			}
			add(inTransaction(end, id, texts(values)...), len(values))
		}
	}
	for id := record.ProducerID(1); id <= 3; id++ {
		if o := transactions[id]; o != nil { // what is open would not be served
			add(ends(end, id, record.Committed), 1)
		}
	}
	return log
}

func texts(values []string) (list []string) {
	for _, v := range values {
		list = append(list, v[len(v)-1:])
	}
	return list
}

// fetch is what a broker gives from an offset on, so many batches at most.
func (log *wholeLog) fetch(t *rapid.T, from record.Offset, limit int) (e message.FetchedPartition) {
	to := from
	for i, b := range log.batches {
		if log.ends[i] > from && limit > 0 {
			e.Records = append(e.Records, b...)
			to = log.ends[i]
			limit--
		}
	}
	for _, a := range log.aborted { // by marker: the reader must not need them sorted
		if a.marker >= from && a.first < to {
			e.Aborted = append(e.Aborted, message.AbortedTransaction{ID: log.producerAt(a.marker), First: a.first})
		}
	}
	return e
}

func (log *wholeLog) producerAt(offset record.Offset) record.ProducerID {
	for i, end := range log.ends {
		if end > offset {
			h, _ := record.DecodeHeader(log.batches[i])
			return h.ProducerID
		}
	}
	return record.NoProducerID
}

// INV-30: wherever a reader begins, however fetches are cut and however many
// records a poll takes, it is given each record of a committed transaction or of
// none, once and in order, and no other.
func TestReadersOfCommittedRecordsGetExactlyThose(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		log := randomLog(t)
		s := newPlay(t, readCommitted)
		from := record.Offset(rapid.Int64Range(0, int64(log.ends[len(log.ends)-1])-1).Draw(t, "from"))
		s.do(func(op Op) Input {
			return Assign{Op: op, Partitions: []Start{{Place{"orders", 0}, Position{Kind: AtOffset, Offset: from}}}}
		})
		s.metadata()
		var got []string
		end := log.ends[len(log.ends)-1]
		for f := s.c.consumer.list[0]; f.given < end; {
			if has[*message.Fetch](s) > 0 {
				call, r := next[*message.Fetch](s)
				e := log.fetch(t, r.Partitions[0].Offset, rapid.IntRange(1, 4).Draw(t, "batches"))
				e.ID, e.LastStable = orders0, end
				s.answer(call, &message.FetchReply{Partitions: []message.FetchedPartition{e}})
			}
			op := s.poll(rapid.IntRange(1, 5).Draw(t, "max"), 0)
			for _, d := range s.done[op].Polled {
				for _, r := range d.Records {
					got = append(got, fmt.Sprintf("%d=%s", r.Offset, r.Value))
				}
				require.Equal(t, f.given, d.Next)
			}
		}
		var want []string
		for _, v := range log.want {
			var at record.Offset
			if fmt.Sscanf(v, "%d=", &at); v != "" && at >= from {
				want = append(want, v)
			}
		}
		require.Equal(t, want, got)
	})
}

// What time does not mend is told, and the others go on.
func TestAPositionThatCannotBeReadIsTold(t *testing.T) {
	s := newPlay(t, nil)
	s.subscribe(nil)
	s.metadata()
	s.coordinator(3)
	s.beat(message.GroupHeartbeatReply{MemberEpoch: 1, Interval: 5 * message.Second, Assigned: true, Assignment: []record.PartitionID{orders0}})
	c, _ := next[*message.FetchOffsets](s)
	s.answer(c, &message.FetchOffsetsReply{Code: message.InvalidGroupID})
	f := s.c.consumer.list[0]
	require.Equal(t, stuck, f.stage)
	s.pass(message.Second)
	require.Zero(t, has[*message.FetchOffsets](s), "nobody asks again")
}
