package codec

import (
	"errors"
	"fmt"

	"github.com/tamarack-mq/tamarack/core/message"
)

// What can be wrong with a frame. Every error of this package that comes from
// bytes is an *Error that wraps one of them.
var (
	ErrTruncated = errors.New("the frame ends too early")
	ErrTrailing  = errors.New("the frame has bytes behind its end")
	ErrTooLarge  = errors.New("the frame is too large")
	ErrKind      = errors.New("the kind of message is unknown")
	ErrMalformed = errors.New("the head is malformed")
)

// Error says what is wrong with a frame, and with which kind of message.
type Error struct {
	Kind   message.Kind // KindInvalid while it is not known
	Reason error        // one of the Err values of this package
	Detail string
}

// Error describes the fault in one line.
func (e *Error) Error() string {
	text := "codec: " + e.Reason.Error()
	if e.Detail != "" {
		text += ": " + e.Detail
	}
	if e.Kind != message.KindInvalid {
		text += " (" + e.Kind.String() + ")"
	}
	return text
}

// Unwrap gives the reason.
func (e *Error) Unwrap() error { return e.Reason }

func fault(kind message.Kind, reason error, format string, args ...any) error {
	return &Error{Kind: kind, Reason: reason, Detail: fmt.Sprintf(format, args...)}
}
