package tcp

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"time"

	"github.com/tamarack-mq/tamarack/core/message"
)

// peer is the connection over which this node sends to another one. It is
// dialled when there is something to send. While the other node cannot be
// reached, what is sent to it is lost, as on any bad wire.
type peer struct {
	network *Network
	node    message.NodeID
	out     *outbox
	log     *slog.Logger
}

// Waits between two attempts to reach a node; each attempt doubles it.
const (
	redialFirst = 20 * time.Millisecond
	redialLast  = time.Second
)

func newPeer(n *Network, node message.NodeID) *peer {
	return &peer{network: n, node: node, out: newOutbox(), log: n.cfg.Log.With("peer", node)}
}

// run keeps the connection until the network closes.
func (p *peer) run() {
	wait := redialFirst
	said := "" // the last complaint, so that it is logged once
	ended := brief{}
	for p.network.ctx.Err() == nil {
		first, more := p.out.take(nil)
		if !more {
			return
		}
		conn, err := p.dial()
		if err == nil {
			if said != "" {
				p.log.Info("reached the node again")
			}
			said, wait = "", redialFirst
			began := time.Now()
			err = p.write(conn, first)
			if p.network.ctx.Err() == nil && !ended.again(time.Now(), time.Since(began), err) {
				p.log.Info("connection to the node ended", "error", err)
			}
			continue
		}
		p.dropped(first)
		if text := err.Error(); text != said && p.network.ctx.Err() == nil {
			said = text
			p.log.Warn("cannot reach the node; trying on", "error", err)
		}
		select {
		case <-p.network.ctx.Done():
			return
		case <-time.After(wait/2 + rand.N(wait)):
		}
		wait = min(2*wait, redialLast)
	}
}

// brief tells a connection that ends as soon as it is made, over and over again,
// which is said once a minute.
type brief struct {
	said time.Time
	text string
}

func (b *brief) again(now time.Time, lived time.Duration, err error) bool {
	text := fmt.Sprint(err)
	if lived < rivalSpan && text == b.text && now.Sub(b.said) < rivalAgain {
		return true
	}
	b.said, b.text = now, text
	return false
}

func (p *peer) dial() (net.Conn, error) {
	n := p.network
	address := n.cfg.Resolve(p.node)
	if address == "" {
		return nil, fmt.Errorf("tcp: the address of node %d is not known", p.node)
	}
	ctx, cancel := context.WithTimeout(n.ctx, handshakeTime)
	defer cancel()
	hello := Hello{ClusterID: n.cfg.ClusterID, Node: n.cfg.Node, Want: p.node, Address: n.cfg.Advertise, Software: n.cfg.Software}
	conn, _, err := shake(ctx, address, hello)
	return conn, err
}

// write sends what was waiting and what follows, until the connection ends.
func (p *peer) write(conn net.Conn, first []outgoing) error {
	if _, ok := p.network.keep(conn); !ok {
		conn.Close()
		return ErrClosed
	}
	defer p.network.forget(conn)
	// Nothing is ever sent this way by the other node. Reading finds out that
	// it has gone before a message is lost to a dead connection.
	broken := make(chan error, 1)
	p.network.running.Go(func() {
		_, err := io.ReadFull(conn, make([]byte, 1))
		if err == nil {
			err = errors.New("the other node spoke where it should listen")
		}
		broken <- err
		conn.Close()
	})
	w := newWriter(conn, p.network.cfg.Limits.Stall, p.network.cfg.Count.Sent, nil)
	if err := w.write(first); err != nil {
		return err
	}
	p.out.attach(w)
	defer p.out.attach(nil)
	var list []outgoing
	for {
		clear(list)
		all, more := p.out.take(list[:0])
		if !more {
			return nil
		}
		select {
		case err := <-broken:
			p.out.restore(all)
			return err
		default:
		}
		if err := w.write(all); err != nil {
			return err
		}
		list = all
	}
}

func (p *peer) dropped(list []outgoing) {
	if drop := p.network.cfg.Count.Dropped; drop != nil {
		for i := range list {
			drop(p.node, list[i].m)
		}
	}
}

