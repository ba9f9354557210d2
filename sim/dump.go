package sim

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/core/replica"
	"github.com/tamarack-mq/tamarack/internal/dump"
	"github.com/tamarack-mq/tamarack/transport/simnet"
)

// dumper writes the core. Deadlines point at what waits for them, which would
// be written in their place: only when they are due is said.
var dumper = &dump.Dumper{
	Short: map[string]func(reflect.Value) string{
		"record.PartitionID": func(v reflect.Value) string {
			return record.PartitionID{Topic: record.TopicID(v.Field(0).Uint()), Index: int32(v.Field(1).Int())}.String()
		},
		"chance.Stream": func(v reflect.Value) string { return fmt.Sprintf("%016x", v.Field(0).Uint()) },
		"deadline.Heap": func(v reflect.Value) string { return fmt.Sprintf("%d set", v.FieldByName("list").Len()) },
		"deadline.Deadline": func(v reflect.Value) string {
			if v.FieldByName("slot").Int() == 0 {
				return "not set"
			}
			return fmt.Sprintf("at %d", v.FieldByName("at").Int())
		},
	},
	Skip:    []string{"raft.Logger", "sync.Mutex", "raft.readOnly", "*effect.Out", "effect.Out"},
	Foreign: []string{"google.golang.org/protobuf"},
	// The engine draws this from the operating system's randomness. Nobody ticks
	// it, so nothing follows from it.
	Fields: []string{"raft.raft.randomizedElectionTimeout"},
}

// dump is everything about one node at this moment, as lines: the process, what
// it waits for, its disk, its replicas, and then every field of its core.
func (n *Node) dump() []string {
	w := n.world
	var lines []string
	say := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	state := "down"
	switch {
	case n.up && n.paused:
		state = "paused"
	case n.up:
		state = "up"
	}
	now := n.clock.now(w.now)
	say("node = %d", n.id)
	say("process = %s", state)
	say("run = %d", n.run)
	say("clock.mono = %d", now.Mono)
	say("clock.wall = %d", now.Wall)
	if n.up {
		say("clock.wakes = %d", n.core.Wake())
	}
	for i := range n.inbox {
		say("paused.inbox[%d] = %s", i, eventNames[n.inbox[i].kind])
	}
	var tokens []message.Token
	for t := range n.tokens {
		tokens = append(tokens, t)
	}
	slices.Sort(tokens)
	for _, t := range tokens {
		c := n.tokens[t]
		say("request[%d] = client %d call %d: %s", t, w.clientID(c.client), c.call, describe(c.request))
	}
	lines = append(lines, n.drive.dump()...)
	if c := n.Core(); c != nil {
		for _, id := range c.Replicas().Partitions() {
			if v, ok := c.Replicas().View(id); ok {
				lines = append(lines, dumpReplica(&v)...)
			}
		}
		lines = append(lines, dumper.Lines("core", c)...)
	}
	return lines
}

// dumpReplica is how one replica stands.
func dumpReplica(v *replica.View) []string {
	at := "replica[" + v.ID.String() + "]"
	lines := []string{
		fmt.Sprintf("%s.role = %s", at, v.Role),
		fmt.Sprintf("%s.leader = %d epoch %d", at, v.Leader, v.LeaderEpoch),
		fmt.Sprintf("%s.partitionEpoch = %d", at, v.PartitionEpoch),
		fmt.Sprintf("%s.replicas = %v", at, v.Replicas),
		fmt.Sprintf("%s.log = [%d, %d)", at, v.Start, v.End),
		fmt.Sprintf("%s.flushed = %d", at, v.Flushed),
		fmt.Sprintf("%s.highWatermark = %d", at, v.HighWatermark),
	}
	if v.Role == replica.Leading {
		lines = append(lines, fmt.Sprintf("%s.isr = %v widest %v", at, v.ISR, v.MaximalISR))
		for _, f := range v.Followers {
			lines = append(lines, fmt.Sprintf("%s.follower[%d] = matched %d flushed %d start %d", at, f.Node, f.Matched, f.Flushed, f.LogStart))
		}
	}
	if v.Damage != "" {
		lines = append(lines, fmt.Sprintf("%s.damage = %s", at, v.Damage))
	}
	return lines
}

