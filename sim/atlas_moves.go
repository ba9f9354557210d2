package sim

import (
	"slices"

	"github.com/tamarack-mq/tamarack/core/message"
)

// outcomes are the replicas that may be all that is left of a partition before
// its state is looked at again: those that it has, or, while it moves, those of
// before and those of its target. A clean copy must be in each.
func outcomes(state *message.PartitionChange) [][]message.NodeID {
	if len(state.Target) == 0 {
		return [][]message.NodeID{state.Replicas}
	}
	return [][]message.NodeID{state.Replicas[:len(state.Replicas)-len(state.Adding)], state.Target}
}

// others counts the clean and complete copies that count, of a set of replicas,
// but for one node's.
func (a *atlas) others(part *partBook, state *message.PartitionChange, set []message.NodeID, node int32) (count int) {
	for _, sync := range [][]message.NodeID{state.ISR, state.ELR} {
		for _, m := range sync {
			r := part.at(int32(m))
			if int32(m) != node && slices.Contains(set, m) && a.counts(int32(m), part.id) && r != nil && r.exists && r.durable >= part.high {
				count++
			}
		}
	}
	return count
}
