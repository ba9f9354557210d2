package witness

import (
	"strconv"

	"github.com/tamarack-mq/tamarack/core/record"
)

// None stands for an offset, an epoch or a row that there is not.
const None = -1

// Run is one run, as rows in the order in which things happened.
type Run struct {
	Title   string // the plan's name, or "seed 82"
	Seed    uint64
	Nodes   int // with the ids 1 to Nodes
	Clients []Client
	Topics  map[record.TopicID]string
	Offsets string // the topic in which groups keep what they commit
	Rows    []Row
	Failure *Failure // nil: nothing broke
	End     int64    // nanoseconds of virtual time
	Events  uint64
}

// Client is one client process of a run.
type Client struct {
	ID    int
	Role  string
	Group string // empty: no member
}

// Failure is what broke, and what it is about as far as that is known.
type Failure struct {
	Invariant string // "INV-5"
	Sentence  string
	Event     uint64
	Time      int64
	Place     Place
	Subject   Subject
}

// Subject is what a question, or a failure, is about. Zero values and Offset
// None: not about any.
type Subject struct {
	Partition     record.PartitionID
	Offset        int64 // of a record; with a group, the position
	Group         string
	Member        string  // it is about who is in the group, and not about its positions
	Transactional string  // it is about the transactions of this transactional id
	Node          Place   // it is about this node, and nothing else that is known
	Copies        []int64 // offsets at which the same record stands, too
	// Kept and KeptAt are the record by which a coordinator keeps it, or a marker.
	Kept   record.PartitionID
	KeptAt int64
	At     int64 // the moment that it is about; 0: the end of the run
}

// Place is where something happens: a node by its id, a client by its id below
// zero, 0 for the run as a whole.
type Place int32

// NodeAt and ClientAt are the places of a node and of a client.
func NodeAt(id int) Place   { return Place(id) }
func ClientAt(id int) Place { return Place(-id) }

// String is the place in a column: "n2", "c7", "-".
func (p Place) String() string {
	switch {
	case p > 0:
		return "n" + strconv.Itoa(int(p))
	case p < 0:
		return "c" + strconv.Itoa(int(-p))
	}
	return "-"
}

// Words is the place in a sentence: "node 2", "client 7".
func (p Place) Words() string {
	switch {
	case p > 0:
		return "node " + strconv.Itoa(int(p))
	case p < 0:
		return "client " + strconv.Itoa(int(-p))
	}
	return "the run"
}

// What says what a row tells. Its names are in the trace and in docs.
type What uint8

// The rows, by who takes part.
const (
	// What a node takes in: these are the steps of its core.
	Tick      What = iota + 1 // its time had come
	Recv                      // a message of Peer; Cause is the send
	Request                   // a request of client Peer; Cause is the call
	Appended                  // the operating system has what was appended
	Flushed                   // the disk has it
	ReadDone                  // a read gave its result
	TimeFound                 // a search by time gave its result
	Saved                     // the quorum journal is durable
	DiskFailed
	DiskSpace
	Shutdown
	// What a node gives out; Cause is the step.
	Send
	Reply
	Create
	Delete
	Append
	Flush
	Truncate
	Reset
	Trim
	Checkpoint
	Read
	FindTime
	Save
	Configure // the settings of a log
	Halt
	Other // an effect that has no row of its own yet; Name says which
	// How it stands after a step.
	State // a replica changed: epoch, bounds, high watermark, in-sync set
	Meta  // a controller committed a change of a partition
	// The life of a node.
	Start
	Found // a log, as recovery found it; Cause is the start
	Down
	Pause
	Wake
	// What the network does with a message; Cause is the send.
	Lost
	Held
	Late
	Cut // a client hears that a connection has ended
	// Clients.
	ClientStart
	ClientDown
	ClientPause
	ClientWake
	Ask    // an operation begins
	Done   // and ends; Cause is what ended it, Begin the Ask
	Call   // a request leaves
	Answer // a reply comes in; Cause is the node's Reply
	Told   // partitions were assigned, given up, lost
	// The run.
	Phase
	Fault
	FaultEnd
	Mark
	Broken
	whatEnd
)

