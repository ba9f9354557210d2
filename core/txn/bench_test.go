package txn

import (
	"slices"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/ledger"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// tester is a *testing.T or a *rapid.T.
type tester interface {
	require.TestingT
	Helper()
}

// marker is a control batch in a partition.
type marker struct {
	Identity
	Commit      bool
	Coordinator record.LeaderEpoch
}

// partition is what a partition's log says of the producers, by id.
type partition struct {
	leader  message.NodeID
	deleted bool
	markers []marker
	epochs  map[record.ProducerID]record.ProducerEpoch
	seen    map[record.ProducerID]record.LeaderEpoch // the highest coordinator epoch
}

// cluster is the rest of the cluster: partitions, their leaders, and producer ids.
type cluster struct {
	parts  map[record.PartitionID]*partition
	nextID record.ProducerID
	noIDs  bool
}

func (c *cluster) ByName(name string) (record.TopicID, int32, bool) { return 1, 1, name == TopicName }
func (c *cluster) Gone(p record.PartitionID) bool {
	return c.parts[p] != nil && c.parts[p].deleted
}

func (c *cluster) Leader(p record.PartitionID) message.NodeID {
	if part := c.parts[p]; part != nil && !part.deleted {
		return part.leader
	}
	return message.NoNode
}

func (c *cluster) Take() (record.ProducerID, bool) {
	if c.noIDs {
		return 0, false
	}
	c.nextID++
	return c.nextID, true
}

// mark writes markers as a leader does.
func (c *cluster) mark(node message.NodeID, m *message.WriteMarkers) *message.WroteMarkers {
	reply := &message.WroteMarkers{BrokerEpoch: m.BrokerEpoch, Request: m.Request}
	for _, id := range m.Partitions {
		code := message.None
		switch p := c.parts[id]; {
		case p == nil || p.deleted || p.leader != node:
			code = message.NotLeaderOrFollower
		case m.CoordinatorEpoch < p.seen[m.ID]:
			code = message.TransactionCoordinatorFenced
		default:
			p.seen[m.ID] = m.CoordinatorEpoch
			if last, known := p.epochs[m.ID]; !known || last < m.Epoch {
				p.epochs[m.ID] = m.Epoch
				p.markers = append(p.markers, marker{Identity{m.ID, m.Epoch}, m.Commit, m.CoordinatorEpoch})
			}
		}
		reply.Results = append(reply.Results, message.MarkerResult{ID: id, Code: code})
	}
	return reply
}

// written is one batch in the coordinator's log.
type written struct {
	base      record.Offset
	batch     []byte
	ticket    uint64
	committed bool
}

// bench runs a coordinator with one shard over a log in memory, among brokers
// that answer at once unless they are held.
type bench struct {
	t     tester
	cfg   Config
	c     *Coordinator
	now   message.Now
	epoch record.LeaderEpoch
	out   Out
	cluster

	log     []written
	history []byte // all that was ever committed
	start   record.Offset
	end     record.Offset
	hold    bool // appends stay uncommitted until commit is called
	mute    bool // messages stay in wire
	wire    []Send
	trims   []Trim
	token   message.Token
	answers map[message.Token]message.Reply
	request uint64
	added   map[uint64]message.Code
}

var one, two, three = record.PartitionID{Topic: 5, Index: 0}, record.PartitionID{Topic: 5, Index: 1}, record.PartitionID{Topic: 9, Index: 0}

func newBench(t tester, cfg Config) *bench {
	b := &bench{
		t: t, cfg: cfg, now: message.Now{Mono: 1000, Wall: 1_700_000_000_000},
		answers: map[message.Token]message.Reply{}, added: map[uint64]message.Code{},
		cluster: cluster{parts: map[record.PartitionID]*partition{}, nextID: 100},
	}
	b.lead(one, 1)
	b.lead(two, 2)
	b.lead(three, 1)
	b.failover()
	return b
}

// lead has a node lead a partition.
func (b *bench) lead(id record.PartitionID, node message.NodeID) {
	if b.parts[id] == nil {
		b.parts[id] = &partition{epochs: map[record.ProducerID]record.ProducerEpoch{}, seen: map[record.ProducerID]record.LeaderEpoch{}}
	}
	b.parts[id].leader = node
	b.image()
}

func (b *bench) image() {
	if b.c != nil {
		b.c.Image(b.now, b, &b.out)
		b.settle()
	}
}

// failover has another broker coordinate with what is committed; the rest is lost.
func (b *bench) failover() {
	b.log = slices.DeleteFunc(b.log, func(w written) bool { return !w.committed })
	b.takeOver()
}

// takeOver has another broker coordinate with the whole log: what was not
// committed reached it all the same.
func (b *bench) takeOver() {
	b.end = b.start
	for i := range b.log {
		b.committed(&b.log[i])
		b.end = b.endOf(b.log[i].batch)
	}
	b.epoch++
	b.out = Out{}
	b.c = New(b.cfg, b)
	b.c.SetEpoch(message.BrokerEpoch(b.epoch))
	b.c.Image(b.now, b, &b.out)
	b.c.Lead(b.now, 0, b.epoch, &b.out)
	b.settle()
}

func (b *bench) endOf(batch []byte) record.Offset {
	h, err := record.DecodeHeader(batch)
	require.NoError(b.t, err)
	return h.End()
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
		for _, a := range out.Appends {
			record.Stamp(a.Batch, b.end, a.Epoch)
			b.log = append(b.log, written{base: b.end, batch: a.Batch, ticket: a.Ticket})
			b.end = b.endOf(a.Batch)
		}
		b.trims = append(b.trims, out.Trims...)
		for range out.Loads {
			for _, w := range b.log {
				if w.committed && w.base >= b.start {
					b.c.Replayed(b.now, 0, b.epoch, w.batch, false, &b.out)
				}
			}
			b.c.Replayed(b.now, 0, b.epoch, nil, true, &b.out)
		}
		b.wire = append(b.wire, out.Sends...)
		for !b.mute && len(b.wire) > 0 {
			b.deliver(0)
		}
		if !b.hold {
			b.commit(len(b.log))
		}
		if len(b.out.Replies)+len(b.out.Appends)+len(b.out.Loads)+len(b.out.Sends)+len(b.out.Trims) == 0 {
			return
		}
	}
}

