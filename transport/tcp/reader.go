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
	// admit is asked before memory for a frame with record bytes is taken.
	admit func(size int)
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
		if r.admit != nil {
			r.admit(p.Size)
		}
		frame = make([]byte, p.Size)
		_, err = io.ReadFull(r.buffered, frame)
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
