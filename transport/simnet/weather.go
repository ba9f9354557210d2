package simnet

import "github.com/tamarack-mq/tamarack/core/message"

// Weather is how links behave. Each message draws from it.
type Weather struct {
	Latency   message.Duration // least one-way delay
	Spread    message.Duration // even jitter on top of it
	Tail      int64            // per mille of messages that take much longer
	TailScale message.Duration // the median of what they take more; up to 100 times that
	Reset     int64            // per million of sends that break their connection
	Stale     int64            // percent of what a reset cuts off that arrives late
	Lose      int64            // per million of messages between nodes that are lost alone
	Duplicate int64            // per million of messages between nodes that arrive twice
	Reorder   int64            // per million of messages between nodes that may be overtaken
	Queue     int              // packets under way on one link before it overflows
}

// link is one direction between two endpoints: the state that faults act on.
type link struct {
	cut      int   // number of faults that cut it
	clogged  int   // number of faults that clog it
	slow     int64 // times slower; 0 and 1: not
	lose     int64 // percent lost, on top of the weather
	reset    int64 // percent of sends that break the connection, on top
	twice    int64 // percent that arrive twice, on top
	overtake int64 // percent that may be overtaken, on top
	half     int64 // percent of sends that leave the connection half open
	narrow   int   // packets under way before it overflows; 0: the weather's
	underway int
	held     []*Packet // what a clog keeps back
}

// full says that a link holds no more.
func (l *link) full(w *Weather) bool {
	return l.underway >= w.Queue || l.narrow > 0 && l.underway >= l.narrow
}

// calm says that no fault acts on the link.
func (l *link) calm() bool {
	return l.cut == 0 && l.clogged == 0 && l.slow <= 1 && l.lose == 0 && l.reset == 0 && l.twice == 0 && l.overtake == 0 &&
		l.half == 0 && l.narrow == 0
}