// deliver hands one message on the wire to whom it is for.
func (b *bench) deliver(i int) {
	s := b.wire[i]
	b.wire = slices.Delete(b.wire, i, i+1)
	switch m := s.Msg.(type) {
	case *message.WriteMarkers:
		b.wire = append(b.wire, Send{0, b.mark(s.To, m)})
	case *message.WroteMarkers:
		b.c.Marked(b.now, m, &b.out)
	case *message.AddedToTransaction:
		b.added[m.Request] = m.Code
		for _, o := range m.Others {
			b.added[o.Request] = o.Code
		}
	}
}

func (b *bench) committed(w *written) {
	if !w.committed {
		w.committed = true
		b.history = append(b.history, w.batch...)
	}
}

// commit commits the first n batches of the log.
func (b *bench) commit(n int) {
	for i := 0; i < n && i < len(b.log); i++ {
		if w := &b.log[i]; !w.committed {
			b.committed(w)
			b.c.Wrote(b.now, w.ticket, message.None, w.base, &b.out)
		}
	}
}

// release commits all, delivers all and goes on without holding.
func (b *bench) release() {
	b.hold, b.mute = false, false
	b.commit(len(b.log))
	b.settle()
}

// refuse fails all appends that are under way. Their batches stay in the log, or
// never got there when they are lost.
func (b *bench) refuse(code message.Code, lost bool) {
	var failed []written
	for _, w := range b.log {
		if !w.committed {
			failed = append(failed, w)
		}
	}
	if lost && len(failed) > 0 {
		b.log = slices.DeleteFunc(b.log, func(w written) bool { return !w.committed })
		b.end = failed[0].base
	}
	for _, w := range failed {
		b.c.Wrote(b.now, w.ticket, code, -1, &b.out)
	}
	b.settle()
}