// dump is what is on the disk and on its way there.
func (d *drive) dump() []string {
	var lines []string
	say := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	say("disk = stalled %t, %d times slower, no room %t", d.stalled, d.slow, d.noRoom)
	for _, f := range d.disk.Files() {
		say("disk.file[%s] = %d bytes, durable %d, dirty pages %v, name synced %t", f.Path, f.Size, f.Durable, f.Dirty, f.Named)
	}
	for i, e := range d.writing {
		say("disk.writing[%d] = %s", i, describeEffect(e))
	}
	for i, e := range d.queue {
		say("disk.queue[%d] = %s", i, describeEffect(e))
	}
	for i := range d.flushing {
		say("disk.flushing[%d] = %s up to %d", i, d.flushing[i].in.Log, d.flushing[i].in.End)
	}
	for i := range d.want {
		say("disk.flushNext[%d] = %s up to %d", i, d.want[i].in.Log, d.want[i].in.End)
	}
	for i, e := range d.journal {
		say("disk.journal[%d] = %s", i, describeEffect(e))
	}
	for _, p := range d.node.world.book.list {
		if r := p.at(d.node.id); r != nil && r.exists {
			say("disk.log[%s] = [%d, %d) durable %d", p.id, r.disk.start, r.disk.end, r.durable)
		}
	}
	return lines
}

// batches are those of one log as the core has asked for them, from an offset
// on, each with what became of it.
func (n *Node) batches(id record.PartitionID, from record.Offset) []string {
	p := n.world.book.parts[id]
	if p == nil || p.at(n.id) == nil {
		return nil
	}
	r := p.at(n.id)
	var lines []string
	for _, h := range r.memory.from(from) {
		where := "asked for"
		switch {
		case h.End() <= r.durable:
			where = "durable"
		case h.End() <= r.disk.end:
			where = "written"
		}
		decided := ""
		if h.End() <= p.high {
			decided = ", committed"
		}
		producer := ""
		if h.ProducerID >= 0 {
			producer = fmt.Sprintf(", producer %d epoch %d sequence %d", h.ProducerID, h.ProducerEpoch, h.BaseSequence)
		}
		switch {
		case h.Marker.Outcome != record.NoOutcome:
			producer = fmt.Sprintf(", %s of producer %d, which begins epoch %d", h.Marker.Outcome, h.ProducerID, h.ProducerEpoch)
		case h.Attributes.Transactional():
			producer += ", in a transaction"
		}
		lines = append(lines, fmt.Sprintf("[%d, %d) epoch %d crc %08x: %s%s%s", h.BaseOffset, h.End(), h.LeaderEpoch, h.CRC, where, decided, producer))
	}
	return lines
}

// flight are the packets on the agenda, in the order in which they are due.
func (w *World) flight() []string {
	list := slices.Clone(w.agenda.heap)
	slices.SortFunc(list, func(a, b due) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.key, b.key)) })
	var lines []string
	for _, d := range list {
		e := &w.agenda.slab[d.key&(1<<slotBits-1)]
		p := e.packet
		if p == nil || e.kind != evPacket {
			continue
		}
		what := [...]string{simnet.Broken: "connection broken", simnet.Refused: "connection refused"}
		text := ""
		if p.Msg != nil {
			text = describe(p.Msg)
		} else {
			text = what[p.Kind]
		}
		lines = append(lines, fmt.Sprintf("%12s  %s → %s  %s", d.at, w.endName(p.From), w.endName(p.To), text))
	}
	return lines
}

func (w *World) endName(e simnet.Endpoint) string {
	if int(e) < len(w.nodes) {
		return "node " + itoa(int(e))
	}
	return "client " + itoa(w.clientID(e))
}

// standings is who leads a partition, by the controller, and how each replica
// stands.
func (w *World) standings(id record.PartitionID) []string {
	p := w.book.parts[id]
	if p == nil {
		return nil
	}
	lines := []string{fmt.Sprintf("committed up to %d", p.high)}
	if s := p.state; s != nil {
		lines = append(lines, fmt.Sprintf("controller: leader %d in epoch %d, partition epoch %d, replicas %v, isr %v, eligible %v", s.Leader, s.LeaderEpoch, s.PartitionEpoch, s.Replicas, s.ISR, s.ELR))
	}
	for _, r := range p.replicas {
		if r == nil || !r.exists && r.view.ID != id {
			continue
		}
		v := &r.view
		text := fmt.Sprintf("node %d: %s in epoch %d, log [%d, %d), flushed %d, high watermark %d; disk [%d, %d), durable %d",
			r.node, v.Role, v.LeaderEpoch, v.Start, v.End, v.Flushed, v.HighWatermark, r.disk.start, r.disk.end, r.durable)
		if !w.nodes[r.node].up {
			text = fmt.Sprintf("node %d: down; disk [%d, %d), durable %d", r.node, r.disk.start, r.disk.end, r.durable)
		} else if v.Role == replica.Leading {
			text += fmt.Sprintf(", isr %v, widest %v", v.ISR, v.MaximalISR)
		}
		lines = append(lines, text)
	}
	return lines
}
