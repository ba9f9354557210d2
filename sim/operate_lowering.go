package sim

import (
	"slices"

	"github.com/tamarack-mq/tamarack/core/client"
	"github.com/tamarack-mq/tamarack/core/message"
)

// lowering is a min.insync that a topic is asked to have. The budget of damage counts
// with it as long as it may hold: until its outcome is known, and after that as long as
// a copy of the request may be carried out. Whoever gets no answer in time asks another
// node. The first one may be paused and read its copy much later; a controller that was
// deposed sends it back, and the node that passed it on passes it on again. So an older
// request can come through behind a newer one, when both were answered long ago.
type lowering struct {
	request *message.AlterConfig
	config  message.TopicConfig
	digest  uint64
	// unanswered counts the copies that a client sent and that may not be at an end.
	unanswered int
	doubled    bool // the network made a copy of its own
}

// loweringBy is what a request asks for; nil: nothing that a budget is measured by.
func (o *operator) loweringBy(r message.Request) *lowering {
	for i := range o.lowering {
		if message.Request(o.lowering[i].request) == r {
			return &o.lowering[i]
		}
	}
	return nil
}

// sends takes note of a copy that the client has sent.
func (o *operator) sends(r message.Request) {
	if l := o.loweringBy(r); l != nil {
		l.unanswered++
	}
}

// hears takes note of the answer to a copy. Who only lost patience does not know what
// becomes of it.
func (o *operator) hears(r message.Request, reply message.Reply) {
	m, ok := reply.(*message.AlterConfigReply)
	if l := o.loweringBy(r); ok && l != nil && !m.Code.Unknown() {
		l.unanswered--
	}
}

// doubles takes note of a copy that the network made of what one node passes on to
// another.
func (o *operator) doubles(m message.Message) {
	forward, ok := m.(*message.Forward)
	if !ok || len(o.lowering) == 0 {
		return
	}
	same := digest(forward.Body)
	for i := range o.lowering {
		if o.lowering[i].digest == same {
			o.lowering[i].doubled = true
		}
	}
}

// lowered forgets a request whose outcome is known and of which no copy is under way.
func (o *operator) lowered(op *openOp, result *client.Result) {
	ask, ok := op.ask.(client.Ask)
	if !ok || result.Outcome == client.Unknown {
		return
	}
	o.lowering = slices.DeleteFunc(o.lowering, func(l lowering) bool {
		return message.Request(l.request) == ask.Request && l.unanswered <= 0 && !l.doubled
	})
}
