package server

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/storage"
)

// patience bounds the waits of tests; none waits so long unless it fails.
const patience = 20 * time.Second

// fakeStore writes down what it is asked to do. Calls named in gate wait until
// something comes through it, and those in fail end with an error.
type fakeStore struct {
	mu    sync.Mutex
	calls []string
	news  chan string
	gate  map[string]chan struct{}
	fail  map[string]error
	space int64
}

func newFakeStore() *fakeStore {
	return &fakeStore{news: make(chan string, 1000), gate: map[string]chan struct{}{}, fail: map[string]error{}, space: 1 << 40}
}

// call notes the begin of a call, waits at its gate and gives its error.
func (s *fakeStore) call(name, detail string) error {
	s.mu.Lock()
	text := name + " " + detail
	s.calls = append(s.calls, text)
	gate, err := s.gate[name], s.fail[name]
	s.mu.Unlock()
	s.news <- text
	if gate != nil {
		<-gate
	}
	return err
}

func (s *fakeStore) setFail(name string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail[name] = err
}

func (s *fakeStore) Do(e effect.Effect) error {
	switch e := e.(type) {
	case effect.Truncate:
		return s.call("Truncate", fmt.Sprintf("%v to %d", e.Log, e.To))
	case effect.CreateLog:
		return s.call("CreateLog", e.Log.String())
	}
	return s.call(opName(e), "")
}
func (s *fakeStore) Append(a effect.Append) error {
	return s.call("Append", fmt.Sprintf("%v %d-%d", a.Log, a.Base, a.End))
}
func (s *fakeStore) Flush(log record.PartitionID) error { return s.call("Flush", log.String()) }
func (s *fakeStore) Read(e effect.Slice) ([]byte, error) {
	return []byte("disk"), s.call("Read", fmt.Sprintf("%v %d-%d", e.Log, e.From, e.To))
}
func (s *fakeStore) FindTime(e effect.FindTime) (bool, record.Offset, record.Timestamp, error) {
	return true, 5, e.At, s.call("FindTime", e.Log.String())
}
func (s *fakeStore) SaveQuorum(f ...[]byte) error {
	return s.call("SaveQuorum", fmt.Sprint(len(f), " frames"))
}
func (s *fakeStore) ReplaceQuorum(f [][]byte) error {
	return s.call("ReplaceQuorum", fmt.Sprint(len(f), " frames"))
}
func (s *fakeStore) SyncMarks() error { return nil }
func (s *fakeStore) Free() (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.space, nil
}
func (s *fakeStore) Close(clean bool) error { return s.call("Close", fmt.Sprint(clean)) }

// await waits for the begin of the next call.
func (s *fakeStore) await(t *testing.T) string {
	t.Helper()
	select {
	case c := <-s.news:
		return c
	case <-time.After(patience):
		t.Fatal("nothing was done")
		return ""
	}
}

// sink takes what an inbox gathers.
type sink chan effect.Input

func sinkOf(b *inbox) sink {
	s := make(sink, 1000)
	b.open(func(inputs []effect.Input, _ []func()) bool {
		for _, in := range inputs {
			s <- in
		}
		return true
	})
	return s
}

// inputsOf waits for n inputs.
func (s sink) inputsOf(t *testing.T, n int) []effect.Input {
	t.Helper()
	var all []effect.Input
	for len(all) < n {
		select {
		case in := <-s:
			all = append(all, in)
		case <-time.After(patience):
			t.Fatalf("%d inputs came, %d were to come: %v", len(all), n, all)
		}
	}
	return all
}

func testDisk(t *testing.T) (*disk, *fakeStore, sink) {
	s, b := newFakeStore(), newInbox()
	d := newDisk(s, []effect.RecoveredLog{{ID: oak, End: 10}}, b, newMetrics(1), func() { b.put(effect.DiskSpace{Low: true}) })
	t.Cleanup(d.close)
	return d, s, sinkOf(b)
}

func (d *disk) all(effects ...effect.Effect) {
	for _, e := range effects {
		switch e := e.(type) {
		case effect.Append:
			d.do(e.Log, e)
		case effect.Flush:
			d.do(e.Log, e)
		case effect.Truncate:
			d.do(e.Log, e)
		default:
			d.do(oak, e)
		}
	}
	d.kick()
}

