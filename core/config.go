package core

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/tamarack-mq/tamarack/core/message"
)

// Config is what a node is told when it starts. The zero value of a timing
// means its default.
type Config struct {
	ID        message.NodeID   // this node; 1 or above
	ClusterID string           // refuses nodes and clients of other clusters; not empty
	Address   string           // where clients and other nodes reach this node
	Rack      string           // failure domain; replicas are spread over racks
	Voters    []message.NodeID // who holds the controller's log in a new cluster, the same on all; later whom to ask first
	// Incarnation names this run of the process: drawn anew at each start.
	Incarnation  uint64
	Timing       Timing
	Groups       Groups
	Transactions Transactions
	Tidying      Tidying
}

// Timing are the clocks of a node. Sessions are counted by the controller on
// its own clock, so an interval must be well below its session.
type Timing struct {
	HeartbeatInterval message.Duration // broker to controller; default 500 ms
	SessionTimeout    message.Duration // fenced after this silence; default 3 s
	ReplicaLag        message.Duration // out of the ISR after this long behind; default 3 s
	ElectionTimeout   message.Duration // of the controller's log, at least; default 1 s
	QuorumHeartbeat   message.Duration // of the controller's log; default 200 ms
	FetchWait         message.Duration // longest wait of a follower's fetch; default 500 ms
	RequestTimeout    message.Duration // for what the node asks on a client's behalf; default 10 s
	// Silence is how long a voter with an empty disk, whose configuration names no
	// other, listens for a cluster that is there already before it begins one; default
	// four ElectionTimeouts, less than 0: it does not.
	Silence message.Duration
}

// Groups are the settings of the internal topic that holds groups and offsets.
type Groups struct {
	Partitions        int32            // default 16
	ReplicationFactor int16            // default 3, at most the number of voters
	MinInsync         int32            // default 2, at most the replication factor
	SessionTimeout    message.Duration // of a member that asks for none; default 10 s
	HeartbeatInterval message.Duration // told to members; default 1 s
	OffsetsRetention  message.Duration // of an empty group's offsets; default 7 days
}

// Transactions are the settings of the internal topic that holds transactional ids,
// and of what is kept there.
type Transactions struct {
	Partitions        int32            // default 16
	ReplicationFactor int16            // default 3, at most the number of voters
	MinInsync         int32            // default 2, at most the replication factor
	MaxTimeout        message.Duration // longest that a transaction may be open; default 15 min
	Expiration        message.Duration // life of a transactional id that nobody uses; default 7 days
}

// Tidying says how much piles up before it is summed up. Zero means the default
// of the room that does it; short simulations ask for little.
type Tidying struct {
	CheckpointBatches int // of one log between two checkpoints; default 4096
	QuorumEntries     int // of the controller's log between two snapshots; default 10000
	QuorumBytes       int // of the controller's log between two snapshots; default 1 MiB
	QuorumKept        int // entries kept below a snapshot for slow voters; default 1000
	QuorumParcel      int // bytes of entries in one message between controllers, about; default 1 MiB
	MetadataChanges   int // kept to send brokers only what they lack; default 10000
	ProducerIDs       int // a broker gets at a time; default 1000
	ShardRecords      int // of the log of a shard, of groups or transactions, before a snapshot is worth it; default 10000
	ShardBatch        int // bytes of one batch in such a log, about; default 512 KiB
	ReplayBytes       int // of such a log that are read at a time as it is loaded; default 1 MiB
	ProducerEpochs    int // of one producer id of a transactional id; default 32767
	UnflushedBytes    int // appended and not durable before produces and fetches wait; default 64 MiB
	// ProducerIdle is how long the state of a silent producer is kept: longer than
	// any producer tries, and than any message is under way; default a week.
	ProducerIdle message.Duration
	EmptyGroups  message.Duration // life of an empty group without positions; default 1 h
}

// withDefaults fills what was left open.
func (c Config) withDefaults() Config {
	t := &c.Timing
	t.HeartbeatInterval = cmp.Or(t.HeartbeatInterval, 500*message.Millisecond)
	t.SessionTimeout = cmp.Or(t.SessionTimeout, 3*message.Second)
	t.ReplicaLag = cmp.Or(t.ReplicaLag, 3*message.Second)
	t.ElectionTimeout = cmp.Or(t.ElectionTimeout, message.Second)
	t.QuorumHeartbeat = cmp.Or(t.QuorumHeartbeat, 200*message.Millisecond)
	t.FetchWait = cmp.Or(t.FetchWait, 500*message.Millisecond)
	t.RequestTimeout = cmp.Or(t.RequestTimeout, 10*message.Second)
	g := &c.Groups
	g.Partitions = cmp.Or(g.Partitions, 16)
	g.ReplicationFactor = cmp.Or(g.ReplicationFactor, int16(min(3, len(c.Voters))))
	g.MinInsync = min(cmp.Or(g.MinInsync, message.DefaultMinInsync), int32(g.ReplicationFactor))
	g.SessionTimeout = cmp.Or(g.SessionTimeout, 10*message.Second)
	g.HeartbeatInterval = cmp.Or(g.HeartbeatInterval, message.Second)
	g.OffsetsRetention = cmp.Or(g.OffsetsRetention, 7*24*message.Hour)
	x := &c.Transactions
	x.Partitions = cmp.Or(x.Partitions, 16)
	x.ReplicationFactor = cmp.Or(x.ReplicationFactor, int16(min(3, len(c.Voters))))
	x.MinInsync = min(cmp.Or(x.MinInsync, message.DefaultMinInsync), int32(x.ReplicationFactor))
	return c
}

// Validate says what is wrong with a configuration and what to do about it.
func (c Config) Validate() error {
	switch {
	case c.ID < 1:
		return fmt.Errorf("node id %d: give each node an id of 1 or above", c.ID)
	case c.ClusterID == "":
		return errors.New("no cluster id: give all nodes of the cluster the same one")
	case len(c.Voters) == 0:
		return errors.New("no voters: name the nodes that hold the controller's log (one, three or five)")
	case c.Incarnation == 0:
		return errors.New("no incarnation: draw a number other than 0 at each start")
	}
	sorted := slices.Clone(c.Voters)
	slices.Sort(sorted)
	if len(slices.Compact(sorted)) != len(c.Voters) {
		return fmt.Errorf("voters %v: each may stand there once", c.Voters)
	}
	d := c.withDefaults().Timing
	if 2*d.HeartbeatInterval > d.SessionTimeout {
		return fmt.Errorf("heartbeat interval and session time-out: the session must outlive two heartbeats")
	}
	if 2*d.QuorumHeartbeat > d.ElectionTimeout {
		return fmt.Errorf("quorum heartbeat and election time-out: the election time-out must outlive two heartbeats")
	}
	return nil
}

// isVoter says whether this node holds the controller's log.
func (c Config) isVoter() bool { return slices.Contains(c.Voters, c.ID) }
