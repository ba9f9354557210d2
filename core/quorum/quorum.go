// Package quorum replicates the controller's log over the voters with
// go.etcd.io/raft/v3. It adds what that engine leaves to its user: time as an
// integer that is handed in, election timeouts from a seeded stream, a journal
// of frames, snapshots, and rules for a voter that lost its journal.
//
// The engine is deterministic but for its election timeout, which it draws
// from the system's entropy when it is ticked as a follower. It never is: only
// a leader is ticked, for its heartbeats, and every other voter has a deadline
// here, after which it is told to campaign. The engine's own quorum check
// counts such ticks too and is off; see lease.
package quorum

import (
	"cmp"
	"fmt"
	"slices"

	"go.etcd.io/raft/v3"
	pb "go.etcd.io/raft/v3/raftpb"

	"github.com/tamarack-mq/tamarack/core/chance"
	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
)

// Term numbers the leaderships of the quorum. At most one voter leads a term.
type Term uint64

// Config says who votes and how patient a voter is. Zero values mean the
// default. All nodes need the same ClusterID. Voters are those with which the
// cluster begins: on a new cluster they must be the same on all of them, and
// later they only say whom to ask first. Who votes is in the log; see Change.
type Config struct {
	ClusterID string
	ID        message.NodeID
	Voters    []message.NodeID

	Heartbeat       message.Duration // of a leader to its followers; default 200 ms
	ElectionTimeout message.Duration // least time without a leader; drawn up to twice that; default 1 s
	SnapshotBytes   int              // of log beyond which WantsSnapshot; default 1 MiB
	SnapshotEntries int              // entries beyond which WantsSnapshot; default 10000
	KeepEntries     int              // entries kept in memory below a snapshot for slow voters; default 1000
	MessageBytes    int              // entries in one message to a voter, about; default 1 MiB

	// Silence is for how long nobody may have spoken to a node with an empty journal,
	// and with no other voter in its configuration, when it begins a cluster. Default
	// four ElectionTimeouts: a leader speaks at every heartbeat, and where there is none
	// somebody stands within two; the rest is for connections that are being made. Less
	// than 0: it does not listen.
	Silence message.Duration
}

func (c *Config) complete() {
	c.Heartbeat = cmp.Or(c.Heartbeat, 200*message.Millisecond)
	c.ElectionTimeout = cmp.Or(c.ElectionTimeout, message.Second)
	c.Silence = cmp.Or(c.Silence, 4*c.ElectionTimeout)
	c.SnapshotBytes = cmp.Or(c.SnapshotBytes, 1<<20)
	c.SnapshotEntries = cmp.Or(c.SnapshotEntries, 10_000)
	c.KeepEntries = cmp.Or(c.KeepEntries, 1000)
	c.MessageBytes = cmp.Or(c.MessageBytes, 1<<20)
	c.Voters = slices.Clone(c.Voters)
	slices.Sort(c.Voters)
	c.Voters = slices.Compact(c.Voters)
}

// Entry is one committed entry. Data is nil for the entry with which a leader
// opens its term, and for one that changes the members: it has Members, those
// from here on.
type Entry struct {
	Version message.Version
	Term    Term
	Data    []byte
	Members *Members
}

// Restored is a snapshot that replaces all that was committed up to Version.
type Restored struct {
	Version message.Version
	Data    []byte
}

// Out is what one call brings forth. Restored, when it is set, comes before
// Committed.
type Out struct {
	*effect.Out
	Restored  *Restored
	Committed []Entry
}

// Quorum is one voter.
type Quorum struct {
	cfg    Config
	self   uint64
	mark   uint32 // fingerprint of the cluster, on every message
	random *chance.Stream

	// node is nil until this voter is admitted.
	node    *raft.RawNode
	journal journal

	configured members // the voters that Config names
	hopes      uint32  // their fingerprint
	members    members // as of what was applied: by these this node votes and counts
	public     Members // the same
	peers      []peer  // the other members, by rising id

	// mute tells why this voter takes no part; empty: it does. halted is set
	// once that was said.
	mute   string
	halted bool

	// seq is the last journal write that was asked for; waiting are those
	// that are not durable yet, each with the messages that depend on it.
	seq     uint64
	waiting []hold
	saved   ballot // the last durable one

	role   raft.StateType
	leader uint64

	changing uint64 // the last change of members that this leader has proposed
	applied  uint64
	opened   Term   // term of the last applied entry
	digest   uint64 // of all applied entries, see fold
	grown    int    // bytes of log since the last snapshot

	timeout  message.Duration // the one drawn for this wait
	deadline message.Time     // to campaign, unless leading
	contact  message.Time     // last word of the leader
	beatAt   message.Time     // next heartbeat, when leading

	admission admission
	hopeful   uint64 // highest term for which anybody wanted to stand
}

// peer is another member.
type peer struct {
	id         uint64
	heard      message.Time // last answer in this leadership
	snapshotAt message.Time // when a snapshot was sent whose fate is not known; 0: none
}