// restore puts back what was taken, in front of what came since.
func (o *outbox) restore(list []outgoing) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return
	}
	for i := range list {
		o.bytes += list[i].size
	}
	o.waiting = append(list, o.waiting...)
}

// inbound is the connection over which another node sends to this one.
type inbound struct {
	conn     net.Conn
	done     chan struct{}
	replaced bool   // by a newer one; of Network.mu
	rivals   rivals // how those before it fared
}

// A node that connects so often within a while, although it is connected, is two
// processes that take the connection from each other. That is said once a minute.
const (
	rivalTimes = 5
	rivalSpan  = 10 * time.Second
	rivalAgain = time.Minute
)

// rivals counts how often a node has connected while it was connected.
type rivals struct {
	times int
	since time.Time
	said  time.Time
}

// meet counts one more. fight: there are two of them; say: and it is time to say so.
func (r *rivals) meet(now time.Time) (fight, say bool) {
	if now.Sub(r.since) > rivalSpan {
		*r = rivals{since: now, said: r.said}
	}
	r.times++
	if r.times < rivalTimes {
		return now.Sub(r.said) < rivalSpan, false
	}
	if say = now.Sub(r.said) >= rivalAgain; say {
		r.said = now
	}
	return true, say
}

// serveNode delivers what another node sends. A node has one connection at a
// time: a new one ends the old one first, so that nothing from before it is
// delivered after.
func (n *Network) serveNode(conn net.Conn, hello Hello, log *slog.Logger) {
	log = log.With("peer", hello.Node)
	this := &inbound{conn: conn, done: make(chan struct{})}
	defer close(this.done)
	level := slog.LevelInfo
	for {
		n.mu.Lock()
		old := n.inbound[hello.Node]
		if old == nil {
			n.inbound[hello.Node] = this
			n.population()
			n.mu.Unlock()
			break
		}
		old.replaced, this.rivals = true, old.rivals
		fight, say := this.rivals.meet(time.Now())
		n.mu.Unlock()
		if fight {
			level = slog.LevelDebug
		}
		if say {
			log.Warn("a node connects again and again although it is connected: do two processes run under its number?",
				"address", hello.Address, "other", old.conn.RemoteAddr().String())
		}
		old.conn.Close()
		<-old.done
	}
	defer func() {
		n.mu.Lock()
		delete(n.inbound, hello.Node)
		n.population()
		n.mu.Unlock()
	}()
	if n.cfg.Met != nil && hello.Address != "" {
		n.cfg.Met(hello.Node, hello.Address)
	}
	log.Log(n.ctx, level, "node connected", "address", hello.Address, "software", hello.Software)
	r := reader{
		conn: conn, buffered: bufio.NewReaderSize(conn, bufferSize), stall: n.cfg.Limits.Stall,
		maxFrame: max(n.cfg.Limits.MaxFrame, nodeFrame), maxHead: max(n.cfg.Limits.MaxFrame, nodeFrame), counted: n.cfg.Count.Received,
	}
	for {
		_, m, _, err := r.next()
		if err == nil {
			if fromNode(m) {
				n.receiver.Receive(hello.Node, m)
				continue
			}
			err = &badFrame{0, fmt.Errorf("a %s comes from clients or goes to them, never from a node", m.Kind())}
		}
		if bad := (*badFrame)(nil); errors.As(err, &bad) && n.cfg.Count.BadFrame != nil {
			n.cfg.Count.BadFrame()
		}
		n.mu.Lock()
		replaced := this.replaced
		n.mu.Unlock()
		switch {
		case n.ctx.Err() != nil:
		case replaced:
			log.Log(n.ctx, level, "another connection of the node took the place of this one")
		default:
			log.Warn("node disconnected", "error", err)
		}
		return
	}
}

// fromNode says whether nodes send m to one another.
func fromNode(m message.Message) bool {
	_, request := m.(message.Request)
	_, reply := m.(message.Reply)
	return !request && !reply
}
