package tcp

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"sync"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/transport/codec"
)

// session is a client's connection as the node sees it. Its token numbers are
// (session number, request number); the session remembers which correlation
// each unanswered request came with.
type session struct {
	network *Network
	id      uint32
	out     *outbox

	mu      sync.Mutex
	room    sync.Cond // signalled when an answer leaves or the session ends
	pending map[uint32]request
	next    uint32
	ended   bool
}

// request is one that waits for its reply.
type request struct {
	correlation uint64
	holds       share
}

// share is what a request holds of the memory that a node has for them. One
// whose frame has begun to arrive must not wait for others that are in the same
// place. When nothing is left for the rest of it, it goes on in the spare lane,
// which has room for one such frame.
type share struct {
	bytes int64
	spare bool
}

// grow waits until there is room for more bytes. It does not when the network
// closes: the connection has ended then.
func (n *Network) grow(s *share, size int, first bool) {
	switch {
	case s.spare:
	case first && n.budget.Acquire(n.ctx, int64(size)) == nil, !first && n.budget.TryAcquire(int64(size)):
		s.bytes += int64(size)
	case !first && n.spare.Acquire(n.ctx, 1) == nil:
		s.spare = true
	}
}

// release gives a share back.
func (n *Network) release(s share) {
	n.budget.Release(s.bytes)
	if s.spare {
		n.spare.Release(1)
	}
}

func (n *Network) serveClient(conn net.Conn, log *slog.Logger) {
	s := &session{network: n, out: newOutbox(), pending: map[uint32]request{}}
	s.room.L = &s.mu
	n.mu.Lock()
	n.next++
	for n.sessions[n.next] != nil {
		n.next++
	}
	s.id = n.next
	n.sessions[s.id] = s
	n.population()
	n.mu.Unlock()

	var writing sync.WaitGroup
	writing.Go(func() {
		err := newWriter(conn, n.cfg.Limits.Stall, n.cfg.Count.Sent, s.wrote).run(s.out)
		if err != nil && n.ctx.Err() == nil {
			log.Info("client does not take its replies", "error", err)
		}
		if err != nil {
			conn.Close() // the reader notices
		}
		s.end()
	})
	err := s.read(conn)
	if bad := (*badFrame)(nil); errors.As(err, &bad) {
		s.out.finish()
		writing.Wait()
		linger(conn)
	}
	s.end()
	s.out.close()
	conn.Close()
	writing.Wait()
	n.mu.Lock()
	delete(n.sessions, s.id)
	n.population()
	n.mu.Unlock()
	s.release()
	if err != nil && !errors.Is(err, io.EOF) && n.ctx.Err() == nil {
		log.Info("client connection ended", "error", err)
	}
}

// read hands requests to the receiver until the connection ends.
func (s *session) read(conn net.Conn) error {
	n := s.network
	var held share
	r := reader{
		conn: conn, buffered: bufio.NewReaderSize(conn, bufferSize), stall: n.cfg.Limits.Stall,
		maxFrame: n.cfg.Limits.MaxFrame, maxHead: n.cfg.Limits.MaxHead, counted: n.cfg.Count.Received,
		admit: func(size int, first bool) { n.grow(&held, size, first) },
	}
	defer func() { n.release(held) }()
	for {
		correlation, m, _, err := r.next()
		if err == nil {
			if _, ok := m.(message.Request); !ok {
				err = &badFrame{correlation, fmt.Errorf("a %s is no request: nodes send it to one another, clients must not", m.Kind())}
			}
		}
		if err != nil {
			if bad := (*badFrame)(nil); errors.As(err, &bad) {
				s.refuse(bad)
			}
			return err
		}
		if produce, ok := m.(*message.Produce); ok && produce.Acks == message.AcksNone {
			n.receiver.Request(s.token(0), produce) // number 0 is never pending
			n.release(held)
			held = share{}
			continue
		}
		number, err := s.await(request{correlation, held})
		if err != nil {
			return err
		}
		held = share{}
		n.receiver.Request(s.token(number), m.(message.Request))
	}
}

func (s *session) token(number uint32) message.Token {
	return message.Token(s.id)<<32 | message.Token(number)
}

// await waits until the client may ask one more thing and notes its request.
func (s *session) await(r request) (number uint32, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	limits := s.network.cfg.Limits
	for !s.ended && s.network.ctx.Err() == nil && (len(s.pending) >= limits.MaxInFlight || s.out.queued() > limits.MaxQueued/2) {
		s.room.Wait()
	}
	if s.ended {
		return 0, net.ErrClosed
	}
	s.next++
	for _, taken := s.pending[s.next]; taken || s.next == 0; _, taken = s.pending[s.next] {
		s.next++
	}
	s.pending[s.next] = r
	return s.next, nil
}

// reply queues the answer to a request. An answer that nobody waits for, and
// the second one to a request, are dropped.
func (s *session) reply(number uint32, m message.Reply) {
	s.mu.Lock()
	r, ok := s.pending[number]
	if ok {
		delete(s.pending, number)
		if len(s.pending) == s.network.cfg.Limits.MaxInFlight-1 {
			s.room.Signal()
		}
	}
	s.mu.Unlock()
	if !ok {
		return
	}
	s.network.release(r.holds)
	// The number of replies is bounded by that of requests, and no request is
	// read while too much is queued: no limit is needed here.
	_ = s.network.queue(s.out, r.correlation, m, math.MaxInt)
}

// wrote is called when replies have left.
func (s *session) wrote() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.room.Signal()
}

// refuse answers a frame that cannot be used. The connection ends after it:
// where the next frame begins is not to be trusted any more.
func (s *session) refuse(bad *badFrame) {
	if s.network.cfg.Count.BadFrame != nil {
		s.network.cfg.Count.BadFrame()
	}
	code := message.InvalidRequest
	switch {
	case errors.Is(bad.err, codec.ErrTooLarge):
		code = message.MessageTooLarge
	case errors.Is(bad.err, codec.ErrKind):
		code = message.UnsupportedVersion
	}
	_, _ = s.out.add(bad.correlation, &message.Refused{Code: code, Detail: bad.err.Error()}, math.MaxInt, false)
}

// end makes the reader stop waiting for room.
func (s *session) end() {
	s.mu.Lock()
	s.ended = true
	s.mu.Unlock()
	s.room.Broadcast()
}

// release gives back what unanswered requests hold of the budget.
func (s *session) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.pending {
		s.network.release(r.holds)
	}
	s.pending = nil
}