// trim moves the log start as the coordinator asked.
func (b *bench) trim() {
	for _, t := range b.trims {
		b.start = max(b.start, t.Before)
	}
	b.trims = nil
	b.log = slices.DeleteFunc(b.log, func(w written) bool { return w.committed && w.base < b.start })
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

// send hands a request over.
func (b *bench) send(m message.Request) message.Token {
	b.token++
	b.c.Request(b.now, b.token, m, &b.out)
	b.settle()
	return b.token
}

// ask is send for requests that are answered at once.
func (b *bench) ask(m message.Request) message.Reply {
	token := b.send(m)
	require.Contains(b.t, b.answers, token, "no answer to %v", m.Kind())
	return b.answers[token]
}

// init asks for an identity.
func (b *bench) init(name string) *message.InitProducerIDReply {
	return b.ask(&message.InitProducerID{TransactionalID: name, Timeout: 10 * message.Second}).(*message.InitProducerIDReply)
}

// identify gets an identity, which must succeed.
func (b *bench) identify(name string) Identity {
	b.t.Helper()
	r := b.init(name)
	require.Equal(b.t, message.None, r.Code, r.Detail)
	return Identity{r.ID, r.Epoch}
}

// startAdd has the leader of partitions ask for them; added tells the answer.
func (b *bench) startAdd(name string, who Identity, set ...record.PartitionID) uint64 {
	b.request++
	b.c.Add(b.now, 1, &message.AddToTransaction{
		BrokerEpoch: 7, Request: b.request, TransactionalID: name, ID: who.ID, Epoch: who.Epoch, Partitions: set,
	}, &b.out)
	b.settle()
	return b.request
}

// add is startAdd with its answer.
func (b *bench) add(name string, who Identity, set ...record.PartitionID) message.Code {
	b.t.Helper()
	request := b.startAdd(name, who, set...)
	if _, answered := b.added[request]; !answered && !b.hold {
		b.pass(message.Millisecond) // others usually ask at the same time
	}
	require.Contains(b.t, b.added, request, "no answer")
	return b.added[request]
}

// endRequest is a question for the end of a transaction.
func endRequest(name string, who Identity, commit bool) *message.EndTransaction {
	return &message.EndTransaction{TransactionalID: name, ID: who.ID, Epoch: who.Epoch, Commit: commit}
}

func (b *bench) finish(name string, who Identity, commit bool) *message.EndTransactionReply {
	return b.ask(endRequest(name, who, commit)).(*message.EndTransactionReply)
}

// finished ends a transaction, which must succeed, and returns the next identity.
func (b *bench) finished(name string, who Identity, commit bool) Identity {
	b.t.Helper()
	r := b.finish(name, who, commit)
	require.Equal(b.t, message.None, r.Code, r.Detail)
	return Identity{r.ID, r.Epoch}
}

// phase is where a transactional id stands; Dead when it is not there.
func (b *bench) phase(name string) (phase string) {
	phase = "Dead"
	b.c.EachTransaction(func(_ int32, t Transaction) bool {
		if t.TransactionalID == name {
			phase = t.Phase.String()
		}
		return true
	})
	return phase
}

// bytes is the committed log from its start.
func (b *bench) bytes() []byte {
	var all []byte
	for _, w := range b.log {
		if w.committed && w.base >= b.start {
			all = append(all, w.batch...)
		}
	}
	return all
}

// sound checks that memory is what a replay gives (INV-23), and that no decision
// was ever replaced (INV-32).
func (b *bench) sound() {
	b.t.Helper()
	b.judgeDecisions()
	b.judgeMarkers()
	digest, serving := b.c.Digest(0)
	if !serving || b.c.Views()[0].Pending > 0 {
		return
	}
	replayed, err := Fold(b.bytes())
	require.NoError(b.t, err)
	require.Equal(b.t, replayed, digest, "memory is not what replay gives")
}

// judgeDecisions reads all that was ever committed: each record may follow the one
// before it, and each transaction is decided once.
func (b *bench) judgeDecisions() {
	b.t.Helper()
	last := map[string]Transaction{}
	decided := map[Identity]bool{} // by the identity of the markers
	require.NoError(b.t, EachRecord(b.history, func(_ record.Offset, t Transaction, gone bool) {
		was, had := last[t.TransactionalID]
		if gone {
			delete(last, t.TransactionalID)
			return
		}
		last[t.TransactionalID] = t
		if t.Phase.prepared() || t.Phase.complete() {
			commits, before := decided[t.Now]
			if t.Phase.prepared() {
				require.False(b.t, before && commits != t.Phase.commits(), "%v is decided twice", t.Now)
				decided[t.Now] = t.Phase.commits()
			}
		}
		if !had || was.Phase == t.Phase && was.Now == t.Now { // begun, or said again by a snapshot
			return
		}
		require.True(b.t, follows(was.Phase, t.Phase), "%v after %v", t, was)
		require.False(b.t, was.Now.ID == t.Now.ID && t.Now.Epoch < was.Now.Epoch, "%v after %v", t, was)
	}))
}

// judgeMarkers holds the markers of each partition against the decisions.
func (b *bench) judgeMarkers() {
	b.t.Helper()
	decided := map[Identity]bool{}
	require.NoError(b.t, EachRecord(b.history, func(_ record.Offset, t Transaction, gone bool) {
		if !gone && t.Phase.prepared() {
			decided[t.Now] = t.Phase.commits()
		}
	}))
	for id, p := range b.parts {
		last := map[record.ProducerID]marker{}
		for _, m := range p.markers {
			commits, known := decided[m.Identity]
			require.True(b.t, known, "the marker %v in %v has no decision", m, id)
			require.Equal(b.t, commits, m.Commit, "the marker %v in %v says otherwise than its decision", m, id)
			if was, had := last[m.ID]; had {
				require.Greater(b.t, m.Epoch, was.Epoch, "markers in %v", id)
				require.GreaterOrEqual(b.t, m.Coordinator, was.Coordinator, "markers in %v come from ever newer coordinators", id)
			}
			last[m.ID] = m
		}
	}
}

var _ ledger.Waiter = (*adding)(nil)
