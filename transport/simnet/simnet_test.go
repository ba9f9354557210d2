package simnet

import (
	"container/heap"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tamarack-mq/tamarack/core/chance"
	"github.com/tamarack-mq/tamarack/core/message"
)

// world is the little of a simulator that the network needs.
type world struct {
	now  message.Time
	seq  int
	heap packets
	net  *Network
	got  []arrival
}

type arrival struct {
	at   message.Time
	to   Endpoint
	kind PacketKind
	late bool
	call uint64
	id   uint64
}

type packets []entry

type entry struct {
	at  message.Time
	seq int
	p   *Packet
}

func (h packets) Len() int { return len(h) }
func (h packets) Less(i, j int) bool {
	return h[i].at < h[j].at || h[i].at == h[j].at && h[i].seq < h[j].seq
}
func (h packets) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *packets) Push(x any)   { *h = append(*h, x.(entry)) }
func (h *packets) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

func (w *world) Schedule(at message.Time, p *Packet) {
	w.seq++
	heap.Push(&w.heap, entry{at, w.seq, p})
}

// run lets everything arrive that is due up to a time.
func (w *world) run(to message.Time) {
	for len(w.heap) > 0 && w.heap[0].at <= to {
		e := heap.Pop(&w.heap).(entry)
		w.now = e.at
		if w.net.Arrive(w.now, e.p) {
			w.got = append(w.got, arrival{w.now, e.p.To, e.p.Kind, e.p.Late, e.p.Call, e.p.Digest})
			w.net.Done(e.p)
		}
	}
	w.now = to
}

const second = message.Time(message.Second)

// newWorld has nodes 1 to 3 and the clients 4 and 5.
func newWorld(w Weather, seed uint64) *world {
	s := &world{}
	s.net = New(4, 6, w, chance.New(seed), s)
	return s
}

func (w *world) ids() (ids []uint64) {
	for _, a := range w.got {
		ids = append(ids, a.id)
	}
	return ids
}

var fair = Weather{Latency: message.Millisecond, Spread: 5 * message.Millisecond}

func TestMessagesOfOneConnectionKeepTheirOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(Weather{Latency: message.Millisecond, Spread: 20 * message.Millisecond, Tail: 300, TailScale: 50 * message.Millisecond}, rapid.Uint64().Draw(t, "seed"))
		n := rapid.IntRange(1, 60).Draw(t, "messages")
		var sent []uint64
		for i := range n {
			sent = append(sent, uint64(i))
			w.net.Send(w.now, 1, 2, &message.Quorum{}, uint64(i))
			w.run(w.now.Add(message.Duration(rapid.IntRange(0, 5).Draw(t, "pause")) * message.Millisecond))
		}
		w.run(1000 * second)
		require.Equal(t, sent, w.ids())
	})
}

func TestTheSameSeedGivesTheSameArrivals(t *testing.T) {
	rough := Weather{Latency: message.Millisecond, Spread: message.Millisecond, Reset: 100_000, Stale: 50, Lose: 50_000, Duplicate: 50_000, Reorder: 50_000}
	play := func() []arrival {
		w := newWorld(rough, 7)
		for i := range 500 {
			w.net.Send(w.now, Endpoint(1+i%3), Endpoint(1+(i+1)%3), &message.Quorum{}, uint64(i))
			w.run(w.now.Add(message.Millisecond))
		}
		w.run(100 * second)
		return w.got
	}
	first := play()
	require.Equal(t, first, play())
	require.NotEmpty(t, first)
}

func TestWhatALinkLosesDoesNotChangeAnother(t *testing.T) {
	arrivals := func(lossy bool) (ids []arrival) {
		w := newWorld(fair, 3)
		if lossy {
			w.net.Lose(1, 2, 50)
		}
		for i := range 100 {
			w.net.Send(w.now, 1, 2, &message.Quorum{}, 1)
			w.net.Send(w.now, 1, 3, &message.Quorum{}, uint64(i))
		}
		w.run(second)
		for _, a := range w.got {
			if a.to == 3 {
				ids = append(ids, a)
			}
		}
		return ids
	}
	require.Equal(t, arrivals(false), arrivals(true))
}

func TestACutStopsWhatIsUnderWay(t *testing.T) {
	w := newWorld(fair, 1)
	w.net.Send(w.now, 1, 2, &message.Quorum{}, 1)
	w.net.Cut(1, 2)
	w.run(second)
	require.Empty(t, w.got)
	w.net.Join(1, 2)
	w.net.Send(w.now, 1, 2, &message.Quorum{}, 2)
	w.run(2 * second)
	require.Equal(t, []uint64{2}, w.ids())
}

func TestNothingArrivesBehindAGapOnTheSameConnection(t *testing.T) {
	w := newWorld(Weather{Latency: 10 * message.Millisecond}, 1)
	w.net.Cut(1, 2)
	w.net.Send(w.now, 1, 2, &message.Quorum{}, 1)
	w.run(message.Time(5 * message.Millisecond))
	w.net.Send(w.now, 1, 2, &message.Quorum{}, 2) // on the same connection, behind what is about to be lost
	w.run(message.Time(12 * message.Millisecond))
	w.net.Join(1, 2)
	w.run(second)
	require.Empty(t, w.got)
}

func TestAOneWayCutLetsTheOtherWayThrough(t *testing.T) {
	w := newWorld(fair, 1)
	w.net.Cut(1, 2)
	w.net.Send(w.now, 1, 2, &message.Quorum{}, 1)
	w.net.Send(w.now, 2, 1, &message.Quorum{}, 2)
	w.run(second)
	require.Equal(t, []uint64{2}, w.ids())
}

