package sim

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/storage/vfs/simdisk"
)

// found is what a recovery of node 1 gives.
func (s *stage) found(logs ...effect.RecoveredLog) {
	(&exactRecovery{}).Started(s.World, s.nodes[1], &effect.Recovered{Logs: logs})
}

func recovered(end record.Offset, batches ...[]byte) effect.RecoveredLog {
	l := effect.RecoveredLog{ID: part, End: end}
	for _, b := range batches {
		l.Headers = append(l.Headers, header(b))
	}
	return l
}

func TestATornTailIsExpected(t *testing.T) {
	s := newStage(t)
	a, b := batch(0, 1, "a"), batch(1, 1, "b")
	r := s.holds(1, a, b)
	r.durable = 1
	s.found(recovered(1, a))
	s.passed()
}

func TestRecoveriesThatLoseOrInventAreRefused(t *testing.T) {
	a, b := batch(0, 1, "a"), batch(1, 1, "b")
	for name, c := range map[string]struct {
		found     effect.RecoveredLog
		invariant string
		words     string
	}{
		"flushed records gone": {recovered(1, a), "INV-11", "it was flushed up to 2"},
		"records out of air":   {recovered(3, a, b, batch(2, 1, "c")), "INV-11", "only 2 was written"},
		"other records":        {recovered(2, a, batch(1, 1, "x")), "INV-11", "was written"},
		"damage without cause": {effect.RecoveredLog{ID: part, End: 2, Damage: "a bad checksum"}, "INV-13", "its disk was never hit"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.holds(1, a, b)
			s.found(c.found)
			s.refused(c.invariant, c.words)
		})
	}
}

func TestALogThatIsNotFoundIsRefused(t *testing.T) {
	s := newStage(t)
	s.holds(1, batch(0, 1, "a"))
	s.found()
	s.refused("INV-11", "does not find the log of partition 5/0")
}

func TestDamageThatIsCutAwaySilentlyIsRefused(t *testing.T) {
	s := newStage(t)
	a, b := batch(0, 1, "a"), batch(1, 1, "b")
	s.holds(1, a, b)
	s.atlas.damage(s.nodes[1], simdisk.Damage{Path: "5-0/00000000000000000000.log"})
	s.found(recovered(1, a))
	s.refused("INV-13", "without a word")
	told := recovered(1, a)
	told.Damage = "a bad checksum"
	s.found(told)
	s.passed()
}

func TestAJournalThatChangesIsRefused(t *testing.T) {
	s := newStage(t)
	nb := s.book.node(1)
	look := func(frames ...string) {
		nb.journal = []uint64{digestFrame([]byte("one")), digestFrame([]byte("two"))}
		f := &effect.Recovered{}
		for _, text := range frames {
			f.Journal = append(f.Journal, []byte(text))
		}
		(&exactRecovery{}).Started(s.World, s.nodes[1], f)
	}
	look("one", "two")
	s.passed()
	look("one")
	s.refused("INV-11", "1 frames of the quorum journal, but 2 were saved")
	look("one", "tow")
	s.refused("INV-11", "is not what was saved")
	look("one", "two", "three")
	s.refused("INV-11", "only 2 were saved")
}

// What recovery sets aside of a damaged log stays on the disk until the log is put in
// order. Who loses the mark as well finds it again, and has to call it damaged.
func TestWhatWasSetAsideIsFoundAgainWithoutItsMark(t *testing.T) {
	a, b, c := batch(0, 1, "a"), batch(1, 1, "b"), batch(2, 1, "c")
	told := func(l effect.RecoveredLog, words string) effect.RecoveredLog {
		l.Damage = words
		return l
	}
	all := told(recovered(3, a, b, c), "the marks were lost")
	for name, it := range map[string]struct {
		markless bool
		change   effect.Effect
		again    effect.RecoveredLog
		words    string
	}{
		"found again":        {true, nil, all, ""},
		"in part":            {true, nil, told(recovered(2, a, b), "the marks were lost"), ""},
		"with its mark":      {false, nil, all, "up to 3, but only 1 was written"},
		"without a word":     {true, nil, recovered(3, a, b, c), "up to 3, but only 1 was written"},
		"more than ever":     {true, nil, told(recovered(4, a, b, c, batch(3, 1, "d")), "the marks were lost"), "up to 4, but only 3 was written"},
		"other records":      {true, nil, told(recovered(3, a, b, batch(2, 1, "x")), "the marks were lost"), "at 2, where one of epoch 1 at 2 was written"},
		"after a cut":        {true, effect.Truncate{Log: part, To: 1}, all, "up to 3, but only 1 was written"},
		"after a checkpoint": {true, effect.Checkpoint{Log: part}, all, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.holds(1, a, b, c)
			s.atlas.damage(s.nodes[1], simdisk.Damage{Path: "5-0/00000000000000000001.log"})
			first := told(recovered(1, a), "a bad checksum")
			s.found(first)
			s.passed()
			s.book.started(s.nodes[1], &effect.Recovered{Logs: []effect.RecoveredLog{first}})
			if it.change != nil {
				s.book.changed(s.nodes[1], it.change)
			}
			s.atlas.ails[1].unmarked = it.markless
			s.atlas.beforeStart(s.nodes[1])
			s.atlas.opened(1)
			s.found(it.again)
			if it.words != "" {
				s.refused("INV-11", it.words)
			}
			s.passed()
		})
	}
}

