package sim

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/record"
)

// Batches are found by halving from the end: each offset of logs of all sizes gives
// what looking at every batch gives.
func TestBatchesFromAnOffsetOnAreFound(t *testing.T) {
	for size := range 40 {
		var l logFacts
		for i := range size {
			l.extend(batch(record.Offset(i), 1, "a"), 0)
		}
		for offset := range record.Offset(size + 2) {
			from := l.from(offset)
			require.Len(t, from, max(0, size-int(offset)), "offset %d of %d", offset, size)
			if len(from) > 0 {
				require.Equal(t, offset, from[0].BaseOffset)
			}
		}
	}
}

// A step that commits records, retires them and appends leaves them to the
// observers, who look after it; a later one forgets them.
func TestWhatAStepRetiresIsThereAfterIt(t *testing.T) {
	s := newStage(t)
	n := s.nodes[1]
	var many [][]byte
	for i := range record.Offset(100) {
		many = append(many, batch(i, 1, "a"))
	}
	r := s.holds(1, many...)
	next := func(base record.Offset) effect.Append {
		return effect.Append{Log: part, Base: base, End: base + 1, Batches: batch(base, 1, "a")}
	}
	s.book.asked(n, 1, effect.TrimPrefix{Log: part, Start: 100})
	s.book.asked(n, 1, next(100))
	require.Len(t, r.memory.from(0), 101)

	r.view.Start = 100
	s.book.asked(n, 2, next(101))
	require.Len(t, r.memory.from(0), 2)
}

// A log that a power cut has taken, directory and all, leaves nothing to what is made
// in its place: whoever begins that anew drops nothing.
func TestALogThatIsNotFoundAgainHoldsNothing(t *testing.T) {
	s := newStage(t)
	o := &nothingCut{}
	b := batch(0, 1, "a")
	s.book.part(part).committed, s.book.part(part).high = []record.Header{header(b)}, 1
	again := func(found ...effect.RecoveredLog) {
		r := s.holds(2, b)
		r.durable, r.told = 0, 0
		s.book.started(s.nodes[2], &effect.Recovered{Logs: found})
		s.step(o, 2, nil, []effect.Effect{effect.Reset{Log: part}}, r)
	}
	again()
	s.passed()
	*s.book.replica(2, part) = replicaBook{part: s.book.part(part), node: 2}
	again(effect.RecoveredLog{ID: part, End: 1, Headers: []record.Header{header(b)}})
	s.refused("INV-4", "drops the batch at 0, which is committed")
}

func TestABatchIsFoundByItsEpochAndOffset(t *testing.T) {
	var l links
	require.Nil(t, l.at(link{1, 0}))
	for _, base := range []record.Offset{0, 3, 7, 20, 21, 22, 23, 24, 5} { // the last one out of turn
		l.put(1, origin{base: base, crc: uint32(base)})
		l.put(4, origin{base: base + 1, crc: uint32(base)})
	}
	for _, base := range []record.Offset{0, 3, 5, 7, 20, 24} {
		require.Equal(t, uint32(base), l.at(link{1, base}).crc)
		require.Equal(t, uint32(base), l.at(link{4, base + 1}).crc)
	}
	for _, at := range []link{{1, 1}, {1, 25}, {4, 0}, {2, 0}} {
		require.Nil(t, l.at(at))
	}
}
