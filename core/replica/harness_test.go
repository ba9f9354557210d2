package replica

import (
	"slices"
	"strconv"

	"github.com/stretchr/testify/require"
	"github.com/tamarack-mq/tamarack/core/chance"
	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/core/verify"
)

// tester is what testing.T, testing.B and rapid.T have in common.
type tester interface {
	require.TestingT
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// world is a cluster of Managers small enough for a story: disks, a network and
// a controller that are instant unless a test holds them.
type world struct {
	t     tester
	cfg   Config
	now   message.Now
	nodes []*node // node i+1 at index i

	// The controller: committed states, and the changes that made them.
	parts   map[record.PartitionID]*PartitionState
	brokers map[message.NodeID]*BrokerState
	history []change
	epochs  message.BrokerEpoch
	refuse  map[message.NodeID]bool // ineligible for an ISR

	wires []wire
	cut   func(w wire) bool // lost on the way
	held  func(w wire) bool // stays on the way

	holdAlters bool
	judge      func(stepped *node)
	tokens     message.Token
	replies    map[message.Token]message.Reply
}

type change struct {
	parts   []PartitionState
	brokers []BrokerState
}

type wire struct {
	from, to message.NodeID
	msg      message.Message
}

type node struct {
	w          *world
	id         message.NodeID
	m          *Manager
	out        Out
	seen       []effect.Effect // all effects since the test looked last
	disks      map[record.PartitionID]*disk
	pending    []effect.Input // completions that the disk has not given yet
	holdDisk   bool
	holdReads  bool
	holdMeta   bool
	applied    int // changes of world.history
	alters     []message.AlterISR
	alterCount int
	local      []LocalResult
	replayed   []Replay
	verify     []verify.Question
	marked     []Marked
	led        []LeadershipChange
	damaged    []record.PartitionID
	halted     string
	down       bool
	badReads   bool
}

var p0 = record.PartitionID{Topic: 7}

func newWorld(t tester, n int) *world {
	w := &world{
		t: t, now: message.Now{Mono: 1000, Wall: 1_000_000},
		parts: map[record.PartitionID]*PartitionState{}, brokers: map[message.NodeID]*BrokerState{},
		replies: map[message.Token]message.Reply{}, refuse: map[message.NodeID]bool{},
	}
	for i := range n {
		w.nodes = append(w.nodes, &node{w: w, id: message.NodeID(i + 1), disks: map[record.PartitionID]*disk{}})
	}
	for _, n := range w.nodes {
		n.start()
	}
	w.run()
	return w
}

func (w *world) node(id int) *node { return w.nodes[id-1] }

// start begins a run of a node with what its disk holds, and registers it.
func (n *node) start() {
	w := n.w
	cfg := w.cfg
	cfg.ID = n.id
	n.down, n.applied, n.out = false, 0, Out{Out: &effect.Out{}}
	n.pending, n.alters, n.halted = nil, nil, ""
	n.m = New(cfg, n.recover(), chance.New(uint64(n.id)), w.now)
	w.epochs++
	n.m.SetEpoch(w.epochs)
	c := change{brokers: []BrokerState{{Node: n.id, Epoch: w.epochs, Available: true}}}
	for _, id := range w.ids() { // a restarted leader is a new leader
		if s := *w.parts[id]; s.Leader == n.id {
			s.LeaderEpoch++
			s.PartitionEpoch++
			c.parts = append(c.parts, s)
		}
	}
	w.commit(c.parts, c.brokers)
}

func (n *node) recover() []effect.RecoveredLog {
	var found []effect.RecoveredLog
	for _, id := range sortedIDs(n.disks) {
		d := n.disks[id]
		d.cut = 0
		r := effect.RecoveredLog{ID: id, Start: d.start, End: d.end, HighWatermark: min(d.mark.HighWatermark, d.end)}
		if d.mark.State != nil && d.mark.At <= d.end {
			r.Checkpoint, r.CheckpointAt = d.mark.State, d.mark.At
		}
		for _, b := range d.batches {
			h, err := record.DecodeHeader(b)
			require.NoError(n.w.t, err)
			record.FillMarker(&h, b)
			if h.BaseOffset >= r.CheckpointAt {
				r.Headers = append(r.Headers, h)
			}
		}
		found = append(found, r)
	}
	return found
}

// crash ends a run; what was not flushed is lost. The controller notices.
func (n *node) crash() {
	b := *n.w.brokers[n.id]
	b.Available = false
	n.w.commit(nil, []BrokerState{b})
	n.down, n.pending, n.holdDisk, n.holdReads, n.holdMeta = true, nil, false, false, false
	n.w.wires = slices.DeleteFunc(n.w.wires, func(x wire) bool { return x.from == n.id || x.to == n.id })
	for _, d := range n.disks {
		for len(d.batches) > 0 && d.end > d.durable {
			last := d.batches[len(d.batches)-1]
			h, _ := record.DecodeHeader(last)
			d.end = h.BaseOffset
			d.batches = d.batches[:len(d.batches)-1]
		}
		d.end = max(d.start, d.end)
	}
}

// deleteBefore asks a leader to delete records.
func (w *world) deleteBefore(leader int, before record.Offset) message.Token {
	w.tokens++
	token := w.tokens
	w.node(leader).do(func(m *Manager, now message.Now, out *Out) {
		m.DeleteRecords(now, token, &message.DeleteRecords{Partitions: []message.DeleteRecordsPartition{{ID: p0, Before: before}}}, out)
	})
	return token
}

func (w *world) ids() []record.PartitionID { return sortedIDs(w.parts) }

func sortedIDs[V any](m map[record.PartitionID]V) []record.PartitionID {
	var ids []record.PartitionID
	for id := range m {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, record.PartitionID.Compare)
	return ids
}

// commit is a change by the controller.
func (w *world) commit(parts []PartitionState, brokers []BrokerState) {
	for i := range parts {
		s := parts[i]
		w.parts[s.ID] = &s
	}
	for i := range brokers {
		b := brokers[i]
		w.brokers[b.Node] = &b
	}
	w.history = append(w.history, change{parts, brokers})
}

// create makes a partition on nodes, led by the first.
func (w *world) create(id record.PartitionID, cfg message.TopicConfig, nodes ...message.NodeID) {
	w.commit([]PartitionState{{
		ID: id, Config: cfg, Replicas: nodes, ISR: slices.Clone(nodes), Leader: nodes[0],
		LeaderEpoch: 0, PartitionEpoch: 0,
	}}, nil)
	w.run()
}

// elect makes a node the leader, in a new epoch. isr stays unless given.
func (w *world) elect(id record.PartitionID, leader int, isr ...message.NodeID) {
	s := *w.parts[id]
	s.Leader, s.LeaderEpoch, s.PartitionEpoch = message.NodeID(leader), s.LeaderEpoch+1, s.PartitionEpoch+1
	if len(isr) > 0 {
		s.ISR = isr
	}
	w.commit([]PartitionState{s}, nil)
}

// setISR is an ISR change that the controller makes on its own.
func (w *world) setISR(id record.PartitionID, isr ...message.NodeID) {
	s := *w.parts[id]
	s.ISR, s.PartitionEpoch = isr, s.PartitionEpoch+1
	w.commit([]PartitionState{s}, nil)
}

// do steps a node.
func (n *node) do(step func(m *Manager, now message.Now, out *Out)) {
	if n.down || n.halted != "" {
		return
	}
	step(n.m, n.w.now, &n.out)
	n.collect()
	n.balance()
	if n.w.judge != nil {
		n.w.judge(n)
	}
}

func (n *node) collect() {
	for _, e := range n.out.List {
		n.seen = append(n.seen, e)
		n.carry(e)
	}
	n.alters = append(n.alters, n.out.Alter...)
	n.alterCount += len(n.out.Alter)
	n.local = append(n.local, n.out.Local...)
	n.replayed = append(n.replayed, n.out.Replayed...)
	n.verify = append(n.verify, n.out.Verify...)
	n.marked = append(n.marked, n.out.Marked...)
	n.led = append(n.led, n.out.Led...)
	n.damaged = append(n.damaged, n.out.Damaged...)
	n.out.Empty()
}

// complete gives a node the completion at index i.
func (n *node) complete(i int) {
	in := n.pending[i]
	n.pending = slices.Delete(n.pending, i, i+1)
	switch in := in.(type) {
	case effect.Appended:
		n.do(func(m *Manager, now message.Now, out *Out) { m.Appended(now, in, out) })
	case effect.Flushed:
		if d := n.disks[in.Log]; d != nil && in.Cut == d.cut {
			d.durable = max(d.durable, in.End)
		}
		n.do(func(m *Manager, now message.Now, out *Out) { m.Flushed(now, in, out) })
	case effect.ReadDone:
		n.do(func(m *Manager, now message.Now, out *Out) { m.ReadDone(now, in, out) })
	case effect.TimeFound:
		n.do(func(m *Manager, now message.Now, out *Out) { m.TimeFound(now, in, out) })
	}
}

// nextRead is the oldest read that the disk has not answered.
func (n *node) nextRead() int {
	return slices.IndexFunc(n.pending, func(in effect.Input) bool {
		_, ok := in.(effect.ReadDone)
		return ok
	})
}

func (n *node) nextCompletion() int {
	return slices.IndexFunc(n.pending, func(in effect.Input) bool {
		switch in.(type) {
		case effect.ReadDone, effect.TimeFound:
			return !n.holdReads
		}
		return !n.holdDisk
	})
}

// run lets everything happen that is not held, without time passing.
func (w *world) run() {
	w.t.Helper()
	for range 100000 {
		if !w.once() {
			return
		}
	}
	w.t.Fatal("the cluster does not come to rest")
}

func (w *world) once() bool {
	for _, n := range w.nodes {
		if n.down || n.halted != "" {
			continue
		}
		if n.m.Wake() <= w.now.Mono {
			n.do(func(m *Manager, now message.Now, out *Out) { m.Tick(now, out) })
			return true
		}
		if !n.holdMeta && n.applied < len(w.history) {
			n.learn()
			return true
		}
		if i := n.nextCompletion(); i >= 0 {
			n.complete(i)
			return true
		}
		if !w.holdAlters && len(n.alters) > 0 {
			w.decide(n)
			return true
		}
	}
	for i, x := range w.wires {
		if w.held != nil && w.held(x) {
			continue
		}
		w.wires = slices.Delete(w.wires, i, i+1)
		w.deliver(x)
		return true
	}
	return false
}

// learn applies the next change of the metadata.
func (n *node) learn() {
	c := n.w.history[n.applied]
	n.applied++
	var mine []PartitionState
	for _, s := range c.parts {
		if !slices.Contains(s.Replicas, n.id) {
			s = PartitionState{ID: s.ID, Removed: true}
		}
		mine = append(mine, s)
	}
	n.do(func(m *Manager, now message.Now, out *Out) { m.Apply(now, mine, c.brokers, out) })
}

func (w *world) deliver(x wire) {
	if w.cut != nil && w.cut(x) || w.node(int(x.to)).down {
		return
	}
	n := w.node(int(x.to))
	n.do(func(m *Manager, now message.Now, out *Out) {
		switch msg := x.msg.(type) {
		case *message.ReplicaFetch:
			m.ReplicaFetch(now, x.from, msg, out)
		case *message.ReplicaFetchReply:
			m.ReplicaFetchReply(now, x.from, msg, out)
		case *message.ReplicaProgress:
			m.ReplicaProgress(now, x.from, msg, out)
		}
	})
}

// decide is the controller's judgement on a node's oldest proposal.
func (w *world) decide(n *node) {
	a := n.alters[0]
	n.alters = n.alters[1:]
	outcome := w.outcome(n.id, a)
	n.do(func(m *Manager, now message.Now, out *Out) {
		m.AlterPartitionReply(now, &message.AlterPartitionReply{Partitions: []message.AlteredISR{outcome}}, out)
	})
}

func (w *world) outcome(from message.NodeID, a message.AlterISR) message.AlteredISR {
	s := *w.parts[a.ID]
	outcome := message.AlteredISR{ID: a.ID, PartitionEpoch: s.PartitionEpoch}
	switch {
	case s.Leader != from || s.LeaderEpoch != a.LeaderEpoch:
		outcome.Code = message.FencedLeaderEpoch
		return outcome
	case s.PartitionEpoch != a.PartitionEpoch:
		outcome.Code = message.InvalidUpdateVersion
		return outcome
	}
	s.ISR = nil
	for _, member := range a.ISR {
		b := w.brokers[member.Node]
		if b.Epoch != member.Epoch || !b.Available || w.refuse[member.Node] {
			outcome.Code = message.IneligibleReplica
			return outcome
		}
		s.ISR = append(s.ISR, member.Node)
	}
	s.PartitionEpoch++
	outcome.PartitionEpoch = s.PartitionEpoch
	w.commit([]PartitionState{s}, nil)
	return outcome
}

// pass lets time pass, tick by tick.
func (w *world) pass(d message.Duration) {
	w.t.Helper()
	end := w.now.Mono.Add(d)
	for range 1000000 {
		w.run()
		next := end
		for _, n := range w.nodes {
			if !n.down && n.halted == "" {
				next = min(next, n.m.Wake())
			}
		}
		step := next.Sub(w.now.Mono)
		w.now.Mono = next
		w.now.Wall += record.Timestamp(step / message.Millisecond)
		if next >= end {
			w.run()
			return
		}
	}
	w.t.Fatal("time stands still")
}

// look takes the effects that a node has given since the last look.
func (n *node) look() []effect.Effect {
	seen := n.seen
	n.seen = nil
	return seen
}

func (n *node) view(id record.PartitionID) View {
	v, ok := n.m.View(id)
	require.True(n.w.t, ok, "node %d holds no replica of %s", n.id, id)
	return v
}

// batch is count records whose values begin with text.
func batch(text string, count int) []byte {
	var b record.Builder
	for i := range count {
		_ = b.Append(1_000_000, nil, []byte(text+strconv.Itoa(i)), nil)
	}
	return b.Build()
}

func numbered(b []byte, producer record.ProducerID, seq record.Sequence) []byte {
	record.SetProducer(b, producer, 0, seq)
	return b
}

func (n *node) produce(acks message.Acks, batches ...[]byte) message.Token {
	n.w.tokens++
	r := &message.Produce{Acks: acks, Timeout: 30 * message.Second}
	for _, b := range batches {
		r.Partitions = append(r.Partitions, message.ProducePartition{ID: p0, Records: b})
	}
	token := n.w.tokens
	n.do(func(m *Manager, now message.Now, out *Out) { m.Produce(now, token, r, out) })
	return token
}

func (n *node) fetch(r *message.Fetch) message.Token {
	n.w.tokens++
	token := n.w.tokens
	n.do(func(m *Manager, now message.Now, out *Out) { m.Fetch(now, token, r, out) })
	return token
}

// read is a fetch that waits for nothing.
func (n *node) readFrom(offset record.Offset) message.FetchedPartition {
	n.w.t.Helper()
	token := n.fetch(&message.Fetch{MaxBytes: 1 << 20, Partitions: []message.FetchPartition{{
		ID: p0, LeaderEpoch: -1, Offset: offset, LastEpoch: -1, MaxBytes: 1 << 20,
	}}})
	n.w.run()
	return n.w.replies[token].(*message.FetchReply).Partitions[0]
}

// produced is the outcome of a Produce of one batch, or nil while it waits.
func (w *world) produced(token message.Token) *message.ProducedPartition {
	r, ok := w.replies[token].(*message.ProduceReply)
	if !ok {
		return nil
	}
	require.Len(w.t, r.Partitions, 1)
	return &r.Partitions[0]
}

func (w *world) code(token message.Token) message.Code {
	w.t.Helper()
	p := w.produced(token)
	require.NotNil(w.t, p, "no answer yet")
	return p.Code
}

// values are those of all records in batches.
func values(t tester, batches []byte) []string {
	var v []string
	it := record.Batches(batches)
	for it.Next() {
		records := record.Records(&it.Header, record.Payload(it.Bytes))
		for records.Next() {
			v = append(v, string(records.Record.Value))
		}
	}
	require.NoError(t, it.Err())
	return v
}

func (n *node) contents(id record.PartitionID) []byte {
	var all []byte
	for _, b := range n.disks[id].batches {
		all = append(all, b...)
	}
	return all
}
