// Package quorum replicates the controller's log over the voters with
// go.etcd.io/raft/v3. It adds what that engine leaves to its user: time as an
// integer that is handed in, election timeouts from a seeded stream, a journal
// of frames, snapshots, and rules for a voter that lost its journal.
package quorum

import (
	"github.com/tamarack-mq/tamarack/core/chance"
	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
)

// Term numbers the leaderships of the quorum. At most one voter leads a term.
type Term uint64

// Config says who votes and how patient a voter is. Zero values mean the default.
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
}

// Entry is one committed entry. Data is nil for the entry with which a leader
// opens its term.
type Entry struct {
	Version message.Version
	Term    Term
	Data    []byte
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
type Quorum struct{}

// New builds a voter from its journal. damaged is Recovered.JournalDamaged.
func New(cfg Config, frames [][]byte, damaged string, random *chance.Stream, now message.Time) *Quorum {
	panic("not built yet")
}

// Begin hands out what the journal holds as committed. Once, before all else.
func (q *Quorum) Begin(out *Out) { panic("not built yet") }

// Receive takes a message of another voter.
func (q *Quorum) Receive(now message.Time, from message.NodeID, data []byte, out *Out) {
	panic("not built yet")
}

// Saved says that the journal is durable up to seq.
func (q *Quorum) Saved(now message.Time, seq uint64, out *Out) { panic("not built yet") }

// Tick lets time pass.
func (q *Quorum) Tick(now message.Time, out *Out) { panic("not built yet") }

// Wake is when Tick is wanted.
func (q *Quorum) Wake() message.Time { panic("not built yet") }

// Propose appends an entry when this voter leads.
func (q *Quorum) Propose(now message.Time, data []byte, out *Out) (message.Version, bool) {
	panic("not built yet")
}
