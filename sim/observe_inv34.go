package sim

import (
	"time"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
)

// wokenInTime is the part of INV-34 that a node can be late with at any time: it asks
// to be woken when the first of its rooms has something to do. A room that is woken
// late does all that it should, and only later. And records that came in are answered
// for within the time that their producer gives them, whatever becomes of them: the time
// begins once more only when the request was kept back, for the disk.
type wokenInTime struct {
	blind
	kept []map[message.Token]bool // by node: produces that may have been kept back
}

func (*wokenInTime) Invariant() string { return "INV-34" }

func (*wokenInTime) Looks() scope { return ofWakes | ofProduces }

// Started: a run has been asked for nothing.
func (o *wokenInTime) Started(_ *World, n *Node, _ *effect.Recovered) {
	for int(n.id) >= len(o.kept) {
		o.kept = append(o.kept, nil)
	}
	o.kept[n.id] = map[message.Token]bool{}
}

// wakesEvery is after how many steps it looks.
const wakesEvery = 16

func (o *wokenInTime) Stepped(w *World, n *Node, in effect.Input, out []effect.Effect) {
	c := n.Core()
	if asked, ok := in.(effect.Requested); ok && c != nil && c.Replicas().HeldBytes() > 0 {
		o.kept[n.id][asked.Token] = true
	}
	if c != nil && w.stats.Steps%wakesEvery == 0 && !halts(out) {
		at := min(c.Replicas().Wake(), c.Groups().Wake(), c.Transactions().Wake())
		if c.Controller() != nil {
			at = min(at, c.Controller().Wake())
		}
		o.judge(w, n, int64(c.Wake()), int64(at))
		if now := n.clock.now(w.now).Mono; c.Replicas().Wake() > now { // else it is about to answer
			o.unanswered(w, n, now, out)
		}
	}
}

// unanswered judges the produces that a node has not answered, not in this step either.
func (o *wokenInTime) unanswered(w *World, n *Node, now message.Time, out []effect.Effect) {
	var late message.Token
	for token, c := range n.tokens {
		if limit, ok := o.patience(n, token, c); ok && now > c.mono.Add(limit) && (late == 0 || token < late) && !replies(out, token) {
			late = token
		}
	}
	if c, ok := n.tokens[late]; ok {
		limit, _ := o.patience(n, late, c)
		w.fail("INV-34", n.id, "records are not answered for in time", "node %d has not answered for records that came %v ago, and was given %v", n.id, time.Duration(now.Sub(c.mono)), time.Duration(limit))
	}
}

// patience is how long a node may take to answer for records, if c has sent any.
func (o *wokenInTime) patience(n *Node, token message.Token, c caller) (message.Duration, bool) {
	asked, ok := c.request.(*message.Produce)
	if !ok {
		return 0, false
	}
	limit := max(0, asked.Timeout)
	if o.kept[n.id][token] {
		limit *= 2
	}
	return limit, true
}

func replies(out []effect.Effect, token message.Token) bool {
	for _, e := range out {
		if reply, ok := e.(effect.Reply); ok && reply.Token == token {
			return true
		}
	}
	return false
}

func halts(out []effect.Effect) bool {
	if len(out) == 0 {
		return false
	}
	_, ok := out[len(out)-1].(effect.Halt)
	return ok
}

func (*wokenInTime) judge(w *World, n *Node, asked, due int64) {
	if asked > due {
		w.fail("INV-34", n.id, "a node oversleeps", "node %d asks to be woken at %d, and one of its rooms has something to do at %d", n.id, asked, due)
	}
}