// hold is what waits for one journal write, which makes vote durable.
type hold struct {
	seq  uint64
	vote ballot
	then []*pb.Message
}

// ballot is a vote in a term; 0 is none.
type ballot struct{ term, vote uint64 }

// New builds a voter from its journal. damaged is Recovered.JournalDamaged.
func New(cfg Config, frames [][]byte, damaged string, random *chance.Stream, now message.Time) *Quorum {
	cfg.complete()
	q := &Quorum{
		cfg:    cfg,
		self:   uint64(cfg.ID),
		mark:   fingerprint(cfg.ClusterID, nil),
		random: random,
	}
	for _, v := range cfg.Voters {
		q.configured.voters = append(q.configured.voters, uint64(v))
	}
	q.hopes = fingerprint("", q.configured.voters)
	q.deadline = now
	switch {
	case damaged != "":
		q.mute = damaged + "; " + advice
	default:
		if err := q.journal.fold(frames, q.self); err != nil {
			q.mute = err.Error() + "; " + advice
		} else if known := q.journal.identity; known != nil && known.mark != q.mark {
			q.mute = "the journal belongs to another cluster: give this node the cluster id with which it was first started"
		}
	}
	if q.mute != "" {
		return q
	}
	if q.journal.identity != nil {
		q.start(now)
	} else {
		q.admission.begin(q, now)
	}
	return q
}

// advice tells an operator what to do about a journal that cannot be trusted.
const advice = "this voter may have forgotten votes and entries, so it takes no part (a vote given twice " +
	"could undo what the cluster has committed). If a majority of the other voters is intact, move this node's whole " +
	"data folder away, not only the journal, and start it with an empty one under the same number: it then joins " +
	"again, and votes once every other voter has answered it"

// start builds the engine over the journal.
func (q *Quorum) start(now message.Time) {
	node, err := raft.NewRawNode(&raft.Config{
		ID:                        q.self,
		ElectionTick:              1 << 30, // never reached: followers are not ticked
		HeartbeatTick:             1,
		Storage:                   &q.journal,
		AsyncStorageWrites:        true,
		MaxSizePerMsg:             uint64(q.cfg.MessageBytes),
		MaxInflightMsgs:           64,
		PreVote:                   true,
		DisableProposalForwarding: true,
		StepDownOnRemoval:         true,
		Logger:                    quiet{},
	})
	if err != nil {
		panic("quorum: " + err.Error())
	}
	q.node = node
	q.role, q.leader = raft.StateFollower, raft.None
	q.saved = q.journal.ballot()
	q.applied = q.journal.snapshotIndex
	q.opened = Term(q.journal.snapshotTerm)
	q.digest = q.journal.snapshotDigest
	q.adopt(now, q.journal.present.members)
	q.wait(now)
	if q.alone() {
		q.deadline = now
	}
}

// Begin hands out what the journal holds as committed. Once, before all else.
func (q *Quorum) Begin(now message.Time, out *Out) {
	defer q.guard(out)
	if q.node == nil {
		return
	}
	if q.journal.snapshotIndex > 0 {
		out.Restored = &Restored{Version: message.Version(q.journal.snapshotIndex), Data: q.journal.snapshotData}
	}
	q.drain(now, out)
}

// Propose appends an entry, when this voter leads and is ready (see Leads) and no
// change of the members is under way: a leader that is removed must not hold more
// than those that it leaves behind, or none of them gets its vote. It
// returns the version that the entry will have if it is committed; another
// entry committed at that version, or another term, means that it was lost.
func (q *Quorum) Propose(now message.Time, data []byte, out *Out) (message.Version, bool) {
	defer q.guard(out)
	if _, ready := q.Leads(); !ready || q.changing > q.applied {
		return 0, false
	}
	next := q.journal.last() + 1
	if q.node.Propose(data) != nil {
		return 0, false
	}
	q.drain(now, out)
	if q.journal.last() < next {
		panic("quorum: a proposal was taken but not appended")
	}
	return message.Version(next), true
}

// Next is the version that the next proposal would get.
func (q *Quorum) Next() message.Version { return message.Version(q.journal.last() + 1) }

// Leads returns the present term, and whether this voter leads it and has
// committed, and so applied, everything that earlier leaders committed.
func (q *Quorum) Leads() (Term, bool) {
	term := Term(q.journal.term)
	return term, q.node != nil && q.mute == "" && q.role == raft.StateLeader && q.opened == term
}

// guard turns a broken promise of the engine, or of this package, into a Halt:
// a voter that finds its own state impossible must not go on (INV-37).
func (q *Quorum) guard(out *Out) {
	if broken := recover(); broken != nil {
		q.mute = fmt.Sprint(broken)
		q.halt(out)
	}
}

func (q *Quorum) halt(out *Out) {
	if !q.halted {
		q.halted = true
		out.Add(effect.Halt{Reason: "metadata quorum: " + q.mute})
	}
}
