package client_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/tamarack-mq/tamarack/client"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/transport/tcp"
)

// fake is a cluster of one broker that lives in the test: one topic, orders,
// with two partitions, and groups of one member that own everything. It knows
// producers as a real log does, and it can be deaf or cut off.
type fake struct {
	mu      sync.Mutex
	news    *sync.Cond
	logs    [2][]byte
	ends    [2]record.Offset
	known   map[sequence]record.Offset
	offsets map[record.PartitionID]message.GroupOffset
	conns   map[*line]bool
	silent  map[message.Kind]bool // requests of this kind are not answered
	ignored chan message.Kind     // tells of the first of them
	down    error                 // nobody can connect
	stopped bool

	transactions transactions
}

// sequence is how a broker knows a batch again.
type sequence struct {
	partition int32
	id        record.ProducerID
	epoch     record.ProducerEpoch
	base      record.Sequence
}

const ordersID = record.TopicID(3)

func newFake() *fake {
	f := &fake{transactions: newTransactions(), known: map[sequence]record.Offset{}, offsets: map[record.PartitionID]message.GroupOffset{},
		conns: map[*line]bool{}, silent: map[message.Kind]bool{}, ignored: make(chan message.Kind, 1)}
	f.news = sync.NewCond(&f.mu)
	return f
}

// line is one connection to the fake.
type line struct {
	f       *fake
	handler tcp.Handler
	// tell keeps one reply or end at a time, as a reading goroutine does.
	tell  sync.Mutex
	ended bool
}

func (f *fake) dial(ctx context.Context, address string, want message.NodeID, handler tcp.Handler) (client.Conn, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.down != nil {
		return nil, f.down
	}
	l := &line{f: f, handler: handler}
	f.conns[l] = true
	return l, nil
}

// cut ends all connections; what was not answered never will be.
func (f *fake) cut() {
	f.mu.Lock()
	lines := make([]*line, 0, len(f.conns))
	for l := range f.conns {
		lines = append(lines, l)
	}
	clear(f.conns)
	f.mu.Unlock()
	for _, l := range lines {
		l.end(errors.New("cut"))
	}
}

func (f *fake) stop() {
	f.mu.Lock()
	f.stopped = true
	f.mu.Unlock()
	f.news.Broadcast()
}

func (l *line) end(err error) {
	l.tell.Lock()
	defer l.tell.Unlock()
	if !l.ended {
		l.ended = true
		l.handler.Closed(err)
	}
}

// Send serves the request; records are copied, as a network does.
func (l *line) Send(correlation uint64, m message.Request) error {
	l.f.mu.Lock()
	live := l.f.conns[l]
	l.f.mu.Unlock()
	if !live {
		return tcp.ErrClosed
	}
	serve := func() {
		if reply := l.f.serve(message.Detach(m).(message.Request)); reply != nil {
			l.tell.Lock()
			defer l.tell.Unlock()
			if !l.ended {
				l.handler.Replied(correlation, reply)
			}
		}
	}
	if _, ok := m.(*message.Produce); ok {
		// In the order in which they come, as a node takes them. Not from this
		// goroutine: the caller may hold locks that the handler wants.
		reply := l.f.serve(message.Detach(m).(message.Request))
		serve = func() {
			l.tell.Lock()
			defer l.tell.Unlock()
			if reply != nil && !l.ended {
				l.handler.Replied(correlation, reply)
			}
		}
	}
	go serve()
	return nil
}

func (l *line) Close() error {
	l.f.mu.Lock()
	delete(l.f.conns, l)
	l.f.mu.Unlock()
	go l.end(nil)
	return nil
}

