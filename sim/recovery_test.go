package sim

import (
	"testing"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/record"
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
	s.atlas.damage(s.nodes[1], "5-0/00000000000000000000.log")
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
