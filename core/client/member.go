package client

import (
	"fmt"
	"slices"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// member is this client's membership of a group (KIP-848). It heartbeats, takes
// in what it is assigned and gives up what it must (reconcile.go).
type member struct {
	k        *consumer
	c        *Client
	id       string
	group    string
	instance string
	topics   []string
	epoch    message.MemberEpoch // JoinEpoch: not a member (yet, or any more)
	life     uint64              // counts the times of joining; answers to an earlier one are ignored
	away     bool                // left because the application did not poll
	over     bool                // left, or expelled

	beating  bool // a heartbeat is on its way
	again    bool // another one goes out when it is answered
	full     bool // the next one says everything
	asked    bool // the coordinator may know of this member
	interval message.Duration
	failures int
	beat     alarm
	absent   alarm // the application has not polled for too long

	target  []record.PartitionID // what the coordinator says it may own; nil: nothing said yet
	giving  *giving
	missing alarm // a topic of the target was not known
}

// defaultInterval is the time between heartbeats when the coordinator names
// none.
const defaultInterval = 3 * message.Second

func newMember(k *consumer, group, instance string, topics []string) *member {
	m := &member{k: k, c: k.c, group: group, instance: instance, topics: topics}
	m.id = m.name()
	m.beat.Due = m.heartbeat
	m.absent.Due = m.strayed
	m.missing.Due = m.reconcile
	return m
}

// name makes up a member id that nobody else has: 128 bits of chance behind the
// client's name. The member makes it, not the coordinator, so that a join whose
// answer is lost can be repeated without leaving a phantom behind (KIP-394).
func (m *member) name() string {
	id := fmt.Sprintf("%016x%016x", m.c.naming.Uint64(), m.c.naming.Uint64())
	if m.c.cfg.Name == "" {
		return id
	}
	return m.c.cfg.Name + "-" + id
}

// join begins a life as a member.
func (m *member) join() {
	m.life++
	m.epoch, m.full, m.target = message.JoinEpoch, true, nil
	m.beating, m.again, m.away = false, false, false
	m.answered()
	m.heartbeat()
}

// resubscribe changes the topics.
func (m *member) resubscribe(topics []string) {
	if !slices.Equal(m.topics, topics) {
		m.topics, m.full = topics, true
		m.beatNow()
	}
}

// polled says that the application has come to poll.
func (m *member) polled() {
	m.c.alarms.Stop(&m.absent)
	if m.away {
		m.join()
	}
}

// answered says that a poll was answered: the application has it in hand.
func (m *member) answered() {
	if !m.over && len(m.k.polls) == 0 {
		m.c.alarms.Set(&m.absent, m.c.now.Mono.Add(m.c.cfg.MaxPollInterval))
	}
}

// strayed leaves the group because the application does not poll any more.
func (m *member) strayed() {
	if m.over || m.away || len(m.k.polls) > 0 {
		return
	}
	m.lose()
	m.sayLeave(func() {})
	m.life++
	m.away, m.beating = true, false
	m.c.alarms.Stop(&m.beat)
}

// beatNow sends a heartbeat as soon as possible.
func (m *member) beatNow() {
	if m.beating {
		m.again = true
		return
	}
	m.heartbeat()
}

func (m *member) heartbeat() {
	if m.beating || m.away || m.over {
		return
	}
	m.c.alarms.Stop(&m.beat)
	m.beating, m.again = true, false
	life := m.life
	m.c.coordinate(office{group: m.group}, func(n *node, code message.Code) {
		switch {
		case life != m.life:
		case n == nil:
			m.beating = false
			m.failed(code, "")
		default:
			m.send(n)
		}
	})
}

func (m *member) send(n *node) {
	r := &message.GroupHeartbeat{Group: m.group, Member: m.id, MemberEpoch: m.epoch, Instance: m.instance}
	if m.full || m.epoch == message.JoinEpoch {
		r.Full = true
		r.SessionTimeout, r.RebalanceTimeout = m.c.cfg.SessionTimeout, m.c.cfg.RebalanceTimeout
		r.Topics = m.topics
		r.Owned = make([]record.PartitionID, 0, len(m.k.list))
		for _, f := range m.k.list {
			r.Owned = append(r.Owned, f.id)
		}
	}
	m.full, m.asked = false, true
	life := m.life
	m.c.send(n.target(), r, m.c.cfg.RequestTimeout, func(reply message.Reply, how ending) {
		if life != m.life {
			return
		}
		m.beating = false
		a, code, ok := read[*message.GroupHeartbeatReply](reply, how)
		switch {
		case ok && a.Code == message.None:
			m.beaten(a)
		case ok:
			if lostCoordinator(a.Code) {
				m.c.uncoordinate(office{group: m.group}, n)
			}
			m.failed(a.Code, a.Detail)
		default:
			if how != replied {
				m.c.uncoordinate(office{group: m.group}, n)
			}
			m.failed(code, "")
		}
	})
}

// beaten takes in the answer to a heartbeat.
func (m *member) beaten(a *message.GroupHeartbeatReply) {
	m.failures = 0
	if m.interval = a.Interval; m.interval <= 0 {
		m.interval = defaultInterval
	}
	m.c.alarms.Set(&m.beat, m.c.now.Mono.Add(m.interval))
	if a.MemberEpoch > 0 && a.MemberEpoch != m.epoch {
		m.epoch = a.MemberEpoch
		m.c.out.Add(Event{Kind: EpochChanged, Group: m.group, MemberEpoch: m.epoch})
	}
	if a.Assigned {
		m.target = append([]record.PartitionID{}, a.Assignment...)
		m.reconcile()
	}
	if m.again && !m.beating {
		m.heartbeat()
	}
}

// failed takes in that a heartbeat was refused or not answered.
func (m *member) failed(code message.Code, detail string) {
	m.full = true // what the lost one said must be said again
	m.failures++
	switch code {
	case message.UnknownMemberID, message.FencedMemberEpoch, message.StaleMemberEpoch:
		m.fenced()
		return
	case message.FencedInstanceID, message.InvalidGroupID, message.GroupMaxSizeReached, message.InvalidRequest,
		message.UnsupportedVersion, message.InvalidTopic:
		m.expelled(code, detail)
		return
	}
	m.c.alarms.Set(&m.beat, m.c.now.Mono.Add(m.c.backoff(m.failures)))
}

// fenced joins again, with nothing: the coordinator has given this member up
// (KIP-848: all partitions are lost and the epoch is 0).
func (m *member) fenced() {
	m.lose()
	if m.over {
		return // it was leaving anyhow
	}
	failures := m.failures
	m.life++
	m.epoch, m.full, m.target = message.JoinEpoch, true, nil
	m.beating, m.again = false, false
	if failures <= 1 {
		m.heartbeat()
		return
	}
	m.c.alarms.Set(&m.beat, m.c.now.Mono.Add(m.c.backoff(failures)))
}

// expelled ends a membership that the coordinator will never take.
func (m *member) expelled(code message.Code, detail string) {
	m.lose()
	if m.over {
		return
	}
	m.stop()
	e := &Error{Problem: Refused, Code: code, Detail: "group " + m.group + " does not take this member"}
	if detail != "" {
		e.Detail += ": " + detail
	}
	m.k.expelled = e
	m.c.out.Add(Event{Kind: Expelled, Group: m.group, Err: e})
	m.k.endPolls(e)
}

// replace leaves and joins under another member id, so that nothing sent under
// the old one is taken any more. Should the leave be lost, the old id keeps its
// partitions until its session is over, and the new one waits for them.
func (m *member) replace() {
	m.lose()
	if m.over {
		return
	}
	m.sayLeave(func() {})
	m.id = m.name()
	m.join()
}

// lose ends all flows at once: they may belong to other members already.
func (m *member) lose() {
	g := m.giving
	m.stopGiving()
	if lost := m.k.dropAll(); len(lost) > 0 {
		m.c.out.Add(Event{Kind: Lost, Group: m.group, Partitions: lost, MemberEpoch: m.epoch})
	}
	if again := &m.k.commits.again; again.IsSet() {
		m.c.alarms.Set(again, m.c.now.Mono)
	}
	if g != nil && g.then != nil {
		g.then() // there is nothing left to give up in good order
	}
}

// stop ends all timers of the membership.
func (m *member) stop() {
	m.over = true
	m.life++
	for _, a := range []*alarm{&m.beat, &m.absent, &m.missing} {
		m.c.alarms.Stop(a)
	}
}

// leave gives everything up in good order, says so to the coordinator and
// tells done.
func (m *member) leave(done func()) {
	if m.over || m.away {
		m.stop()
		done()
		return
	}
	m.k.cameBack()
	m.c.alarms.Stop(&m.absent)
	m.giveUp(slices.Clone(m.k.list), func() {
		say := m.asked
		m.stop()
		if !say {
			done()
			return
		}
		m.sayLeave(done)
	})
}

// sayLeave tells the coordinator once that this member id leaves, and tells
// done when it has answered or cannot be reached. A static member keeps its
// name and its partitions until its session is over (KIP-345).
func (m *member) sayLeave(done func()) {
	if !m.asked {
		done()
		return
	}
	m.asked = false
	r := &message.GroupHeartbeat{Group: m.group, Member: m.id, MemberEpoch: message.LeaveEpoch, Instance: m.instance}
	if m.instance != "" {
		r.MemberEpoch = message.LeaveStaticEpoch
	}
	a := &ask{target: Target{Kind: Coordinator, Group: m.group}, prepare: ready(r), finish: func(Result) { done() }}
	m.c.begin(a, m.c.cfg.RequestTimeout)
}
