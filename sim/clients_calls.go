package sim

import (
	"strings"
	"time"

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
	err := result.Err
	if !ok || err == nil || err.Problem != client.Refused {
		return
	}
	if err.Code == message.None {
		u.world.fail("INV-10", 0, "a refusal does not say why", "client %d asked %s, was refused and not told why: %s", u.plan.ID, describe(ask.Request), err.Detail)
	} else if m, of := result.Reply.(*message.AlterReassignmentsReply); of && !strings.HasSuffix(err.Detail, moveRefusal(m, err.Code)) {
		u.world.fail("INV-10", 0, "what a broker says of a refusal is lost", "client %d asked %s, was refused with %q and is told %q", u.plan.ID, describe(ask.Request), moveRefusal(m, err.Code), err.Detail)
	}
}

// moveRefusal is what an answer to moves of replicas says of a code: of all, or of the first
// move that has it.
func moveRefusal(m *message.AlterReassignmentsReply, code message.Code) string {
	if m.Code == code {
		return m.Detail
	}
	for i := range m.Partitions {
		if m.Partitions[i].Code == code {
			return m.Partitions[i].Detail
		}
	}
	return ""
}

// again is INV-38 for what a client asks on its own account: it does not ask while
// the same question is under way.
func (u *user) again(c *openCall) {
	switch c.kind {
	case message.KindMetadata, message.KindInitProducerID:
	default:
		return
	}
	if u.plan.Role == Chaos || u.plan.Role == Malformed {
		return // it asks what it likes
	}
	for i := range u.calls {
		if u.calls[i].kind == c.kind {
			u.world.fail("INV-38", 0, "a client asks again before it is answered", "client %d sends node %d a %v while the one to node %d has no answer yet", u.plan.ID, c.node, c.kind, u.calls[i].node)
			return
		}
	}
}

// looks notes that a client asks about the cluster, or that this has come to an end.
func (u *user) looks(kind message.Kind) {
	if kind == message.KindMetadata {
		u.looked = u.world.now
	}
}

// unseen is for how long a client has not looked at the cluster beyond the time
// after which it must, pauses included; 0: it looks, or has never begun to.
func (u *user) unseen() Span {
	longest := u.world.plan.Timing.ClientMetadata
	since := u.world.now - u.looked - longest - longestLookPause
	if longest == 0 || u.looked == 0 || u.closing || u.paused || since <= 0 {
		return 0
	}
	for i := range u.calls {
		if u.calls[i].kind == message.KindMetadata {
			return 0
		}
	}
	return since
}

// longestLookPause is how long a client waits at most between two questions about
// the cluster when it wants to ask, and a little.
const longestLookPause = 1100 * Millisecond

// lookedLately is INV-34 for what clients know: whatever happens, whoever goes on
// asking brokers looks at the cluster again when its picture is as old as it may be.
func (u *user) lookedLately() {
	if late := u.unseen(); late > 0 {
		u.world.fail("INV-34", 0, "a client goes by a picture of the cluster that is too old", "client %d has not asked about the cluster since %v, which is %v too long", u.plan.ID, time.Duration(u.looked), time.Duration(late))
	}
}

// publishesAsTold is INV-40 for a producer: it waits for as many replicas as it was told
// to, and for no more, and its batches have numbers only where it is idempotent.
func (u *user) publishesAsTold(m *message.Produce) {
	acks, numbered := message.Acks(u.plan.Acks), u.plan.Idempotent
	if u.plan.Role.transacts() {
		acks, numbered = message.AcksAll, true
	}
	if m.Acks != acks {
		u.world.fail("INV-40", 0, "a producer asks for other acks than it was told to", "client %d, which is to publish with acks=%d, sends records with acks=%d", u.plan.ID, acks, m.Acks)
		return
	}
	numbered = numbered && acks == message.AcksAll
	for i := range m.Partitions {
		if h, err := record.DecodeHeader(m.Partitions[i].Records); err == nil && numbered != (h.ProducerID != record.NoProducerID) {
			u.world.fail("INV-40", 0, "a producer is idempotent, or is not, against what it was told", "client %d, which is idempotent: %t, sends a batch of producer %d to partition %s", u.plan.ID, numbered, h.ProducerID, m.Partitions[i].ID)
			return
		}
	}
}

// aheadInBounds is INV-38 for what consumers fetch ahead of their application: a fetch
// asks for something, and for no more than there may be in all.
func (u *user) aheadInBounds(m *message.Fetch) {
	if most := int64(u.plan.Ahead); most > 0 && u.plan.Role != Chaos && u.plan.Role != Malformed && (m.MaxBytes < 1 || int64(m.MaxBytes) > most) {
		u.world.fail("INV-38", 0, "what is fetched ahead outgrows its bound", "client %d fetches %d bytes, and may have between 1 and %d ahead of its application", u.plan.ID, m.MaxBytes, most)
	}
}

// inBounds is INV-38 for what producers send: a request with more than one batch,
// and a batch with more than one record, stay within the bytes that they were
// given; and what no topic takes is not sent at all.
func (u *user) inBounds(m *message.Produce) {
	for i := range m.Partitions {
		batch := m.Partitions[i].Records
		if len(batch) > largestBatch {
			u.world.fail("INV-38", 0, "a batch is sent that no topic takes", "client %d sends a batch of %d bytes; topics take %d, and whoever publishes more is told so at once", u.plan.ID, len(batch), largestBatch)
			return
		}
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
