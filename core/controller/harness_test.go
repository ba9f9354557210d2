package controller

import (
	"fmt"
	"slices"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tamarack-mq/tamarack/core/chance"
	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/metadata"
	"github.com/tamarack-mq/tamarack/core/record"
)

// world is a few controllers (nodes 1, 2, ...) and brokers (nodes 11, 12, ...)
// on one thread and one clock. Letters take one to two milliseconds.
type world struct {
	t       rapid.TB
	random  *chance.Stream
	now     message.Time
	voters  []message.NodeID
	ctl     map[message.NodeID]*voter
	ids     []message.NodeID
	brokers map[message.NodeID]*broker
	mail    []letter
	cut     map[message.NodeID]bool
	loss    int64 // percent
	cfg     Config
	trace   []string
	watch   func(*message.Change) // each change, once, as it is committed
	seen    message.Version
	renewed func(*broker) // its run goes on under another incarnation
}

type voter struct {
	c       *Controller
	disk    [][]byte
	pending []effect.Effect
	down    bool
	halted  string
	starts  int
}

// broker plays the part of a broker in the controller's protocol.
type broker struct {
	id          message.NodeID
	incarnation uint64
	disk        uint64
	rack        string
	damaged     []record.PartitionID
	image       *metadata.Image
	epoch       message.BrokerEpoch
	target      message.NodeID
	next        message.Time
	down        bool
	leaving     bool
	last        message.BrokerHeartbeatReply
	refused     message.Code // of the last registration
	got         []message.Message
	request     uint64
	unheard     int // beats without an answer
	pushes      []*message.MetadataPush
}

type letter struct {
	from, to message.NodeID
	msg      message.Message
	at       message.Time
}

const beat = 500 * message.Millisecond

func newWorld(t rapid.TB, seed uint64, voters, brokers int, cfg Config) *world {
	w := &world{
		t: t, random: chance.New(seed), cfg: cfg,
		ctl: map[message.NodeID]*voter{}, brokers: map[message.NodeID]*broker{}, cut: map[message.NodeID]bool{},
	}
	for i := range voters {
		w.voters = append(w.voters, message.NodeID(i+1))
	}
	w.cfg.Quorum.ClusterID, w.cfg.Quorum.Voters = "test", w.voters
	for _, id := range w.voters {
		w.ctl[id] = &voter{}
		w.startVoter(id)
	}
	for i := range brokers {
		id := message.NodeID(11 + i)
		w.ids = append(w.ids, id)
		w.brokers[id] = &broker{id: id, disk: uint64(id), rack: "r" + string(rune('a'+i%3))}
		w.startBroker(id)
	}
	return w
}

func (w *world) startVoter(id message.NodeID) {
	v := w.ctl[id]
	v.starts++
	cfg := w.cfg
	cfg.Quorum.ID = id
	found := &effect.Recovered{Journal: v.disk}
	v.c = New(cfg, found, w.random.Split(fmt.Sprint("voter", id, v.starts)), message.Now{Mono: w.now})
	v.pending, v.down = nil, false
}

func (w *world) crashVoter(id message.NodeID) { w.ctl[id].down, w.ctl[id].pending = true, nil }

// startBroker begins a new run: with an empty image, like a real one.
func (w *world) startBroker(id message.NodeID) {
	b := w.brokers[id]
	b.incarnation = w.random.Uint64()
	b.image, b.epoch, b.down, b.leaving = metadata.NewImage(), 0, false, false
	b.next, b.last, b.refused = w.now, message.BrokerHeartbeatReply{}, message.None
	if b.target == 0 {
		b.target = 1
	}
}

func (w *world) crashBroker(id message.NodeID) { w.brokers[id].down = true }

func (w *world) post(from, to message.NodeID, msg message.Message) {
	if w.cut[from] != w.cut[to] || w.loss > 0 && w.random.Percent(w.loss) {
		return
	}
	at := w.now.Add(message.Duration(w.random.Between(1000, 2000)) * message.Microsecond)
	w.mail = append(w.mail, letter{from, to, msg, at})
}

func (w *world) carry(id message.NodeID, out *effect.Out) {
	v := w.ctl[id]
	for _, e := range out.List {
		w.trace = append(w.trace, fmt.Sprintf("%d %d %T %+v", w.now, id, e, show(e)))
		switch e := e.(type) {
		case effect.Send:
			w.post(id, e.To, e.Msg)
		case effect.SaveQuorum, effect.ReplaceQuorum:
			v.pending = append(v.pending, e)
		case effect.Halt:
			v.halted, v.down = e.Reason, true
		}
	}
	w.look(v.c)
}

func show(e effect.Effect) any {
	if s, ok := e.(effect.Send); ok {
		if p, ok := s.Msg.(*message.MetadataPush); ok {
			return fmt.Sprintf("%d push %d to %d %v %x", s.To, p.From, p.To, p.Snapshot, metadata.Encode(p.Changes))
		}
		if f, ok := s.Msg.(*message.Forwarded); ok {
			return fmt.Sprintf("%d forwarded %d %v %+v", s.To, f.Request, f.Code, f.Body)
		}
		return fmt.Sprintf("%d %T %+v", s.To, s.Msg, s.Msg)
	}
	return e
}

