package client

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/chance"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// play is a client with its calls, results and events laid out, for a test
// that plays the cluster by hand.
type play struct {
	t      failer
	c      *Client
	now    message.Now
	out    Out
	calls  []Call // without an answer
	ahead  []Call // fetches that wait for records: see owner
	done   map[Op]Result
	events []Event
	hung   []message.NodeID
	op     Op
	image  message.MetadataReply
}

// failer is what testing.T and rapid.T have in common.
type failer interface {
	require.TestingT
	Helper()
	Fatalf(string, ...any)
}

const (
	ordersID = record.TopicID(7)
	auditID  = record.TopicID(9)
)

var (
	orders0 = record.PartitionID{Topic: ordersID}
	orders1 = record.PartitionID{Topic: ordersID, Index: 1}
	orders2 = record.PartitionID{Topic: ordersID, Index: 2}
)

// newPlay is a client of three brokers with topic orders, whose partition i is
// led by node i+1, and topic audit, led by node 1.
func newPlay(t failer, change func(*Config)) *play {
	cfg := DefaultConfig("boot:1")
	if change != nil {
		change(&cfg)
	}
	s := &play{t: t, done: map[Op]Result{}, now: message.Now{Mono: message.Time(message.Second), Wall: 1_000}}
	s.image = message.MetadataReply{ClusterID: "c", Version: 10, Controller: 1}
	for i := range 3 {
		s.image.Brokers = append(s.image.Brokers, message.BrokerInfo{ID: message.NodeID(i + 1), Address: fmt.Sprintf("node%d:1", i+1)})
	}
	orders := message.TopicInfo{Name: "orders", ID: ordersID}
	for i := range 3 {
		orders.Partitions = append(orders.Partitions, message.PartitionInfo{Index: int32(i), Leader: message.NodeID(i + 1), LeaderEpoch: 5})
	}
	audit := message.TopicInfo{Name: "audit", ID: auditID, Partitions: []message.PartitionInfo{{Leader: 1, LeaderEpoch: 5}}}
	s.image.Topics = []message.TopicInfo{orders, audit}
	s.c = New(cfg, chance.New(1), s.now)
	return s
}

// step feeds one input and files what comes out.
func (s *play) step(in Input) {
	s.c.Step(s.now, in, &s.out)
	for _, e := range s.out.List {
		switch e := e.(type) {
		case Call:
			if !e.NoReply {
				s.calls = append(s.calls, e)
			}
		case Done:
			if _, twice := s.done[e.Op]; twice {
				s.t.Fatalf("operation %d is done twice", e.Op)
			}
			s.done[e.Op] = e.Result
		case Event:
			s.events = append(s.events, e)
		case Hangup:
			s.hung = append(s.hung, e.Node)
		}
	}
	s.out.Empty()
}

// do feeds an operation that f makes of a fresh Op.
func (s *play) do(f func(Op) Input) Op {
	s.op++
	s.step(f(s.op))
	return s.op
}

// pass lets time pass, with a tick whenever the client wants one.
func (s *play) pass(d message.Duration) {
	end := s.now.Mono.Add(d)
	for ticks := 0; s.c.Wake() <= end; ticks++ {
		if ticks > 20_000 {
			s.t.Fatalf("a timer spins")
		}
		if w := s.c.Wake(); w > s.now.Mono {
			s.advance(w.Sub(s.now.Mono))
		}
		s.step(Tick{})
	}
	s.advance(end.Sub(s.now.Mono))
}

func (s *play) advance(d message.Duration) {
	s.now.Mono = s.now.Mono.Add(d)
	s.now.Wall += record.Timestamp(d / message.Millisecond)
}

// next takes the oldest call of a kind, and fails the test when there is none.
func next[R message.Request](s *play) (Call, R) {
	s.t.Helper()
	for i, c := range s.calls {
		if r, ok := c.Request.(R); ok {
			s.calls = slices.Delete(s.calls, i, i+1)
			return c, r
		}
	}
	var want R
	s.t.Fatalf("no call of kind %s; there are %v", want.Kind(), s.kinds())
	panic("unreachable")
}

// has counts the calls of a kind.
func has[R message.Request](s *play) (n int) {
	for _, c := range s.calls {
		if _, ok := c.Request.(R); ok {
			n++
		}
	}
	return n
}

func (s *play) kinds() (kinds []string) {
	for _, c := range s.calls {
		kinds = append(kinds, fmt.Sprintf("%s to %v", c.Request.Kind(), c.Node))
	}
	return kinds
}

func (s *play) answer(c Call, r message.Reply) { s.step(Answered{c.Call, r}) }

func (s *play) break_(c Call) { s.step(Failed{c.Call, Broken}) }

