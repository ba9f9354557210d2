package txn

import (
	"cmp"

	"github.com/tamarack-mq/tamarack/core/ledger"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/order"
	"github.com/tamarack-mq/tamarack/core/record"
)

// shard is one led partition of the internal topic: the book of a ledger.
type shard struct {
	*ledger.Ledger[change]
	home     *Coordinator
	state    *state
	sendings map[string]*sending // markers under way, by transactional id
	decided  []string            // in this call: their markers go out once that is committed
	freed    []string            // completed in this call: what waits for that begins
	fault    string              // what a decision would have broken; it was not taken, and the node halts
}

func newShard(home *Coordinator, l *ledger.Ledger[change]) *shard {
	return &shard{Ledger: l, home: home, state: newState(), sendings: map[string]*sending{}}
}

// write is how a handler decides. What would break the protocol is not decided: the
// call ends with a Halt, before any answer of it is sent.
func (s *shard) write(now message.Now, name string, v value) {
	e := s.state.entries[name]
	if fault := e.check(&v); fault != "" {
		s.fault = cmp.Or(s.fault, fault)
		return
	}
	v.updated = now.Wall
	waits := e != nil && e.phase == v.phase && v.phase.prepared()
	s.Decide(change{name: name, value: v})
	if waits {
		return // more waits for its end, which is under way
	}
	if v.phase.prepared() {
		s.decided = append(s.decided, name)
	}
	if v.phase.complete() {
		s.freed = append(s.freed, name)
	}
	s.arm(now, s.state.entries[name])
}

// follow goes on with what follows from what was decided in this call. It comes
// before the Flush.
func (s *shard) follow(now message.Now, out *ledger.Out) {
	for len(s.freed) > 0 {
		freed := s.freed
		s.freed = nil
		for _, name := range freed {
			s.proceed(now, s.state.entries[name], out)
		}
	}
	if len(s.decided) > 0 {
		decided := s.decided
		s.decided = nil
		s.After(now, func(now message.Now, out *ledger.Out) {
			for _, name := range decided {
				s.begin(now, s.state.entries[name])
			}
			s.follow(now, out) // all partitions may be gone
			s.Flush(now, out)
		}, out)
	}
}

// Reset forgets all transactional ids. Who waits for one to be free is told.
func (s *shard) Reset() {
	for _, name := range order.Keys(s.state.entries) {
		e := s.state.entries[name]
		for _, a := range append(e.held, e.gathering...) {
			a.Failed(message.NotCoordinator, nil)
		}
		if e.sending != nil {
			s.over(e)
		}
	}
	s.state, s.decided, s.freed = newState(), nil, nil
}

// Apply takes a change, decided now or replayed.
func (s *shard) Apply(c change) { s.state.apply(c) }

// Decode reads one record.
func (s *shard) Decode(key, value []byte) (change, error) { return decode(key, value) }

// Next is when the first deadline is due.
func (s *shard) Next() message.Time { return s.state.timers.Next() }

// Live is how many records make the state.
func (s *shard) Live() int { return len(s.state.entries) }

// Fault is the rule that a decision would have broken, if one would.
func (s *shard) Fault() string { return s.fault }

// Head is empty: there is nothing but transactional ids.
func (s *shard) Head() []change { return nil }

// Parts are the transactional ids.
func (s *shard) Parts() []string { return order.Keys(s.state.entries) }

// Part visits the record of one transactional id.
func (s *shard) Part(name string, visit func(change)) {
	if e := s.state.entries[name]; e != nil {
		visit(change{name: name, value: e.value})
	}
}

// Begin ends loading. All that was read is committed: markers of decisions go out,
// and every open transaction gets its whole time.
func (s *shard) Begin(now message.Now, out *ledger.Out) {
	for _, name := range s.Parts() {
		e := s.state.entries[name]
		s.arm(now, e)
		if e.phase.complete() {
			s.freed = append(s.freed, name)
		}
		if e.phase.prepared() {
			s.begin(now, e)
		}
	}
	s.follow(now, out)
}

// arm sets what a transactional id waits for after a change of it.
func (s *shard) arm(now message.Now, e *entry) {
	switch {
	case e.phase == Ongoing && e.timer.IsSet() && e.running:
		// The time of a transaction counts from its beginning.
	case e.phase == Ongoing:
		s.state.timers.Set(&e.timer, now.Mono.Add(e.timeout))
	case e.phase.prepared():
		e.roundAt = message.Never
		s.state.timers.Stop(&e.timer) // rounds of markers set it
	default:
		s.lookAt(now, e, e.updated+milliseconds(s.home.cfg.Expiration))
	}
	e.running = e.phase == Ongoing
}

// lookAt sets when an idle transactional id may be over. The time is a wall time,
// which may jump: the timer only says when to look.
func (s *shard) lookAt(now message.Now, e *entry, wall record.Timestamp) {
	const longest = 365 * 24 * message.Hour // a clock that is set back by years must not overflow
	wait := message.Duration(max(0, wall-now.Wall))
	s.state.timers.Set(&e.timer, now.Mono.Add(min(wait, longest/message.Millisecond)*message.Millisecond))
	if len(e.gathering) > 0 {
		s.state.timers.Sooner(&e.timer, e.gatherUntil)
	}
}

func milliseconds(d message.Duration) record.Timestamp {
	return record.Timestamp(d / message.Millisecond)
}

// Expire acts on the deadlines that have passed.
func (s *shard) Expire(now message.Now, out *ledger.Out) {
	s.state.timers.Pass(now.Mono, func(e *entry) {
		due := len(e.gathering) > 0 && e.gatherUntil <= now.Mono
		if due {
			s.gathered(now, e, out)
		}
		switch {
		case due: // what else it waits for has its time
		case len(e.gathering) > 0 && !e.phase.prepared():
			s.state.timers.Set(&e.timer, e.gatherUntil)
		case e.phase == Ongoing:
			s.abort(now, e, overrun{e.now, e.timeout})
		case e.phase.prepared():
			s.round(now, e)
		case e.updated+milliseconds(s.home.cfg.Expiration) <= now.Wall:
			s.Decide(change{name: e.name, gone: true})
		default:
			s.arm(now, e)
		}
	})
	s.follow(now, out)
}

// abort is a decision of the coordinator's own: the producer is fenced. last is what
// took too long, by now.
func (s *shard) abort(now message.Now, e *entry, last overrun) {
	v := e.value
	v.overrun = last
	v.phase, v.ended = PrepareAbort, nobody
	v.now.Epoch++
	s.write(now, e.name, v)
}
