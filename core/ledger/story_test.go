package ledger

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/order"
	"github.com/tamarack-mq/tamarack/core/record"
)

func TestAReplyWaitsForTheRecordsThatItRestsOn(t *testing.T) {
	b := newBench(t, Config{})
	b.hold = true
	write := b.write("a", "1")
	old := b.read("a")
	refused := b.answer(Written, "no such note")
	second := b.write("a", "2")
	require.Empty(t, b.answers, "nothing is committed, so nothing is told")
	require.Equal(t, []int{2, 4}, []int{b.board().Pending(), b.board().Waiting()})

	b.commit(1)
	b.settle()
	require.Equal(t, "1", b.told(write))
	require.Equal(t, "no such note", b.told(refused), "a refusal shows the state as well")
	require.Empty(t, b.told(old), "a read waits for one append more")
	b.commit(2)
	b.settle()
	require.Equal(t, "1", b.told(old), "as of the moment it was asked")
	require.Equal(t, "2", b.told(second))
	require.Len(t, b.log, 2, "the second write has confirmed the read")
	b.sound()
}

func TestAnObserverSeesWhereAShardStands(t *testing.T) {
	b := newBench(t, Config{})
	stands := func() Standing {
		s, led := b.set.Stands(0)
		require.True(t, led)
		return s
	}
	b.hold = true
	b.write("a", "1")
	require.Equal(t, Standing{Epoch: b.epoch, Serving: true, Pending: 1}, stands())
	b.release()
	require.Equal(t, Standing{Epoch: b.epoch, Serving: true}, stands())
	b.set.Lead(0, b.epoch+1, &b.out)
	require.Equal(t, Standing{Epoch: b.epoch + 1}, stands(), "it is loaded")
	b.set.Resign(0, b.epoch+1, &b.out)
	_, led := b.set.Stands(0)
	require.False(t, led)
}

func TestReadsShareABarrier(t *testing.T) {
	b := newBench(t, Config{})
	b.write("a", "1")
	b.hold = true
	first, second, third := b.read("a"), b.read("a"), b.read("a")
	require.Len(t, b.log, 2, "one write, one barrier")
	b.commit(2)
	b.settle()
	require.Equal(t, "1", b.told(first))
	require.Empty(t, b.told(second), "the barrier was on its way before it came")
	require.Len(t, b.log, 3)
	b.release()
	require.Equal(t, "1", b.told(second))
	require.Equal(t, "1", b.told(third))
}

func TestADeposedLeaderTellsNothingOld(t *testing.T) {
	b := newBench(t, Config{})
	b.write("a", "1")
	b.hold = true // others lead by now: nothing that this one appends commits
	first, second := b.read("a"), b.read("a")
	b.set.Resign(0, b.epoch+1, &b.out)
	b.settle()
	require.Equal(t, "NOT_COORDINATOR", b.told(first))
	require.Equal(t, "NOT_COORDINATOR", b.told(second))
	require.Empty(t, b.set.Books())
	require.Equal(t, message.Never, b.set.Wake())
}

// survey asks what the notes are called, in all shards.
func (b *bench) survey() message.Token {
	b.token++
	refusal := &message.DescribeGroupReply{Code: message.CoordinatorLoadInProgress}
	b.set.Survey(b.now, b.token, refusal, func() message.Reply {
		var names []string
		for _, board := range b.set.Books() {
			names = append(names, order.Keys(board.notes)...)
		}
		return &message.DescribeGroupReply{Group: strings.Join(names, " ")}
	}, &b.out)
	b.settle()
	return b.token
}

func TestASurveyIsConfirmedInEveryShard(t *testing.T) {
	b := newBench(t, Config{MaxWaiting: 3})
	b.write("a", "1")
	b.write("b", "1")
	require.Equal(t, "a b", b.told(b.survey()))
	require.Len(t, b.log, 3, "a barrier, though nothing was under way")

	b.hold = true
	list := b.survey()
	gone := b.write("a", "")
	require.Empty(t, b.told(list))
	require.Equal(t, 2, b.board().Waiting())
	b.release()
	require.Equal(t, "a b", b.told(list), "as of the moment it was asked")
	require.Equal(t, "", b.told(gone))
	require.Equal(t, "b", b.told(b.survey()))

	b.hold = true // others lead by now: nothing that this one appends commits
	late := b.survey()
	b.pass(5 * message.Second)
	require.Equal(t, "COORDINATOR_LOAD_IN_PROGRESS", b.told(late))
	list = b.survey()
	b.write("c", "1")
	require.Equal(t, "COORDINATOR_LOAD_IN_PROGRESS", b.told(b.survey()), "too many wait")
	b.set.Resign(0, b.epoch+1, &b.out)
	b.settle()
	require.Equal(t, "COORDINATOR_LOAD_IN_PROGRESS", b.told(list))
	require.Equal(t, &message.DescribeGroupReply{}, b.answers[b.survey()], "it leads nothing, and knows nothing that could be old")
}

