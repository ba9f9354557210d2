package sim

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/record"
)

// written notes batches as one log has them, each written behind the one before it.
func (p *partBook) written(batches ...[]byte) {
	var previous link
	for i, b := range batches {
		h := header(b)
		if at := linkOf(&h); p.links.at(at) == nil {
			p.links.put(at.epoch, origin{at.base, h.End(), h.CRC, previous, 1, i > 0})
		}
		previous = linkOf(&h)
	}
}

// retires lets a replica retire what is below an offset, and forget it.
func (r *replicaBook) retires(below record.Offset) {
	for _, l := range []*logFacts{&r.memory, &r.disk} {
		l.trim(below)
		l.dropRetired()
	}
}

// "def" is given up for an "x" that is committed in its place, and comes back with a log
// that has retired all up to where it parted from the other one, and more. What stands
// there is not the "x", and not nothing.
func TestWhatIsBackWithoutItsBeginningIsKnownByWhatItStandsOn(t *testing.T) {
	a, b, c, x := batch(0, 1, "a"), batch(1, 1, "b"), batch(2, 1, "c"), batch(3, 1, "x")
	d, e, f := batch(3, 2, "d"), batch(4, 2, "e"), batch(5, 2, "f")
	all := func(batches ...[]byte) (headers []record.Header) {
		for _, b := range batches {
			headers = append(headers, header(b))
		}
		return headers
	}
	for _, q := range []struct {
		start record.Offset
		known bool // what the batches of the log that is back stand on
		want  []record.Header
		lost  record.Offset // from where on the second election gave records up
	}{
		{start: 2, known: true, want: all(a, b, c, d, e, f), lost: 3},
		{start: 3, known: true, want: all(a, b, c, d, e, f), lost: 3},
		{start: 4, known: true, want: all(a, b, c, d, e, f), lost: 3},
		{start: 5, known: true, want: all(a, b, c, d, e, f), lost: 3},
		{start: 6, known: true, want: all(a, b, c, x), lost: 4}, // it holds nothing: nobody knows
		{start: 5, known: false, want: all(a, b, c, x, f), lost: 4},
	} {
		s, p, behind := surrendering(t)
		p.written(a, b, c, x)
		if q.known {
			p.written(a, b, c, d, e, f)
		}
		s.wins(behind, 3)
		behind.view.HighWatermark = 4
		s.step(&soundHighWatermark{}, 3, nil, nil, behind)
		s.passed()
		require.Equal(t, all(a, b, c, x), p.committed)

		back := s.book.replica(1, part)
		back.knew = 6
		back.retires(q.start)
		p.uncleanly(7)
		s.leads(back, 7, 6)
		p.settle(s.World, back)
		require.Equal(t, q.want, p.committed, "start %d", q.start)
		require.EqualValues(t, 6, p.high)
		require.Equal(t, surrender{epoch: 7, from: q.lost, to: 4, at: 7 * Second, start: q.start}, p.surrendered[1])
		require.EqualValues(t, 3, p.remains())

		if !q.known || q.start == 6 {
			continue
		}
		// Who holds more of the same log is right.
		more := s.book.replica(2, part)
		more.retires(2)
		more.view.Matched, more.view.LeaderEpoch, more.view.HighWatermark, more.verified = true, 7, 6, 0
		s.step(&replicaAgreement{}, 2, nil, nil, more)
		s.passed()
	}
}

