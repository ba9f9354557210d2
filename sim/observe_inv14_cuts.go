package sim

import (
	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/record"
)

// cutsOnce is the part of INV-14 about what a disk says: that it has flushed a log
// counts for the log that was asked for, and not for one that was cut, emptied or made
// again under its name since. The core tells them apart by a number, so that in one run
// of a node none is given to a log twice.
type cutsOnce struct {
	blind
	given []map[record.PartitionID]effect.Cut // by node: the last of each log in this run
}

func (*cutsOnce) Invariant() string { return "INV-14" }

func (*cutsOnce) Looks() scope { return ofCuts }

// Started: the logs that recovery has found are at 0.
func (o *cutsOnce) Started(_ *World, n *Node, found *effect.Recovered) {
	for int(n.id) >= len(o.given) {
		o.given = append(o.given, nil)
	}
	o.given[n.id] = map[record.PartitionID]effect.Cut{}
	for i := range found.Logs {
		o.given[n.id][found.Logs[i].ID] = 0
	}
}

func (o *cutsOnce) Stepped(w *World, n *Node, _ effect.Input, out []effect.Effect) {
	for _, e := range out {
		switch e := e.(type) {
		case effect.CreateLog:
			o.gives(w, n, e.Log, e.Cut)
		case effect.Truncate:
			o.gives(w, n, e.Log, e.Cut)
		case effect.Reset:
			o.gives(w, n, e.Log, e.Cut)
		}
	}
}

func (o *cutsOnce) gives(w *World, n *Node, id record.PartitionID, cut effect.Cut) {
	if last, had := o.given[n.id][id]; had && cut <= last {
		w.fail("INV-14", n.id, "a flush of one log would count for the next", "node %d counts the cuts of partition %s from %d on, but the log that it had before was at %d: what the disk says of that one would be taken for this one's", n.id, id, cut, last)
		return
	}
	o.given[n.id][id] = cut
}
