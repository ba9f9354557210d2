package server

import (
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
)

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }

// scripted is a core that answers each input with the effects that a function
// gives, and writes down what it was stepped with.
type scripted struct {
	mu    sync.Mutex
	steps []effect.Input
	news  chan effect.Input
	react func(in effect.Input) []effect.Effect
	wake  message.Time
}

func (s *scripted) Step(_ message.Now, in effect.Input, out *effect.Out) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, tick := in.(effect.Tick); tick {
		s.wake = message.Never
	}
	s.steps = append(s.steps, in)
	for _, e := range s.react(in) {
		out.Add(e)
	}
	s.news <- in
}

func (s *scripted) Wake() message.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.wake
}

// wire writes down what left. What is corked leaves with Flush.
type wire struct {
	mu     sync.Mutex
	held   []any
	left   []any
	closed bool
}

func (w *wire) Send(to message.NodeID, m message.Message) {
	w.held = append(w.held, effect.Send{To: to, Msg: m})
}
func (w *wire) Reply(t message.Token, m message.Reply) {
	w.held = append(w.held, effect.Reply{Token: t, Msg: m})
}
func (w *wire) Cork()        {}
func (w *wire) Flush()       { w.mu.Lock(); w.left = append(w.left, w.held...); w.held = nil; w.mu.Unlock() }
func (w *wire) Close() error { w.closed = true; return nil }
func (w *wire) sent() []any  { w.mu.Lock(); defer w.mu.Unlock(); return append([]any{}, w.left...) }

type rig struct {
	*driver
	core     *scripted
	wire     *wire
	store    *fakeStore
	shutdown chan struct{}
	stop     chan struct{}
	ended    chan error
}

func newRig(t *testing.T, react func(in effect.Input) []effect.Effect) *rig {
	r := &rig{core: &scripted{news: make(chan effect.Input, 1000), react: react, wake: message.Never}, wire: &wire{}, store: newFakeStore(),
		shutdown: make(chan struct{}), stop: make(chan struct{}), ended: make(chan error, 1)}
	cfg := Config{ShutdownLimit: 50 * time.Millisecond, TailBytes: 1 << 20}
	r.driver = newDriver(r.core, r.store, effect.Recovered{}, newMetrics(1), discard(), clock{time.Now()}, cfg)
	r.driver.net, r.driver.shutdown, r.driver.stop = r.wire, r.shutdown, r.stop
	go func() { r.ended <- r.driver.run() }()
	t.Cleanup(r.driver.abandon)
	return r
}

func (r *rig) end(t *testing.T) error {
	t.Helper()
	select {
	case err := <-r.ended:
		return err
	case <-time.After(patience):
		t.Fatal("the driver did not end")
		return nil
	}
}

func (r *rig) next(t *testing.T) effect.Input {
	t.Helper()
	select {
	case in := <-r.core.news:
		return in
	case <-time.After(patience):
		t.Fatal("the core was not stepped")
		return nil
	}
}

// A produce is written, flushed, and answered only by the step that the flush
// caused.
func TestTheDriverCarriesOutEffectsAndTellsTheirEnd(t *testing.T) {
	a := appendOf(0, 1, 10)
	r := newRig(t, func(in effect.Input) []effect.Effect {
		switch in.(type) {
		case effect.Requested:
			return []effect.Effect{effect.CreateLog{Log: oak}, a, effect.Flush{Log: oak}, effect.Send{To: 2, Msg: &message.Quorum{}}}
		case effect.Flushed:
			return []effect.Effect{effect.Reply{Token: 7, Msg: &message.ProduceReply{}}, effect.Halt{Clean: true}}
		}
		return nil
	})
	require.Equal(t, effect.Tick{}, r.next(t), "the first step gets the core going")
	r.inbox.Request(7, &message.Produce{})
	require.Equal(t, effect.Requested{Token: 7, Msg: &message.Produce{}}, r.next(t))
	require.Equal(t, effect.Appended{Log: oak, End: 1}, r.next(t))
	require.Equal(t, effect.Flushed{Log: oak, End: 1}, r.next(t))
	require.NoError(t, r.end(t))
	require.True(t, r.settle(patience))
	require.Equal(t, []any{effect.Send{To: 2, Msg: &message.Quorum{}}, effect.Reply{Token: 7, Msg: &message.ProduceReply{}}}, r.wire.sent())
}

// What memory can answer comes back before the next input is looked at.
func TestAReadFromMemoryIsAnsweredAtOnce(t *testing.T) {
	a := appendOf(0, 1, 10)
	r := newRig(t, func(in effect.Input) []effect.Effect {
		if _, ok := in.(effect.Requested); ok {
			return []effect.Effect{a, effect.Read{Token: 3, Slices: []effect.Slice{{Log: oak, To: 1, MaxBytes: 100}}}}
		}
		return nil
	})
	r.next(t)
	r.inbox.mu.Lock() // both come in together
	r.inbox.inputs = append(r.inbox.inputs, effect.Requested{Token: 7, Msg: &message.Fetch{}}, effect.QuorumSaved{Seq: 1})
	r.inbox.added(1)
	r.next(t)
	require.Equal(t, effect.ReadDone{Token: 3, Results: []effect.ReadResult{{Batches: a.Batches}}}, r.next(t))
	require.Equal(t, effect.QuorumSaved{Seq: 1}, r.next(t))
}

// After a halt that is not clean nothing leaves any more, not even what was
// said in the same step.
func TestAnUncleanHaltSendsNothing(t *testing.T) {
	r := newRig(t, func(in effect.Input) []effect.Effect {
		if _, ok := in.(effect.Requested); ok {
			return []effect.Effect{effect.Reply{Token: 7, Msg: &message.ProduceReply{}}, effect.Halt{Reason: "the log is upside down"}}
		}
		return nil
	})
	r.inbox.Request(7, &message.Produce{})
	err := r.end(t)
	var halt *HaltError
	require.ErrorAs(t, err, &halt)
	require.Equal(t, "the log is upside down", halt.Reason)
	require.Empty(t, r.wire.sent())
}

func TestAControlledShutdownHasItsTime(t *testing.T) {
	r := newRig(t, func(effect.Input) []effect.Effect { return nil })
	r.next(t)
	close(r.shutdown)
	require.Equal(t, effect.Shutdown{}, r.next(t))
	require.ErrorIs(t, r.end(t), ErrShutdownTimeout)
}

// The core is stepped when it asked for it, and not otherwise.
func TestTheCoreIsWokenWhenItWants(t *testing.T) {
	r := newRig(t, func(effect.Input) []effect.Effect { return nil })
	require.Equal(t, effect.Tick{}, r.next(t))
	r.core.mu.Lock()
	wanted := r.clock.now().Mono.Add(20 * message.Millisecond)
	r.core.wake = wanted
	r.core.mu.Unlock()
	r.inbox.put(effect.QuorumSaved{Seq: 1})
	require.Equal(t, effect.QuorumSaved{Seq: 1}, r.next(t))
	require.Equal(t, effect.Tick{}, r.next(t))
	require.GreaterOrEqual(t, r.clock.now().Mono, wanted)
	require.Empty(t, r.core.news)
	close(r.stop)
	require.ErrorIs(t, r.end(t), errStopped)
}
