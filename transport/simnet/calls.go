package simnet

import "github.com/tamarack-mq/tamarack/core/message"

// Call sends a client's request over its connection to a node and returns the
// connection's generation, by which a Broken packet names the calls that it
// ends.
func (n *Network) Call(now message.Time, client, node Endpoint, call uint64, m message.Message, digest uint64) uint32 {
	c, l := n.conn(client, node), n.link(client, node)
	n.Counts.Sent++
	n.sends(client, node, m)
	if c.doomed {
		n.renew(c)
	}
	if n.happens(c, Reset, n.weather.Reset, l.reset) {
		n.breakOff(now, c, true)
	}
	if n.happens(c, HalfOpened, 0, l.half) {
		n.Counts.Half++
		n.breakOff(now, c, false)
	}
	full := l.full(&n.weather)
	if full {
		n.Counts.Overflown++
	}
	if full || n.happens(c, Lost, 0, l.lose) {
		// One message alone cannot be missing from a stream of bytes: the
		// connection hangs, and nobody is told.
		n.Counts.Lost++
		generation := c.generation
		n.renew(c)
		return generation
	}
	if c.fruitless == nil {
		c.fruitless = new(bool)
	}
	p := n.packet()
	*p = Packet{Kind: Request, From: client, To: node, Call: call, Generation: c.generation, Msg: m, Digest: digest, Cause: n.Cause, nth: n.about.Nth, conn: c, fruitless: c.fruitless}
	n.travel(now, p, l)
	return p.Generation
}

// Answer sends a node's reply back over the connection of the call. It is lost
// when that connection has ended since.
func (n *Network) Answer(now message.Time, node, client Endpoint, call uint64, generation uint32, m message.Message, digest uint64) {
	c, l := n.conn(client, node), n.link(node, client)
	n.Counts.Sent++
	n.sends(node, client, m)
	if generation != c.generation || c.doomed {
		n.Counts.Lost++
		return
	}
	if n.happens(c, Reset, n.weather.Reset, l.reset) {
		n.breakOff(now, c, true)
		n.Counts.Lost++
		return
	}
	if n.happens(c, HalfOpened, 0, l.half) {
		n.breakOff(now, c, false)
		n.Counts.Half++
		n.Counts.Lost++
		return
	}
	if n.happens(c, Lost, 0, l.lose) {
		n.Counts.Lost++
		c.doomed = true
		return
	}
	p := n.packet()
	*p = Packet{Kind: Reply, From: node, To: client, Call: call, Generation: generation, Msg: m, Digest: digest, Cause: n.Cause, nth: n.about.Nth, conn: c, back: true}
	n.travel(now, p, l)
}

// breakOff ends a client's connection; told says whether the client hears of
// it (a reset) or not (a half-open connection).
func (n *Network) breakOff(now message.Time, c *conn, told bool) {
	n.Counts.Reset++
	l := n.link(c.acceptor, c.dialler)
	if told && int(c.dialler) >= n.nodes {
		p := n.packet()
		*p = Packet{Kind: Broken, From: c.acceptor, To: c.dialler, Generation: c.generation, Cause: n.Cause, conn: c, back: true}
		l.underway++
		n.heap.Schedule(now.Add(n.delay(c, l)), p)
	}
	n.renew(c)
}

// Refuse answers a request that found no process at its port: the connection
// could not be made, and what else was to go over it was not sent either. It
// takes the packet.
func (n *Network) Refuse(now message.Time, p *Packet) {
	c := p.conn
	*p.fruitless = true
	no := n.packet()
	*no = Packet{Kind: Refused, From: c.acceptor, To: c.dialler, Generation: p.Generation, Cause: p.Cause, conn: c, back: true}
	l := n.link(c.acceptor, c.dialler)
	l.underway++
	n.heap.Schedule(now.Add(n.delay(c, l)), no)
	if p.Generation == c.generation {
		n.renew(c)
	}
	n.Done(p)
}

// Hangup ends a client's connection from the client's side.
func (n *Network) Hangup(client, node Endpoint) { n.renew(n.conn(client, node)) }
