package sim

import (
	"slices"

	"github.com/tamarack-mq/tamarack/core/client"
	"github.com/tamarack-mq/tamarack/core/message"
)

// pending is a request with which the budgets of damage count as long as it may be carried
// out: until its outcome is known, and after that as long as a copy of it may be under
// way. Whoever gets no answer in time asks another
// node. The first one may be paused and read its copy much later; a controller that was
// deposed sends it back, and the node that passed it on passes it on again. So an older
// request can come through behind a newer one, when both were answered long ago.
type pending struct {
	request message.Request
	digest  uint64
	// unanswered counts the copies that a client sent and that may not be at an end.
	unanswered int
	doubled    bool // the network made a copy of its own
}

// lowering is a min.insync that a topic is asked to have.
type lowering struct {
	pending
	topic  string
	config message.TopicConfig
}

// reshaping is another set of controllers that is asked for.
type reshaping struct {
	pending
	node   message.NodeID
	remove bool
}

// counted visits all requests that a budget is measured by.
func (o *operator) counted(visit func(*pending)) {
	for i := range o.lowering {
		visit(&o.lowering[i].pending)
	}
	for i := range o.reshaping {
		visit(&o.reshaping[i].pending)
	}
}

// reshapes notes that other controllers are asked for.
func (o *operator) reshapes(m *message.AlterControllers) {
	o.reshaping = append(o.reshaping, reshaping{pending{request: m, digest: digest(m)}, m.Node, m.Remove})
}

// sends takes note of a copy that the client has sent.
func (o *operator) sends(r message.Request) {
	o.counted(func(p *pending) {
		if p.request == r {
			p.unanswered++
		}
	})
}

// hears takes note of the answer to a copy. Who only lost patience does not know what
// becomes of it.
func (o *operator) hears(r message.Request, reply message.Reply) {
	var code message.Code
	switch m := reply.(type) {
	case *message.AlterConfigReply:
		code = m.Code
	case *message.AlterControllersReply:
		code = m.Code
	default:
		return
	}
	if code.Unknown() {
		return
	}
	o.counted(func(p *pending) {
		if p.request == r {
			p.unanswered--
		}
	})
}

// doubles takes note of a copy that the network made of what one node passes on to
// another.
func (o *operator) doubles(m message.Message) {
	forward, ok := m.(*message.Forward)
	if !ok || len(o.lowering)+len(o.reshaping) == 0 {
		return
	}
	same := digest(forward.Body)
	o.counted(func(p *pending) { p.doubled = p.doubled || p.digest == same })
}

// settled forgets a request whose outcome is known and of which no copy is under way.
func (o *operator) settled(op *openOp, result *client.Result) {
	ask, ok := op.ask.(client.Ask)
	if !ok || result.Outcome == client.Unknown {
		return
	}
	over := func(p *pending) bool { return p.request == ask.Request && p.unanswered <= 0 && !p.doubled }
	o.lowering = slices.DeleteFunc(o.lowering, func(l lowering) bool { return over(&l.pending) })
	o.reshaping = slices.DeleteFunc(o.reshaping, func(r reshaping) bool { return over(&r.pending) })
}