// metadata answers the pending metadata request from the image.
func (s *play) metadata() {
	s.t.Helper()
	c, r := next[*message.Metadata](s)
	reply := s.image
	reply.Topics = nil
	for _, name := range r.Topics {
		i := slices.IndexFunc(s.image.Topics, func(t message.TopicInfo) bool { return t.Name == name })
		if i < 0 {
			reply.Topics = append(reply.Topics, message.TopicInfo{Name: name, Code: message.UnknownTopicOrPartition})
			continue
		}
		reply.Topics = append(reply.Topics, s.image.Topics[i])
	}
	for _, id := range r.IDs {
		i := slices.IndexFunc(s.image.Topics, func(t message.TopicInfo) bool { return t.ID == id })
		if i < 0 {
			reply.Topics = append(reply.Topics, message.TopicInfo{ID: id, Code: message.UnknownTopicID})
			continue
		}
		reply.Topics = append(reply.Topics, s.image.Topics[i])
	}
	s.answer(c, &reply)
}

// moves gives a partition of orders a new leader and epoch in the image.
func (s *play) moves(index int32, leader message.NodeID, epoch record.LeaderEpoch) {
	s.image.Version++
	parts := slices.Clone(s.image.Topics[0].Partitions)
	parts[index].Leader, parts[index].LeaderEpoch = leader, epoch
	s.image.Topics = slices.Clone(s.image.Topics)
	s.image.Topics[0].Partitions = parts
}

// producerID answers the pending InitProducerID.
func (s *play) producerID(id record.ProducerID) {
	s.t.Helper()
	c, _ := next[*message.InitProducerID](s)
	s.answer(c, &message.InitProducerIDReply{ID: id})
}

// publish sends a record with a value to a partition of orders.
func (s *play) publish(partition int32, value string) Op {
	return s.do(func(op Op) Input {
		return Publish{Op: op, Topic: "orders", Partition: partition, Value: []byte(value)}
	})
}

// warm is a play whose client knows the cluster and has a producer id; node 1
// has appended one record, "warm", at offset 0 of orders/0.
func warm(t *testing.T, change func(*Config)) *play {
	s := newPlay(t, change)
	op := s.publish(0, "warm")
	s.metadata()
	s.pass(s.c.cfg.Linger)
	if has[*message.InitProducerID](s) > 0 {
		s.producerID(40)
	}
	c, r := next[*message.Produce](s)
	s.answer(c, produced(r, 0))
	require.Equal(t, OK, s.done[op].Outcome)
	s.pass(2 * message.Second)
	return s
}

// produced acknowledges every batch of a request at an offset.
func produced(r *message.Produce, base record.Offset) *message.ProduceReply {
	m := &message.ProduceReply{}
	for _, p := range r.Partitions {
		m.Partitions = append(m.Partitions, message.ProducedPartition{ID: p.ID, BaseOffset: base})
	}
	return m
}

// refusal answers every batch of a request with a code.
func refusal(r *message.Produce, code message.Code) *message.ProduceReply {
	return message.Fail(r, code, "").(*message.ProduceReply)
}

// sent describes what a produce request carries: partition, epoch:sequence and
// values.
func sent(r *message.Produce) (list []string) {
	for _, p := range r.Partitions {
		h, err := record.Validate(p.Records)
		if err != nil {
			panic(err)
		}
		text := fmt.Sprintf("%v %d.%d:%d", p.ID, h.ProducerID, h.ProducerEpoch, h.BaseSequence)
		if h.ProducerID == record.NoProducerID {
			text = fmt.Sprintf("%v", p.ID)
		}
		it := record.Records(&h, record.Payload(p.Records))
		for it.Next() {
			text += " " + string(it.Record.Value)
		}
		list = append(list, text)
	}
	return list
}

// stored is a batch of values as a log holds it, from an offset on.
func stored(base record.Offset, epoch record.LeaderEpoch, values ...string) []byte {
	var b record.Builder
	for i, v := range values {
		if err := b.Append(record.Timestamp(100+i), nil, []byte(v), nil); err != nil {
			panic(err)
		}
	}
	bytes := b.Build()
	record.Stamp(bytes, base, epoch)
	return bytes
}

// given lists the values of a poll's result by partition.
func given(r Result) (list []string) {
	for _, d := range r.Polled {
		text := fmt.Sprintf("%s/%d", d.Topic, d.Partition)
		for _, x := range d.Records {
			text += fmt.Sprintf(" %d=%s", x.Offset, x.Value)
		}
		list = append(list, text)
	}
	return list
}

// told lists the events so far in short, and forgets them.
func (s *play) told() (list []string) {
	names := map[EventKind]string{Assigned: "assigned", Revoking: "revoking", Revoked: "revoked", Lost: "lost",
		EpochChanged: "epoch", Truncated: "truncated", Repositioned: "repositioned", Stuck: "stuck", Expelled: "expelled"}
	for _, e := range s.events {
		text := names[e.Kind]
		for _, p := range e.Partitions {
			text += fmt.Sprintf(" %s/%d", p.Topic, p.Partition)
		}
		switch e.Kind {
		case EpochChanged:
			text += fmt.Sprintf(" %d", e.MemberEpoch)
		case Truncated, Repositioned:
			text += fmt.Sprintf(" %d>%d", e.From, e.To)
		}
		list = append(list, text)
	}
	s.events = nil
	return list
}
