package storage

import (
	"errors"
	"fmt"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/storage/vfs"
)

// Errors that callers tell apart with errors.Is.
var (
	// ErrNoRoom says that the disk is full. Nothing was changed; the same call
	// may be made again when there is room. It is no failure of the store.
	ErrNoRoom = vfs.ErrNoRoom
	// ErrInUse says that another process uses the data folder.
	ErrInUse = errors.New("storage: the data folder is in use by another process")
	// ErrWrongNode and ErrWrongCluster say that the data folder belongs to
	// another node or cluster. Point the node at its own folder.
	ErrWrongNode    = errors.New("storage: the data folder belongs to another node")
	ErrWrongCluster = errors.New("storage: the data folder belongs to another cluster")
	// ErrIdentityLost says that the folder holds data, but neither copy of the
	// file that tells whose it is can be read. Restore one, or start with an empty
	// folder.
	ErrIdentityLost = errors.New("storage: the data folder holds data, but its identity is lost")
	// ErrFailed is wrapped by all calls after a write or a sync has failed: what
	// the disk holds is unknown, and only opening the folder again tells.
	ErrFailed = errors.New("storage: a write or sync has failed before")
	// ErrClosed is returned after Close.
	ErrClosed = errors.New("storage: the store is closed")
	// ErrNoLog says that there is no such log.
	ErrNoLog = fmt.Errorf("storage: no such log: %w", effect.ErrGone)
	// ErrOutOfRange says that a read begins below the start or beyond the end of
	// the log.
	ErrOutOfRange = fmt.Errorf("storage: the offset is outside the log: %w", effect.ErrGone)
)

// errMisuse marks calls that break what the caller promised. They change
// nothing.
var errMisuse = errors.New("storage: broken promise")

// errUndo marks a write that was done in part and could not be undone.
var errUndo = errors.New("storage: half a write is left")

// latchedError is an error after which it is not known what the disk holds. It is
// none of room, though want of room may have led to it: ErrNoRoom promises that
// nothing was changed, and the same call would be made again for ever.
type latchedError struct{ err error }

func (e *latchedError) Error() string { return e.err.Error() }

func (e *latchedError) Is(target error) bool {
	return target != ErrNoRoom && errors.Is(e.err, target)
}

func (e *latchedError) As(target any) bool { return errors.As(e.err, target) }

func misuse(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{errMisuse}, args...)...)
}

// DamageError says that bytes which were durable cannot be read as what they
// were. They are left as they are. The replica must be fetched anew from a
// healthy one.
type DamageError struct {
	Log      record.PartitionID
	Offset   record.Offset // records from here on cannot be trusted
	Path     string
	Position int64 // in bytes from the start of the file
	Reason   string
}

func (e *DamageError) Error() string {
	return fmt.Sprintf("storage: log %v is damaged at offset %d (%s at byte %d): %s",
		e.Log, e.Offset, e.Path, e.Position, e.Reason)
}
