package controller

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/metadata"
	"github.com/tamarack-mq/tamarack/core/order"
	"github.com/tamarack-mq/tamarack/core/record"
)

// records models what brokers hold of a partition, by the rules that brokers
// follow: a record is committed when the whole in-sync set, of at least
// min.insync members, has flushed it.
type records struct {
	committed int
	holds     map[message.NodeID]int
	state     *message.PartitionChange
}

// court judges each committed change of a partition (INV-6, INV-7, INV-20).
type court struct {
	t     *rapid.T
	w     *world
	parts map[record.PartitionID]*records
	disks map[message.NodeID]uint64
	// damaged logs by incarnation: they count from its registration on
	damaged map[uint64][]record.PartitionID
}

// arrives takes the copies from a run that came without them.
func (c *court) arrives(b *message.BrokerChange) {
	if was, ok := c.disks[b.Node]; ok && was != b.DiskID {
		for _, r := range c.parts {
			r.holds[b.Node] = 0
		}
	}
	c.disks[b.Node] = b.DiskID
	for _, id := range c.damaged[b.Incarnation] {
		c.parts[id].holds[b.Node] = 0
	}
	delete(c.damaged, b.Incarnation)
}

func (c *court) watch(change *message.Change) {
	if change.Broker != nil {
		c.arrives(change.Broker)
	}
	p := change.Partition
	if p == nil {
		return
	}
	r := c.parts[p.ID]
	if r == nil {
		c.parts[p.ID] = &records{holds: map[message.NodeID]int{}, state: p}
		return
	}
	old := r.state
	require.Equal(c.t, old.PartitionEpoch+1, p.PartitionEpoch)
	if p.Leader != old.Leader {
		require.Equal(c.t, old.LeaderEpoch+1, p.LeaderEpoch, "each leadership has its epoch")
		if p.Leader != message.NoNode && !p.Unclean {
			electable := slices.Contains(old.ISR, p.Leader) || slices.Contains(old.ELR, p.Leader)
			require.True(c.t, electable, "%d was elected from isr %v elr %v", p.Leader, old.ISR, old.ELR)
		}
	} else if len(p.Replicas) >= len(old.Replicas) {
		require.Equal(c.t, old.LeaderEpoch, p.LeaderEpoch, "nothing but a change of leadership has one")
	} else {
		require.Equal(c.t, old.LeaderEpoch+1, p.LeaderEpoch, "what was heard of those who left counts no more")
	}
	for _, n := range old.Replicas {
		if !slices.Contains(p.Replicas, n) {
			r.holds[n] = 0 // its broker deletes the log
		}
	}
	if p.Unclean && !old.Unclean {
		r.committed = r.holds[p.Leader] // given up
	}
	for _, n := range p.ISR {
		if !slices.Contains(old.ISR, n) && !slices.Contains(old.ELR, n) {
			r.holds[n] = r.committed // it had caught up, says the leader
		}
	}
	r.state = p
	topic := c.w.boss().image.Topic(p.ID.Topic)
	if len(p.ISR) >= topic.Config.LeastInsync(metadata.Factor(p)) {
		require.Empty(c.t, p.ELR, "nobody is eligible beside enough in-sync ones")
	}
	c.complete(p.ID, r)
}

// complete checks that whoever may be elected holds every committed record.
func (c *court) complete(id record.PartitionID, r *records) {
	for _, n := range append(slices.Clone(r.state.ISR), r.state.ELR...) {
		require.Equal(c.t, r.committed, r.holds[n], "%d may lead %s: isr %v elr %v", n, id, r.state.ISR, r.state.ELR)
	}
}

// produce commits one record where that is possible.
func (c *court) produce() {
	for id, r := range c.parts {
		topic := c.w.boss().image.Topic(id.Topic)
		if r.state.Leader == message.NoNode || len(r.state.ISR) < topic.Config.LeastInsync(metadata.Factor(r.state)) {
			continue
		}
		// A record waits for every member to flush it, and those that are
		// down, or came back but are not registered yet, do not.
		if slices.ContainsFunc(r.state.ISR, func(n message.NodeID) bool {
			b := c.w.brokers[n]
			of := c.w.boss().image.Broker(n)
			return b.down || of == nil || b.incarnation != of.Incarnation
		}) {
			continue
		}
		r.committed++
		for _, n := range r.state.ISR {
			r.holds[n] = r.committed
		}
		c.complete(id, r)
	}
}

