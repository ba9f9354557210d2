package simnet

import (
	"strconv"

	"github.com/tamarack-mq/tamarack/core/chance"
	"github.com/tamarack-mq/tamarack/core/message"
)

// Counts are what a network did so far.
type Counts struct {
	Sent, Arrived, Lost, Late, Doubled, Overtaken, Reset, Half, Overflown, Held uint64
}

// Network is all links between all endpoints.
type Network struct {
	Counts  Counts
	Cause   int32 // of what is sent next, for those who want to know; see Packet
	weather Weather
	fates   Fates // who decides in place of the draws; nil: nobody
	about   About // the message at hand, for fates
	random  *chance.Stream
	heap    Scheduler
	nodes   int     // endpoints below this are nodes, the others clients
	ends    int     // endpoints are numbered below this
	links   []link  // by from*ends+to
	conns   []*conn // by dialler*ends+acceptor
	pool    []*Packet
}

// conn is a connection that one endpoint dialled to another. It stands for all
// connections that ever were between the two: each reset begins a generation.
type conn struct {
	dialler, acceptor Endpoint
	generation        uint32
	doomed            bool            // something was cut off: the next send begins a generation
	fruitless         *bool           // this generation could not be made; nil as long as it carries no request
	last              [2]message.Time // when the newest packet of each direction arrives
	delay             *chance.Stream
	fate              *chance.Stream
}

// New makes a network for endpoints below ends, of which those below nodes are
// nodes. Streams are split off random by place, so that what happens on one
// link does not change another.
func New(nodes, ends int, w Weather, random *chance.Stream, heap Scheduler) *Network {
	if w.Queue == 0 {
		w.Queue = 10_000
	}
	return &Network{
		weather: w, random: random, heap: heap, nodes: nodes, ends: ends,
		links: make([]link, ends*ends), conns: make([]*conn, ends*ends),
	}
}

func (n *Network) link(from, to Endpoint) *link { return &n.links[int(from)*n.ends+int(to)] }

func (n *Network) conn(dialler, acceptor Endpoint) *conn {
	at := int(dialler)*n.ends + int(acceptor)
	if c := n.conns[at]; c != nil {
		return c
	}
	place := strconv.Itoa(int(dialler)) + "→" + strconv.Itoa(int(acceptor))
	c := &conn{
		dialler: dialler, acceptor: acceptor, generation: 1,
		delay: n.random.Split(place + "/latency"), fate: n.random.Split(place + "/fate"),
	}
	n.conns[at] = c
	return c
}

// Done gives a packet back that Arrive let through.
func (n *Network) Done(p *Packet) {
	if len(n.pool) < 4096 {
		*p = Packet{}
		n.pool = append(n.pool, p)
	}
}

func (n *Network) packet() *Packet {
	if k := len(n.pool); k > 0 {
		p := n.pool[k-1]
		n.pool = n.pool[:k-1]
		return p
	}
	return new(Packet)
}

// Send passes a message from one node to another. It may be lost.
func (n *Network) Send(now message.Time, from, to Endpoint, m message.Message, digest uint64) {
	c, l := n.conn(from, to), n.link(from, to)
	n.Counts.Sent++
	w := &n.weather
	n.sends(from, to, m)
	if c.doomed {
		n.renew(c)
	}
	if n.happens(c, Reset, w.Reset, l.reset) {
		n.Counts.Reset++
		n.renew(c)
	}
	if n.happens(c, HalfOpened, 0, l.half) {
		n.Counts.Half++
		n.renew(c)
	}
	if n.happens(c, Lost, w.Lose, l.lose) {
		n.Counts.Lost++
		return
	}
	if l.full(w) {
		n.Counts.Overflown++
		return
	}
	p := n.packet()
	*p = Packet{Kind: Message, From: from, To: to, Generation: c.generation, Msg: m, Digest: digest, Cause: n.Cause, nth: n.about.Nth, conn: c}
	if n.happens(c, Twice, w.Duplicate, l.twice) {
		n.Counts.Doubled++
		twin := n.packet()
		*twin = *p
		twin.copy = true
		l.underway++
		n.heap.Schedule(now.Add(n.by(Twice, 3*n.delay(c, l)+message.Duration(c.delay.Below(int64(message.Second))))), twin)
	}
	if n.happens(c, Overtaken, w.Reorder, l.overtake) {
		n.Counts.Overtaken++
		l.underway++
		p.copy = true // it does not keep its place in the connection
		n.heap.Schedule(now.Add(n.by(Overtaken, 4*n.delay(c, l))), p)
		return
	}
	n.travel(now, p, l)
}

// odds draws against the sum of a chance per million and one in percent. No
// draw is made when there is no chance at all.
func odds(s *chance.Stream, perMillion, percent int64) bool {
	p := perMillion + percent*10_000
	return p > 0 && s.Below(1_000_000) < p
}

// travel puts a packet on its way, behind those before it on its connection.
func (n *Network) travel(now message.Time, p *Packet, l *link) {
	way := 0
	if p.back {
		way = 1
	}
	d, tail := n.delays(p.conn, l)
	at := max(now.Add(min(d+n.tail(tail), longest)), p.conn.last[way])
	p.conn.last[way] = at
	l.underway++
	n.heap.Schedule(at, p)
}

// longest bounds the delay of one message: all others on its connection wait
// behind it.
const longest = 5 * message.Second

// delay draws how long one message takes.
func (n *Network) delay(c *conn, l *link) message.Duration {
	d, tail := n.delays(c, l)
	return min(d+tail, longest)
}

// delays draws how long one message takes, and how much longer if it is one of
// the few that take long.
func (n *Network) delays(c *conn, l *link) (d, tail message.Duration) {
	w := &n.weather
	d = w.Latency
	if w.Spread > 0 {
		d += message.Duration(c.delay.Below(int64(w.Spread)))
	}
	if l.slow > 1 {
		d *= message.Duration(l.slow)
	}
	if w.Tail > 0 && c.delay.Below(1000) < w.Tail {
		tail = w.TailScale / 2 * 100 / message.Duration(1+c.delay.Below(100))
	}
	return d, tail
}

// renew begins a new generation of a connection. What is under way in the old
// one is decided on as it arrives.
func (n *Network) renew(c *conn) {
	c.generation++
	c.doomed, c.fruitless = false, nil
	c.last = [2]message.Time{}
}

// Arrive is called when a packet's time has come. It says whether the packet is
// to be delivered now; the caller calls Done when it has been. Else the packet
// was lost, or comes again later.
func (n *Network) Arrive(now message.Time, p *Packet) bool {
	l := n.link(p.From, p.To)
	l.underway--
	switch {
	case l.cut > 0:
		n.Counts.Lost++
		if !p.copy && p.Generation == p.conn.generation {
			p.conn.doomed = true
		}
		n.Done(p)
		return false
	case l.clogged > 0:
		n.Counts.Held++
		l.underway++
		l.held = append(l.held, p)
		return false
	case p.Kind >= Broken || p.copy || p.Late || p.Generation == p.conn.generation && !p.conn.doomed:
		n.Counts.Arrived++
		return true
	}
	// Its connection is no more. A node may still have the bytes in a buffer, if
	// there ever was a connection; an answer has nobody to go to.
	if p.Kind == Reply || p.fruitless != nil && *p.fruitless || !n.outlives(p) {
		n.Counts.Lost++
		n.Done(p)
		return false
	}
	n.Counts.Late++
	p.Late = true
	l.underway++
	n.heap.Schedule(now.Add(n.by(Outlives, message.Duration(p.conn.delay.Below(int64(2*message.Second))))), p)
	return false
}
