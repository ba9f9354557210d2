package simnet

import "github.com/tamarack-mq/tamarack/core/message"

// Cut stops everything from one endpoint to another, also what is under way,
// until as many calls of Join.
func (n *Network) Cut(from, to Endpoint) { n.link(from, to).cut++ }

// Join takes one Cut back.
func (n *Network) Join(from, to Endpoint) { n.link(from, to).cut-- }

// Clog keeps everything from one endpoint to another waiting, until as many
// calls of Release.
func (n *Network) Clog(from, to Endpoint) { n.link(from, to).clogged++ }

// Release takes one Clog back; with the last one what waited arrives, in order.
func (n *Network) Release(now message.Time, from, to Endpoint) {
	l := n.link(from, to)
	l.clogged--
	if l.clogged > 0 {
		return
	}
	for _, p := range l.held {
		way := 0
		if p.back {
			way = 1
		}
		at := now
		if !p.copy && !p.Late && p.Kind < Broken && p.Generation == p.conn.generation {
			// What is sent from now on comes behind it.
			at = max(at, now)
			p.conn.last[way] = max(p.conn.last[way], at)
		}
		n.heap.Schedule(at, p)
	}
	l.held = l.held[:0]
}

// Slow makes a link so many times slower; 0 takes it back.
func (n *Network) Slow(from, to Endpoint, times int) { n.link(from, to).slow = int64(times) }

// Lose makes a link lose so many percent, on top of the weather.
func (n *Network) Lose(from, to Endpoint, percent int) { n.link(from, to).lose = int64(percent) }

// Resets makes so many percent of the sends on a link break the connection.
func (n *Network) Resets(from, to Endpoint, percent int) { n.link(from, to).reset = int64(percent) }

// Duplicate makes so many percent of the messages of a link arrive twice.
func (n *Network) Duplicate(from, to Endpoint, percent int) { n.link(from, to).twice = int64(percent) }

// Reorder makes so many percent of the messages of a link arrive out of order.
func (n *Network) Reorder(from, to Endpoint, percent int) { n.link(from, to).overtake = int64(percent) }

// HalfOpen makes so many percent of the sends on a link end the connection
// without anybody's being told.
func (n *Network) HalfOpen(from, to Endpoint, percent int) { n.link(from, to).half = int64(percent) }

// Narrow lets a link hold so many packets before it overflows; 0 takes it back.
func (n *Network) Narrow(from, to Endpoint, packets int) { n.link(from, to).narrow = packets }

// Heal takes back every fault on every link. What clogs kept back arrives.
func (n *Network) Heal(now message.Time) {
	for from := range n.ends {
		for to := range n.ends {
			l := n.link(Endpoint(from), Endpoint(to))
			if l.calm() {
				continue
			}
			if l.clogged > 0 {
				l.clogged = 1
				n.Release(now, Endpoint(from), Endpoint(to))
			}
			l.cut, l.slow, l.lose, l.reset, l.twice, l.overtake, l.half, l.narrow = 0, 0, 0, 0, 0, 0, 0, 0
		}
	}
}

// Calm replaces the weather, for the end of a run.
func (n *Network) Calm(w Weather) {
	if w.Queue == 0 {
		w.Queue = 10_000
	}
	n.weather = w
}

// Reset breaks the connections between two endpoints, both ways.
func (n *Network) Reset(now message.Time, a, b Endpoint) {
	for _, pair := range [2][2]Endpoint{{a, b}, {b, a}} {
		if c := n.conns[int(pair[0])*n.ends+int(pair[1])]; c != nil {
			n.breakOff(now, c, true)
		}
	}
}

// Gone ends all connections of an endpoint whose process died. told says
// whether its kernel still tells the others (a killed process) or not (a
// machine without power).
func (n *Network) Gone(now message.Time, e Endpoint, told bool) {
	for other := range n.ends {
		if c := n.conns[int(e)*n.ends+other]; c != nil {
			n.renew(c)
		}
		if c := n.conns[other*n.ends+int(e)]; c != nil {
			n.breakOff(now, c, told)
		}
	}
}

// Reaches says whether messages from one endpoint to another get through.
func (n *Network) Reaches(from, to Endpoint) bool {
	l := n.link(from, to)
	return l.cut == 0 && l.clogged == 0
}

// Underway is the number of packets on the fullest link.
func (n *Network) Underway() int {
	most := 0
	for i := range n.links {
		most = max(most, n.links[i].underway)
	}
	return most
}
