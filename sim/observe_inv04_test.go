package sim

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/record"
)

// cuts lets the books look at a cut, and leaves the log as it is.
func (s *stage) cuts(node int32, e effect.Effect) {
	switch e := e.(type) {
	case effect.Truncate:
		r := s.book.replica(node, e.Log)
		r.drops = nil
		r.loses(e.Cut, e.To)
	case effect.Reset:
		r := s.book.replica(node, e.Log)
		r.drops = nil
		r.loses(e.Cut, e.Start)
	}
}

// What a cut drops is what the core has asked for so far. A disk that is slow may still
// hold what the cut before has dropped, and not yet what was written since.
func TestACutBehindOneThatTheDiskHasNotCarriedOut(t *testing.T) {
	s := newStage(t)
	o := &nothingCut{}
	a, b := batch(0, 1, "a"), batch(1, 1, "b")
	r := s.holds(2, a, b)
	r.part.committed, r.part.high = []record.Header{header(a), header(b)}, 2
	s.book.asked(s.nodes[2], 1, effect.Reset{Log: part, Cut: 1})
	o.Stepped(s.World, s.nodes[2], nil, []effect.Effect{effect.Reset{Log: part, Cut: 1}})
	s.refused("INV-4", "drops the batch at 0, which is committed")
	s.book.asked(s.nodes[2], 2, appending(0, a))
	s.book.asked(s.nodes[2], 3, effect.Reset{Log: part, Cut: 2, Start: 1})
	o.Stepped(s.World, s.nodes[2], nil, []effect.Effect{effect.Reset{Log: part, Cut: 2, Start: 1}})
	s.passed() // nothing stands there any more
	s.book.asked(s.nodes[2], 4, appending(1, b))
	s.book.asked(s.nodes[2], 5, effect.Truncate{Log: part, Cut: 3, To: 1})
	o.Stepped(s.World, s.nodes[2], nil, []effect.Effect{effect.Truncate{Log: part, Cut: 3, To: 1}})
	s.refused("INV-4", "drops the batch at 1, which is committed")
	require.Equal(t, record.Offset(2), r.disk.end, "the disk has done nothing so far")
}
