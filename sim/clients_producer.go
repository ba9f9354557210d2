package sim

import (
	"strconv"
	"strings"

	"github.com/tamarack-mq/tamarack/core/client"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/history"
)

// producer publishes records whose values are unique: "c3.2-17" is the 17th of
// the second session of client 3.
type producer struct {
	sent  int64
	open  int
	bytes int64    // of the records that are open
	drawn ClientOp // what is published next
}

func (p *producer) begin(u *user) {
	if u.listed() {
		u.beginList()
		return
	}
	u.next(u.some(u.plan.Every))
}

func (p *producer) act(u *user, _ uint64) {
	w := u.world
	if u.listed() && w.phase <= draining {
		p.actListed(u)
		return
	}
	if w.phase > draining || u.plan.Count > 0 && p.sent >= int64(u.plan.Count) {
		return
	}
	u.next(u.some(u.plan.Every))
	if u.naps() {
		return
	}
	if p.open > 500 {
		return // the cluster does not keep up: press no harder
	}
	burst := 1
	if u.plan.Burst > 1 {
		burst = int(u.random.Between(1, int64(u.plan.Burst)))
	}
	batch := make(client.Inputs, 0, burst)
	for range burst {
		batch = append(batch, p.publish(u, p.draw(u)))
	}
	u.step(batch)
}

// naps says whether the producer publishes nothing for the time being.
func (u *user) naps() bool {
	turn := u.plan.Work + u.plan.Nap
	return u.plan.Nap > 0 && u.world.now%turn >= u.plan.Work
}

// draw draws what to publish.
func (p *producer) draw(u *user) *ClientOp {
	op := &p.drawn
	*op = ClientOp{Do: "publish", Topic: u.plan.Topics[u.random.Below(int64(len(u.plan.Topics)))]}
	if u.plan.Keys > 0 {
		op.Key = u.drawKey()
	}
	op.Headers = u.plan.Headers && u.random.OneIn(4)
	if n := int64(u.plan.Outsize); n > 0 && p.sent%n == n-1 && p.sent < 3*n {
		op.Size = outsize
	}
	return op
}

// largestBatch is the size of the largest batch that any topic in a plan takes, and
// outsize the value of a record that fits into none.
const (
	largestBatch = 1 << 20
	outsize      = largestBatch + 1
)

// publish prepares one record and notes it in the history.
func (p *producer) publish(u *user, op *ClientOp) client.Input {
	w := u.world
	if w.options.Record {
		u.note(*op)
	}
	p.sent++
	p.open++
	in := client.Publish{Topic: op.Topic, Partition: client.AnyPartition, Value: u.value(p.sent, op.Size)}
	if op.Partition != nil {
		in.Partition = int32(*op.Partition)
	}
	if op.Key != "" {
		in.Key = []byte(op.Key)
	}
	if op.Headers {
		name := "n"
		if p.sent%3 == 0 {
			name = letters[:200]
		}
		in.Headers = []record.RecordHeader{{Key: []byte(name), Value: []byte(strconv.FormatInt(p.sent, 10))}, {Key: []byte("none")}}
	}
	o := u.publishes(&in, p.sent, 0)
	if op.Partition == nil {
		o.text = op.Key
	}
	p.bytes += o.arg
	return in
}

// publishes notes a record that is about to be published: the client's so-and-so
// many-th, in a transaction or, with 0, in none.
func (u *user) publishes(in *client.Publish, sent, transaction int64) *openOp {
	w := u.world
	in.Timestamp = u.clock.now(w.now).Wall
	u.lastOp++
	in.Op = u.lastOp
	idempotent := u.plan.Idempotent && u.plan.Acks == -1
	acks := int8(u.plan.Acks)
	if transaction > 0 {
		acks, idempotent = -1, true
	}
	id := w.history.Begin(history.Operation{
		Client: int32(u.plan.ID), Session: u.session, Kind: history.Publish, Invoke: int64(w.now),
		Topic: in.Topic, Partition: -1, Key: in.Key, Value: in.Value, Headers: headers(in.Headers),
		Timestamp: int64(in.Timestamp), Acks: acks, Idempotent: idempotent, Transaction: transaction,
		Offset: history.None, Sequence: sent, HighWatermark: history.None, LogStart: history.None,
	})
	o := u.newPublish(id)
	o.arg = int64(record.SizeBound(in.Key, in.Value, in.Headers))
	u.ops[in.Op] = o
	if w.witness != nil {
		w.witness.asks(u, o, &history.Operation{Topic: in.Topic, Value: in.Value})
	}
	return o
}

// letters is the alphabet, again and again.
var letters = strings.Repeat("abcdefghijklmnopqrstuvwxyz", 10)

// value is that of the client's so-and-so many-th record.
func (u *user) value(sent int64, size int) []byte {
	if size == 0 {
		size = u.plan.Size
	}
	v := make([]byte, 0, max(24, size))
	v = append(v, 'c')
	v = strconv.AppendInt(v, int64(u.plan.ID), 10)
	v = append(v, '.')
	v = strconv.AppendInt(v, int64(u.session), 10)
	v = append(v, '-')
	v = strconv.AppendInt(v, sent, 10)
	if len(v) < size {
		v = append(v, '|')
		for n := len(v); n < size; n = len(v) {
			v = append(v, letters[n%26:][:min(size-n, len(letters)-n%26)]...)
		}
	}
	return v
}

func (p *producer) done(u *user, op *openOp, result *client.Result) {
	if op.what != opPublish {
		return
	}
	if e := result.Err; e != nil && e.Problem == client.BufferFull {
		p.turnedAway(u)
	}
	if result.Outcome == client.OK {
		p.keyed(u, op.text, &result.Published)
	} else if !u.inVain {
		u.inVain = u.world.hadItsChance(&u.world.history.Operations()[op.id])
	}
	p.open--
	p.bytes -= op.arg
}

// turnedAway is INV-38 the other way round: what has its result gives its room
// back, so a record for which there is room is not turned away.
func (p *producer) turnedAway(u *user) {
	if p.bytes <= int64(u.plan.Buffer) {
		u.world.fail("INV-38", 0, "a record is turned away although there is room", "client %d has %d bytes of records without a result, this one included, and room for %d; yet it is told that its buffer is full", u.plan.ID, p.bytes, u.plan.Buffer)
	}
}

func (p *producer) event(*user, *client.Event) {}

func (p *producer) idle(*user) (string, bool) {
	if p.open > 0 {
		return strconv.Itoa(p.open) + " publishes without a result", false
	}
	return "", true
}
