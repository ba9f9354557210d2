package sim

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/quorum"
)

// watching is an observer made of a function.
type watching struct {
	blind
	see func(w *World, n *Node, out []effect.Effect)
}

func (*watching) Invariant() string { return "INV-18" }

func (o *watching) Stepped(w *World, n *Node, _ effect.Input, out []effect.Effect) {
	o.see(w, n, out)
}

// watch plays a seed with one more observer, which ends the run when it has seen
// enough.
func watch(t *testing.T, seed uint64, see func(w *World, n *Node, out []effect.Effect) (done bool)) *World {
	w := newWorld(NewPlan(seed), Options{})
	seen := false
	w.observers = append(w.observers, &watching{see: func(w *World, n *Node, out []effect.Effect) {
		if !seen && see(w, n, out) {
			seen, w.phase = true, over
		}
	}})
	w.looks = looksOf(w.observers)
	w.play()
	require.Nil(t, w.failure)
	require.True(t, seen, "seed %d shows nothing of this any more: take another", seed)
	return w
}

// A real snapshot is held against what it does not describe.
func TestASnapshotThatIsNoPrefixIsRefused(t *testing.T) {
	type snapshot struct {
		view  quorum.View
		frame []byte
	}
	var s snapshot
	w := watch(t, 1, func(_ *World, n *Node, out []effect.Effect) bool {
		for _, e := range out {
			if r, ok := e.(effect.ReplaceQuorum); ok {
				if _, ok, _ := quorum.SnapshotOf(r.Frames[0]); ok {
					s = snapshot{n.Core().Controller().View().Quorum, r.Frames[0]}
					return true
				}
			}
		}
		return false
	})
	was, _, err := quorum.SnapshotOf(s.frame)
	require.NoError(t, err)
	image, err := restore(was.Version, was.Data)
	require.NoError(t, err)
	refused := func(words string, view quorum.View, frame []byte, change *message.Change) {
		t.Helper()
		w.failure = nil
		of := image.Clone()
		if change != nil {
			require.NoError(t, of.Apply(of.Version(), change))
		}
		o := &quorumSnapshots{images: make([]imageFolder, 2)}
		o.judge(w, w.nodes[1], frame, &view, of)
		(&stage{w, t}).refused("INV-18", words)
	}
	(&quorumSnapshots{images: make([]imageFolder, 2)}).judge(w, w.nodes[1], s.frame, &s.view, image)
	require.Nil(t, w.failure)

	view := s.view
	view.Applied--
	refused("of which it has applied", view, s.frame, nil)
	view = s.view
	view.Digest++
	refused("other entries led there", view, s.frame, nil)
	view = s.view
	view.Members.Learners = append(view.Members.Learners[:0:0], 99)
	refused("has at version", view, s.frame, nil)
	refused("gives at version", s.view, s.frame, &message.Change{Throttle: &message.ThrottleChange{BytesPerSecond: image.Throttle() + 1}})
	refused("cannot be read", s.view, s.frame[:len(s.frame)-1], nil)
}

// A real log of groups is cut behind what it still needs.
func TestALogOfGroupsThatIsCutTooFarIsRefused(t *testing.T) {
	var shard partBook
	var all []byte
	w := watch(t, 3, func(w *World, n *Node, _ []effect.Effect) bool {
		if w.newest() == nil || w.newest().TopicNamed(offsetsTopic) == nil {
			return false
		}
		topic := w.newest().TopicNamed(offsetsTopic).ID
		for _, r := range w.book.touched {
			if r.part.id.Topic == topic && r.view.Start == 0 && r.part.high > 20 {
				shard = *r.part
				all, _ = (&shardSnapshots{}).read(w, n, r.part, 0, r.part.high)
				return all != nil
			}
		}
		return false
	})
	o, s, groups := &shardSnapshots{}, &stage{w, t}, &coordinators[0]
	state := func() folding {
		f := groups.fold()
		require.NoError(t, f.Take(all))
		return f
	}
	o.judge(w, w.nodes[1], shard.id, groups, &shardHistory{state: groups.fold()}, all)
	require.Nil(t, w.failure, "nothing is cut")
	o.judge(w, w.nodes[1], shard.id, groups, &shardHistory{start: shard.high - 1, next: shard.high, state: state()}, all)
	s.refused("INV-18", "is not what all")
}
