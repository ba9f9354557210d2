// Package replica holds the replicas of one broker, as leaders and as
// followers: appending, pulling, the high watermark, the in-sync set, and what
// clients may see of it (Kafka's replication protocol with KIP-101, KIP-279,
// KIP-320, KIP-497 and KIP-903).
//
// # Where to find what
//
//   - apply.go: the metadata image gives replicas their roles
//   - replica.go, disk.go: one replica's log and what its disk has confirmed
//   - leader.go, positions.go, highwatermark.go, isr.go: what a leader knows of
//     its followers and concludes from it
//   - produce.go, fetch.go, offsets.go, delete.go, local.go: what clients and
//     the other rooms of this broker ask for, each with those who wait
//   - verify.go, marker.go: how a transaction begins in a partition, and ends
//   - serving.go, answer.go: fetch sessions as their leader holds them
//   - pulling.go, follower.go: fetch sessions as their follower holds them
//   - pace.go: how replicas that are being added are held back
//   - retention.go, checkpoint.go: what happens in the background
//
// # Three rules that everything here follows
//
// A reply, a claim to another broker or a movement of the high watermark comes
// after the completion that backs it. What is told in one leader epoch is never
// judged by the state of another. And what rests costs nothing: a partition
// with nothing new has no timer, no message, and no place in any loop.
package replica

import (
	"slices"

	"github.com/tamarack-mq/tamarack/core/chance"
	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/order"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/core/verify"
)

// Manager is all replicas of one broker. Its methods are its inputs; each gives
// what is to be done to the Out that it is handed.
type Manager struct {
	cfg       Config
	random    *chance.Stream
	halted    bool
	gathering bool // followers wait for a Release

	epoch   message.BrokerEpoch // of this run; 0 before it is registered
	current bool                // the image contains this run: roles are taken
	due     bool                // SetEpoch left something to do for the next Tick
	brokers map[message.NodeID]BrokerState
	early   map[record.PartitionID]PartitionState // what came before current

	replicas map[record.PartitionID]*replica
	leaders  []*replica // those with a lead, in no meaningful but a fixed order
	timers   timers

	lastToken uint64
	reads     map[uint64]reading
	times     map[uint64]timeQuestion

	unverified *verify.Desk[unverified]

	diskLow   bool
	unflushed int64 // bytes appended and not durable, over all logs
	held      []heldProduce
	heldBytes int64
	heldTimer timer

	pace     pace
	firstCut effect.Cut // of the next log: above all of those that were deleted

	sessions []*session // with followers, by arrival of the follower
	pullers  []*puller  // with leaders, by first use
	// leadersFollowed are the leaders that a replica follows; asked is how many bytes
	// the fetches ask for that are with them.
	leadersFollowed int
	asked           int64
	sessionsOpened  uint64
	hotSessions     []*session
	hotPullers      []*puller

	headers []record.Header // scratch
	touched []*replica
	begun   bool // the first step
}

// New builds the replicas from what recovery found. They take no role before
// the metadata is known to be current: see SetEpoch.
func New(cfg Config, found []effect.RecoveredLog, random *chance.Stream, now message.Now) *Manager {
	m := &Manager{
		cfg:      cfg.withDefaults(),
		random:   random,
		brokers:  map[message.NodeID]BrokerState{},
		early:    map[record.PartitionID]PartitionState{},
		replicas: map[record.PartitionID]*replica{},
		reads:    map[uint64]reading{},
		times:    map[uint64]timeQuestion{},
	}
	m.unverified = verify.New[unverified](m.cfg.Verify)
	m.heldTimer.Due = (*heldTimer)(m)
	m.pace.timer.Due = (*paceTimer)(m)
	for i := range found {
		m.replicas[found[i].ID] = restored(m, found[i])
	}
	return m
}

// SetEpoch says that this run of the broker is registered under epoch. From the
// moment that an applied image holds this broker with that epoch, the image is
// at least as new as anything an earlier run has acted on: only then do
// replicas take their roles, and logs that no partition claims are deleted. A
// replica that acted on an older image could follow a deposed leader and
// truncate what was committed since, or lead on in an epoch whose unflushed
// records the crash took (KAFKA-10527).
//
// The next Tick, which Wake asks for, does what was held back until then.
func (m *Manager) SetEpoch(epoch message.BrokerEpoch) {
	if m.epoch != epoch {
		m.epoch = epoch
		m.due = true
	}
}

// Damaged are the logs that this broker cannot vouch for, in order: those that
// recovery found damaged, until their partition has a leader from which they
// are fetched, and those that a read has shown to be damaged; or, but for all, only
// those that are not reported yet. The caller names them in its next registration,
// all of them when this run begins with it, and in no other case calls Damaged: what
// it was told counts as reported once that registration is in the image.
func (m *Manager) Damaged(all bool) []record.PartitionID {
	var damaged []record.PartitionID
	for id, r := range m.inOrder() {
		if r.damage.what != "" && (all || !r.damage.reported) {
			r.damage.told = !r.damage.reported
			damaged = append(damaged, id)
		}
	}
	return damaged
}

