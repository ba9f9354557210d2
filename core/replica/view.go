package replica

import (
	"slices"

	"github.com/tamarack-mq/tamarack/core/log"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/order"
	"github.com/tamarack-mq/tamarack/core/record"
)

// Role is what a replica is doing.
type Role uint8

// Values of Role. Idle replicas have no leader, or their broker does not yet
// know whether its metadata is current.
const (
	Idle Role = iota
	Leading
	Following
)

// String names the role.
func (r Role) String() string { return [...]string{"idle", "leading", "following"}[r] }

// View is one replica as observers and status pages see it. Its slices must
// not be changed.
type View struct {
	ID             record.PartitionID
	Role           Role
	Leader         message.NodeID
	LeaderEpoch    record.LeaderEpoch
	PartitionEpoch message.PartitionEpoch
	Replicas       []message.NodeID
	MinInsync      int

	Start, End    record.Offset
	Flushed       record.Offset // durable up to here
	HighWatermark record.Offset
	LastStable    record.Offset // all transactions below have ended, as far as HighWatermark tells
	Damage        string        // not empty: this replica vouches for nothing
	DamageTold    bool          // the controllers have committed a registration that names the damage

	// Of a leader. MaximalISR is the ISR and what has been proposed to be added.
	ISR        []message.NodeID
	MaximalISR []message.NodeID
	EpochStart record.Offset
	Shown      bool          // HighWatermark reached EpochStart: clients see it
	ShownStart record.Offset // log start as clients see it; -1: not yet
	Followers  []FollowerView
	Waiting    int // produces, local appends and markers that wait for the ISR
	Unverified int // batches that wait for a transaction coordinator

	// Of a follower: its leader has confirmed that the histories agree.
	Matched bool
}

// FollowerView is what a leader knows of one follower in its own epoch. Offsets
// are -1 while nothing has been heard.
type FollowerView struct {
	Node        message.NodeID
	BrokerEpoch message.BrokerEpoch
	Matched     record.Offset // its log equals the leader's up to here
	Flushed     record.Offset // and is durable up to here
	LogStart    record.Offset
	CaughtUp    message.Time // when it was last at the leader's log end
}

// View looks at one replica; ok is false when this broker holds none.
func (m *Manager) View(id record.PartitionID) (v View, ok bool) {
	ok = m.ViewInto(id, &v)
	return v, ok
}

// ViewInto is View that writes over v and uses the memory of its slices again,
// for those who look at every step. When this broker holds no such replica, v
// has nothing but the id.
func (m *Manager) ViewInto(id record.PartitionID, v *View) (ok bool) {
	r := m.replicas[id]
	if r == nil {
		*v = View{ID: id}
		return false
	}
	m.view(r, v)
	return true
}

func (m *Manager) view(r *replica, v *View) {
	// Each field is written by itself: to make a whole view and copy it costs several
	// times as much, and this is done after each simulated step.
	v.ID, v.Role, v.Leader, v.LeaderEpoch, v.PartitionEpoch = r.id, Idle, r.state.Leader, r.state.LeaderEpoch, r.state.PartitionEpoch
	v.Replicas, v.MinInsync = r.state.Replicas, r.minInsync
	v.Start, v.End, v.Flushed = r.log.Start(), r.log.End(), r.flushed
	v.HighWatermark, v.LastStable = r.highWatermark, r.log.LastStable(r.highWatermark)
	v.Damage, v.DamageTold = r.damage.what, r.damage.reported
	v.ISR, v.MaximalISR, v.Followers = nil, v.MaximalISR[:0], v.Followers[:0]
	v.EpochStart, v.Shown, v.ShownStart, v.Waiting, v.Unverified, v.Matched = 0, false, 0, 0, 0, false
	switch {
	case r.lead != nil:
		r.lead.view(v)
		v.Unverified = m.unverified.Waiting(r.id)
	case r.follow != nil:
		v.Role, v.Matched = Following, r.follow.matched
	}
}

func (l *leader) view(v *View) {
	v.Role = Leading
	v.ISR = l.r.state.ISR
	v.EpochStart, v.Shown, v.ShownStart = l.epochStart, l.shown(), l.shownStart()
	v.Waiting = l.acked.size() + l.written.size()
	v.MaximalISR = append(v.MaximalISR, v.ISR...)
	for _, p := range l.peers {
		if p.counted && !p.member {
			v.MaximalISR = append(v.MaximalISR, p.node)
		}
		v.Followers = append(v.Followers, FollowerView{
			Node: p.node, BrokerEpoch: p.brokerEpoch, Matched: p.matched, Flushed: p.flushed,
			LogStart: p.logStart, CaughtUp: p.caughtUp,
		})
	}
}

// Log is the log of one replica, or nil. It must not be changed.
func (m *Manager) Log(id record.PartitionID) *log.Log {
	if r := m.replicas[id]; r != nil {
		return r.log
	}
	return nil
}

// Partitions are the replicas that this broker holds, in order, and those that
// it has been told of and will make as soon as its metadata is current.
func (m *Manager) Partitions() []record.PartitionID {
	ids := order.KeysBy(m.replicas, record.PartitionID.Compare)
	for _, id := range order.KeysBy(m.early, record.PartitionID.Compare) {
		if m.replicas[id] == nil && !m.early[id].Removed {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, record.PartitionID.Compare)
	return ids
}

// Knows says whether a partition is among Partitions: its removal is to be
// applied then.
func (m *Manager) Knows(id record.PartitionID) bool {
	s, early := m.early[id]
	return m.replicas[id] != nil || early && !s.Removed
}

// Touched gives each replica that may have changed since the last call, or in the
// last step, once, in the order in which they first changed, those that were deleted
// included. For observers; it keeps simulated steps cheap.
func (m *Manager) Touched(visit func(record.PartitionID)) {
	for i, r := range m.touched {
		r.touched = false
		m.touched[i] = nil
		visit(r.id)
	}
	m.touched = m.touched[:0]
}

// TouchedInto is Touched that shows each of them as ViewInto does, in the view that into
// gives for it.
func (m *Manager) TouchedInto(into func(record.PartitionID) *View) {
	for i, r := range m.touched {
		r.touched = false
		m.touched[i] = nil
		if v := into(r.id); r.deleted { // another may have been made since
			m.ViewInto(r.id, v)
		} else {
			m.view(r, v)
		}
	}
	m.touched = m.touched[:0]
}

// Begin begins a step: who has not asked what the last one touched will not ask any
// more, and replicas that were deleted must not be kept for that (INV-38). What New
// has touched is told after the first step.
func (m *Manager) Begin() {
	if m.begun {
		m.Touched(func(record.PartitionID) {})
	}
	m.begun = true
}
