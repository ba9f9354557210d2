package replica

import (
	"slices"

	"github.com/tamarack-mq/tamarack/core/message"
)

// pace holds back replicas that are being added to their partition: all of this
// broker's together copy no more than so many bytes a second (KIP-73). One that
// has used up what there was states no position, and so is given no records,
// until its turn comes. Replicas in sync are never held back, nor are those that
// catch up after a restart: the high watermark waits, or may soon wait, for them.
type pace struct {
	rate    int64        // bytes a second; 0: no limit
	tokens  int64        // bytes that may come now; below 0 after a batch that was too large
	parts   int64        // of the next byte; aByte of them are one
	at      message.Time // when tokens was right
	asked   int64        // bytes that positions ask for, and that have not come yet
	sharers int64        // this broker's replicas that are being added: tokens are divided among them
	parked  []*replica   // those of them that wait for tokens
	timer   timer        // when there are tokens again that nobody has asked for
}

// aByte is how many parts of a byte make one: at a rate of n bytes a second each
// microsecond brings n of them.
const aByte = int64(message.Second / message.Microsecond)

// burst is how much may come at once after a rest: what a quarter of a second
// gives.
func (p *pace) burst() int64 { return max(1, p.rate/4) }

// held is how much of the tokens is kept for what positions ask for. It comes whenever
// the leader has it, at once or after a long time, so that a burst of it is always there.
// What was asked for under a higher throttle may be more than that: nobody waits for it.
func (p *pace) held() int64 { return min(p.asked, p.burst()) }

// free is how many bytes of those that may come now nobody has asked for; 0 or below:
// what comes next must be waited for.
func (p *pace) free() int64 { return p.tokens - p.held() }

// full is how many tokens a rest brings: a burst. When all of that is asked for there
// is a byte more, or a leader that does not answer would have all others wait: they copy
// one batch after the other then, as the rate allows.
func (p *pace) full() int64 { return max(p.burst(), p.held()+1) }

// SetPace sets how many bytes a second this broker may copy for replicas that
// are being added; 0: no limit.
func (m *Manager) SetPace(now message.Now, rate int64, out *Out) {
	if m.halted || m.pace.rate == rate {
		return
	}
	p := &m.pace
	p.refill(now.Mono)
	p.rate = rate
	p.tokens = min(p.tokens, p.full())
	if rate == 0 || p.free() > 0 {
		p.release(m)
	} else {
		p.await(m)
	}
	m.finish(now, out)
}

// refill adds what time has brought.
func (p *pace) refill(now message.Time) {
	if p.rate == 0 || now.Sub(p.at) >= message.Second && p.tokens >= 0 {
		p.tokens, p.parts, p.at = p.full(), 0, now
		return
	}
	for p.tokens < p.full() {
		span := min(now.Sub(p.at), message.Second) / message.Microsecond // rate is at most LargestThrottle
		if span <= 0 {
			return
		}
		earned := p.rate*int64(span) + p.parts
		p.tokens, p.parts = p.tokens+earned/aByte, earned%aByte
		p.at = p.at.Add(span * message.Microsecond)
	}
	p.tokens, p.parts, p.at = p.full(), 0, now
}

// spend notes what came for a replica that is being added, with the answer to a fetch.
// When that fetch is older than the position stated last, what the position asks for is
// yet to come.
func (p *pace) spend(m *Manager, now message.Now, r *replica, sequence uint32, bytes int) {
	if sequence >= r.follow.stated {
		p.settle(m, r)
	}
	if p.rate == 0 || !r.beingAdded(m) {
		return
	}
	p.refill(now.Mono)
	p.tokens -= int64(bytes)
	if len(p.parked) > 0 {
		p.await(m)
	}
}

// await sets the timer to when there are tokens again that nobody has asked for. That
// may be now, or have been: what is asked for has become less.
func (p *pace) await(m *Manager) {
	micros := max(0, 1-p.free()) * aByte / p.rate
	m.timers.Set(&p.timer, p.at.Add(message.Duration(micros+1)*message.Microsecond))
}