func TestAClogKeepsEverythingAndItsOrder(t *testing.T) {
	w := newWorld(fair, 1)
	for i := range 10 {
		w.net.Send(w.now, 1, 2, &message.Quorum{}, uint64(i))
	}
	w.net.Clog(1, 2)
	for i := range 10 {
		w.net.Send(w.now, 1, 2, &message.Quorum{}, uint64(10+i))
	}
	w.run(second)
	require.Empty(t, w.got)
	w.net.Release(w.now, 1, 2)
	w.net.Send(w.now, 1, 2, &message.Quorum{}, 20)
	w.run(2 * second)
	var want []uint64
	for i := range 21 {
		want = append(want, uint64(i))
	}
	require.Equal(t, want, w.ids())
}

func TestAFullQueueOverflows(t *testing.T) {
	w := newWorld(Weather{Latency: message.Millisecond, Queue: 5}, 1)
	for i := range 9 {
		w.net.Send(w.now, 1, 2, &message.Quorum{}, uint64(i))
	}
	w.run(second)
	require.Equal(t, []uint64{0, 1, 2, 3, 4}, w.ids())
	require.Equal(t, uint64(4), w.net.Counts.Overflown)
}

func TestAResetTellsTheClientAndDropsTheAnswer(t *testing.T) {
	w := newWorld(Weather{Latency: message.Millisecond}, 1)
	g := w.net.Call(w.now, 4, 1, 77, &message.Metadata{}, 1)
	w.run(message.Time(2 * message.Millisecond))
	w.net.Reset(w.now, 4, 1)
	w.net.Answer(w.now, 1, 4, 77, g, &message.MetadataReply{}, 2)
	w.run(second)
	require.Len(t, w.got, 2)
	require.Equal(t, Request, w.got[0].kind)
	require.Equal(t, Broken, w.got[1].kind)
	require.Greater(t, w.net.Call(w.now, 4, 1, 78, &message.Metadata{}, 3), g)
}

func TestALostRequestHangsItsConnection(t *testing.T) {
	w := newWorld(Weather{Latency: message.Millisecond}, 1)
	w.net.Lose(4, 1, 100)
	first := w.net.Call(w.now, 4, 1, 1, &message.Metadata{}, 1)
	w.net.Lose(4, 1, 0)
	second1 := w.net.Call(w.now, 4, 1, 2, &message.Metadata{}, 2)
	w.run(second)
	require.Greater(t, second1, first)
	require.Equal(t, []uint64{2}, w.ids())
}

func TestADeadProcessRefuses(t *testing.T) {
	w := newWorld(Weather{Latency: message.Millisecond}, 1)
	w.net.Call(w.now, 4, 1, 1, &message.Metadata{}, 1)
	e := heap.Pop(&w.heap).(entry)
	require.True(t, w.net.Arrive(e.at, e.p))
	w.net.Refuse(e.at, e.p)
	w.run(second)
	require.Len(t, w.got, 1)
	require.Equal(t, Refused, w.got[0].kind)
	require.Equal(t, Endpoint(4), w.got[0].to)
}

// What was to go over a connection that could not be made was never sent. The
// client is told so, and may give its records another number: nothing of it may
// arrive later, be it still on its way or held by a clogged link.
func TestARefusedConnectionCarriesNothing(t *testing.T) {
	for _, clogged := range []bool{false, true} {
		w := newWorld(Weather{Latency: message.Millisecond, Stale: 100}, 1)
		for call := range uint64(2) {
			w.net.Call(w.now, 4, 1, call+1, &message.Metadata{}, call+1)
		}
		first := heap.Pop(&w.heap).(entry)
		require.True(t, w.net.Arrive(first.at, first.p))
		if clogged {
			w.net.Clog(4, 1)
			w.run(second / 2)
		}
		w.net.Refuse(first.at, first.p)
		w.net.Call(w.now, 4, 1, 3, &message.Metadata{}, 3) // over the next connection, which is made
		if clogged {
			w.net.Release(w.now, 4, 1)
		}
		w.run(10 * second)
		var kinds []PacketKind
		var calls []uint64
		for _, a := range w.got {
			kinds, calls = append(kinds, a.kind), append(calls, a.call)
		}
		require.ElementsMatch(t, []PacketKind{Refused, Request}, kinds, "clogged: %v", clogged)
		require.ElementsMatch(t, []uint64{0, 3}, calls, "clogged: %v", clogged)
	}
}

func TestStaleBytesArriveLateAndAreMarked(t *testing.T) {
	w := newWorld(Weather{Latency: 10 * message.Millisecond, Stale: 100}, 1)
	w.net.Send(w.now, 1, 2, &message.Quorum{}, 1)
	w.net.Gone(w.now, 1, true)
	w.net.Send(w.now, 1, 2, &message.Quorum{}, 2)
	w.run(10 * second)
	require.Equal(t, []uint64{2, 1}, w.ids())
	require.True(t, w.got[1].late)
}

func TestHealTakesEverythingBack(t *testing.T) {
	w := newWorld(fair, 1)
	w.net.Clog(1, 2)
	w.net.Cut(2, 3)
	w.net.Cut(2, 3)
	w.net.Slow(3, 1, 1000)
	w.net.Send(w.now, 1, 2, &message.Quorum{}, 1)
	w.run(second)
	w.net.Heal(w.now)
	w.net.Send(w.now, 2, 3, &message.Quorum{}, 2)
	w.net.Send(w.now, 3, 1, &message.Quorum{}, 3)
	w.run(2 * second)
	require.ElementsMatch(t, []uint64{1, 2, 3}, w.ids())
	require.True(t, w.net.Reaches(2, 3))
}