// DamageReported says that the controller has committed a registration that
// named what Damaged gave, under the epoch that this run has already. What was
// named then has left the in-sync and eligible sets, and may be fetched anew.
func (m *Manager) DamageReported(now message.Now, out *Out) {
	if m.halted || !m.current {
		return
	}
	m.registeredAgain(now, out)
	m.finish(now, out)
}

// inOrder walks over all replicas by partition. For rare occasions.
func (m *Manager) inOrder() func(yield func(record.PartitionID, *replica) bool) {
	return func(yield func(record.PartitionID, *replica) bool) {
		for _, id := range order.KeysBy(m.replicas, record.PartitionID.Compare) {
			if r := m.replicas[id]; r != nil && !yield(id, r) {
				return
			}
		}
	}
}

// Stop gives out checkpoints of all logs that changed since their last one, for
// a clean shutdown. Nothing may be asked of the Manager afterwards.
func (m *Manager) Stop(out *Out) {
	for _, r := range m.inOrder() {
		if r.sinceCheckpoint.batches > 0 {
			r.checkpoint(out)
		}
	}
	m.halted = true
}

// Tick does what time asks for.
func (m *Manager) Tick(now message.Now, out *Out) {
	if m.halted {
		return
	}
	if m.due {
		m.due = false
		m.epochChanged(now, out)
	}
	for m.timers.Next() <= now.Mono && !m.halted {
		t := m.timers.First()
		m.timers.Stop(t)
		t.Due.expire(m, now, out)
	}
	m.unverified.Tick(now, nil, &out.Verify)
	m.finish(now, out)
}

// Wake is when a Tick is wanted; Never when nothing waits for time.
func (m *Manager) Wake() message.Time {
	if m.halted {
		return message.Never
	}
	if m.due {
		return -message.Never
	}
	return min(m.timers.Next(), m.unverified.Next())
}

// Gather has followers wait for the Release with what is appended up to there: they
// get all of it with one fetch, and not what came first with one and the rest with
// the next. Both are of one step.
func (m *Manager) Gather() { m.gathering = true }

// Release ends a Gather.
func (m *Manager) Release(now message.Now, out *Out) {
	m.gathering = false
	m.finish(now, out)
}

// finish ends every step: fetches and answers that became due in it go out
// together, once each.
func (m *Manager) finish(now message.Now, out *Out) {
	if m.halted || m.gathering {
		return
	}
	m.releaseHeld(now, out)
	for i := 0; i < len(m.hotPullers); i++ { // they may heat one another
		p := m.hotPullers[i]
		p.hot = false
		p.report(m, out)
		p.pull(m, now, out)
	}
	clear(m.hotPullers)
	m.hotPullers = m.hotPullers[:0]
	for i := 0; i < len(m.hotSessions); i++ {
		s := m.hotSessions[i]
		s.hot = false
		s.answer(m, now, out)
	}
	clear(m.hotSessions)
	m.hotSessions = m.hotSessions[:0]
}

// halt stops the node: it has found a state of its own that is impossible.
func (m *Manager) halt(r *replica, reason string, out *Out) {
	if !m.halted {
		m.halted = true
		out.Add(effect.Halt{Reason: "partition " + r.id.String() + ": " + reason})
	}
}

// leading is the leader of a partition on this broker, or why there is none.
func (m *Manager) leading(id record.PartitionID) (*leader, message.Code) {
	r := m.replicas[id]
	switch {
	case r == nil:
		return nil, message.UnknownTopicOrPartition
	case r.lead == nil:
		return nil, message.NotLeaderOrFollower
	}
	return r.lead, message.None
}

// hint is who leads a partition as far as is known (KIP-951).
func (m *Manager) hint(id record.PartitionID) (message.NodeID, record.LeaderEpoch) {
	if r := m.replicas[id]; r != nil && r.placed {
		return r.state.Leader, r.state.LeaderEpoch
	}
	return message.NoNode, record.NoLeaderEpoch
}

// still says whether a leadership that was in office at some time still is.
func (m *Manager) still(l *leader) bool {
	r := m.replicas[l.r.id]
	return r == l.r && r.lead == l
}

// token names a question to the disk.
func (m *Manager) token() uint64 {
	m.lastToken++
	return m.lastToken
}

func (m *Manager) touch(r *replica) {
	if !r.touched {
		r.touched = true
		m.touched = append(m.touched, r)
	}
}

// remove takes v out of a slice whose order means nothing.
func remove[T comparable](s []T, v T) []T {
	if i := slices.Index(s, v); i >= 0 {
		var zero T
		s[i] = s[len(s)-1]
		s[len(s)-1] = zero
		return s[:len(s)-1]
	}
	return s
}