// Whatever happens to brokers and controllers: only who holds every committed
// record can be elected, unless an operator gives records up.
func TestWhoMayLeadHoldsEverythingCommitted(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		voters := rapid.SampledFrom([]int{1, 3}).Draw(rt, "voters")
		w := newWorld(rt, rapid.Uint64().Draw(rt, "seed"), voters, 4, Config{
			BalanceAfter:   rapid.SampledFrom([]message.Duration{-1, 2 * message.Second}).Draw(rt, "balance"),
			HistoryChanges: rapid.SampledFrom([]int{50, 10_000}).Draw(rt, "history"),
		})
		w.ready()
		j := &court{t: rt, w: w, parts: map[record.PartitionID]*records{},
			disks: map[message.NodeID]uint64{}, damaged: map[uint64][]record.PartitionID{}}
		w.watch = j.watch
		w.renewed = func(b *broker) { j.damaged[b.incarnation] = b.damaged }
		w.create("three", []message.NodeID{11, 12, 13}, []message.NodeID{12, 14, 11})
		w.create("one", []message.NodeID{13})
		w.create("pair", []message.NodeID{14, 13})
		for range rapid.IntRange(1, 40).Draw(rt, "steps") {
			act(rt, w, j)
			w.pass(message.Duration(rapid.IntRange(1, 3000).Draw(rt, "ms")) * message.Millisecond)
			if w.boss() != nil {
				j.produce()
			}
		}
		w.loss = 0
		for _, id := range w.voters {
			if w.ctl[id].down {
				w.startVoter(id)
			}
			require.Empty(rt, w.ctl[id].halted)
		}
		for _, id := range w.ids {
			w.cut[id] = false
			w.startBroker(id)
		}
		w.ready()
		for _, id := range w.ids {
			require.Equal(rt, w.boss().image.Snapshot(), w.brokers[id].image.Snapshot())
		}
	})
}

func act(rt *rapid.T, w *world, j *court) {
	id := rapid.SampledFrom(w.ids).Draw(rt, "broker")
	b := w.brokers[id]
	switch rapid.IntRange(0, 14).Draw(rt, "what") {
	case 0:
		w.crashBroker(id)
	case 1:
		w.startBroker(id)
	case 2: // its disk is swapped
		b.disk++
		w.startBroker(id)
	case 3: // it restarts with one damaged log
		w.startBroker(id)
		b.damaged = nil
		for _, p := range order.KeysBy(j.parts, record.PartitionID.Compare) {
			if len(b.damaged) == 0 && slices.Contains(j.parts[p].state.Replicas, id) {
				b.damaged = append(b.damaged, p)
			}
		}
		j.damaged[b.incarnation] = b.damaged
	case 4:
		w.cut[id] = !w.cut[id]
	case 5:
		b.leaving = true
	case 6:
		v := rapid.SampledFrom(w.voters).Draw(rt, "voter")
		if w.ctl[v].down {
			w.startVoter(v)
		} else if v != 1 {
			w.crashVoter(v)
		}
	case 7:
		w.loss = 20 - w.loss
	case 8:
		if c := w.boss(); c != nil {
			unclean := rapid.Bool().Draw(rt, "unclean")
			w.post(id, c.id, &message.Forward{Body: &message.ElectLeaders{Unclean: unclean}})
		}
	case 9, 10: // a move begins, is replaced, or is called off
		c := w.boss()
		if c == nil {
			return
		}
		for p := range c.image.Partitions() {
			target := rapid.SliceOfNDistinct(rapid.SampledFrom(w.ids), 0, 3, rapid.ID[message.NodeID]).Draw(rt, "target")
			w.post(id, c.id, &message.Forward{Body: &message.AlterReassignments{
				Partitions: []message.Reassignment{{ID: p.ID, Replicas: target}},
			}})
		}
	case 11:
		if c := w.boss(); c != nil {
			undo := rapid.Bool().Draw(rt, "undo")
			w.post(id, c.id, &message.Forward{Body: &message.DrainBroker{Node: id, Undo: undo}})
			w.post(id, c.id, &message.Forward{Body: &message.UnregisterBroker{Node: id}})
		}
	default: // leaders propose what they please
		c := w.boss()
		if c == nil {
			return
		}
		for p := range c.image.Partitions() {
			isr := []message.NodeID{p.Leader}
			for _, n := range p.Replicas {
				if n != p.Leader && rapid.Bool().Draw(rt, "in") {
					isr = append(isr, n)
				}
			}
			if leader := w.brokers[p.Leader]; leader != nil {
				w.post(p.Leader, c.id, &message.AlterPartition{Node: p.Leader, Epoch: leader.epoch, Partitions: []message.AlterISR{{
					ID: p.ID, LeaderEpoch: p.LeaderEpoch, PartitionEpoch: p.PartitionEpoch, ISR: w.members(isr...),
				}}})
			}
		}
	}
}
