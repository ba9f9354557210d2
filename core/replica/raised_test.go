package replica

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/chance"
	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// forgetStart ends a run in good order; the disk loses the marks. It finds the records of
// its only file again, retired ones too, and its checkpoint.
func (n *node) forgetStart(file [][]byte) {
	n.do(func(m *Manager, _ message.Now, out *Out) { m.Stop(out) })
	n.crash()
	d := n.disks[p0]
	d.start, d.batches = 0, file
	found := n.recover()
	found[0].Damage = "the marks were lost"
	n.m = New(Config{ID: n.id}, found, chance.New(2), n.w.now)
}

// twoEpochs is a log of node 1, and what its file holds: of epoch 0 all records are
// retired, and one of epoch 1.
func twoEpochs(t *testing.T, w *world) [][]byte {
	w.create(p0, message.TopicConfig{MinInsync: 1}, 1)
	w.put(1, "a", "b")
	w.elect(p0, 1)
	w.put(1, "c", "d")
	file := slices.Clone(w.node(1).disks[p0].batches)
	deletion := w.deleteBefore(1, 3)
	w.run()
	require.Equal(t, message.None, w.deleted(deletion).Code)
	w.put(1, "e")
	return append(file, w.node(1).disks[p0].batches[len(w.node(1).disks[p0].batches)-1])
}

// The disk has forgotten where the log starts and finds records that were retired. Of
// their epochs nothing is known any more. Who leads with such a log starts it where the
// known ones begin: else a replica that is added would be given the others, and then be
// told that it shares nothing with its leader, again and again.
func TestAReplicaThatIsAddedCopiesALogThatHasForgottenItsStart(t *testing.T) {
	w := newWorld(t, 2)
	file := twoEpochs(t, w)
	n := w.node(1)
	n.forgetStart(file)
	w.elect(p0, 1) // there is nobody else
	n.back()
	w.run()
	require.Equal(t, record.Offset(2), n.view(p0).Start)
	require.Equal(t, []effect.Effect{
		effect.Truncate{Log: p0, Cut: 1, To: 5},
		effect.TrimPrefix{Log: p0, Start: 2},
	}, n.look()[:2])
	require.Equal(t, record.Offset(2), n.disks[p0].start, "so that it does not fall when the checkpoint is lost")
	require.Equal(t, record.Offset(2), n.view(p0).ShownStart)

	w.add(p0, 2)
	w.pass(10 * message.Second)
	require.Equal(t, []string{"c0", "d0", "e0"}, values(t, w.node(2).contents(p0)))
	require.Equal(t, []message.NodeID{1, 2}, w.parts[p0].ISR)
	resets := 0
	for _, e := range w.node(2).look() {
		if _, ok := e.(effect.Reset); ok {
			resets++
		}
	}
	require.Equal(t, 1, resets)
}

// A follower states such a start when its disk has it: all that is below a leader has
// once decided to retire.
func TestAFollowerThatHasForgottenItsStartGoesOn(t *testing.T) {
	w := newWorld(t, 2)
	file := twoEpochs(t, w)
	w.add(p0, 2)
	w.pass(10 * message.Second)
	require.Equal(t, []message.NodeID{1, 2}, w.parts[p0].ISR)
	n := w.node(1)
	n.forgetStart(file)
	w.elect(p0, 2, 2)
	n.back()
	require.Equal(t, record.Offset(2), n.view(p0).Start)
	w.pass(10 * message.Second)
	require.Equal(t, []message.NodeID{2, 1}, w.parts[p0].ISR)
	require.Equal(t, record.Offset(3), n.view(p0).Start)
	require.Equal(t, w.node(2).contents(p0), n.contents(p0))
}
