package replica

import (
	"github.com/tamarack-mq/tamarack/core/log"
	"github.com/tamarack-mq/tamarack/core/message"
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

// View is one replica as observers and status pages see it. Its slices belong
// to the Manager and hold only until its next step.
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
	Damage        string // not empty: this replica vouches for nothing

	// Of a leader. MaximalISR is the ISR and what has been proposed to be added.
	ISR        []message.NodeID
	MaximalISR []message.NodeID
	EpochStart record.Offset
	Shown      bool // HighWatermark reached EpochStart: clients see it
	ShownStart record.Offset
	Followers  []FollowerView
	Waiting    int // produces and local appends that wait for the ISR

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
func (m *Manager) View(id record.PartitionID) (v View, ok bool) { panic("not built yet") }

// Log is the log of one replica, or nil. It must not be changed.
func (m *Manager) Log(id record.PartitionID) *log.Log { panic("not built yet") }

// Partitions are the replicas that this broker holds, in order.
func (m *Manager) Partitions() []record.PartitionID { panic("not built yet") }

// Touched gives each replica that may have changed since the last call, once,
// in the order in which they first changed. For observers; it keeps simulated
// steps cheap.
func (m *Manager) Touched(visit func(record.PartitionID)) { panic("not built yet") }