// watcher notes what it is told.
type watcher struct{ heard []string }

func (w *watcher) Ready(message.Now, *Out)          { w.heard = append(w.heard, "ready") }
func (w *watcher) Failed(code message.Code, _ *Out) { w.heard = append(w.heard, code.String()) }

// watch decides a change, and has a waiter and a follower behind it.
func (b *bench) watch(text string) *watcher {
	w := &watcher{}
	book := b.board()
	book.Decide(note{"watched", text})
	book.Tell(b.now, w, Written, &b.out)
	book.After(b.now, func(message.Now, *Out) { w.heard = append(w.heard, "after") }, &b.out)
	book.Flush(b.now, &b.out)
	b.settle()
	return w
}

// A leader that is cut off may never hear that it leads no more. Nobody waits
// for it for ever; what it appended may take effect all the same.
func TestAReplyThatWaitsTooLongIsGivenWithoutCertainty(t *testing.T) {
	b := newBench(t, Config{})
	b.hold = true
	write, read, w := b.write("a", "1"), b.read("a"), b.watch("1")
	b.pass(4 * message.Second)
	require.Empty(t, b.answers)
	late := b.write("a", "2")
	b.pass(message.Second)
	require.Equal(t, "REQUEST_TIMED_OUT", b.told(write))
	require.Equal(t, "REQUEST_TIMED_OUT", b.told(read))
	require.Equal(t, []string{"REQUEST_TIMED_OUT"}, w.heard)
	require.Empty(t, b.told(late), "the last one has time left")
	b.release()
	require.Equal(t, "2", b.told(late))
	require.Len(t, b.answers, 3, "each is answered once")
	require.Equal(t, []string{"REQUEST_TIMED_OUT", "after"}, w.heard, "what follows from it happens when it is certain, however late")
	require.Equal(t, message.Never, b.set.Wake(), "what rests costs nothing")
	b.sound()
}

func TestAFailedAppendDropsTheMemoryAndLoadsAgain(t *testing.T) {
	for _, lost := range []bool{true, false} {
		b := newBench(t, Config{})
		b.write("a", "1")
		b.hold = true
		write, read, w := b.write("a", "2"), b.read("a"), b.watch("1")

		b.refuse(message.NotEnoughReplicasAfterAppend, lost)
		require.Equal(t, "NOT_COORDINATOR", b.told(write))
		require.Equal(t, "NOT_COORDINATOR", b.told(read))
		require.Equal(t, []string{"NOT_COORDINATOR"}, w.heard)
		require.Equal(t, Settling, b.board().Phase())
		require.Empty(t, b.board().notes)
		require.Equal(t, 1, b.loads, "not before it is known what became of the records")

		for _, wait := range []message.Duration{100, 200, 400, 800, 1600, 3200, 3200} {
			b.refuse(message.NotEnoughReplicas, true) // the barrier fails as well
			require.Equal(t, b.now.Mono.Add(wait*message.Millisecond), b.set.Wake(), "ever more patiently")
			b.pass(wait * message.Millisecond)
		}
		require.Equal(t, 1, b.loads)
		b.release()
		require.Equal(t, 2, b.loads)
		require.Equal(t, "1", b.board().notes["a"], "its records were cut by the first barrier that failed")
		b.sound()
		b.hold = true
		b.write("a", "3")
		b.refuse(message.NotEnoughReplicas, true)
		b.refuse(message.NotEnoughReplicas, true)
		require.Equal(t, b.now.Mono.Add(100*message.Millisecond), b.set.Wake(), "patience starts anew")
	}
}

func TestRecordsOfAFailedAppendMayCommitLater(t *testing.T) {
	b := newBench(t, Config{})
	b.hold = true
	write := b.write("a", "1")
	b.refuse(message.RequestTimedOut, false) // it stays in the log
	require.Equal(t, "NOT_COORDINATOR", b.told(write), "which says neither yes nor no")
	b.release()
	require.Equal(t, "1", b.board().notes["a"], "the barrier made sure that the replay saw it")
	b.sound()
}

