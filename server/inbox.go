package server

import (
	"sync"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
)

// Bounds of what may wait for the core from the network. Beyond either, the
// connections are not read from, and TCP pushes back.
const (
	inboxInputs = 8192
	inboxBytes  = 64 << 20
)

// inboxRounds is how often whoever brought an input takes what came meanwhile,
// before it leaves the turn to the helper and goes back to its own work.
const inboxRounds = 3

// inbox gathers what happened and sees to it that one goroutine at a time steps
// the core: it has the turn. Whoever brings an input while nobody has the turn
// takes it and steps the core itself; all others leave their input to the one
// that does. So a lone input costs no change of goroutine, which is most of
// what it would cost, and the more there is to do, the more is done in one turn.
//
// What comes from the network waits when there is too much; completions of
// effects never wait, since the core itself bounds how many there are.
type inbox struct {
	// step is called by the holder of the turn with what came in. It returns
	// false when the core has halted: nothing is taken after that.
	step func(inputs []effect.Input, peeks []func()) bool

	mu      sync.Mutex
	room    sync.Cond
	free    sync.Cond // the turn is free
	inputs  []effect.Input
	peeks   []func()
	bytes   int
	foreign int  // inputs from the network
	busy    bool // somebody has the turn, or the helper is about to
	closed  bool
	spare   []effect.Input // of the holder of the turn
	handed  chan struct{}  // the turn is handed to the helper
	helper  sync.WaitGroup
}

func newInbox() *inbox {
	b := &inbox{handed: make(chan struct{}, 1)}
	b.room.L, b.free.L = &b.mu, &b.mu
	return b
}

// open begins to step the core. What others put or peek before is kept until
// then; from when the lock is let go, they may take the turn as well.
func (b *inbox) open(step func(inputs []effect.Input, peeks []func()) bool) {
	b.helper.Go(func() {
		for range b.handed {
			b.turn(0)
		}
	})
	b.mu.Lock()
	b.step = step
	if !b.claim() {
		b.mu.Unlock()
		return
	}
	b.mu.Unlock()
	b.turn(0)
}

// claim takes the turn if it is free and there is something to do. b.mu is held.
func (b *inbox) claim() bool {
	if b.busy || b.step == nil || len(b.inputs) == 0 && len(b.peeks) == 0 {
		return false
	}
	b.busy = true
	return true
}

// turn steps the core with all that comes in, for so many rounds (0: without
// end), and then leaves what is left to the helper.
func (b *inbox) turn(rounds int) {
	for n := 1; ; n++ {
		b.mu.Lock()
		if b.closed || len(b.inputs) == 0 && len(b.peeks) == 0 {
			b.busy = false
			b.free.Broadcast()
			b.mu.Unlock()
			return
		}
		if rounds > 0 && n > rounds {
			b.mu.Unlock()
			b.handed <- struct{}{}
			return
		}
		inputs, peeks := b.inputs, b.peeks
		b.inputs, b.peeks = b.spare, nil
		if b.foreign > 0 {
			b.foreign, b.bytes = 0, 0
			b.room.Broadcast()
		}
		b.mu.Unlock()
		goOn := b.step(inputs, peeks)
		clear(inputs)
		b.spare = inputs[:0]
		if !goOn {
			b.mu.Lock()
			b.shut()
			b.mu.Unlock()
		}
	}
}

// put adds a completion.
func (b *inbox) put(in effect.Input) {
	b.mu.Lock()
	if !b.closed {
		b.inputs = append(b.inputs, in)
	}
	b.added(inboxRounds)
}

// note is put for somebody who has more urgent things to do: it takes at most
// one round itself.
func (b *inbox) note(in effect.Input) {
	b.mu.Lock()
	if !b.closed {
		b.inputs = append(b.inputs, in)
	}
	b.added(1)
}

// peek has f called between two steps.
func (b *inbox) peek(f func()) {
	b.mu.Lock()
	if !b.closed {
		b.peeks = append(b.peeks, f)
	}
	b.added(inboxRounds)
}

// offer adds something from the network, and waits for room first.
func (b *inbox) offer(in effect.Input, size int) {
	b.mu.Lock()
	for !b.closed && (b.foreign >= inboxInputs || b.bytes > inboxBytes) {
		b.room.Wait()
	}
	if !b.closed {
		b.inputs = append(b.inputs, in)
		b.foreign++
		b.bytes += size
	}
	b.added(inboxRounds)
}

// added unlocks, and takes the turn if it is free.
func (b *inbox) added(rounds int) {
	mine := b.claim()
	b.mu.Unlock()
	if mine {
		b.turn(rounds)
	}
}

// shut lets nothing in any more. b.mu is held.
func (b *inbox) shut() {
	b.closed, b.inputs, b.peeks = true, nil, nil
	b.room.Broadcast()
}

// close drops all there is and all that comes, lets everybody go who waits, and
// returns when nobody steps the core any more.
func (b *inbox) close() {
	b.mu.Lock()
	b.shut()
	for b.busy {
		b.free.Wait()
	}
	b.mu.Unlock()
	close(b.handed)
	b.helper.Wait()
}

// Receive takes a message of another node. With Request it makes the inbox a
// transport.Receiver.
func (b *inbox) Receive(from message.NodeID, m message.Message) {
	size := inputSize
	if r, ok := m.(*message.ReplicaFetchReply); ok {
		for i := range r.Partitions {
			size += len(r.Partitions[i].Records)
		}
	}
	b.offer(effect.Received{From: from, Msg: m}, size)
}

// Request takes a request of a client.
func (b *inbox) Request(token message.Token, m message.Request) {
	size := inputSize
	if r, ok := m.(*message.Produce); ok {
		for i := range r.Partitions {
			size += len(r.Partitions[i].Records)
		}
	}
	b.offer(effect.Requested{Token: token, Msg: m}, size)
}

// inputSize is about what an input takes besides its records.
const inputSize = 256
