package tcp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/transport"
)

// Config is what a node's network needs to know.
type Config struct {
	Node      message.NodeID
	ClusterID string
	Advertise string // the address that other nodes are told
	Software  string // name and version, for the logs of others
	// Resolve tells the present address of a node, or "" when it is not known.
	// It is called from several goroutines.
	Resolve func(message.NodeID) string
	// Met is told the address that a node names when it connects. It may be nil.
	Met    func(node message.NodeID, address string)
	Limits Limits
	Log    *slog.Logger
	Count  Counters
}

// Counters are told what passes. Those that are nil are not called. They are
// called from several goroutines.
type Counters struct {
	Received  func(bytes int)                            // a frame
	Sent      func(bytes int)                            // one write of frames
	Dropped   func(to message.NodeID, m message.Message) // a full queue, or a node that is away
	BadFrame  func()
	Refused   func(code message.Code) // a handshake
	Connected func(clients, nodes int)
}

// Network is a node's side of all its connections. It satisfies
// transport.Network. Send, Reply, Cork and Flush must not be called at the
// same time as one another: they belong to the goroutine that drives the node.
type Network struct {
	cfg      Config
	listener net.Listener
	receiver transport.Receiver
	welcome  Welcome
	budget   *semaphore.Weighted // bytes of unanswered requests
	spare    *semaphore.Weighted // one frame for which the budget has no room; see share
	ctx      context.Context
	stop     context.CancelFunc
	running  sync.WaitGroup

	corked bool
	dirty  []*outbox // have something to write since Cork

	peers map[message.NodeID]*peer // of Send alone

	mu       sync.RWMutex
	closed   bool
	conns    map[net.Conn]struct{}
	sessions map[uint32]*session
	inbound  map[message.NodeID]*inbound
	next     uint32 // session number given out last
}

var _ transport.Network = (*Network)(nil)

// Listen starts a node's network on a listener. Connections are taken at once,
// and what they bring goes to receiver.
func Listen(listener net.Listener, cfg Config, receiver transport.Receiver) *Network {
	cfg.Limits = cfg.Limits.withDefaults()
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	ctx, stop := context.WithCancel(context.Background())
	n := &Network{
		cfg: cfg, listener: listener, receiver: receiver, ctx: ctx, stop: stop,
		welcome:  Welcome{ClusterID: cfg.ClusterID, Node: cfg.Node, MaxFrame: int32(cfg.Limits.MaxFrame)},
		budget:   semaphore.NewWeighted(cfg.Limits.MaxBuffered),
		spare:    semaphore.NewWeighted(1),
		peers:    map[message.NodeID]*peer{},
		conns:    map[net.Conn]struct{}{},
		sessions: map[uint32]*session{},
		inbound:  map[message.NodeID]*inbound{},
	}
	n.running.Go(n.accept)
	return n
}

// Send passes a message to another node over the connection that this node
// opened to it, which is made when it is first needed.
func (n *Network) Send(to message.NodeID, m message.Message) {
	p := n.peers[to]
	if p == nil {
		p = newPeer(n, to)
		n.peers[to] = p
		n.running.Go(p.run)
	}
	if err := n.queue(p.out, 0, m, n.cfg.Limits.MaxQueued); err != nil && n.cfg.Count.Dropped != nil {
		n.cfg.Count.Dropped(to, m)
	}
}

// queue adds to an outbox, and leaves waking the writer to Flush while corked.
func (n *Network) queue(o *outbox, correlation uint64, m message.Message, limit int) error {
	rouse, err := o.add(correlation, m, limit, n.corked)
	if rouse {
		n.dirty = append(n.dirty, o)
	}
	return err
}

// Reply answers the request that was delivered with the token.
func (n *Network) Reply(token message.Token, m message.Reply) {
	n.mu.RLock()
	s := n.sessions[uint32(token>>32)]
	n.mu.RUnlock()
	if s != nil {
		s.reply(uint32(token), m)
	}
}

// Cork holds back what is sent until Flush, so that the answers to many inputs
// go out with one write a connection.
func (n *Network) Cork() { n.corked = true }

// inlineWrites is to how many connections Flush writes itself. To more of them
// their own goroutines write side by side.
const inlineWrites = 4

// Flush lets go what Cork held back. It does not wait for any connection.
func (n *Network) Flush() {
	n.corked = false
	inline := len(n.dirty) <= inlineWrites
	for i, o := range n.dirty {
		o.push(inline)
		n.dirty[i] = nil
	}
	n.dirty = n.dirty[:0]
}