// look hands each newly committed change to the watcher.
func (w *world) look(c *Controller) {
	if c.image.Version() <= w.seen {
		return
	}
	changes, ok := c.history.since(w.seen)
	w.seen = c.image.Version()
	if !ok || w.watch == nil {
		return
	}
	for i := range changes {
		w.watch(&changes[i])
	}
}

// step does the next thing that is due, unless that is after the limit.
func (w *world) step(limit message.Time) {
	for _, id := range w.voters {
		v := w.ctl[id]
		if v.down || len(v.pending) == 0 {
			continue
		}
		var seq uint64
		for _, e := range v.pending {
			switch e := e.(type) {
			case effect.SaveQuorum:
				v.disk, seq = append(slices.Clip(v.disk), e.Frame), e.Seq
			case effect.ReplaceQuorum:
				v.disk, seq = e.Frames, e.Seq
			}
		}
		v.pending = nil
		out := &effect.Out{}
		v.c.Saved(message.Now{Mono: w.now}, seq, out)
		w.carry(id, out)
		return
	}
	next, act := message.Never, func() {}
	for _, id := range w.voters {
		if v := w.ctl[id]; !v.down && v.c.Wake() < next {
			next = v.c.Wake()
			act = func() {
				out := &effect.Out{}
				v.c.Tick(message.Now{Mono: w.now}, out)
				w.carry(id, out)
			}
		}
	}
	for _, id := range w.ids {
		if b := w.brokers[id]; !b.down && b.next < next {
			next, act = b.next, func() { w.beat(b) }
		}
	}
	for i := range w.mail {
		if l := w.mail[i]; l.at < next {
			next, act = l.at, func() {
				w.mail = slices.Delete(w.mail, i, i+1)
				w.deliver(l)
			}
		}
	}
	if next > limit {
		w.now = limit
		return
	}
	w.now = max(w.now, next)
	act()
}

func (w *world) deliver(l letter) {
	if w.cut[l.from] != w.cut[l.to] {
		return
	}
	if v := w.ctl[l.to]; v != nil {
		if !v.down {
			out := &effect.Out{}
			v.c.Receive(message.Now{Mono: w.now}, l.from, l.msg, out)
			w.carry(l.to, out)
		}
		return
	}
	if b := w.brokers[l.to]; b != nil && !b.down {
		w.hear(b, l.from, l.msg)
	}
}

// beat is what a broker says twice a second.
func (w *world) beat(b *broker) {
	b.next = w.now.Add(beat)
	if b.unheard++; b.unheard > 3 {
		b.unheard = 0
		w.follow(b, b.target, message.NoNode)
	}
	if b.epoch == 0 {
		w.post(b.id, b.target, &message.RegisterBroker{
			ClusterID: "test", Node: b.id, Incarnation: b.incarnation, DiskID: b.disk,
			Address: fmt.Sprintf("host:%d", b.id), Rack: b.rack, Damaged: b.damaged,
		})
		return
	}
	w.post(b.id, b.target, &message.BrokerHeartbeat{
		Node: b.id, Epoch: b.epoch, Applied: b.image.Version(), WantShutdown: b.leaving,
	})
}

func (w *world) follow(b *broker, from, hint message.NodeID) {
	if hint != message.NoNode && hint != from {
		b.target, b.next = hint, w.now
	} else {
		b.target = b.target%message.NodeID(len(w.voters)) + 1
	}
}

func (w *world) hear(b *broker, from message.NodeID, msg message.Message) {
	b.unheard = 0
	switch m := msg.(type) {
	case *message.RegisterBrokerReply:
		switch {
		case m.Incarnation != b.incarnation || b.epoch != 0:
		case m.Code == message.None:
			b.epoch, b.next = m.Epoch, w.now
		case m.Code == message.NotController:
			w.follow(b, from, m.Controller)
		case m.Code == message.StaleBrokerEpoch:
			// A late registration of an earlier run replaced this one: it goes on
			// as a new run, like a real broker.
			b.incarnation, b.next = w.random.Uint64(), w.now
			if w.renewed != nil {
				w.renewed(b)
			}
		default:
			b.refused = m.Code
		}
	case *message.BrokerHeartbeatReply:
		switch {
		case m.Epoch != b.epoch:
		case m.Code == message.NotController:
			w.follow(b, from, m.Controller)
		case m.Code == message.StaleBrokerEpoch:
			b.epoch = 0
		default:
			b.last = *m
		}
	case *message.MetadataPush:
		b.pushes = append(b.pushes, m)
		if _, err := b.image.Take(m); err != nil && err != metadata.ErrGap {
			require.NoError(w.t, err)
		}
	default:
		b.got = append(b.got, msg)
	}
}

func (w *world) pass(d message.Duration) {
	for end := w.now.Add(d); w.now < end; {
		w.step(end)
	}
}

