package sim

import (
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// wallStart is what all wall clocks show at the start of a run: the first of
// January 2026.
const wallStart record.Timestamp = 1_767_225_600_000

// clock is what one machine believes the time to be. Its monotonic clock runs
// at a rate of its own and starts anywhere at each process start; its wall
// clock runs with it and may jump.
type clock struct {
	rate     int64 // per mille of virtual time: 1000 is true
	sinceV   Span  // virtual time at which the rate last changed
	sinceM   message.Time
	wallBase record.Timestamp // at sinceV
}

func newClock(mono message.Time) clock {
	return clock{rate: 1000, sinceM: mono, wallBase: wallStart}
}

// now is what the clocks show at a virtual time.
func (c *clock) now(v Span) message.Now {
	passed := int64(v-c.sinceV) * c.rate / 1000
	return message.Now{
		Mono: c.sinceM + message.Time(passed),
		Wall: c.wallBase + record.Timestamp(passed/int64(Millisecond)),
	}
}

// when is the first virtual time at which the monotonic clock shows at least m.
func (c *clock) when(m message.Time) Span {
	if m == message.Never {
		return never
	}
	ahead := int64(m - c.sinceM)
	if ahead <= 0 {
		return c.sinceV
	}
	return c.sinceV + Span((ahead*1000+c.rate-1)/c.rate)
}

// setRate makes the clock run at another rate from v on.
func (c *clock) setRate(v Span, perMille int64) {
	now := c.now(v)
	c.sinceV, c.sinceM, c.wallBase, c.rate = v, now.Mono, now.Wall, perMille
}

// jump moves the wall clock.
func (c *clock) jump(by record.Timestamp) { c.wallBase += by }

// wrong is how far the wall clock is ahead of the truth.
func (c *clock) wrong(v Span) Span {
	return Span(c.now(v).Wall-wallStart)*Millisecond - v
}

// apart is how far the wall clocks of any two nodes have been apart, at any two
// moments so far. They drift evenly between two changes of a clock, so that it is
// enough to look at each of these, and now.
type apart struct{ behind, ahead Span }

// clocksApart looks at the clocks, and says how far they have been apart.
func (w *World) clocksApart() Span {
	for _, n := range w.nodes[1:] {
		wrong := n.clock.wrong(w.now)
		w.apart.behind, w.apart.ahead = min(w.apart.behind, wrong), max(w.apart.ahead, wrong)
	}
	return w.apart.ahead - w.apart.behind
}

// reboot starts the monotonic clock anew, as a restart of the machine does.
func (c *clock) reboot(v Span, mono message.Time) {
	now := c.now(v)
	c.sinceV, c.sinceM, c.wallBase = v, mono, now.Wall
}