// What is appended while a flush runs is written at once and made durable by
// one flush after it: group commit.
func TestAppendsDuringAFlushShareTheNextOne(t *testing.T) {
	d, s, b := testDisk(t)
	gate := make(chan struct{})
	s.gate["Flush"] = gate
	flush := effect.Flush{Log: oak}
	d.all(effect.Append{Log: oak, Base: 10, End: 11}, flush)
	require.Equal(t, "Append 1/0 10-11", s.await(t))
	require.Equal(t, "Flush 1/0", s.await(t))
	d.all(effect.Append{Log: oak, Base: 11, End: 12}, flush)
	require.Equal(t, "Append 1/0 11-12", s.await(t))
	d.all(effect.Append{Log: oak, Base: 12, End: 14}, flush)
	require.Equal(t, "Append 1/0 12-14", s.await(t))
	require.Equal(t, []effect.Input{
		effect.Appended{Log: oak, End: 11}, effect.Appended{Log: oak, End: 12}, effect.Appended{Log: oak, End: 14},
	}, b.inputsOf(t, 3))

	gate <- struct{}{}
	require.Equal(t, "Flush 1/0", s.await(t))
	gate <- struct{}{}
	// The first flush vouches only for what was written when it began. Two
	// workers may tell in either order: the core goes by the highest.
	require.ElementsMatch(t, []effect.Input{effect.Flushed{Log: oak, End: 11}, effect.Flushed{Log: oak, End: 14}}, b.inputsOf(t, 2))
	require.True(t, d.drain())
	require.Empty(t, s.news)
}

// Appends that lie side by side in memory are one write, one flush and one
// completion of each kind.
func TestAppendsSideBySideAreWrittenAtOnce(t *testing.T) {
	d, s, b := testDisk(t)
	tail := newTail(1 << 20)
	var list []effect.Effect
	for i := range record.Offset(5) {
		a := appendOf(10+i, 1, 10)
		a.Batches = tail.append(&a)
		list = append(list, a, effect.Flush{Log: oak})
	}
	d.all(list...)
	require.Equal(t, "Append 1/0 10-15", s.await(t))
	require.Equal(t, "Flush 1/0", s.await(t))
	require.Equal(t, []effect.Input{effect.Appended{Log: oak, End: 15}, effect.Flushed{Log: oak, End: 15}}, b.inputsOf(t, 2))
	require.True(t, d.drain())
	require.Empty(t, s.news)
}

// A truncation takes its turn: behind the flush that was asked for before it,
// in front of the append that follows.
func TestATruncationTakesItsTurn(t *testing.T) {
	d, s, b := testDisk(t)
	gate := make(chan struct{})
	s.gate["Flush"] = gate
	d.all(effect.Append{Log: oak, Base: 10, End: 20}, effect.Flush{Log: oak},
		effect.Truncate{Log: oak, Cut: 1, To: 15},
		effect.Append{Log: oak, Cut: 1, Base: 15, End: 16}, effect.Flush{Log: oak, Cut: 1})
	require.Equal(t, "Append 1/0 10-20", s.await(t))
	require.Equal(t, "Flush 1/0", s.await(t))
	require.True(t, d.blocked(oak))
	require.Empty(t, s.news)
	gate <- struct{}{}
	require.Equal(t, "Truncate 1/0 to 15", s.await(t))
	require.Equal(t, "Append 1/0 15-16", s.await(t))
	require.Equal(t, "Flush 1/0", s.await(t))
	gate <- struct{}{}
	require.Equal(t, []effect.Input{
		effect.Appended{Log: oak, End: 20}, effect.Flushed{Log: oak, End: 20},
		effect.Appended{Log: oak, Cut: 1, End: 16}, effect.Flushed{Log: oak, Cut: 1, End: 16},
	}, b.inputsOf(t, 4))
	require.False(t, d.blocked(oak))
}

