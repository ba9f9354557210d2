package group

import (
	"slices"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/ledger"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/core/verify"
)

// topicTable is a cluster image with nothing but topics.
type topicTable struct {
	rows   map[string]topicRow
	last   record.TopicID
	epochs map[record.PartitionID]record.LeaderEpoch // where it is not 7
}

func (t *topicTable) LeaderEpoch(p record.PartitionID) record.LeaderEpoch {
	if e, ok := t.epochs[p]; ok {
		return e
	}
	return 7
}

func (t *topicTable) ByName(name string) (record.TopicID, int32, bool) {
	row, ok := t.rows[name]
	return row.id, row.partitions, ok
}

func (t *topicTable) ByID(id record.TopicID) (string, int32, bool) {
	for _, row := range t.rows {
		if row.id == id {
			return row.name, row.partitions, true
		}
	}
	return "", 0, false
}

// entry is one batch in the log of the bench.
type entry struct {
	base      record.Offset
	batch     []byte
	ticket    uint64
	committed bool
}

// tester is a *testing.T or a *rapid.T.
type tester interface {
	require.TestingT
	Helper()
}

// bench runs a coordinator with one shard over a log in memory.
type bench struct {
	t      tester
	cfg    Config
	c      *Coordinator
	now    message.Now
	topics *topicTable
	epoch  record.LeaderEpoch
	out    Out

	log     []entry
	start   record.Offset
	end     record.Offset
	hold    bool // appends stay uncommitted until commit is called
	noLoad  bool // loads are not carried out
	loads   int
	trims   []Trim
	token   message.Token
	answers map[message.Token]message.Reply

	questions []verify.Question // to coordinators of transactions, not answered
	ticket    uint64            // of the marker that came last
	resolved  map[uint64]message.Code
}

func newBench(t tester, cfg Config) *bench {
	b := &bench{
		t: t, cfg: cfg,
		topics:  &topicTable{rows: map[string]topicRow{}, last: 100},
		answers: map[message.Token]message.Reply{}, resolved: map[uint64]message.Code{},
		now: message.Now{Mono: 1000, Wall: 1_700_000_000_000},
	}
	b.topics.rows[TopicName] = topicRow{name: TopicName, id: 1, partitions: 1, ok: true}
	b.failover()
	return b
}

// failover starts a new coordinator on the committed log; what was not
// committed is lost.
func (b *bench) failover() {
	b.log = slices.DeleteFunc(b.log, func(e entry) bool { return !e.committed })
	b.takeOver()
}

// takeOver starts a new coordinator on the whole log: what was not committed
// reached the new leader all the same.
func (b *bench) takeOver() {
	for i := range b.log {
		b.log[i].committed = true
	}
	b.end = b.start
	if n := len(b.log); n > 0 {
		b.end = b.endOf(n - 1)
	}
	b.epoch++
	b.out, b.questions = Out{}, nil
	b.c = New(b.cfg)
	b.c.Topics(b.now, b.topics, nil, &b.out)
	b.c.Lead(b.now, 0, b.epoch, &b.out)
	b.settle()
}

func (b *bench) endOf(i int) record.Offset {
	h, err := record.DecodeHeader(b.log[i].batch)
	require.NoError(b.t, err)
	return h.End()
}

// topic makes, grows or (with no partitions) deletes a topic.
func (b *bench) topic(name string, partitions int32) record.TopicID {
	row, ok := b.topics.rows[name]
	switch {
	case partitions == 0:
		delete(b.topics.rows, name)
	case !ok:
		b.topics.last++
		row = topicRow{name: name, id: b.topics.last, partitions: partitions, ok: true}
		b.topics.rows[name] = row
	default:
		row.partitions = partitions
		b.topics.rows[name] = row
	}
	b.c.Topics(b.now, b.topics, []record.TopicID{row.id}, &b.out)
	b.settle()
	return row.id
}

