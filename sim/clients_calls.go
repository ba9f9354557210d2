package sim

import (
	"github.com/tamarack-mq/tamarack/core/client"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// inKind is INV-10 for every request of every client: what answers it is the
// answer to such a request. Who asks about metadata may be refused as a whole:
// that answer has no code of its own.
func (u *user) inKind(c *openCall, reply message.Reply) {
	answer := c.kind + 1 // a request's reply follows it in the list of kinds
	if got := reply.Kind(); got != answer && (c.kind != message.KindMetadata || got != message.KindRefused) {
		u.world.fail("INV-10", int32(c.node), "a request is answered with the answer to another", "client %d sent node %d a %v and was answered with a %v", u.plan.ID, c.node, c.kind, got)
	}
}

// saysWhy is INV-10 for what a broker was asked in plain words: who refused it has
// named a reason, and that is what the application is told.
func (u *user) saysWhy(o *openOp, result *client.Result) {
	ask, ok := o.ask.(client.Ask)
	if err := result.Err; ok && err != nil && err.Problem == client.Refused && err.Code == message.None {
		u.world.fail("INV-10", 0, "a refusal does not say why", "client %d asked %s, was refused and not told why: %s", u.plan.ID, describe(ask.Request), err.Detail)
	}
}

// again is INV-38 for what a client asks on its own account: it does not ask while
// the same question is under way.
func (u *user) again(c *openCall) {
	switch c.kind {
	case message.KindMetadata, message.KindInitProducerID:
	default:
		return
	}
	if u.plan.Role == Chaos {
		return // it asks what it likes
	}
	for i := range u.calls {
		if u.calls[i].kind == c.kind {
			u.world.fail("INV-38", 0, "a client asks again before it is answered", "client %d sends node %d a %v while the one to node %d has no answer yet", u.plan.ID, c.node, c.kind, u.calls[i].node)
			return
		}
	}
}

// inBounds is INV-38 for what producers send: a request with more than one batch,
// and a batch with more than one record, stay within the bytes that they were
// given.
func (u *user) inBounds(m *message.Produce) {
	for i := range m.Partitions {
		batch := m.Partitions[i].Records
		if u.plan.Batch == 0 || len(batch) <= max(u.plan.Batch, record.HeaderSize) {
			continue
		}
		if h, err := record.DecodeHeader(batch); err == nil && h.Count > 1 {
			u.world.fail("INV-38", 0, "a batch outgrows its bound", "client %d sends a batch of %d records and %d bytes; one of more than one record may have %d", u.plan.ID, h.Count, len(batch), u.plan.Batch)
		}
	}
	most, size := u.plan.Request, 0
	if most == 0 || len(m.Partitions) < 2 {
		return
	}
	for i := range m.Partitions {
		size += len(m.Partitions[i].Records)
	}
	if size > most {
		u.world.fail("INV-38", 0, "a request outgrows its bound", "client %d sends %d batches of %d bytes in one request; more than one may have %d", u.plan.ID, len(m.Partitions), size, most)
	}
}