// Of what is retired the account forgets the batches. Without the mark of the log start a
// recovery begins with the first file, and finds some of them again.
func TestWhatIsRetiredIsFoundAgainWithoutItsMark(t *testing.T) {
	a, b, c, d := batch(0, 1, "a"), batch(1, 1, "b"), batch(2, 1, "c"), batch(3, 1, "d")
	told := func(start record.Offset, batches ...[]byte) effect.RecoveredLog {
		l := recovered(4, batches...)
		l.Start, l.Damage = start, "the marks were lost"
		return l
	}
	for name, it := range map[string]struct {
		found effect.RecoveredLog
		knows []record.Header // then
		words string
	}{
		"all of it":          {told(0, a, b, c, d), []record.Header{header(a), header(b), header(c), header(d)}, ""},
		"some of it":         {told(1, b, c, d), []record.Header{header(b), header(c), header(d)}, ""},
		"not shown":          {told(1, d), []record.Header{header(b), header(c), header(d)}, ""},
		"shown in part":      {told(0, b, c, d), []record.Header{header(a), header(b), header(c), header(d)}, ""},
		"nothing":            {told(3, d), []record.Header{header(d)}, ""},
		"another one":        {told(1, batch(1, 1, "x"), c, d), nil, "a batch of epoch 1 at 1 that nobody wrote"},
		"one of other times": {told(1, batch(1, 2, "b"), c, d), nil, "a batch of epoch 2 at 1 that nobody wrote"},
		"another one behind": {told(1, b, c, batch(3, 1, "x")), nil, "at 3, where one of epoch 1 at 3 was written"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			r := s.holds(1, d)
			r.memory.start, r.disk.start = 3, 3
			for _, h := range []record.Header{header(a), header(b), header(c), header(d)} {
				r.part.committed = append(r.part.committed, h)
				r.part.links.put(h.LeaderEpoch, origin{base: h.BaseOffset, end: h.End(), crc: h.CRC})
			}
			r.part.high = 4
			s.atlas.damage(s.nodes[1], simdisk.Damage{Path: "5-0/00000000000000000000.log"})
			s.found(it.found)
			if it.words != "" {
				s.refused("INV-11", it.words)
				return
			}
			s.passed()
			s.book.started(s.nodes[1], &effect.Recovered{Logs: []effect.RecoveredLog{it.found}})
			require.Equal(t, it.knows, r.memory.from(it.found.Start))
			require.EqualValues(t, 4, r.part.inCommon(&r.memory))
		})
	}
}

// "def" was given up for an "x" that is committed in its place. A log that held it, and
// has retired it, holds it again when its mark is lost, and not the "x".
func TestWhatIsFoundAgainIsWhatWasThereAndNotWhatIsCommittedInItsPlace(t *testing.T) {
	a, b, c, x := batch(0, 1, "a"), batch(1, 1, "b"), batch(2, 1, "c"), batch(3, 1, "x")
	d, e, f := batch(3, 2, "d"), batch(4, 2, "e"), batch(5, 2, "f")
	for name, it := range map[string]struct {
		known bool // what the batches of the log were written behind
		start record.Offset
		end   record.Offset
		shown [][]byte
		knows [][]byte // then
		holds record.Offset
	}{
		"not shown":                    {true, 2, 6, [][]byte{f}, [][]byte{c, d, e, f}, 3},
		"shown in part":                {true, 2, 6, [][]byte{e, f}, [][]byte{c, d, e, f}, 3},
		"its end is lost":              {true, 2, 5, nil, [][]byte{c, d, e}, 3},
		"its end is lost, and more":    {true, 2, 4, nil, nil, 2},
		"shown, and nobody knows more": {false, 2, 6, [][]byte{e, f}, [][]byte{e, f}, 2},
		"nobody knows":                 {false, 2, 6, [][]byte{f}, [][]byte{f}, 2},
		"nobody knows what was lost":   {false, 3, 4, nil, nil, 3},
		"below all that was given up":  {false, 1, 3, nil, [][]byte{b, c}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			s, p, behind := surrendering(t)
			p.written(a, b, c, x)
			if it.known {
				p.written(a, b, c, d, e, f)
			}
			s.wins(behind, 3)
			p.committed, p.high = append(p.committed, header(x)), 4
			r := s.book.replica(1, part)
			r.retires(5)
			found := recovered(it.end, it.shown...)
			found.Start, found.Damage = it.start, "the marks were lost"
			s.book.started(s.nodes[1], &effect.Recovered{Logs: []effect.RecoveredLog{found}})
			var knows []record.Header
			for _, b := range it.knows {
				knows = append(knows, header(b))
			}
			require.Equal(t, knows, append([]record.Header(nil), r.memory.from(it.start)...))
			require.EqualValues(t, it.holds, r.part.inCommon(&r.memory))
		})
	}
}
