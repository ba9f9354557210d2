package tcp

import (
	"bufio"
	"errors"
	"io"
	"net"
	"time"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/transport/codec"
)

// bufferSize is what is read ahead from a connection. Frames with record bytes
// get a buffer of their own, and what is not yet read ahead of them goes
// straight into it.
const bufferSize = 32 << 10

// reader takes frames from a connection.
type reader struct {
	conn     net.Conn
	buffered *bufio.Reader
	maxFrame int
	maxHead  int
	stall    time.Duration
	// admit is asked before memory for a frame is taken; first: for its first
	// piece. With nil a frame gets all its memory at once.
	admit func(size int, first bool)
	// counted is told the size of each frame.
	counted func(bytes int)
}

// badFrame is a frame that was read and cannot be used, and whom to tell.
type badFrame struct {
	correlation uint64
	err         error
}

func (b *badFrame) Error() string { return b.err.Error() }
func (b *badFrame) Unwrap() error { return b.err }

// next reads one message. It fails with io.EOF at the end between two frames,
// and with a *badFrame when a frame cannot be used.
func (r *reader) next() (correlation uint64, m message.Message, size int, err error) {
	head, err := r.buffered.Peek(codec.PrefixSize)
	if err != nil {
		if len(head) > 0 && errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return 0, nil, 0, err
	}
	p, err := codec.ReadPrefix(head, r.maxFrame, r.maxHead)
	if err != nil {
		return 0, nil, 0, &badFrame{p.Correlation, err}
	}
	if r.buffered.Buffered() < p.Size {
		_ = r.conn.SetReadDeadline(time.Now().Add(r.stall))
		defer func() { _ = r.conn.SetReadDeadline(time.Time{}) }()
	}
	if r.counted != nil {
		r.counted(p.Size)
	}
	m, err = r.body(p)
	return p.Correlation, m, p.Size, err
}

func (r *reader) body(p codec.Prefix) (message.Message, error) {
	whole := !p.HasPayload() && p.Size <= r.buffered.Size()
	var frame []byte
	var err error
	if whole {
		frame, err = r.buffered.Peek(p.Size)
	} else {
		frame, err = r.gather(p.Size)
	}
	if err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	m, err := codec.DecodeBody(p, frame[codec.PrefixSize:])
	if err != nil {
		return nil, &badFrame{p.Correlation, err}
	}
	if whole {
		_, _ = r.buffered.Discard(p.Size)
	}
	return m, nil
}

// firstPiece is how much of a frame gets memory once its beginning is here: all
// of most frames.
const firstPiece = 1 << 20

// gather reads a frame into memory of its own. Where memory has to be admitted
// it is taken as the frame arrives: a length that is only announced, by whoever
// stops after it, holds nothing that others need.
func (r *reader) gather(size int) ([]byte, error) {
	if r.admit == nil {
		frame := make([]byte, size)
		_, err := io.ReadFull(r.buffered, frame)
		return frame, err
	}
	if _, err := r.buffered.Peek(min(size, r.buffered.Size())); err != nil {
		return nil, err
	}
	var frame []byte
	for piece := min(size, firstPiece); len(frame) < size; piece = min(4*len(frame), size) {
		had := len(frame)
		r.admit(piece-had, had == 0)
		grown := make([]byte, piece)
		copy(grown, frame)
		frame = grown
		_ = r.conn.SetReadDeadline(time.Now().Add(r.stall)) // waiting for memory does not count
		if _, err := io.ReadFull(r.buffered, frame[had:]); err != nil {
			return nil, err
		}
	}
	return frame, nil
}