func (f *fake) serve(m message.Request) message.Reply {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.silent[m.Kind()] {
		select {
		case f.ignored <- m.Kind():
		default:
		}
		return nil
	}
	switch m := m.(type) {
	case *message.Metadata:
		return f.metadata(m)
	case *message.InitProducerID:
		if m.TransactionalID != "" {
			return f.initTransactions(m)
		}
		return &message.InitProducerIDReply{ID: 70}
	case *message.EndTransaction:
		return f.endTransaction(m)
	case *message.CommitTransactionOffsets:
		return f.addOffsets(m)
	case *message.Produce:
		return f.produce(m)
	case *message.Fetch:
		return f.fetch(m)
	case *message.ListOffsets:
		a := message.Fail(m, message.None, "").(*message.ListOffsetsReply)
		for i, p := range m.Partitions {
			if a.Partitions[i].Offset = 0; p.Timestamp == message.Latest {
				a.Partitions[i].Offset = f.ends[p.ID.Index]
			}
		}
		return a
	case *message.OffsetForLeaderEpoch:
		a := message.Fail(m, message.None, "").(*message.OffsetForLeaderEpochReply)
		for i, q := range m.Partitions {
			a.Partitions[i].Epoch, a.Partitions[i].End = q.Epoch, f.ends[q.ID.Index]
		}
		return a
	case *message.FindCoordinator:
		return &message.FindCoordinatorReply{Node: 1}
	case *message.GroupHeartbeat:
		return &message.GroupHeartbeatReply{MemberEpoch: max(m.MemberEpoch, 1), Interval: message.Second, Assigned: true,
			Assignment: []record.PartitionID{{Topic: ordersID}, {Topic: ordersID, Index: 1}}}
	case *message.CommitOffsets:
		for _, o := range m.Offsets {
			f.offsets[o.ID] = o
		}
		return message.Fail(m, message.None, "")
	case *message.FetchOffsets:
		if m.Stable && f.transactions.unstable() {
			return &message.FetchOffsetsReply{Code: message.UnstableOffsetCommit}
		}
		a := &message.FetchOffsetsReply{}
		for _, id := range m.IDs {
			o, ok := f.offsets[id]
			if !ok {
				o = message.GroupOffset{ID: id, Offset: message.NoOffset, LeaderEpoch: record.NoLeaderEpoch}
			}
			a.Offsets = append(a.Offsets, o)
		}
		return a
	case *message.CreateTopic:
		return &message.CreateTopicReply{Code: message.InvalidPartitions, Detail: "a topic has at least one partition"}
	case *message.ListGroups:
		return &message.ListGroupsReply{Groups: []message.GroupListing{{Group: "g"}}}
	}
	return message.Fail(m, message.None, "")
}

func (f *fake) metadata(m *message.Metadata) message.Reply {
	r := &message.MetadataReply{ClusterID: "fake", Version: 1, Controller: 1, Brokers: []message.BrokerInfo{{ID: 1, Address: "fake:1"}}}
	orders := message.TopicInfo{Name: "orders", ID: ordersID, Partitions: []message.PartitionInfo{{Leader: 1}, {Index: 1, Leader: 1}}}
	for _, name := range m.Topics {
		if name == "orders" {
			r.Topics = append(r.Topics, orders)
		} else {
			r.Topics = append(r.Topics, message.TopicInfo{Name: name, Code: message.UnknownTopicOrPartition})
		}
	}
	if slices.Contains(m.IDs, ordersID) {
		r.Topics = append(r.Topics, orders)
	}
	return r
}

func (f *fake) produce(m *message.Produce) message.Reply {
	a := message.Fail(m, message.None, "").(*message.ProduceReply)
	for i, p := range m.Partitions {
		h, err := record.Validate(p.Records)
		if err != nil {
			panic(err)
		}
		key := sequence{p.ID.Index, h.ProducerID, h.ProducerEpoch, h.BaseSequence}
		at, again := f.known[key]
		if !again || h.ProducerID == record.NoProducerID {
			if code := f.open(&h, p.ID.Index); code != message.None {
				a.Partitions[i].Code = code
				continue
			}
			at = f.ends[p.ID.Index]
			record.Stamp(p.Records, at, 0)
			f.logs[p.ID.Index] = append(f.logs[p.ID.Index], p.Records...)
			f.ends[p.ID.Index] += record.Offset(h.Count)
			f.known[key] = at
		}
		a.Partitions[i].BaseOffset = at
	}
	f.news.Broadcast()
	return a
}

// fetch waits for something to read, as long as the request says.
func (f *fake) fetch(m *message.Fetch) message.Reply {
	late := false
	timer := time.AfterFunc(time.Duration(m.MaxWait), func() {
		f.mu.Lock()
		late = true
		f.mu.Unlock()
		f.news.Broadcast()
	})
	defer timer.Stop()
	for {
		a := message.Fail(m, message.None, "").(*message.FetchReply)
		some := false
		for i, p := range m.Partitions {
			e := &a.Partitions[i]
			e.HighWatermark, e.LastStable, e.LogStart = f.ends[p.ID.Index], f.transactions.stable(p.ID.Index, f.ends[p.ID.Index]), 0
			if m.Isolation == message.ReadCommitted {
				e.Aborted = f.transactions.aborted[p.ID.Index]
			}
			it := record.Batches(f.logs[p.ID.Index])
			for it.Next() {
				if it.Header.End() > p.Offset && (m.Isolation == message.ReadUncommitted || it.Header.BaseOffset < e.LastStable) {
					e.Records = append(e.Records, it.Bytes...)
					some = true
				}
			}
		}
		if some || late || f.stopped {
			return a
		}
		f.news.Wait()
	}
}

// values are all values of a partition's log, in order.
func (f *fake) values(partition int) (list []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	it := record.Batches(f.logs[partition])
	for it.Next() {
		r := record.Records(&it.Header, record.Payload(it.Bytes))
		for r.Next() {
			list = append(list, string(r.Record.Value))
		}
	}
	return list
}

func ordersPart(index int32) record.PartitionID {
	return record.PartitionID{Topic: ordersID, Index: index}
}

// shortly is a context for a poll that may find nothing.
func shortly(ctx context.Context) context.Context {
	brief, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	context.AfterFunc(brief, cancel)
	return brief
}