// The first batch of a partition stands at offset 0 in epoch 0. Who was written behind it
// is known by that like anybody else: all of "abc" is back, and nothing of the "xyz" that
// was committed in its place.
func TestWhatIsBackMayStandOnTheVeryFirstBatch(t *testing.T) {
	of := func(b []byte, epoch record.LeaderEpoch) []byte {
		h := header(b)
		record.Stamp(b, h.BaseOffset, epoch)
		return b
	}
	for _, committed := range []int{1, 3} { // also when the log that is back begins behind all of it
		s := newStage(t)
		o, p := &sequences{}, s.book.part(part)
		abc := [][]byte{of(numbered(0, 0, 0), 0), of(numbered(1, 0, 1), 0), of(numbered(2, 0, 2), 0)}
		xyz := [][]byte{of(numbered(0, 1, 0), 2), of(numbered(1, 1, 1), 2), of(numbered(2, 1, 2), 2)}[:committed]
		p.written(abc...)
		p.written(xyz...)
		var all []record.Header
		for _, b := range abc {
			all = append(all, header(b))
		}
		back := s.holds(1, abc...)
		back.knew = 3
		p.committed, p.high = all, 3
		o.committed(s.World, s.nodes[1], p)

		p.uncleanly(2)
		other := s.holds(3)
		s.leads(other, 2, 0)
		p.settle(s.World, other)
		for _, b := range xyz {
			p.committed = append(p.committed, header(b))
		}
		p.high = record.Offset(committed)
		o.committed(s.World, s.nodes[3], p)
		s.passed()

		back.retires(1)
		p.uncleanly(4)
		s.leads(back, 4, 3)
		p.settle(s.World, back)
		require.Equal(t, all, p.committed)
		require.EqualValues(t, 0, p.surrendered[1].from)
		o.committed(s.World, s.nodes[1], p)
		s.passed()
	}
}

// What is back goes on behind what was given up of it, also where that is retired. Where
// the account has not what is retired, a producer may have done there what it liked; but
// from then on it is judged again.
func TestSequencesGoOnBehindWhatIsRetiredOfThem(t *testing.T) {
	for _, c := range []struct {
		known bool
		back  [2]record.Sequence // of the batches that the log still has
		words string
	}{
		{true, [2]record.Sequence{3, 4}, ""},
		{true, [2]record.Sequence{4, 5}, "the sequence 4 where 3 was due"},
		{true, [2]record.Sequence{2, 3}, "the sequence 2 where 3 was due"},
		{false, [2]record.Sequence{4, 5}, ""},
		{false, [2]record.Sequence{4, 6}, "the sequence 6 where 5 was due"},
	} {
		s := newStage(t)
		o, p := &sequences{}, s.book.part(part)
		log := [][]byte{numbered(0, 0, 0), numbered(1, 0, 1), numbered(2, 0, 2), numbered(3, 0, c.back[0]), numbered(4, 0, c.back[1])}
		back := s.holds(1, log...)
		back.knew = 5
		if c.known {
			p.written(log...)
		} else {
			p.written(log[:2]...)
		}
		for _, b := range log[:3] {
			p.committed = append(p.committed, header(b))
		}
		p.high = 3
		o.committed(s.World, s.nodes[1], p)
		p.committed, p.high = append(p.committed, header(log[3]), header(log[4])), 5 // it was not looked at

		p.uncleanly(4)
		s.wins(s.holds(3, log[0]), 1)
		o.committed(s.World, s.nodes[3], p)
		s.passed()

		back.retires(3)
		p.uncleanly(7)
		s.leads(back, 7, 5)
		p.settle(s.World, back)
		o.committed(s.World, s.nodes[1], p)
		if c.words != "" {
			s.refused("INV-27", c.words)
		}
		s.passed()
	}
}

// A log that is back does not go on behind what was committed in place of its beginning,
// although it stands right behind it in the account.
func TestSequencesDoNotGoOnBehindAnotherLog(t *testing.T) {
	for _, last := range []record.Sequence{3, 4} {
		s := newStage(t)
		o, p := &sequences{}, s.book.part(part)
		log := [][]byte{numbered(0, 0, 0), numbered(1, 0, 1), numbered(2, 0, 2), numbered(3, 0, last)}
		p.written(log[1:]...) // nobody knows what it began with
		p.committed, p.high = []record.Header{header(log[0]), header(log[1])}, 2
		o.committed(s.World, s.nodes[1], p)

		other := [][]byte{log[0], batch(1, 4, "x")}
		p.written(other...)
		p.uncleanly(4)
		s.wins(s.holds(3, other...), 2)
		p.committed, p.high = append(p.committed, header(other[1])), 2
		o.committed(s.World, s.nodes[3], p)

		back := s.holds(1, log...)
		back.knew = 4
		back.retires(2)
		p.uncleanly(7)
		s.leads(back, 7, 4)
		p.settle(s.World, back)
		require.Equal(t, []record.Header{header(log[0]), header(other[1]), header(log[2]), header(log[3])}, p.committed)
		o.committed(s.World, s.nodes[1], p)
		if last == 4 {
			s.refused("INV-27", "the sequence 4 where 3 was due")
		}
		s.passed()
	}
}