// settle carries out what the coordinator asked for, until nothing is left.
func (b *bench) settle() {
	for {
		out := b.out
		b.out = Out{}
		require.Empty(b.t, out.Halt)
		for _, r := range out.Replies {
			require.NotContains(b.t, b.answers, r.Token, "answered twice")
			b.answers[r.Token] = r.Msg
		}
		b.questions = append(b.questions, out.Verify...)
		for _, r := range out.Resolved {
			require.NotContains(b.t, b.resolved, r.Ticket, "answered twice")
			b.resolved[r.Ticket] = r.Code
		}
		for _, a := range out.Appends {
			b.append(a)
		}
		b.trims = append(b.trims, out.Trims...)
		b.loads += len(out.Loads)
		if len(out.Loads) > 0 && !b.noLoad {
			b.replay()
		}
		if len(out.Appends) == 0 && len(out.Loads) == 0 {
			return
		}
		if !b.hold {
			b.commit(len(b.log))
		}
	}
}

func (b *bench) append(a Append) {
	require.Equal(b.t, b.epoch, a.Epoch)
	require.LessOrEqual(b.t, len(a.Batch), 1<<20, "a batch must fit the topic's limit")
	record.Stamp(a.Batch, b.end, a.Epoch)
	h, err := record.Validate(a.Batch)
	require.NoError(b.t, err)
	b.log = append(b.log, entry{base: b.end, batch: a.Batch, ticket: a.Ticket})
	b.end = h.End()
}

// commit commits the first n batches of the log.
func (b *bench) commit(n int) {
	for i := range b.log[:n] {
		if e := &b.log[i]; !e.committed {
			e.committed = true
			b.c.Wrote(b.now, e.ticket, message.None, e.base, &b.out)
		}
	}
}

// refuse fails all appends that are under way. Their batches stay in the log
// (lost false) or never got there.
func (b *bench) refuse(code message.Code, lost bool) {
	failed := []entry{}
	for _, e := range b.log {
		if !e.committed {
			failed = append(failed, e)
		}
	}
	if lost {
		b.log = slices.DeleteFunc(b.log, func(e entry) bool { return !e.committed })
		if len(failed) > 0 {
			b.end = failed[0].base
		}
	}
	for _, e := range failed {
		b.c.Wrote(b.now, e.ticket, code, -1, &b.out)
	}
}

// replay answers a Load with the committed log, a batch at a time.
func (b *bench) replay() {
	for _, e := range b.log {
		if e.committed && e.base >= b.start {
			b.c.Replayed(b.now, 0, b.epoch, e.batch, false, &b.out)
		}
	}
	b.c.Replayed(b.now, 0, b.epoch, nil, true, &b.out)
}

// trim moves the log start as the coordinator asked.
func (b *bench) trim() {
	for _, t := range b.trims {
		b.start = max(b.start, t.Before)
	}
	b.trims = nil
	b.log = slices.DeleteFunc(b.log, func(e entry) bool { return e.committed && e.base < b.start })
}

// send hands a request over; answer looks for its reply.
func (b *bench) send(m message.Request) message.Token {
	b.token++
	b.c.Request(b.now, b.token, m, &b.out)
	b.settle()
	return b.token
}

func (b *bench) answer(token message.Token) message.Reply {
	reply := b.answers[token]
	delete(b.answers, token)
	return reply
}

// ask is send for requests that are answered at once.
func (b *bench) ask(m message.Request) message.Reply {
	token := b.send(m)
	require.Contains(b.t, b.answers, token, "no answer to %v", m.Kind())
	return b.answer(token)
}

// pass lets time pass, in the steps that the coordinator wants.
func (b *bench) pass(d message.Duration) {
	end := b.now.Mono.Add(d)
	for b.c.Wake() <= end {
		b.until(max(b.c.Wake(), b.now.Mono))
		b.c.Tick(b.now, &b.out)
		b.settle()
	}
	b.until(end)
}

func (b *bench) until(at message.Time) {
	b.now.Wall += record.Timestamp(at.Sub(b.now.Mono) / message.Millisecond)
	b.now.Mono = at
}

