package replica

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tamarack-mq/tamarack/core/log"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
	"pgregory.net/rapid"
)

// chaos plays a cluster through random faults: messages and proposals that are
// lost, late or come twice, disks that take their time, metadata that lags,
// crashes that lose what is not flushed, clean elections. The book holds what
// any leader has called committed; nothing may ever contradict it.
type chaos struct {
	w         *world
	t         *rapid.T
	book      []booked // the committed batches, by offset
	high      record.Offset
	proposals []proposed
	acks      map[message.Token]string
	written   int
	clerks    []*clerk

	shownStarts []record.Offset // by leader epoch: the log start that clients could see
}

type booked struct {
	base, end record.Offset
	bytes     string
}

type proposed struct {
	from   message.NodeID
	change message.AlterISR
}

func TestNothingCommittedIsLostWhateverHappens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newChaos(t)
		for range rapid.IntRange(20, 400).Draw(t, "steps") {
			c.step()
			c.judge(nil)
		}
		c.heal()
	})
}

func newChaos(t *rapid.T) *chaos {
	w := newWorld(t, 3)
	w.holdAlters = true
	c := &chaos{w: w, t: t, acks: map[message.Token]string{}}
	for _, n := range w.nodes {
		n.m.cfg.CheckpointBatches = 3
	}
	w.cfg.CheckpointBatches = 3
	w.cfg.FetchBytes = 200
	for i := range 2 {
		c.clerks = append(c.clerks, &clerk{id: record.ProducerID(20 + i), added: map[record.ProducerEpoch]bool{},
			decided: map[record.ProducerEpoch]record.Outcome{}, began: record.NoProducerEpoch})
	}
	w.create(p0, message.TopicConfig{MinInsync: 2}, 1, 2, 3)
	for _, n := range w.nodes {
		n.holdDisk, n.holdReads, n.holdMeta = true, true, true
	}
	w.held = func(wire) bool { return true }
	w.judge = c.judge
	return c
}

func (c *chaos) pick(what string, n int) int { return rapid.IntRange(0, n-1).Draw(c.t, what) }

func (c *chaos) step() {
	w := c.w
	n := w.nodes[c.pick("node", len(w.nodes))]
	switch c.pick("what", 22) {
	case 0, 1:
		c.produce(n)
	case 2, 3, 4, 5:
		c.message()
	case 6, 7, 8:
		c.completion(n)
	case 9, 10:
		if !n.down && n.applied < len(w.history) {
			n.learn()
		}
	case 11:
		c.proposal()
	case 12:
		c.crashOrStart(n)
	case 13:
		c.leave(n)
	case 14:
		step := message.Duration(c.pick("ms", 1500)) * message.Millisecond
		w.now.Mono = w.now.Mono.Add(step)
		for _, n := range w.nodes {
			n.do(func(m *Manager, now message.Now, out *Out) { m.Tick(now, out) })
		}
	case 15:
		c.calm(n)
	case 16:
		c.delete(n)
	case 17, 18, 19:
		c.pay(n)
	case 20:
		c.answer(n)
	case 21:
		c.settle(n)
	}
	for _, n := range w.nodes {
		for _, a := range n.alters {
			c.proposals = append(c.proposals, proposed{n.id, a})
		}
		n.alters = nil
	}
}

func (c *chaos) produce(n *node) {
	if n.down {
		return
	}
	acks := []message.Acks{message.AcksAll, message.AcksAll, message.AcksLeader}[c.pick("acks", 3)]
	c.written++
	b := batch(fmt.Sprintf("r%d-", c.written), 1+c.pick("records", 3))
	token := n.produce(acks, b)
	if acks == message.AcksAll {
		c.acks[token] = fmt.Sprintf("r%d-0", c.written)
	}
}

// delete moves the log start, somewhere below the high watermark.
func (c *chaos) delete(n *node) {
	if n.down || c.high == 0 {
		return
	}
	c.w.tokens++
	r := &message.DeleteRecords{Partitions: []message.DeleteRecordsPartition{{
		ID: p0, Before: record.Offset(c.pick("before", int(c.high)+1)),
	}}}
	n.do(func(m *Manager, now message.Now, out *Out) { m.DeleteRecords(now, c.w.tokens, r, out) })
}

