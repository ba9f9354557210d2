package simnet

import "github.com/tamarack-mq/tamarack/core/message"

// Mishap is what may become of one message in place of its plain course, which
// is to arrive once, in order, after the link's latency.
type Mishap uint8

// The mishaps.
const (
	Lost       Mishap = iota // it does not arrive; a client's connection hangs from then on
	Reset                    // its connection breaks as it is sent
	Twice                    // it arrives once more
	Overtaken                // it leaves its place in the connection
	Late                     // it takes longer
	Outlives                 // its connection has ended, and it arrives all the same
	HalfOpened               // its connection ends as it is sent, and nobody is told
)

// About names a message by what it means: the Nth of its kind from one endpoint
// to another, counted from 1.
type About struct {
	From, To Endpoint
	Kind     message.Kind
	Nth      uint32
}

// Fates is told what the network has drawn about each message, and may decide
// otherwise.
type Fates interface {
	// Sent counts a message.
	Sent(from, to Endpoint, kind message.Kind) (nth uint32)
	// Happens says whether a mishap comes over a message.
	Happens(a About, what Mishap, drawn bool) bool
	// By says how much later the message arrives by a mishap that happens.
	By(a About, what Mishap, drawn message.Duration) message.Duration
}

// LetDecide lets somebody else decide what becomes of messages.
func (n *Network) LetDecide(f Fates) { n.fates = f }

// sends notes which message is at hand, when somebody else decides.
func (n *Network) sends(from, to Endpoint, m message.Message) {
	if n.fates != nil {
		n.about = About{from, to, m.Kind(), n.fates.Sent(from, to, m.Kind())}
	}
}

// happens draws whether a mishap comes over the message at hand.
func (n *Network) happens(c *conn, what Mishap, perMillion, percent int64) bool {
	drawn := odds(c.fate, perMillion, percent)
	if n.fates != nil {
		return n.fates.Happens(n.about, what, drawn)
	}
	return drawn
}

// by is how much later a message arrives by a mishap that happens.
func (n *Network) by(what Mishap, drawn message.Duration) message.Duration {
	if n.fates != nil {
		return n.fates.By(n.about, what, drawn)
	}
	return drawn
}

// tail is how much longer than others the message at hand takes.
func (n *Network) tail(drawn message.Duration) message.Duration {
	if n.fates == nil {
		return drawn
	}
	if !n.fates.Happens(n.about, Late, drawn > 0) {
		return 0
	}
	return n.fates.By(n.about, Late, drawn)
}

// outlives draws whether a message arrives although its connection has ended.
func (n *Network) outlives(p *Packet) bool {
	drawn := p.conn.fate.Percent(n.weather.Stale)
	if n.fates == nil {
		return drawn
	}
	n.about = About{p.From, p.To, p.Msg.Kind(), p.nth}
	return n.fates.Happens(n.about, Outlives, drawn)
}
