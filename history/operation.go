package history

import "math"

// Kind says what a client did.
type Kind uint8

// The kinds of operations. Assigned and Revoked are not calls: they are
// moments at which a group member was told that it owns a partition, or gave
// it up; Invoke and Return are the same then. A reader that goes to another
// position is Assigned, with an Error that says why: BySeek when it asked for
// that itself.
const (
	Publish Kind = iota + 1
	Poll
	Read // one raw read of one partition from an offset of the reader's choice
	Commit
	FetchCommitted
	Assigned
	Revoked
	Restarted // the client process was started (again); what it knew is gone
	Admin
	Sought // a search by time was answered; a moment, too
	// Transact is one transaction, from the call that began it to the answer to its
	// end: OK means that it was committed, Failed that nothing of it ever counts.
	Transact
)

var kindNames = [...]string{"", "publish", "poll", "read", "commit", "fetch-committed",
	"assigned", "revoked", "restarted", "admin", "sought", "transact"}

// String is the kind in lower case.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "unknown-kind"
}

// Outcome says how an operation ended.
type Outcome uint8

// The outcomes. An operation that timed out, or whose answer allows that it
// took or may still take effect, is Unknown, never Failed.
const (
	Unknown Outcome = iota
	OK
	Failed // it certainly did not take effect and never will
)

// String is the outcome in lower case.
func (o Outcome) String() string {
	return [...]string{"unknown", "ok", "failed"}[o]
}

// Open is the Return of an operation that was never answered: its effect may
// come at any later time.
const Open int64 = math.MaxInt64

// None is the offset, partition or epoch of what has none or is not known.
const None int64 = -1

// Operation is one call of one client, or one moment of a group membership.
// Which fields mean something depends on the Kind.
type Operation struct {
	ID      int64
	Client  int32 // the client process; one client may have several calls open
	Session int32 // counts the restarts of the client process
	Kind    Kind
	Outcome Outcome
	Invoke  int64 // nanoseconds; one clock for the whole history
	Return  int64 // Open when there was no answer
	Error   string

	Topic     string // its name as the client used it
	TopicID   uint64 // 0 when not known: a topic made again has another one
	Partition int32

	// Publish: what was sent and, when OK and acks is not 0, where it is.
	Key        []byte
	Value      []byte
	Headers    []Header
	Timestamp  int64 // milliseconds
	Acks       int8  // -1 all, 1 leader, 0 none
	Idempotent bool
	Offset     int64
	Sequence   int64 // the count of this client's publishes, in the order of the calls

	// Poll and Read: what came, in the order in which it was handed over.
	// Read: Offset is where it was asked to begin. Sought: Timestamp is what was
	// asked for and Offset what was answered; the record that was found there, if
	// one was, has no more than its place and its time. LogStart is how far retention
	// may have come by then, on any broker.
	Records       []Record
	HighWatermark int64 // Read: as answered; None when not known
	LogStart      int64 // Read: as answered; None when not known
	Committed     bool  // read_committed; FetchCommitted: it asked for stable positions

	// Group work. Commit: what was committed. FetchCommitted: what was answered,
	// with Offset None where nothing is committed.
	Group     string
	Member    string
	Epoch     int64
	Style     Style
	Positions []Position

	// Transaction is the number of the transaction that this is (Transact) or belongs
	// to (Publish, Commit), counted from 1 over the whole history; 0: none. The outcome
	// of a Publish or Commit with a number tells only that it was stored: it counts when
	// the transaction is committed. Transact: Verb is what was asked for in the end,
	// "commit" or "abort"; "" when it was neither, because the client died before.
	Transaction     int64
	TransactionalID string // Transact: who made it, over restarts

	// Admin: the request in words ("create", "delete", "add-partitions", ...),
	// with its number of partitions.
	Verb  string
	Count int32
}

// ByReset is the Error of an Assigned of a client whose position is not in the log any
// more, or that has none: it goes on elsewhere. Offset is that position, or None.
const ByReset = "repositioned"

// BySeek is the Error of an Assigned that follows from a seek. An offset in its
// Positions is the one that was named; None: it was to be looked up.
const BySeek = "sought"

// ByRewind is the Error of an Assigned of a worker that goes back to what its group
// has committed, because its transaction was not: in all that it owns, or in the
// partitions that are named. Where that is, is to be looked up.
const ByRewind = "rewound"

// Style is when a group member commits.
type Style uint8

// The delivery styles: commit after processing, commit before it, or only when
// the script says so.
const (
	Manual Style = iota
	AtLeastOnce
	AtMostOnce
	ExactlyOnce
)

// Record is one record as a reader got it.
type Record struct {
	Topic     string
	TopicID   uint64
	Partition int32
	Offset    int64
	Timestamp int64
	Key       []byte
	Value     []byte
	Headers   []Header
}

// Header is one header of a record.
type Header struct {
	Key   string
	Value []byte
}

// Position is the offset of the next record to process in one partition.
type Position struct {
	Topic     string
	TopicID   uint64
	Partition int32
	Offset    int64
}