func (w *world) until(what string, ok func() bool) {
	w.t.Helper()
	for end := w.now.Add(60 * message.Second); !ok(); w.step(end) {
		if w.now >= end {
			for _, id := range w.voters {
				w.t.Logf("controller %d: %q %+v", id, w.ctl[id].halted, w.ctl[id].c.View())
			}
			for _, id := range w.ids {
				b := w.brokers[id]
				w.t.Logf("broker %d: down %v leaving %v cut %v epoch %d refused %v last %+v, asks %d", id,
					b.down, b.leaving, w.cut[id], b.epoch, b.refused, b.last, b.target)
			}
			w.t.Fatal("never: " + what)
		}
	}
}

// boss is the active controller, or nil.
func (w *world) boss() *Controller {
	var best *Controller
	for _, id := range w.voters {
		if v := w.ctl[id]; !v.down && v.c.Active() && (best == nil || v.c.View().Quorum.Term > best.View().Quorum.Term) {
			best = v.c
		}
	}
	return best
}

// ready waits until all running brokers are unfenced and up to date.
func (w *world) ready() {
	w.t.Helper()
	w.until("all brokers serve", func() bool {
		c := w.boss()
		if c == nil {
			return false
		}
		for _, id := range w.ids {
			b := w.brokers[id]
			if !b.down && (b.epoch == 0 || !c.image.Live(id) || c.image.Broker(id).Epoch != b.epoch) {
				return false
			}
		}
		return true
	})
	w.settle()
}

// settle waits until all running brokers have the newest image.
func (w *world) settle() {
	w.t.Helper()
	w.until("all brokers have the newest image", func() bool {
		c := w.boss()
		if c == nil || c.View().Flying {
			return false
		}
		for _, id := range w.ids {
			if b := w.brokers[id]; !b.down && !w.cut[id] && b.image.Version() < c.history.last {
				return false
			}
		}
		return true
	})
}

// ask sends a request through a broker and waits for the answer.
func (w *world) ask(body message.Request) message.Reply {
	w.t.Helper()
	for {
		w.until("a controller", func() bool { return w.boss() != nil })
		b := w.brokers[w.ids[0]]
		b.request++
		number := b.request
		w.post(b.id, w.boss().id, &message.Forward{Request: number, Body: body})
		var answer *message.Forwarded
		w.until("an answer", func() bool {
			for _, m := range b.got {
				if f, ok := m.(*message.Forwarded); ok && f.Request == number {
					answer = f
				}
			}
			return answer != nil
		})
		if answer.Code == message.None {
			w.settle()
			return answer.Body
		}
	}
}

// tell sends a message as a broker and returns the next answer to it.
func (w *world) tell(from message.NodeID, msg message.Message) message.Message {
	w.t.Helper()
	b := w.brokers[from]
	had := len(b.got)
	w.post(from, w.boss().id, msg)
	w.until("an answer", func() bool { return len(b.got) > had })
	w.settle()
	return b.got[had]
}

func (w *world) create(name string, replicas ...[]message.NodeID) record.TopicID {
	w.t.Helper()
	reply := w.ask(&message.CreateTopic{Name: name, Replicas: replicas}).(*message.CreateTopicReply)
	require.Equal(w.t, message.None, reply.Code, reply.Detail)
	return reply.ID
}

// state shows a partition in short.
func (w *world) state(id record.PartitionID) string {
	p := w.boss().image.Partition(id)
	s := fmt.Sprintf("leader %d epoch %d/%d isr %v", p.Leader, p.LeaderEpoch, p.PartitionEpoch, p.ISR)
	if len(p.ELR) > 0 {
		s += fmt.Sprintf(" elr %v", p.ELR)
	}
	if p.Unclean {
		s += " unclean"
	}
	return s
}

// members names the present runs of brokers.
func (w *world) members(ids ...message.NodeID) []message.Member {
	list := make([]message.Member, len(ids))
	for i, id := range ids {
		list[i] = message.Member{Node: id}
		if b := w.boss().image.Broker(id); b != nil {
			list[i].Epoch = b.Epoch
		}
	}
	return list
}

// propose asks for an in-sync set as the leader of a partition would.
func (w *world) propose(id record.PartitionID, members ...message.NodeID) message.Code {
	w.t.Helper()
	p := w.boss().image.Partition(id)
	return w.alter(p.Leader, message.AlterISR{
		ID: id, LeaderEpoch: p.LeaderEpoch, PartitionEpoch: p.PartitionEpoch, ISR: w.members(members...),
	})
}

func (w *world) alter(leader message.NodeID, proposal message.AlterISR) message.Code {
	w.t.Helper()
	answer := w.tell(leader, &message.AlterPartition{
		Node: leader, Epoch: w.brokers[leader].epoch, Partitions: []message.AlterISR{proposal},
	}).(*message.AlterPartitionReply)
	if answer.Code != message.None {
		return answer.Code
	}
	return answer.Partitions[0].Code
}