// A flush with nothing appended since the truncation tells the log's end as the
// truncation left it.
func TestAFlushAfterATruncationTellsTheCutEnd(t *testing.T) {
	d, _, b := testDisk(t)
	d.all(effect.Truncate{Log: oak, Cut: 1, To: 4}, effect.Flush{Log: oak, Cut: 1})
	require.Equal(t, []effect.Input{effect.Flushed{Log: oak, Cut: 1, End: 4}}, b.inputsOf(t, 1))
}

// One log that waits for its flush does not hold up another.
func TestLogsDoNotWaitForOneAnother(t *testing.T) {
	d, s, b := testDisk(t)
	gate := make(chan struct{})
	s.gate["Flush"] = gate
	elm := record.PartitionID{Topic: 2}
	d.all(effect.Append{Log: oak, Base: 10, End: 11}, effect.Flush{Log: oak})
	s.await(t)
	s.await(t)
	d.do(elm, effect.CreateLog{Log: elm})
	d.all(effect.Append{Log: elm, Base: 0, End: 1}, effect.Flush{Log: elm})
	require.Equal(t, "CreateLog 2/0", s.await(t))
	require.Equal(t, "Append 2/0 0-1", s.await(t))
	require.Equal(t, "Flush 2/0", s.await(t), "side by side with the other log's")
	close(gate)
	b.inputsOf(t, 4)
}

// Appends without room wait, in order, and are written once there is some.
func TestAppendsWithoutRoomWait(t *testing.T) {
	d, s, b := testDisk(t)
	s.setFail("Append", fmt.Errorf("disk: %w", storage.ErrNoRoom))
	d.all(effect.Append{Log: oak, Base: 10, End: 11}, effect.Flush{Log: oak}, effect.Append{Log: oak, Base: 11, End: 12}, effect.Flush{Log: oak})
	require.Equal(t, "Append 1/0 10-11", s.await(t))
	require.Equal(t, []effect.Input{effect.DiskSpace{Low: true}}, b.inputsOf(t, 1))
	require.False(t, d.drain(), "something is left to be done")
	require.Equal(t, 1, d.stuckLanes())

	d.retry() // still none
	require.Equal(t, "Append 1/0 10-11", s.await(t))
	require.False(t, d.drain())
	b.inputsOf(t, 1)

	s.setFail("Append", nil)
	d.retry()
	require.Equal(t, "Append 1/0 10-11", s.await(t))
	require.Equal(t, "Append 1/0 11-12", s.await(t))
	require.True(t, d.drain())
	inputs := b.inputsOf(t, 3)
	require.Equal(t, effect.Flushed{Log: oak, End: 12}, inputs[len(inputs)-1])
}

// After a failure nothing is written any more, and the core is told once.
func TestAFailedFlushEndsAllWriting(t *testing.T) {
	d, s, b := testDisk(t)
	s.setFail("Flush", errors.New("input/output error"))
	d.all(effect.Append{Log: oak, Base: 10, End: 11}, effect.Flush{Log: oak})
	require.Equal(t, []effect.Input{
		effect.Appended{Log: oak, End: 11},
		effect.DiskFailed{Log: oak, Op: "Flush", Detail: "input/output error"},
	}, b.inputsOf(t, 2))
	require.False(t, d.drain())
	s.await(t)
	s.await(t)
	d.all(effect.Append{Log: oak, Base: 11, End: 12}, effect.Flush{Log: oak})
	require.False(t, d.drain())
	require.Empty(t, s.news)
}

func TestTheJournalGathersFrames(t *testing.T) {
	s, b := newFakeStore(), newInbox()
	gate := make(chan struct{})
	s.gate["SaveQuorum"] = gate
	j := newJournal(s, b, newMetrics(1), func() {})
	t.Cleanup(j.close)
	j.do(effect.SaveQuorum{Seq: 1})
	require.Equal(t, "SaveQuorum 1 frames", s.await(t))
	for seq := uint64(2); seq <= 4; seq++ {
		j.do(effect.SaveQuorum{Seq: seq})
	}
	j.do(effect.ReplaceQuorum{Seq: 5, Frames: make([][]byte, 7)})
	j.do(effect.SaveQuorum{Seq: 6})
	gate <- struct{}{}
	require.Equal(t, "SaveQuorum 3 frames", s.await(t))
	gate <- struct{}{}
	require.Equal(t, "ReplaceQuorum 7 frames", s.await(t))
	require.Equal(t, "SaveQuorum 1 frames", s.await(t))
	gate <- struct{}{}
	require.True(t, j.drain())
	require.Equal(t, []effect.Input{effect.QuorumSaved{Seq: 1}, effect.QuorumSaved{Seq: 4}, effect.QuorumSaved{Seq: 5}, effect.QuorumSaved{Seq: 6}}, sinkOf(b).inputsOf(t, 4))
}