var whatNames = [whatEnd]string{
	Tick: "tick", Recv: "recv", Request: "request", Appended: "appended", Flushed: "flushed", ReadDone: "read-done",
	TimeFound: "time-found", Saved: "saved", DiskFailed: "disk-failed", DiskSpace: "disk-space", Shutdown: "shutdown",
	Send: "send", Reply: "reply", Create: "create", Delete: "delete", Append: "append", Flush: "flush",
	Truncate: "truncate", Reset: "reset", Trim: "trim", Checkpoint: "checkpoint", Read: "read", FindTime: "find-time",
	Save: "save", Configure: "configure", Halt: "halt", Other: "other", State: "state", Meta: "meta", Start: "start", Found: "found", Down: "down",
	Pause: "pause", Wake: "wake", Lost: "lost", Held: "held", Late: "late", Cut: "cut", ClientStart: "client-start",
	ClientDown: "client-down", ClientPause: "client-pause", ClientWake: "client-wake", Ask: "ask", Done: "done",
	Call: "call", Answer: "answer", Told: "told", Phase: "phase", Fault: "fault", FaultEnd: "fault-end",
	Mark: "mark", Broken: "broken",
}

// String is the name of the row in the trace.
func (w What) String() string { return whatNames[w] }

// Whats are the names of all kinds of rows, in their order.
func Whats() []string { return whatNames[1:] }

// Row is one thing that happened. Rows of one event belong together: a node's
// step, what came of it, and how its replicas stand then.
type Row struct {
	Event uint64
	Time  int64 // nanoseconds since the start of the run
	Place Place
	Peer  Place  // the other end of a message; 0: none
	What  What   //
	Name  string // kind of message, of operation or of fault; role of a replica; a mark
	Code  string // error, outcome; empty: all is well, or nothing to say
	Cause int32  // the row that this follows from; None: it came by itself
	Begin int32  // Done: its Ask. Reply: the Request. Else None
	Group string
	// Transactional is the transactional id of a message about it, or of a client that
	// begins or ends a transaction.
	Transactional string
	Parts         []Part
	Text          string // all there is to say, on one line
}

// Part is what a row says of one partition. Offsets and epochs are None where
// the row does not tell them.
type Part struct {
	ID    record.PartitionID
	Epoch int32 // of the leadership, or of the records
	// From and To are the range that the row is about: records appended, sent,
	// read or acknowledged; for positions and cuts only From is set.
	From, To int64
	Start    int64 // log start
	End      int64 // log end
	Flushed  int64 // durable up to here
	High     int64 // high watermark
	Code     string
	Leader   int32   // 0: none, or not told
	Nodes    []int32 // the in-sync set, or the one that is proposed
}

// NewPart is a part that tells nothing yet.
func NewPart(id record.PartitionID) Part {
	return Part{ID: id, Epoch: None, From: None, To: None, Start: None, End: None, Flushed: None, High: None}
}

// Covers says whether the part is about a record.
func (p *Part) Covers(id record.PartitionID, offset int64) bool {
	return p.ID == id && p.From >= 0 && p.From <= offset && offset < p.To
}

// Part is what a row says of a partition, or nil.
func (r *Row) Part(id record.PartitionID) *Part {
	for i := range r.Parts {
		if r.Parts[i].ID == id {
			return &r.Parts[i]
		}
	}
	return nil
}

// At is the first row of an event, or of the first one behind it.
func (r *Run) At(event uint64) int {
	lo, hi := 0, len(r.Rows)
	for lo < hi {
		mid := (lo + hi) / 2
		if r.Rows[mid].Event < event {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// Topic is the name of a topic, or its number.
func (r *Run) Topic(id record.TopicID) string {
	if name := r.Topics[id]; name != "" {
		return name
	}
	return strconv.FormatUint(uint64(id), 10)
}
