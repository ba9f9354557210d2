// Package tcp is the real network: frames of transport/codec over TCP, with a
// handshake, bounded queues and size limits.
//
// A connection begins with a handshake in which the dialling side names the
// protocol version, the cluster and itself. After it, a client sends requests
// and gets replies; a node sends messages one way, and answers travel over the
// connection that the other node opened. Each connection has one goroutine
// that reads and one that writes. The writer takes all that has piled up while
// its last write ran and hands it to the kernel in one go.
package tcp

import (
	"errors"
	"fmt"

	"github.com/tamarack-mq/tamarack/core/message"
)

// Errors of Send and of a connection's end.
var (
	ErrClosed    = errors.New("tcp: connection closed")
	ErrQueueFull = errors.New("tcp: send queue full: the other side does not read as fast as it is written to")
	ErrTooLarge  = errors.New("tcp: the frame is larger than the other side takes")
)

// RefusedError is a handshake that the other side did not accept.
type RefusedError struct {
	Address string
	Code    message.Code // UnsupportedVersion, ClusterIDMismatch, InvalidRequest, ...
	Detail  string
}

// Error says who refused and why.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("tcp: %s refused the connection: %s (%s)", e.Address, e.Detail, e.Code)
}

// Unwrap gives the code, so that errors.Is(err, message.ClusterIDMismatch) works.
func (e *RefusedError) Unwrap() error { return e.Code }
