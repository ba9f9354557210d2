package sim

import (
	"testing"

	"github.com/tamarack-mq/tamarack/core/effect"
)

// A number of cuts is given to a log once in a run: also to one that is made again
// after its deletion. The next run counts from 0 on.
func TestANumberOfCutsIsGivenOnce(t *testing.T) {
	s := newStage(t)
	o := &cutsOnce{}
	does := func(e effect.Effect) { o.Stepped(s.World, s.nodes[1], nil, []effect.Effect{e}) }
	o.Started(s.World, s.nodes[1], &effect.Recovered{Logs: []effect.RecoveredLog{{ID: part}}})
	does(effect.Truncate{Log: part, Cut: 1})
	does(effect.Reset{Log: part, Cut: 2})
	does(effect.DeleteLog{Log: part})
	does(effect.CreateLog{Log: part, Cut: 3})
	s.passed()
	does(effect.DeleteLog{Log: part})
	does(effect.CreateLog{Log: part, Cut: 3})
	s.refused("INV-14", "node 1 counts the cuts of partition 5/0 from 3 on, but the log that it had before was at 3")

	o.Started(s.World, s.nodes[1], &effect.Recovered{Logs: []effect.RecoveredLog{{ID: part}}})
	does(effect.Truncate{Log: part, Cut: 1})
	s.passed()
	does(effect.Reset{Log: part, Cut: 1})
	s.refused("INV-14", "from 1 on, but the log that it had before was at 1")

	o.Started(s.World, s.nodes[1], &effect.Recovered{})
	does(effect.CreateLog{Log: part})
	s.passed()
}
