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

// inbox gathers what happened, for the one goroutine that steps the core. What
// comes from the network waits when there is too much; completions of effects
// never wait, since the core itself bounds how many there are.
type inbox struct {
	mu      sync.Mutex
	room    sync.Cond
	inputs  []effect.Input
	peeks   []func()
	bytes   int
	foreign int // inputs from the network
	asleep  bool
	closed  bool
	wake    chan struct{}
}

func newInbox() *inbox {
	b := &inbox{wake: make(chan struct{}, 1)}
	b.room.L = &b.mu
	return b
}

// put adds a completion.
func (b *inbox) put(in effect.Input) {
	b.mu.Lock()
	if !b.closed {
		b.inputs = append(b.inputs, in)
	}
	b.rouse()
}

// peek has f called between two steps.
func (b *inbox) peek(f func()) {
	b.mu.Lock()
	if !b.closed {
		b.peeks = append(b.peeks, f)
	}
	b.rouse()
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
	b.rouse()
}

// rouse unlocks and wakes the taker.
func (b *inbox) rouse() {
	asleep := b.asleep
	b.asleep = false
	b.mu.Unlock()
	if asleep {
		b.wake <- struct{}{}
	}
}

// take gives all there is in exchange for an empty list. When there is nothing
// it says so, and the next addition sends on wake once.
func (b *inbox) take(empty []effect.Input) (inputs []effect.Input, peeks []func(), any bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.inputs) == 0 && len(b.peeks) == 0 {
		b.asleep = true
		return empty, nil, false
	}
	inputs, b.inputs = b.inputs, empty
	peeks, b.peeks = b.peeks, nil
	if b.foreign > 0 {
		b.foreign, b.bytes = 0, 0
		b.room.Broadcast()
	}
	return inputs, peeks, true
}

// stir takes back that the taker sleeps, after it woke for another reason.
func (b *inbox) stir() {
	b.mu.Lock()
	roused := !b.asleep
	b.asleep = false
	b.mu.Unlock()
	if roused {
		<-b.wake
	}
}

// close drops all there is and all that comes, and lets everybody go who waits.
func (b *inbox) close() {
	b.mu.Lock()
	b.closed, b.inputs = true, nil
	b.mu.Unlock()
	b.room.Broadcast()
}

// Receive and Request make the inbox a transport.Receiver.

// Receive takes a message of another node.
func (b *inbox) Receive(from message.NodeID, m message.Message) {
	size := 256
	if r, ok := m.(*message.ReplicaFetchReply); ok {
		for i := range r.Partitions {
			size += len(r.Partitions[i].Records)
		}
	}
	b.offer(effect.Received{From: from, Msg: m}, size)
}

// Request takes a request of a client.
func (b *inbox) Request(token message.Token, m message.Request) {
	size := 256
	if r, ok := m.(*message.Produce); ok {
		for i := range r.Partitions {
			size += len(r.Partitions[i].Records)
		}
	}
	b.offer(effect.Requested{Token: token, Msg: m}, size)
}
