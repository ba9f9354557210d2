package effect

import (
	"errors"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// Input is something that happened to a node.
type Input interface{ isInput() }

// Tick says that the time which the core asked for has come, or just that some
// time has passed. It may come early or late.
type Tick struct{}

// Received is a message of another node.
type Received struct {
	From message.NodeID
	Msg  message.Message
}

// Requested is a request of a client; its Reply effect carries the same Token.
type Requested struct {
	Token message.Token
	Msg   message.Request
}

// Appended says that a log's records below End are with the operating system.
type Appended struct {
	Log record.PartitionID
	Cut Cut
	End record.Offset
}

// Flushed says that a log's records below End are durable.
type Flushed struct {
	Log record.PartitionID
	Cut Cut
	End record.Offset
}

// ReadDone answers a Read, with one result for each slice.
type ReadDone struct {
	Token   uint64
	Results []ReadResult
}

// ReadResult is what one slice gave. Batches must not be changed. Err says that
// the log cannot be read there: because of damage or a failing disk, or, when it
// is an ErrGone, because the log has been trimmed, reset or deleted since.
type ReadResult struct {
	Batches []byte
	Err     error
}

// ErrGone is wrapped by the error of a read of what is no longer in the log.
var ErrGone = errors.New("no longer in the log")

// TimeFound answers a FindTime. Found is false when no record is that late.
type TimeFound struct {
	Token     uint64
	Found     bool
	Offset    record.Offset
	Timestamp record.Timestamp
	Err       error
}

// QuorumSaved answers SaveQuorum and ReplaceQuorum: all up to Seq is durable.
type QuorumSaved struct{ Seq uint64 }

// DiskFailed says that an operation on a log, or on the quorum journal, failed.
// What the disk holds is unknown now, so the core halts and recovers
// (a failed fsync must never be retried). A disk without room is not a
// failure: see DiskSpace.
type DiskFailed struct {
	Log     record.PartitionID
	Journal bool // the quorum journal, not a log
	Op      string
	Detail  string
}

// DiskSpace says that room on the disk has run low, or is enough again. While
// it is low the core takes no new records. Appends that no longer fit wait in
// the driver, in order, until there is room; they are not lost.
type DiskSpace struct{ Low bool }

// Shutdown asks for a controlled shutdown. It ends with a clean Halt.
type Shutdown struct{}

func (Tick) isInput()        {}
func (Received) isInput()    {}
func (Requested) isInput()   {}
func (Appended) isInput()    {}
func (Flushed) isInput()     {}
func (ReadDone) isInput()    {}
func (TimeFound) isInput()   {}
func (QuorumSaved) isInput() {}
func (DiskFailed) isInput()  {}
func (DiskSpace) isInput()   {}
func (Shutdown) isInput()    {}

// Recovered is what storage found when a node started; the core is built from
// it before its first input.
type Recovered struct {
	Logs []RecoveredLog
	// Journal holds the frames of the quorum journal in order.
	Journal [][]byte
	// JournalDamaged is not empty when frames that were durable cannot be read:
	// such a node must not vote or lead.
	JournalDamaged string
	DiskID         uint64
	Fresh          bool // the data folder was made just now
	Clean          bool // the last run ended with a clean Halt
}

// RecoveredLog is one log as recovery left it: all of it is readable and
// durable, from Start to End, but for what Damage says.
type RecoveredLog struct {
	ID    record.PartitionID
	Start record.Offset
	End   record.Offset
	// Checkpoint is the newest intact State of a Checkpoint effect at or below
	// End, taken at offset CheckpointAt. Headers are those of all batches from
	// there (or from the first batch, when there is none) to End.
	Checkpoint    []byte
	CheckpointAt  record.Offset
	HighWatermark record.Offset
	Headers       []record.Header
	// Damage tells why the log ends below what was durable. Empty: it does not.
	Damage string
	// StartGuessed: of a damaged log, Start is only where the first file begins that is
	// there. What tells where the log started is lost, and there may have been files
	// before. If the first file of all is there Start is 0, and no guess: but the file
	// may hold records that were retired.
	StartGuessed bool
	// Bytes is the size of the log on disk.
	Bytes int64
	// Config are its settings, as far as storage remembers them.
	Config LogConfig
}