// message delivers, loses or doubles a message; often the oldest.
func (c *chaos) message() {
	w := c.w
	if len(w.wires) == 0 {
		return
	}
	i := 0
	if c.pick("order", 4) == 0 {
		i = c.pick("message", len(w.wires))
	}
	x := w.wires[i]
	fate := c.pick("fate", 10)
	if fate > 0 { // else it will come again
		w.wires = slices.Delete(w.wires, i, i+1)
	}
	if fate != 1 {
		w.deliver(x)
	}
}

// completion gives a node something that its disk has done; writes in order.
func (c *chaos) completion(n *node) {
	if len(n.pending) > 0 && !n.down {
		n.complete(c.pick("completion", min(3, len(n.pending))))
	}
}

func (c *chaos) proposal() {
	if len(c.proposals) == 0 {
		return
	}
	i := c.pick("proposal", len(c.proposals))
	p := c.proposals[i]
	fate := c.pick("fate", 4)
	if fate != 0 {
		c.proposals = slices.Delete(c.proposals, i, i+1)
	}
	if fate == 1 {
		return
	}
	outcome := c.w.outcome(p.from, p.change)
	if fate == 2 {
		return // the answer is lost
	}
	c.w.node(int(p.from)).do(func(m *Manager, now message.Now, out *Out) {
		m.AlterPartitionReply(now, &message.AlterPartitionReply{Partitions: []message.AlteredISR{outcome}}, out)
	})
}

func (c *chaos) crashOrStart(n *node) {
	if n.down {
		n.start()
		n.m.cfg.CheckpointBatches = 3
		n.holdDisk, n.holdReads, n.holdMeta = true, true, true
		return
	}
	if c.pick("crash", 3) > 0 {
		return
	}
	n.crash()
	c.leave(n)
}

// leave has the controller fence a node, or let a live one back.
func (c *chaos) leave(n *node) {
	w := c.w
	b := *w.brokers[n.id]
	b.Available = !b.Available && !n.down
	s := *w.parts[p0]
	if !b.Available && len(s.ISR) > 1 && slices.Contains(s.ISR, n.id) {
		s.ISR = slices.DeleteFunc(slices.Clone(s.ISR), func(x message.NodeID) bool { return x == n.id })
		s.PartitionEpoch++
		if s.Leader == n.id {
			s.Leader, s.LeaderEpoch = message.NoNode, s.LeaderEpoch+1
		}
	}
	if s.Leader == message.NoNode {
		for _, x := range s.ISR {
			if x != n.id && w.brokers[x].Available || x == n.id && b.Available {
				s.Leader, s.LeaderEpoch, s.PartitionEpoch = x, s.LeaderEpoch+1, s.PartitionEpoch+1
				break
			}
		}
	}
	w.commit([]PartitionState{s}, []BrokerState{b})
}

// calm lets one node and the network catch up.
func (c *chaos) calm(n *node) {
	w := c.w
	for range 20 {
		for !n.down && n.applied < len(w.history) {
			n.learn()
		}
		for _, x := range w.nodes {
			for len(x.pending) > 0 && !x.down {
				x.complete(0)
			}
		}
		wires := w.wires
		w.wires = nil
		for _, x := range wires {
			w.deliver(x)
		}
	}
}

// judge holds the world against the book, after each step of a node.
func (c *chaos) judge(stepped *node) {
	w, t := c.w, c.w.t
	if stepped != nil {
		require.Empty(t, stepped.halted, "node %d halted", stepped.id)
		c.judgeNode(stepped)
	}
	for _, member := range w.parts[p0].ISR { // INV-6
		c.holdsBook(w.node(int(member)), "is in the controller's ISR")
	}
	for token, first := range c.acks {
		if r := w.produced(token); r != nil {
			delete(c.acks, token)
			if r.Code == message.None {
				c.committed(r.BaseOffset, first)
			}
		}
	}
}