func TestTheJournalReportsAFailure(t *testing.T) {
	s, b := newFakeStore(), newInbox()
	s.setFail("SaveQuorum", errors.New("gone"))
	j := newJournal(s, b, newMetrics(1), func() {})
	t.Cleanup(j.close)
	j.do(effect.SaveQuorum{Seq: 1})
	require.Equal(t, []effect.Input{effect.DiskFailed{Journal: true, Op: "SaveQuorum", Detail: "gone"}}, sinkOf(b).inputsOf(t, 1))
	require.False(t, j.drain())
}

// A read waits behind a truncation of its log, and not behind an append.
func TestReadsKeepTheirPlace(t *testing.T) {
	d, s, b := testDisk(t)
	tail := newTail(1 << 20)
	r := newReads(s, d, tail, d.inbox, newMetrics(1))
	t.Cleanup(r.close)
	gate := make(chan struct{})
	s.gate["Append"] = gate
	a := appendOf(10, 1, 10)
	a.Batches = tail.append(&a)
	d.all(a)
	s.await(t)

	answer, ok := r.read(effect.Read{Token: 1, Slices: []effect.Slice{{Log: oak, From: 10, To: 11, MaxBytes: 1}, {Log: oak, From: 11, To: 11}}})
	require.True(t, ok, "from memory, while the append is under way")
	require.Equal(t, effect.ReadDone{Token: 1, Results: []effect.ReadResult{{Batches: a.Batches}, {}}}, answer)

	_, ok = r.read(effect.Read{Token: 2, Slices: []effect.Slice{{Log: oak, From: 3, To: 11, MaxBytes: 1}, {Log: oak, From: 10, To: 11, MaxBytes: 1}}})
	require.False(t, ok)
	require.Equal(t, "Read 1/0 3-10", s.await(t), "not beyond what is surely written")
	require.Equal(t, []effect.Input{effect.ReadDone{Token: 2, Results: []effect.ReadResult{{Batches: []byte("disk")}, {Batches: a.Batches}}}}, b.inputsOf(t, 1))

	tail.forget(oak)
	d.all(effect.Truncate{Log: oak, Cut: 1, To: 5})
	_, ok = r.read(effect.Read{Token: 3, Slices: []effect.Slice{{Log: oak, From: 5, To: 5}}})
	require.False(t, ok, "an empty read tells that what came before it is done")
	r.findTime(effect.FindTime{Token: 4, Log: oak, At: 9})
	d.kick()
	require.Empty(t, s.news)
	gate <- struct{}{}
	require.Equal(t, "Truncate 1/0 to 5", s.await(t))
	require.Equal(t, "FindTime 1/0", s.await(t))
	require.Equal(t, []effect.Input{
		effect.Appended{Log: oak, End: 11},
		effect.ReadDone{Token: 3, Results: []effect.ReadResult{{}}},
		effect.TimeFound{Token: 4, Found: true, Offset: 5, Timestamp: 9},
	}, b.inputsOf(t, 3))
}

// The network waits at a full inbox; completions never do.
func TestAFullInboxPushesBack(t *testing.T) {
	b := newInbox()
	big := &message.Produce{Partitions: []message.ProducePartition{{Records: make([]byte, inboxBytes+1)}}}
	b.Request(1, big)
	passed := make(chan struct{})
	go func() {
		b.Receive(2, &message.Quorum{})
		close(passed)
	}()
	b.put(effect.QuorumSaved{Seq: 1})
	select {
	case <-passed:
		t.Fatal("it should have waited")
	case <-time.After(20 * time.Millisecond):
	}
	inputs := sinkOf(b)
	require.Equal(t, []effect.Input{effect.Requested{Token: 1, Msg: big}, effect.QuorumSaved{Seq: 1}, effect.Received{From: 2, Msg: &message.Quorum{}}}, inputs.inputsOf(t, 3))
	<-passed

	b = newInbox()
	b.Request(1, big)
	closed := make(chan struct{})
	go func() { b.Request(2, big); close(closed) }()
	b.close()
	<-closed
}