// bytes is the committed log from its start.
func (b *bench) bytes() []byte {
	var all []byte
	for _, e := range b.log {
		if e.committed && e.base >= b.start {
			all = append(all, e.batch...)
		}
	}
	return all
}

// sound checks what must hold at any moment: one owner for each partition
// (INV-21), and memory equal to a replay of the log, also of a compacted one
// (INV-23).
func (b *bench) sound() {
	b.t.Helper()
	type place struct {
		group string
		p     record.PartitionID
	}
	owners := map[place]Owner{}
	b.c.EachOwner(func(_ int32, o Owner) bool {
		other, twice := owners[place{o.Group, o.Partition}]
		require.False(b.t, twice, "two owners: %v and %v", o, other)
		owners[place{o.Group, o.Partition}] = o
		return true
	})
	digest, serving := b.c.Digest(0)
	if !serving || b.c.Views()[0].Pending > 0 {
		return
	}
	replayed, err := Fold(b.bytes())
	require.NoError(b.t, err)
	require.Equal(b.t, replayed, digest, "memory is not what replay gives")
	compacted, err := Fold(compact(b.t, b.bytes()))
	require.NoError(b.t, err)
	require.Equal(b.t, compacted, digest, "memory is not what the compacted log gives")
}

// compact keeps the latest record of each key, and no tombstones.
func compact(t tester, batches []byte) []byte {
	latest := map[key]int{}
	var all []change
	require.NoError(t, ledger.Each(batches, decode, func(_ record.Offset, c change) {
		latest[c.key] = len(all)
		all = append(all, c)
	}))
	var kept []change
	for i, c := range all {
		if latest[c.key] == i && c.value != nil {
			kept = append(kept, c)
		}
	}
	if len(kept) == 0 {
		return nil
	}
	return slices.Concat(ledger.Encode(kept, 0, 1<<20)...)
}

// process is a well-behaved member: it owns what it is told, at once.
type process struct {
	b        *bench
	group    string
	id       string
	instance string
	topics   []string
	epoch    message.MemberEpoch
	owned    []record.PartitionID
}

func (b *bench) process(group, id string, topics ...string) *process {
	return &process{b: b, group: group, id: id, topics: topics}
}

// request is a full heartbeat.
func (p *process) request() *message.GroupHeartbeat {
	r := &message.GroupHeartbeat{
		Group: p.group, Member: p.id, MemberEpoch: p.epoch, Instance: p.instance,
		Full: true, SessionTimeout: 30 * message.Second, RebalanceTimeout: 60 * message.Second,
		Topics: p.topics, Owned: p.owned,
	}
	if p.epoch == message.JoinEpoch {
		r.Owned = nil
	}
	return r
}

// beat sends a heartbeat and takes the reply over.
func (p *process) beat() *message.GroupHeartbeatReply {
	reply := p.b.ask(p.request()).(*message.GroupHeartbeatReply)
	p.take(reply)
	p.b.sound()
	return reply
}

func (p *process) take(reply *message.GroupHeartbeatReply) {
	switch reply.Code {
	case message.None:
		p.epoch = reply.MemberEpoch
		if reply.Assigned {
			p.owned = reply.Assignment
		}
	case message.UnknownMemberID, message.FencedMemberEpoch, message.FencedInstanceID:
		p.epoch, p.owned = message.JoinEpoch, nil
	}
}

// commit commits one offset as the member that the process is.
func (p *process) commit(id record.PartitionID, offset record.Offset) *message.CommitOffsetsReply {
	reply := p.b.ask(&message.CommitOffsets{
		Group: p.group, Member: p.id, MemberEpoch: p.epoch,
		Offsets: []message.GroupOffset{{ID: id, Offset: offset, LeaderEpoch: 7}},
	}).(*message.CommitOffsetsReply)
	p.b.sound()
	return reply
}

func parts(topic record.TopicID, indexes ...int32) []record.PartitionID {
	var set []record.PartitionID
	for _, i := range indexes {
		set = append(set, record.PartitionID{Topic: topic, Index: i})
	}
	return set
}
