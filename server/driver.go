package server

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/tape"
)

// Core is the protocol, as the driver sees it. core.Node satisfies it.
type Core interface {
	// Step takes one input and adds the effects that it caused to out.
	Step(now message.Now, in effect.Input, out *effect.Out)
	// Wake is the time of the monotonic clock at which a Tick is wanted.
	Wake() message.Time
}

// network is what the driver needs of tcp.Network.
type network interface {
	Send(to message.NodeID, m message.Message)
	Reply(token message.Token, m message.Reply)
	Cork()
	Flush()
	Close() error
}

// HaltError is why a node stopped although nobody asked it to. It recovers from
// its disk when it is started again.
type HaltError struct{ Reason string }

// Error gives the core's reason.
func (e *HaltError) Error() string { return "server: the node halted: " + e.Reason }

// ErrShutdownTimeout ends a controlled shutdown that others did not let finish.
// Nothing is lost: the node recovers when it is started again.
var ErrShutdownTimeout = errors.New("server: the controlled shutdown took too long; stopped without it")

// errStopped ends a node that was told to stop at once.
var errStopped = errors.New("server: stopped at once, as asked")

// driver steps a core and carries out what it wants. All but run, settle and
// abandon belongs to whoever has the inbox's turn.
type driver struct {
	core    Core
	inbox   *inbox
	net     network
	disk    *disk
	journal *journal
	tail    *tail
	reads   *reads
	space   *space
	tally   *metrics
	tape    *tape.Recorder // nil: nothing is recorded
	log     *slog.Logger
	clock   clock
	limit   time.Duration // of a controlled shutdown

	shutdown  <-chan struct{} // closed: begin a controlled one
	giveUp    <-chan struct{} // closed: end a controlled shutdown without the rest of it
	stop      <-chan struct{} // closed: end at once
	afterStep func()          // called after each batch of inputs

	timer    *time.Timer
	armed    message.Time // what the timer is set to
	out      effect.Out
	answered []effect.Input // reads that were answered at once
	halt     *effect.Halt
	halted   chan struct{} // closed: halt is set

	watching chan struct{} // closed: stop watching the disk's space
	watchers sync.WaitGroup
}

// clock shows the time since the process started, and the time of day.
type clock struct{ start time.Time }

// origin keeps the monotonic time away from zero, which could pass for "none".
const origin = message.Time(message.Second)

func (c clock) now() message.Now {
	t := time.Now()
	return message.Now{Mono: origin + message.Time(t.Sub(c.start)), Wall: record.Timestamp(t.UnixMilli())}
}

// idle is how long the core sleeps when it waits for nothing.
const idle = time.Hour

// until is how long it takes until a time of the monotonic clock.
func (c clock) until(t message.Time) time.Duration {
	if t == message.Never {
		return idle
	}
	return time.Duration(t-origin) - time.Since(c.start)
}

// batch is how many inputs are taken before what they caused is let go. It
// bounds the delay of the first by the last.
const batch = 128

// run has the core stepped until it halts. A nil error means that it did so
// cleanly.
func (d *driver) run() error {
	d.timer = time.AfterFunc(idle, func() { d.inbox.put(effect.Tick{}) })
	defer d.timer.Stop()
	d.armed = message.Never
	d.inbox.put(effect.Tick{}) // the first gets the core going
	d.inbox.open(d.turn)
	shutdown, giveUp := d.shutdown, d.giveUp
	var expired <-chan time.Time
	for {
		select {
		case <-d.halted:
			if !d.halt.Clean {
				return &HaltError{Reason: d.halt.Reason}
			}
			d.log.Info("halted cleanly", "reason", d.halt.Reason)
			return nil
		case <-shutdown:
			shutdown, expired = nil, time.After(d.limit)
			d.log.Info("shutting down: handing leaderships over", "limit", d.limit)
			d.inbox.put(effect.Shutdown{})
		case <-expired:
			return ErrShutdownTimeout
		case <-giveUp:
			giveUp = nil
			d.inbox.peek(func() { d.end("no one is left to hand over to") })
		case <-d.stop:
			return errStopped
		}
	}
}

// end halts the core cleanly from outside: what it wanted of the disk is still
// done, what it wanted of others is not waited for. To be called by whoever has
// the inbox's turn.
func (d *driver) end(reason string) {
	if d.halt == nil {
		d.halt = &effect.Halt{Clean: true, Reason: reason}
	}
}