func (c *chaos) judgeNode(n *node) {
	t := c.w.t
	v, ok := n.m.View(p0)
	if !ok {
		return
	}
	require.LessOrEqual(t, v.Start, v.HighWatermark)
	require.LessOrEqual(t, v.HighWatermark, v.End, "INV-5")
	d := n.disks[p0]
	require.Equal(t, d.end, v.End)
	require.LessOrEqual(t, v.Flushed, d.durable, "INV-14")
	if v.HighWatermark > c.high {
		require.Equal(t, Leading, v.Role, "INV-5: only a leader commits")
		require.GreaterOrEqual(t, len(v.ISR), v.MinInsync, "INV-5")
		c.extend(n, v)
		for _, member := range v.MaximalISR {
			c.holdsBook(c.w.node(int(member)), "counts for the high watermark")
		}
	}
	if v.Shown && v.ShownStart >= 0 {
		for int(v.LeaderEpoch) >= len(c.shownStarts) {
			c.shownStarts = append(c.shownStarts, 0)
		}
		most := slices.Max(c.shownStarts[:v.LeaderEpoch+1]) // a deposed leader may not know better
		require.GreaterOrEqual(t, v.ShownStart, most, "INV-15: what was deleted comes back on node %d", n.id)
		c.shownStarts[v.LeaderEpoch] = v.ShownStart
	}
	c.agrees(n, v.HighWatermark)
	headers := make([]record.Header, len(d.batches))
	for i, b := range d.batches {
		headers[i], _ = record.DecodeHeader(b)
		record.FillMarker(&headers[i], b)
	}
	c.judgeTransactions(n, v)
	if len(headers) > 0 {
		rebuilt, err := log.Rebuild(headers, v.Start)
		require.NoError(t, err)
		require.Empty(t, n.m.Log(p0).Differs(rebuilt, headers[0].BaseOffset), "INV-12")
	}
}

// extend takes over what a leader has committed.
func (c *chaos) extend(n *node, v View) {
	for _, b := range n.disks[p0].batches {
		h, _ := record.DecodeHeader(b)
		if h.BaseOffset >= c.high && h.End() <= v.HighWatermark {
			require.Equal(c.w.t, c.high, h.BaseOffset)
			c.book = append(c.book, booked{h.BaseOffset, h.End(), string(b)})
			c.high = h.End()
		}
	}
	require.Equal(c.w.t, v.HighWatermark, c.high)
}

// agrees checks that a node's log is the book's below a high watermark (INV-2).
func (c *chaos) agrees(n *node, high record.Offset) {
	for _, b := range n.disks[p0].batches {
		h, _ := record.DecodeHeader(b)
		if h.End() > high {
			return
		}
		i := slices.IndexFunc(c.book, func(x booked) bool { return x.base == h.BaseOffset })
		require.GreaterOrEqual(c.w.t, i, 0, "node %d: batch at %d is no committed one", n.id, h.BaseOffset)
		require.Equal(c.w.t, c.book[i].bytes, string(b), "node %d at %d", n.id, h.BaseOffset)
	}
}

// holdsBook checks that a node has all that is committed on its disk (INV-1, 6).
func (c *chaos) holdsBook(n *node, why string) {
	c.w.t.Helper()
	d := n.disks[p0]
	require.NotNil(c.w.t, d)
	require.GreaterOrEqual(c.w.t, d.durable, c.high, "node %d %s", n.id, why)
	c.agrees(n, c.high)
}

// committed checks that an acknowledged batch is in the book (INV-10).
func (c *chaos) committed(base record.Offset, first string) {
	for _, b := range c.book {
		if b.base == base {
			require.Equal(c.w.t, first, values(c.w.t, []byte(b.bytes))[0])
			return
		}
	}
	c.t.Fatalf("%s was acknowledged at %d and is not committed", first, base)
}

// heal ends all faults; then the cluster must come to rest (INV-34).
func (c *chaos) heal() {
	w, t := c.w, c.w.t
	w.holdAlters, w.held = false, nil
	for _, n := range w.nodes {
		if n.down {
			n.start()
		}
		n.holdDisk, n.holdReads, n.holdMeta = false, false, false
	}
	for _, n := range w.nodes {
		if !w.brokers[n.id].Available {
			c.leave(n)
		}
	}
	if w.parts[p0].Leader == message.NoNode {
		w.elect(p0, int(w.parts[p0].ISR[0]))
	}
	w.pass(20 * message.Second)
	c.settleAll()
	s := w.parts[p0]
	leader := w.node(int(s.Leader))
	last := leader.produce(message.AcksAll, batch("last", 1))
	w.pass(2 * message.Second)
	require.NotNil(t, w.produced(last))
	require.Equal(t, message.None, w.code(last))
	require.Len(t, s.ISR, 3, "INV-34")
	for _, n := range w.nodes {
		v := n.view(p0)
		require.Equal(t, v.End, v.HighWatermark, "INV-34: node %d", n.id)
		require.Equal(t, v.End, v.LastStable, "no transaction is left open on node %d", n.id)
		require.Equal(t, leader.view(p0).Start, v.Start, "INV-34: node %d", n.id)
		require.Equal(t, leader.contents(p0), n.contents(p0), "INV-34: node %d", n.id)
	}
}