// Close ends all connections at once. It waits for calls of the receiver that
// are under way: a receiver that blocks must be unblocked first.
func (n *Network) Close() error {
	n.mu.Lock()
	if n.closed {
		n.mu.Unlock()
		n.running.Wait()
		return nil
	}
	n.closed = true
	conns, sessions := n.conns, slices.Collect(maps.Values(n.sessions))
	n.conns = nil
	n.mu.Unlock()
	n.stop()
	err := n.listener.Close()
	for c := range conns {
		c.Close()
	}
	for _, p := range n.peers {
		p.out.close()
	}
	for _, s := range sessions {
		s.end()
	}
	n.running.Wait()
	return err
}

// Address is where the network listens.
func (n *Network) Address() net.Addr { return n.listener.Addr() }

// acceptPause is how long accepting rests when the system is out of something.
const acceptPause = 50 * time.Millisecond

func (n *Network) accept() {
	for {
		conn, err := n.listener.Accept()
		if n.ctx.Err() != nil {
			if err == nil {
				conn.Close()
			}
			return
		}
		if err != nil {
			n.cfg.Log.Warn("cannot accept a connection; are there enough file descriptors?", "error", err)
			select {
			case <-n.ctx.Done():
				return
			case <-time.After(acceptPause):
			}
			continue
		}
		count, ok := n.keep(conn)
		if !ok || count > n.cfg.Limits.MaxConnections+handshakes {
			n.forget(conn) // without a word: what shook no hands yet must be bounded as well
			continue
		}
		n.running.Go(func() { n.serve(conn, count) })
	}
}

// handshakes is how many connections beyond the limit may be shaking hands, to
// be told that there are too many, or to turn out to be nodes.
const handshakes = 64

// keep takes note of a connection, so that Close finds it, and tells how many
// there are. It says no when the network is closed.
func (n *Network) keep(conn net.Conn) (count int, ok bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return 0, false
	}
	n.conns[conn] = struct{}{}
	return len(n.conns), true
}

func (n *Network) forget(conn net.Conn) {
	conn.Close()
	n.mu.Lock()
	delete(n.conns, conn)
	n.mu.Unlock()
}

// serve shakes hands with whoever connected and serves it until it leaves.
func (n *Network) serve(conn net.Conn, count int) {
	defer n.forget(conn)
	tune(conn)
	log := n.cfg.Log.With("remote", conn.RemoteAddr().String())
	_ = conn.SetDeadline(time.Now().Add(handshakeTime))
	hello, err := readHello(conn)
	welcome := n.welcome
	switch {
	case errors.Is(err, errMagic):
		welcome.code, welcome.detail = message.InvalidRequest, "this port speaks Tamarack's own protocol: "+err.Error()
	case err != nil:
		welcome.code, welcome.detail = message.InvalidRequest, err.Error()
	case count > n.cfg.Limits.MaxConnections && hello.Node == message.NoNode:
		welcome.code = message.BrokerNotAvailable
		welcome.detail = fmt.Sprintf("node %d has %d connections, which is its limit: close some, or raise the limit", n.cfg.Node, count-1)
	default:
		welcome = welcome.judge(hello)
	}
	if welcome.code != message.None {
		if n.cfg.Count.Refused != nil {
			n.cfg.Count.Refused(welcome.code)
		}
		log.Warn("refused a connection", "code", welcome.code.String(), "why", welcome.detail, "node", hello.Node, "software", hello.Software)
	}
	if _, err := conn.Write(welcome.encode()); err != nil {
		return
	}
	if welcome.code != message.None {
		linger(conn)
		return
	}
	_ = conn.SetDeadline(time.Time{})
	if hello.Node == message.NoNode {
		n.serveClient(conn, log)
		return
	}
	n.serveNode(conn, hello, log)
}

// lingerTime is how long a connection is read on after the last word to it was
// written. Closing with unread bytes would reset it, and the last word with it.
const lingerTime = time.Second

func linger(conn net.Conn) {
	c, ok := conn.(*net.TCPConn)
	if !ok || c.CloseWrite() != nil {
		return
	}
	_ = conn.SetReadDeadline(time.Now().Add(lingerTime))
	scratch := make([]byte, 4096)
	for {
		if _, err := conn.Read(scratch); err != nil {
			return
		}
	}
}

// population tells the counters how many are connected. n.mu is held.
func (n *Network) population() {
	if n.cfg.Count.Connected != nil {
		n.cfg.Count.Connected(len(n.sessions), len(n.inbound))
	}
}