// One goroutine at a time has the turn; what others bring meanwhile is taken by
// it, in order, and nothing is left behind.
func TestOneAtATimeStepsTheCore(t *testing.T) {
	b := newInbox()
	const bringers, each = 8, 2000
	last, inside, count := map[message.Token]uint64{}, false, 0
	done := make(chan struct{})
	b.open(func(inputs []effect.Input, _ []func()) bool {
		require.False(t, inside)
		inside = true
		for _, in := range inputs {
			r := in.(effect.Requested)
			last[r.Token>>32]++
			require.Equal(t, message.Token(last[r.Token>>32]), r.Token&0xffffffff, "in the order in which they were brought")
			count++
		}
		inside = false
		if count == bringers*each {
			close(done)
		}
		return true
	})
	for i := range bringers {
		go func() {
			for n := range each {
				b.Request(message.Token(i)<<32|message.Token(n+1), &message.InitProducerID{})
			}
		}()
	}
	select {
	case <-done:
	case <-time.After(patience):
		t.Fatal("something was left behind")
	}
	b.close()
}

// What is asked of a node while it starts is answered as soon as it steps its
// core, whoever comes first.
func TestAnInboxIsAskedWhileItOpens(t *testing.T) {
	for range 100 {
		b := newInbox()
		asked := make(chan struct{})
		go b.peek(func() { close(asked) })
		b.open(func(_ []effect.Input, peeks []func()) bool {
			for _, peek := range peeks {
				peek()
			}
			return true
		})
		select {
		case <-asked:
		case <-time.After(patience):
			t.Fatal("what was asked meanwhile was left behind")
		}
		b.close()
	}
}

// After a halt nothing is taken any more, and close waits for whoever steps.
func TestAHaltedInboxTakesNothing(t *testing.T) {
	b := newInbox()
	steps := 0
	b.open(func([]effect.Input, []func()) bool { steps++; return false })
	b.put(effect.Tick{})
	b.put(effect.Tick{})
	b.Request(1, &message.ListGroups{})
	b.close()
	require.Equal(t, 1, steps)
}

// Little room is reported before there is none, and enough room when there is
// twice the reserve and nothing waits.
func TestSpaceIsWatched(t *testing.T) {
	s, b := newFakeStore(), newInbox()
	w := &space{store: s, inbox: b, tally: newMetrics(1), log: discard(), reserve: 100}
	see := func(free int64, stuck int) []effect.Input {
		s.space = free
		w.look(stuck)
		b.mu.Lock()
		defer b.mu.Unlock()
		inputs := b.inputs
		b.inputs = nil
		return inputs
	}
	require.Empty(t, see(100, 0))
	require.Equal(t, []effect.Input{effect.DiskSpace{Low: true}}, see(99, 0))
	require.Empty(t, see(150, 0))
	require.Empty(t, see(200, 1))
	require.Equal(t, []effect.Input{effect.DiskSpace{Low: false}}, see(200, 0))
	w.full() // whoever finds no room does not wait for the next look
	w.full()
	require.Equal(t, []effect.Input{effect.DiskSpace{Low: true}}, see(150, 1))
}

// Under load that never lets up the queue of lanes is never empty: it must not
// grow with all that has ever passed through it (INV-38).
func TestTheQueueOfLanesStaysSmallWhileItIsNeverEmpty(t *testing.T) {
	var q queue
	lanes := [3]lane{}
	q.push(&lanes[0])
	q.push(&lanes[1])
	for i := range 100_000 {
		q.push(&lanes[(i+2)%3])
		require.Same(t, &lanes[i%3], q.pop())
	}
	require.Equal(t, 2, q.len())
	require.Less(t, cap(q.list), 1000)
}
