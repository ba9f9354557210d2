package core

import (
	"github.com/tamarack-mq/tamarack/core/chance"
	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// phase is where a broker stands in its life. It moves only downwards.
type phase uint8

const (
	registering  phase = iota // no epoch yet: asks the controller for one
	running                   // has an epoch and keeps its session alive
	shuttingDown              // told to go: waits until the controller lets it
)

// lifecycle is a broker's side of its session with the controller: it
// registers this run, keeps the session alive and asks to leave (KIP-631).
// It knows only which controller to try next, nothing of what the cluster does.
type lifecycle struct {
	cfg          Config
	incarnations *chance.Stream // for the case that this run's is taken for an old one
	diskID       uint64
	phase        phase
	epoch        message.BrokerEpoch
	fenced       bool
	target       message.NodeID   // the controller as far as known
	voters       []message.NodeID // as far as known: those of the configuration at first
	next         int              // index of the voter to try when the target is silent
	due          message.Time     // of the next registration or heartbeat
	silence      message.Time     // when an unanswered controller is given up
	heard        message.Time     // when a controller last answered; at first, when this run began
	leaving      bool             // Shutdown was asked for
	taken        bool             // a controller counts on another run, on another disk, under this number
	again        bool             // to be registered again under the same epoch: damage was found, or it is in doubt
	report       uint64           // how often damage was found under this incarnation
}

func newLifecycle(cfg Config, diskID uint64, random *chance.Stream, now message.Time) lifecycle {
	l := lifecycle{cfg: cfg, incarnations: random, diskID: diskID, fenced: true, due: now}
	for i, v := range cfg.Voters {
		if v >= cfg.ID { // nodes start with different voters
			l.next = i
			break
		}
	}
	l.voters = cfg.Voters
	l.target = cfg.Voters[l.next]
	l.silence = now.Add(l.patience())
	l.heard = now
	return l
}

// unheard says that no controller has answered for longer than a session: if
// there is one, it has given this broker up, and what this broker knows of the
// cluster may be long out of date.
func (l *lifecycle) unheard(now message.Time) bool {
	return now.Sub(l.heard) > l.cfg.Timing.SessionTimeout
}

// patience is how long a controller may be silent before another is asked.
func (l *lifecycle) patience() message.Duration { return 2 * l.cfg.Timing.HeartbeatInterval }

func (l *lifecycle) wake() message.Time { return l.due }

// tick sends what is due. damaged are the logs that this broker cannot vouch for: all
// of them, or only those of which the controller need not know yet. A run that is
// registered names no others: while the message is under way, an operator may have one
// that is known lead, which puts it in order.
func (l *lifecycle) tick(now message.Time, applied message.Version, damaged func(all bool) []record.PartitionID, out *effect.Out) {
	if now < l.due {
		return
	}
	if now >= l.silence {
		l.rotate(now)
	}
	l.due = now.Add(l.cfg.Timing.HeartbeatInterval)
	if l.phase == registering || l.again {
		out.Send(l.target, &message.RegisterBroker{
			ClusterID: l.cfg.ClusterID, Node: l.cfg.ID, Incarnation: l.cfg.Incarnation,
			DiskID: l.diskID, Address: l.cfg.Address, Rack: l.cfg.Rack, Damaged: damaged(l.phase == registering), Report: l.report,
		})
		return
	}
	out.Send(l.target, &message.BrokerHeartbeat{
		Node: l.cfg.ID, Epoch: l.epoch, Applied: applied, WantShutdown: l.phase == shuttingDown,
	})
}

// asksAnother says that the next tick gives up a controller that is silent.
func (l *lifecycle) asksAnother(now message.Time) bool { return now >= l.due && now >= l.silence }

// rotate turns to the next voter.
func (l *lifecycle) rotate(now message.Time) {
	l.next = (l.next + 1) % len(l.voters)
	l.target = l.voters[l.next]
	l.silence = now.Add(l.patience())
}

// redirect follows a hint to the controller, or tries the next voter a little
// later when the hint says nothing new: an election is under way then.
func (l *lifecycle) redirect(now message.Time, hint message.NodeID) {
	if hint != message.NoNode && hint != l.target {
		l.target = hint
		l.silence = now.Add(l.patience())
		l.due = now
		return
	}
	l.rotate(now)
	l.due = min(l.due, now.Add(l.cfg.Timing.HeartbeatInterval/5))
}

// registered takes the answer to a registration; it says whether there was one
// to wait for and the controller has committed it. An answer to another run is
// stale and changes nothing (INV-22); nor does one to an earlier report of damage:
// the controller may never have got the later one.
func (l *lifecycle) registered(now message.Time, m *message.RegisterBrokerReply, out *effect.Out) bool {
	if m.Incarnation != l.cfg.Incarnation || l.phase != registering && !l.again {
		return false
	}
	if m.Code != message.NotController {
		l.heard, l.taken = now, false
	}
	switch m.Code {
	case message.None:
		if m.Report != l.report {
			return false
		}
		again := l.again && m.Epoch == l.epoch
		l.again = false
		if again {
			l.silence = now.Add(l.patience())
			return true
		}
		l.phase, l.epoch, l.fenced = running, m.Epoch, true
		if l.leaving {
			l.phase = shuttingDown
		}
		l.silence = now.Add(l.patience())
		l.due = now // the first heartbeat unfences
		return true
	case message.NotController:
		l.redirect(now, m.Controller)
	case message.StaleBrokerEpoch:
		// A registration that an earlier run of this disk had sent came late and
		// replaced this one. This process holds the disk: it registers as a new run.
		l.cfg.Incarnation = l.incarnations.Uint64() | 1
		l.phase, l.again, l.fenced, l.due = registering, false, true, now
		l.report = 0
	case message.ClusterIDMismatch:
		out.Add(effect.Halt{Reason: "the controllers belong to another cluster: check the cluster id and the voters in this node's configuration"})
	case message.DuplicateBrokerRegistration:
		if l.epoch == 0 {
			// The run before this one, on the disk that was here then, may still be
			// there. It is gone once its session is over, or it is another process.
			l.taken = true
			l.silence = now.Add(l.patience())
			return false
		}
		out.Add(effect.Halt{Reason: "node " + l.cfg.ID.String() + " is registered by another process: give each node an id of its own"})
	}
	return false
}

// heartbeatAnswered takes the answer to a heartbeat; it says whether the node
// may stop.
func (l *lifecycle) heartbeatAnswered(now message.Time, m *message.BrokerHeartbeatReply) (mayStop bool) {
	if l.phase == registering || m.Epoch != l.epoch {
		return false
	}
	if m.Code != message.NotController {
		l.heard = now
	}
	switch m.Code {
	case message.None:
		l.silence = now.Add(l.patience())
		l.fenced = m.Fenced
		return l.phase == shuttingDown && m.MayShutdown
	case message.NotController:
		l.redirect(now, m.Controller)
	case message.StaleBrokerEpoch:
		// Perhaps a later run of this node is registered. The answer to another
		// registration tells: it turns a run that was replaced away for good.
		l.again = true
		l.due = now
	}
	return false
}

// reregister tells the controller of damage that was found while running. The
// same incarnation keeps its epoch, but loses its place in the in-sync and
// eligible sets of what is damaged.
func (l *lifecycle) reregister() {
	l.again = true
	l.report++
	l.due = 0
}

// leave begins a controlled shutdown.
func (l *lifecycle) leave(now message.Time) {
	l.leaving = true
	if l.phase == running {
		l.phase = shuttingDown
		l.due = now
	}
}