// KAFKA-10614: what belongs to an earlier leadership changes nothing.
func TestLoadsAndResignationsAreFencedByEpoch(t *testing.T) {
	b := newBench(t, Config{})
	b.write("a", "1")
	b.hold = true
	b.set.Lead(0, b.epoch, &b.out)
	b.set.Lead(0, b.epoch-1, &b.out)
	b.set.Resign(0, b.epoch-1, &b.out)
	b.set.Replayed(b.now, 0, b.epoch, []byte("no batch"), true, &b.out)
	b.set.Wrote(b.now, 999, message.NotLeaderOrFollower, -1, &b.out)
	require.Equal(t, Out{}, b.out)
	b.sound()

	b.write("a", "2")
	b.set.Lead(0, b.epoch+1, &b.out)
	require.Equal(t, []Load{{0, b.epoch + 1}}, b.out.Loads)
	b.set.Replayed(b.now, 0, b.epoch, b.log[0].batch, true, &b.out)
	require.Equal(t, Loading, b.board().Phase(), "what was read for the old leadership is not taken")
	b.set.Replayed(b.now, 0, b.epoch+1, b.log[0].batch, true, &b.out)
	require.Equal(t, Serving, b.board().Phase())
	b.set.Wrote(b.now, b.log[1].ticket, message.NotLeaderOrFollower, -1, &b.out)
	require.Equal(t, Serving, b.board().Phase(), "the old leadership's append is nobody's")
	require.Equal(t, map[string]string{"a": "1"}, b.board().notes)
	b.set.Resign(0, b.epoch+1, &b.out)
	b.set.Lead(0, b.epoch+1, &b.out)
	require.Empty(t, b.set.Books(), "a leadership that was resigned does not come back")
}

// The log start may move while a shard is loaded: a follower has been told so by the
// leader before. What was removed below it must not stay.
func TestALoadThatTheLogStartOvertakesForgetsWhatItHasRead(t *testing.T) {
	b := newBench(t, Config{})
	b.write("gone", "1")
	b.write("there", "1")
	load := func(anew record.LeaderEpoch) map[string]string {
		b.set.Lead(0, b.epoch+1, &b.out)
		b.epoch++
		b.set.Replayed(b.now, 0, b.epoch, b.log[0].batch, false, &b.out)
		b.set.ReplayAnew(0, b.epoch+anew)
		b.set.Replayed(b.now, 0, b.epoch, b.log[1].batch, true, &b.out)
		require.Equal(t, Serving, b.board().Phase())
		b.set.ReplayAnew(0, b.epoch) // of no load any more
		return b.board().notes
	}
	require.Equal(t, map[string]string{"gone": "1", "there": "1"}, load(-1), "that was another leadership's")
	require.Equal(t, map[string]string{"there": "1"}, load(0))
}

func TestShardsAreKeptApart(t *testing.T) {
	b := newBench(t, Config{})
	b.set.Lead(7, 3, &b.out)
	b.set.Lead(2, 3, &b.out)
	var led []int32
	for _, book := range b.set.Books() {
		led = append(led, book.Index())
	}
	require.Equal(t, []int32{0, 2, 7}, led)
	b.out = Out{}
	b.set.Replayed(b.now, 2, 3, nil, true, &b.out)
	two, _ := b.set.Led(2)
	two.Decide(note{"a", "1"})
	two.Flush(b.now, &b.out)
	require.Equal(t, int32(2), b.out.Appends[0].Shard)
	b.set.Resign(2, 3, &b.out)
	require.Len(t, b.set.Books(), 2)
	require.Equal(t, Serving, b.board().Phase())
	require.Equal(t, int32(12), Shard("orders", 16), "the hash is in the placement of every key, for ever")
}

func TestALogThatGrowsIsReplacedByASnapshot(t *testing.T) {
	for _, limit := range []int{0, 40} { // in batches of one record nothing may count on what is in one
		b := newBench(t, Config{SnapshotMinimum: 50, MaxBatchBytes: limit})
		b.write("head", "first")
		b.write("headline", "second")
		for i := range 1000 {
			b.write(fmt.Sprint("note-", i%8), fmt.Sprint(i))
			b.trim()
			b.sound()
			require.Less(t, len(b.log), 80, "the log stays in proportion to what is alive")
		}
		before := b.board().notes
		require.Len(t, before, 10)
		b.failover()
		require.Equal(t, before, b.board().notes)
	}
}

func TestASnapshotGoesOnBetweenRequests(t *testing.T) {
	b := newBench(t, Config{SnapshotMinimum: 60, MaxBatchBytes: 200})
	b.write("head", "first")
	for i := range 40 {
		b.write(fmt.Sprintf("note-%02d", i), "a text of some length")
	}
	b.hold = true
	for i := 0; !b.snapshotting(); i++ {
		b.write("note-00", fmt.Sprint(i))
	}
	step := 0
	for ; len(b.trims) == 0; step++ { // one of each sort between every two parts
		require.Less(t, step, 1000)
		b.write(fmt.Sprintf("note-%02d", step%40), fmt.Sprint("changed ", step))
		b.write(fmt.Sprintf("new-%02d", step), "new")
		b.write(fmt.Sprintf("note-%02d", 39-step%40), "")
		b.commit(len(b.log))
		b.settle()
	}
	require.Greater(t, step, 5, "it took several parts")
	b.release()
	b.trim()
	require.Positive(t, b.start)
	b.sound()
}