// parks says whether a replica must wait for its turn, and has it wait then: as long as
// all that there is has been asked for. Each may be given a batch whatever it asks for,
// so that one that asked again and again would spend what is kept for others.
func (p *pace) parks(m *Manager, r *replica) bool {
	if r.follow.parked {
		return true
	}
	if p.rate == 0 || p.free() > 0 || !r.beingAdded(m) {
		return false
	}
	r.follow.parked = true
	p.parked = append(p.parked, r)
	p.await(m)
	return true
}

// share is how many bytes of records a replica asks for at most; 0: as many as
// fit. However many ask before the first has its answer, all of them together ask for
// no more than there is, but for the one batch that each may be given in any case.
func (p *pace) share(m *Manager, now message.Now, r *replica) int32 {
	p.restate(m, r)
	if p.rate == 0 || !r.beingAdded(m) {
		return 0
	}
	p.refill(now.Mono)
	most := max(1, min(p.tokens/p.sharers, p.free(), int64(m.cfg.FetchBytes)))
	r.follow.asked = int32(most)
	p.asked += most
	return int32(most)
}

// restate begins a new statement of a replica's position. What the one before asks for
// may still come, and counts until then, when a fetch is with the leader.
func (p *pace) restate(m *Manager, r *replica) {
	f := r.follow
	if len(f.from.asked) == 0 || f.asked == 0 {
		p.settle(m, r)
		return
	}
	f.askedBefore, f.asked = f.asked, 0
	f.from.restated = append(f.from.restated, f)
}

// overtaken ends what positions ask for that were stated anew in a fetch that is with
// the leader, when the fetch before that one has its answer: from now on answers are
// about the newer ones.
func (p *pace) overtaken(m *Manager, from *puller) {
	for _, f := range from.restated {
		p.less(m, int64(f.askedBefore))
		f.askedBefore = 0
	}
	clear(from.restated)
	from.restated = from.restated[:0]
}

// settle ends all that a replica has asked for: it has come, is asked for anew, or will
// not come.
func (p *pace) settle(m *Manager, r *replica) {
	f := r.follow
	p.less(m, int64(f.asked)+int64(f.askedBefore))
	f.asked, f.askedBefore = 0, 0
}

// less takes off bytes that positions do not ask for any more. Who waits may go on
// sooner then.
func (p *pace) less(m *Manager, bytes int64) {
	p.asked -= bytes
	if bytes > 0 && len(p.parked) > 0 {
		p.await(m)
	}
}

// count keeps the number of replicas that are being added.
func (p *pace) count(was, is bool) {
	switch {
	case is && !was:
		p.sharers++
	case was && !is:
		p.sharers--
	}
}

// release lets all go on that wait.
func (p *pace) release(m *Manager) {
	m.timers.Stop(&p.timer)
	list := p.parked
	p.parked = nil
	for _, r := range list {
		r.follow.parked = false
		r.follow.from.stale(m, r, true)
	}
}

// unpark takes out a replica that waits for nothing any more.
func (p *pace) unpark(r *replica) bool {
	if !r.follow.parked {
		return false
	}
	r.follow.parked = false
	p.parked = remove(p.parked, r)
	return true
}

// review lets a replica go on that has joined the in-sync set, or whose move was
// called off.
func (p *pace) review(m *Manager, r *replica) {
	if r.beingAdded(m) {
		return
	}
	p.settle(m, r)
	if p.unpark(r) {
		r.follow.from.stale(m, r, true)
	}
}

// beingAdded says whether a replica copies for a move and is not in sync.
func (r *replica) beingAdded(m *Manager) bool {
	return len(r.state.Adding) > 0 && slices.Contains(r.state.Adding, m.cfg.ID) && !slices.Contains(r.state.ISR, m.cfg.ID)
}

// paceTimer is a Manager as the owner of its pace's timer.
type paceTimer Manager

func (t *paceTimer) expire(m *Manager, now message.Now, _ *Out) {
	m.pace.refill(now.Mono)
	if m.pace.free() <= 0 {
		m.pace.await(m)
		return
	}
	m.pace.release(m)
}

// HeldBack counts the replicas that wait for their turn. For observers.
func (m *Manager) HeldBack() int { return len(m.pace.parked) }

// HeldBytes is how many bytes of produces are held back, for the disk or for a
// transaction coordinator, as they count against Config.HeldBytes.
func (m *Manager) HeldBytes() int64 { return m.heldBytes + m.unverified.Held() }