// turn takes what came in, and sets the timer for what the core waits for.
func (d *driver) turn(inputs []effect.Input, peeks []func()) bool {
	d.take(inputs)
	for _, peek := range peeks {
		peek()
	}
	if d.halt != nil {
		close(d.halted)
		return false
	}
	// A timer that goes off too early costs less than setting it each time.
	if wake := d.core.Wake(); wake < d.armed {
		d.armed = wake
		d.timer.Reset(max(d.clock.until(wake), 0))
	}
	return true
}

// take steps the core with inputs and lets go, from time to time, what they
// caused: to the disk first, which takes longest.
func (d *driver) take(inputs []effect.Input) {
	start := time.Now()
	d.tally.inputs.Add(float64(len(inputs)))
	d.tally.batches.Inc()
	for len(inputs) > 0 && d.halt == nil {
		n := min(batch, len(inputs))
		d.net.Cork()
		for _, in := range inputs[:n] {
			d.step(in)
		}
		if d.afterStep != nil {
			d.afterStep()
		}
		if d.halt != nil && !d.halt.Clean {
			break // nothing may be sent any more
		}
		d.disk.kick()
		d.net.Flush()
		inputs = inputs[n:]
	}
	d.tally.stepSeconds.Add(time.Since(start).Seconds())
}

// step takes one input, and then the reads that it caused and that memory could
// answer.
func (d *driver) step(in effect.Input) {
	d.stepOne(in)
	for len(d.answered) > 0 && d.halt == nil {
		next := d.answered[0]
		d.answered[0] = nil
		d.answered = d.answered[1:]
		d.stepOne(next)
	}
	if len(d.answered) == 0 {
		d.answered = d.answered[:0:cap(d.answered)]
	}
}

func (d *driver) stepOne(in effect.Input) {
	if d.halt != nil {
		return
	}
	switch in := in.(type) {
	case effect.Tick:
		d.armed = message.Never
	case effect.Appended:
		d.tail.wrote(in.Log, in.End)
	case effect.Requested:
		d.tally.requests[in.Msg.Kind()].Inc()
	case effect.Received:
		d.tally.received[in.Msg.Kind()].Inc()
	}
	now := d.clock.now()
	if d.tape != nil {
		d.tape.Begin(now, in)
	}
	d.core.Step(now, in, &d.out)
	if d.tape != nil {
		d.tape.End(d.out.List)
	}
	for _, e := range d.out.List {
		d.carry(e)
	}
	d.out.Empty()
}

// carry begins one effect.
func (d *driver) carry(e effect.Effect) {
	switch e := e.(type) {
	case effect.Send:
		d.tally.sent[e.Msg.Kind()].Inc()
		d.net.Send(e.To, e.Msg)
	case effect.Reply:
		d.net.Reply(e.Token, e.Msg)
	case effect.Append:
		e.Batches = d.tail.append(&e)
		d.disk.do(e.Log, e)
	case effect.Flush:
		d.disk.do(e.Log, e)
	case effect.Read:
		if now, ok := d.reads.read(e); ok {
			d.answered = append(d.answered, now)
		}
	case effect.FindTime:
		d.reads.findTime(e)
	case effect.CreateLog:
		d.disk.do(e.Log, e)
	case effect.ConfigureLog:
		d.disk.do(e.Log, e)
	case effect.DeleteLog:
		d.tail.forget(e.Log)
		d.disk.do(e.Log, e)
	case effect.Truncate:
		d.tail.forget(e.Log)
		d.disk.do(e.Log, e)
	case effect.Reset:
		d.tail.forget(e.Log)
		d.disk.do(e.Log, e)
	case effect.TrimPrefix:
		d.disk.do(e.Log, e)
	case effect.Checkpoint:
		d.disk.do(e.Log, e)
	case effect.SaveQuorum, effect.ReplaceQuorum:
		d.journal.do(e)
	case effect.Halt:
		d.halt = &e
	default:
		d.halt = &effect.Halt{Reason: fmt.Sprintf("the driver knows no effect %T", e)}
	}
}

// settle waits until the disk has done all it was asked for. It says whether
// everything is durable.
func (d *driver) settle(limit time.Duration) bool {
	done := make(chan bool, 1)
	go func() { done <- d.disk.drain() && d.journal.drain() }()
	select {
	case ok := <-done:
		return ok
	case <-time.After(limit):
		return false
	}
}
