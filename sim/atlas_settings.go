package sim

import (
	"slices"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/metadata"
	"github.com/tamarack-mq/tamarack/core/settings"
)

// insyncKey is the one setting that a budget is measured by.
const insyncKey = "min-insync"

// mayAlter says whether a topic may get other settings now, and notes it. With
// fewer replicas in sync a record is committed on fewer disks: on more than have
// been hit.
func (a *atlas) mayAlter(o *operator, m *message.AlterConfig) bool {
	image := a.world.newest()
	if image == nil {
		return false
	}
	t := image.TopicNamed(m.Topic)
	if t == nil {
		return false
	}
	next, err := settings.AlterTopic(t.Config, m.Set, m.Unset)
	if err != nil {
		return true // it is refused
	}
	for _, state := range t.Partitions {
		if hit := a.hit(state); !a.world.plan.Beyond && hit > 0 && hit >= next.LeastInsync(metadata.Factor(state)) {
			return false
		}
	}
	if slices.ContainsFunc(m.Set, func(s message.Setting) bool { return s.Key == insyncKey }) || slices.Contains(m.Unset, insyncKey) {
		o.lowering = append(o.lowering, lowering{pending{request: m, digest: digest(m)}, m.Topic, next})
	}
	return true
}

// hit counts the copies of a partition that do not count.
func (a *atlas) hit(state *message.PartitionChange) (hit int) {
	for _, n := range state.Replicas {
		if !a.counts(int32(n), state.ID) {
			hit++
		}
	}
	return hit
}

// relies concedes, beyond the promise, what a topic's new settings leave to copies
// that were hit: with a lower min.insync the controller may count on these alone,
// as it does not know yet, and let go of eligible ones that are whole.
func (a *atlas) relies(t *metadata.Topic, was *message.TopicConfig) {
	if !a.world.plan.Beyond {
		return // see mayAlter
	}
	for _, state := range t.Partitions {
		factor := metadata.Factor(state)
		least, hit := t.Config.LeastInsync(factor), a.hit(state)
		if least < was.LeastInsync(factor) && hit >= least {
			a.world.book.part(state.ID).loss = true
			a.world.mark(markConceded)
		}
	}
}

// leastInsync is the least min.insync that a topic may have now, or may yet get: the
// budget of damage counts with it.
func (a *atlas) leastInsync(t *metadata.Topic, factor int) int {
	least := t.Config.LeastInsync(factor)
	for _, l := range a.world.operatorUser().script.(*operator).lowering {
		if l.topic == t.Name {
			least = min(least, l.config.LeastInsync(factor))
		}
	}
	return least
}