func TestASnapshotThatIsCutIsNoSnapshot(t *testing.T) {
	b := newBench(t, Config{SnapshotMinimum: 20, SnapshotFactor: 2, MaxBatchBytes: 150})
	for i := range 8 {
		b.write(fmt.Sprint("note-", i), "a text of some length")
	}
	b.hold = true
	for i := 0; !b.snapshotting(); i++ {
		b.write("note-0", fmt.Sprint(i))
	}
	b.commit(len(b.log)) // the begin mark is in, the first part is under way
	b.settle()
	require.True(t, b.snapshotting())
	b.takeOver()
	require.Empty(t, b.trims)
	b.sound()

	b.release() // the new leader wrote one of its own
	require.Len(t, b.trims, 1)
	lost := b.trims[0]
	b.trims = nil
	b.failover()
	require.Equal(t, []Trim{{Shard: 0, Epoch: b.epoch, Before: lost.Before}}, b.trims, "a trim that was lost is asked for again")
	b.trim()
	b.sound()
}

func TestASnapshotIsDroppedWithTheMemory(t *testing.T) {
	b := newBench(t, Config{SnapshotMinimum: 20})
	b.hold = true
	for i := 0; !b.snapshotting(); i++ {
		b.write("a", fmt.Sprint(i))
	}
	b.refuse(message.NotEnoughReplicas, true)
	require.False(t, b.snapshotting())
	b.release()
	require.Empty(t, b.trims)
	b.sound()
}

func TestDeadlinesOfTheBookAreKept(t *testing.T) {
	b := newBench(t, Config{})
	b.board().due = b.now.Mono.Add(message.Second)
	b.board().Flush(b.now, &b.out)
	b.pass(999 * message.Millisecond)
	require.Zero(t, b.board().expired)
	b.pass(message.Millisecond)
	require.Equal(t, 1, b.board().expired)
	require.Equal(t, "yes", b.folded()["expired"], "and what it decided is written")
	require.Equal(t, message.Never, b.set.Wake())
}

// A waiter may come when nothing else is due: nobody may forget to look for it.
func TestAWaiterAloneIsLookedAfter(t *testing.T) {
	b := newBench(t, Config{})
	b.hold = true
	book := b.board()
	book.Decide(note{"a", "1"})
	book.Flush(b.now, &b.out)
	b.settle()
	require.Equal(t, message.Never, b.set.Wake())
	w := &watcher{}
	book.Tell(b.now, w, Written, &b.out)
	b.pass(5 * message.Second)
	require.Equal(t, []string{"REQUEST_TIMED_OUT"}, w.heard)
}

func TestAShardThatIsFarBehindIsFull(t *testing.T) {
	b := newBench(t, Config{MaxWaiting: 2})
	b.hold = true
	b.write("a", "1")
	require.False(t, b.board().Full())
	b.read("a")
	require.True(t, b.board().Full(), "reads wait as well")
	b.release()
	require.False(t, b.board().Full())
}

func TestALongQueueIsKeptShort(t *testing.T) {
	b := newBench(t, Config{SnapshotMinimum: 1 << 20})
	b.hold = true
	var tokens []message.Token
	for i := range 1000 {
		tokens = append(tokens, b.write("a", fmt.Sprint(i)))
		if i > 10 {
			b.commit(i - 10)
			b.settle()
		}
		require.LessOrEqual(t, len(b.board().queue.entries), 200)
	}
	b.release()
	for i, token := range tokens {
		require.Equal(t, fmt.Sprint(i), b.told(token))
	}
}

func TestAStateThatCannotBeHalts(t *testing.T) {
	b := newBench(t, Config{})
	b.board().fault = "two owners"
	b.board().Decide(note{"a", "1"})
	b.board().Flush(b.now, &b.out)
	require.Equal(t, "shard 0 of __boards: two owners", b.out.Halt)
}

func TestALogThatCannotBeReadHalts(t *testing.T) {
	b := newBench(t, Config{})
	b.set.Lead(0, b.epoch+1, &b.out)
	var batch record.Builder
	require.NoError(t, batch.Append(0, []byte{9}, []byte{0}, nil))
	b.set.Replayed(b.now, 0, b.epoch+1, batch.Build(), true, &b.out)
	require.Equal(t, "shard 0 of __boards: the record at offset 0 cannot be read: it is no note; "+
		"it was written by a newer release, or the log is damaged: start the newer release, or restore the partition", b.out.Halt)
	require.Equal(t, Loading, b.board().Phase())
}
