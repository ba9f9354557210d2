package client

import (
	"fmt"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// world is a small cluster that keeps to the protocol, behind a network that
// loses, delays and repeats nothing but what a network may: requests are lost
// or arrive after the client has given them up, and so are answers. Leaders
// change, and records that nobody was told of may go with the old one.
type world struct {
	*play
	t       *rapid.T
	logs    [3][]appended
	sure    [3]int // records that somebody was told are in the log
	stale   []Call // requests that were given up and may still arrive
	nextID  record.ProducerID
	sentTo  map[Op]int32
	values  map[Op]int
	counter int
}

// appended is one batch in a log.
type appended struct {
	id     record.ProducerID
	epoch  record.ProducerEpoch
	first  record.Sequence
	values []int
}

func (w *world) size(p int32) (n int) {
	for _, b := range w.logs[p] {
		n += len(b.values)
	}
	return n
}

// append does what the leader's log does: the rules of core/log's Check.
func (w *world) append(p int32, batch []byte) (message.Code, record.Offset) {
	h, err := record.Validate(batch)
	require.NoError(w.t, err)
	b := appended{id: h.ProducerID, epoch: h.ProducerEpoch, first: h.BaseSequence}
	it := record.Records(&h, record.Payload(batch))
	for it.Next() {
		v, _ := strconv.Atoi(string(it.Record.Value))
		b.values = append(b.values, v)
	}
	if code, at, decided := w.judge(p, b); decided {
		return code, at
	}
	at := w.size(p)
	w.logs[p] = append(w.logs[p], b)
	return message.None, record.Offset(at)
}

func (w *world) judge(p int32, b appended) (message.Code, record.Offset, bool) {
	if b.id == record.NoProducerID {
		return 0, 0, false
	}
	type known struct {
		appended
		at int
	}
	var mine []known
	at := 0
	for _, old := range w.logs[p] {
		if old.id == b.id {
			mine = append(mine, known{old, at})
		}
		at += len(old.values)
	}
	if len(mine) == 0 {
		if b.first != 0 {
			return message.UnknownProducerID, 0, true
		}
		return 0, 0, false
	}
	last := mine[len(mine)-1]
	switch {
	case b.epoch < last.epoch:
		return message.InvalidProducerEpoch, 0, true
	case b.epoch > last.epoch && b.first != 0:
		return message.OutOfOrderSequence, 0, true
	case b.epoch > last.epoch:
		return 0, 0, false
	}
	for _, k := range mine[max(0, len(mine)-5):] {
		if k.epoch == b.epoch && k.first == b.first && len(k.values) == len(b.values) {
			return message.None, record.Offset(k.at), true
		}
	}
	if b.first != record.AddSequence(last.first, int32(len(last.values))) {
		return message.OutOfOrderSequence, 0, true
	}
	return 0, 0, false
}

// serve lets a node look at a request; answer is nil when it stays silent.
func (w *world) serve(c Call) message.Reply {
	switch r := c.Request.(type) {
	case *message.Metadata:
		reply := w.image
		return &reply
	case *message.InitProducerID:
		w.nextID++
		return &message.InitProducerIDReply{ID: w.nextID}
	case *message.Produce:
		m := refusal(r, message.None)
		for i, p := range r.Partitions {
			e := &m.Partitions[i]
			info := w.image.Topics[0].Partitions[p.ID.Index]
			if info.Leader != c.Node {
				e.Code, e.Leader, e.LeaderEpoch = message.NotLeaderOrFollower, info.Leader, info.LeaderEpoch
				continue
			}
			if rapid.IntRange(0, 9).Draw(w.t, "short of replicas") == 0 {
				e.Code = message.NotEnoughReplicas
				continue
			}
			e.Code, e.BaseOffset = w.append(p.ID.Index, slices.Clone(p.Records))
			if e.Code == message.None && rapid.IntRange(0, 9).Draw(w.t, "not replicated in time") == 0 {
				e.Code = message.NotEnoughReplicasAfterAppend
			}
		}
		return m
	}
	w.t.Fatalf("nobody answers %s", c.Request.Kind())
	return nil
}

// reply hands an answer to the client, which may rely on it from now on.
func (w *world) reply(c Call, r message.Reply) {
	if m, ok := r.(*message.ProduceReply); ok {
		for i, p := range c.Request.(*message.Produce).Partitions {
			if m.Partitions[i].Code == message.None {
				h, _ := record.DecodeHeader(p.Records)
				w.sure[p.ID.Index] = max(w.sure[p.ID.Index], int(m.Partitions[i].BaseOffset)+int(h.Count))
			}
		}
	}
	w.answer(c, r)
}

// elect moves a partition; what nobody was told of may be lost.
func (w *world) elect() {
	p := rapid.Int32Range(0, 2).Draw(w.t, "partition")
	lost := rapid.IntRange(0, 2).Draw(w.t, "batches lost")
	for ; lost > 0 && len(w.logs[p]) > 0; lost-- {
		last := w.logs[p][len(w.logs[p])-1]
		if w.size(p)-len(last.values) < w.sure[p] {
			break
		}
		w.logs[p] = w.logs[p][:len(w.logs[p])-1]
	}
	info := w.image.Topics[0].Partitions[p]
	leader := message.NodeID(rapid.IntRange(0, 3).Draw(w.t, "leader"))
	w.moves(p, leader, info.LeaderEpoch+1)
}

func (w *world) step1() {
	take := func(from *[]Call) Call {
		i := rapid.IntRange(0, len(*from)-1).Draw(w.t, "which")
		c := (*from)[i]
		*from = slices.Delete(*from, i, i+1)
		return c
	}
	switch what := rapid.IntRange(0, 11).Draw(w.t, "what"); {
	case what <= 3:
		w.counter++
		p := rapid.Int32Range(0, 2).Draw(w.t, "to")
		op := w.publish(p, strconv.Itoa(w.counter))
		w.sentTo[op], w.values[op] = p, w.counter
	case what <= 6 && len(w.calls) > 0:
		c := take(&w.calls)
		w.reply(c, w.serve(c))
	case what == 7 && len(w.calls) > 0: // the answer is lost
		c := take(&w.calls)
		w.serve(c)
		if rapid.Bool().Draw(w.t, "noticed") {
			w.break_(c)
		}
	case what == 8 && len(w.calls) > 0: // the request is late, or lost
		c := take(&w.calls)
		w.stale = append(w.stale, c)
		if rapid.Bool().Draw(w.t, "noticed") {
			w.break_(c)
		}
	case what == 9 && len(w.stale) > 0:
		w.serve(take(&w.stale))
	case what == 10:
		w.elect()
	default:
		w.pass(message.Duration(rapid.IntRange(1, 4000).Draw(w.t, "ms")) * message.Millisecond)
	}
}

// settle ends the faults and lets everything come to rest.
func (w *world) settle() {
	for p := range int32(3) {
		w.moves(p, message.NodeID(p+1), w.image.Topics[0].Partitions[p].LeaderEpoch+1)
	}
	for range 200 {
		for len(w.calls) > 0 {
			c := w.calls[0]
			w.calls = w.calls[1:]
			w.reply(c, w.serve(c))
		}
		w.pass(message.Second)
	}
	for _, c := range w.stale { // what comes after everything is over changes nothing either
		w.serve(c)
	}
}

func checkProducer(t *rapid.T, idempotent bool) *world {
	w := &world{t: t, sentTo: map[Op]int32{}, values: map[Op]int{}}
	w.play = newPlay(t, func(c *Config) {
		c.Idempotent = idempotent
		c.DeliveryTimeout = 8 * message.Second
		c.RequestTimeout = 3 * message.Second
		c.BatchBytes = 120
		c.Linger = message.Duration(rapid.IntRange(0, 1).Draw(t, "linger")) * 100 * message.Millisecond
	})
	for range rapid.IntRange(1, 120).Draw(t, "steps") {
		w.step1()
	}
	w.settle()
	for op := Op(1); op <= w.op; op++ {
		r, ok := w.done[op]
		require.True(t, ok, "operation %d has no result", op)
		flat := w.flat(w.sentTo[op])
		switch r.Outcome {
		case OK:
			at := int(r.Published.Offset)
			require.True(t, at < len(flat) && flat[at] == w.values[op], "value %d is not at offset %d of %v", w.values[op], at, flat)
		case NotDone:
			require.NotContains(t, flat, w.values[op], "a failed record was appended: %v", r.Err)
		}
	}
	return w
}

func (w *world) flat(p int32) (values []int) {
	for _, b := range w.logs[p] {
		values = append(values, b.values...)
	}
	return values
}

// INV-10, INV-27, INV-28 and the order of one producer, for whatever a network
// and elections can do.
func TestIdempotentRecordsAreInOrderAndOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := checkProducer(t, true)
		for p := range int32(3) {
			flat := w.flat(p)
			for i := 1; i < len(flat); i++ {
				require.Less(t, flat[i-1], flat[i], "partition %d: %v", p, w.logs[p])
			}
		}
	})
}

func TestPlainRecordsHaveTrueAnswers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { checkProducer(t, false) })
}

func TestOneSeedGivesOneStory(t *testing.T) {
	run := func() (story []string) {
		s := warm(t, nil)
		for i := range 30 {
			s.publish(int32(i%3), fmt.Sprint(i))
			if i%5 == 4 {
				c, _ := nextProduce(s)
				s.break_(c)
				s.pass(message.Second)
			}
			story = append(story, fmt.Sprint(s.now, s.c.Wake(), s.kinds()))
		}
		return story
	}
	require.Equal(t, run(), run())
}
