package sim

import (
	"testing"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
)

func TestWhatCouldBeDecidedLongAgoIsRefused(t *testing.T) {
	s := newStage(t)
	o := &promptDecisions{}
	p := &message.PartitionChange{ID: part, Replicas: []message.NodeID{1, 2}, Target: []message.NodeID{2}}
	turn := func(what string) {
		s.now += Second
		o.look(s.World, p, what)
	}
	for range 8 {
		turn("the end of a move")
	}
	s.passed()
	turn("") // it was done
	for range 8 {
		turn("the end of a move")
	}
	s.passed()
	o.since = s.now // another controller
	for range 5 {
		turn("the end of a move")
	}
	s.passed()
	turn("the end of a move")
	s.refused("INV-34", "the end of a move of partition 5/0")
}

func TestABrokerThatIsNotLetGoIsRefused(t *testing.T) {
	s := newStage(t)
	o := &promptDecisions{}
	turns := func(n int) {
		for range n {
			s.now += 2 * Second
			o.leaves(s.World, 2, true)
		}
	}
	for _, by := range []office{
		{1, 1, 4},
		{3, 1, 5}, // another controller
		{3, 2, 5}, // another run of it
		{3, 2, 6}, // it has lost its office, and has it back
	} {
		o.under(s.now, by)
		turns(8)
	}
	s.passed()
	o.leaves(s.World, 2, false) // it was let go
	turns(8)
	s.passed()
	o.under(s.now, office{3, 2, 6}) // the same
	turns(1)
	s.refused("INV-34", "since node 2 wants to shut down, which was 16s ago")

	o = &promptDecisions{}
	o.leaves(s.World, 2, true)
	s.now += 60 * Second
	o.leaves(s.World, 2, true) // nothing was decided meanwhile
	s.passed()
}

func TestANodeThatOversleepsIsRefused(t *testing.T) {
	s := newStage(t)
	o := &wokenInTime{}
	o.judge(s.World, s.nodes[1], 5, 5)
	s.passed()
	o.judge(s.World, s.nodes[1], 6, 5)
	s.refused("INV-34", "asks to be woken at 6")
}

func TestRecordsAreAnsweredForInTheirTime(t *testing.T) {
	s := newStage(t)
	n := s.nodes[1]
	o := &wokenInTime{}
	o.Started(s.World, n, nil)
	n.tokens = map[message.Token]caller{
		7: {request: &message.Produce{Timeout: message.Second}, mono: 100},
		8: {request: &message.Fetch{}, mono: 100},
	}
	end := message.Time(100).Add(message.Second)
	o.unanswered(s.World, n, end, nil)
	o.unanswered(s.World, n, end+1, []effect.Effect{effect.Reply{Token: 7}})
	s.passed()
	o.unanswered(s.World, n, end+1, []effect.Effect{effect.Reply{Token: 8}})
	s.refused("INV-34", "node 1 has not answered for records that came 1.000000001s ago, and was given 1s")
	o.kept[1][7] = true
	o.unanswered(s.World, n, end.Add(message.Second), nil)
	s.passed()
	o.unanswered(s.World, n, end.Add(message.Second)+1, nil)
	s.refused("INV-34", "and was given 2s")
}

func TestAJournalThatGrowsIsRefused(t *testing.T) {
	s := newStage(t)
	o := &shortJournals{}
	o.judge(s.World, s.nodes[1], 4<<10, 100, 1<<10)
	o.judge(s.World, s.nodes[1], 10<<10, 4<<10, 1<<10)
	s.passed()
	o.judge(s.World, s.nodes[1], 4<<10+1, 100, 1<<10)
	s.refused("INV-38", "holds 4097 bytes")
}

func TestAControllerThatForgetsNothingIsRefused(t *testing.T) {
	s := newStage(t)
	o := &shortHistories{}
	o.judge(s.World, s.nodes[1], 60, 60)
	s.passed()
	o.judge(s.World, s.nodes[1], 61, 60)
	s.refused("INV-38", "node 1 keeps 61 changes")
}

func TestACacheThatIsMiscountedIsRefused(t *testing.T) {
	s := newStage(t)
	o := &countedCache{}
	o.judge(s.World, s.nodes[1], 300, 300)
	s.passed()
	o.judge(s.World, s.nodes[1], 300, 204)
	s.refused("INV-38", "counts 300 bytes as used, and holds 204")
}
