package sim

import (
	"slices"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/metadata"
	"github.com/tamarack-mq/tamarack/core/record"
)

// altered is what the book keeps of settings, to see them change.
type altered struct {
	topics      map[record.TopicID]message.TopicConfig
	settings    []*message.SettingsChange
	controllers *message.ControllersChange
}

// follow notes what is rare about a newer image's settings and controllers.
// active is the node that decided last.
func (a *altered) follow(w *World, image *metadata.Image, active int32) {
	if a.topics == nil {
		a.topics = map[record.TopicID]message.TopicConfig{}
	}
	for _, t := range image.Topics() {
		was, known := a.topics[t.ID]
		if known && was == t.Config {
			continue
		}
		a.topics[t.ID] = t.Config
		if known {
			a.topic(w, t, &was)
		}
	}
	if !sameSettings(a.settings, image.SettingsOf()) {
		a.settings = append(a.settings[:0], image.SettingsOf()...)
		w.mark(markNodesAltered)
	}
	if c := image.Controllers(); c != a.controllers {
		if a.controllers != nil && c != nil {
			a.members(w, a.controllers, c, active)
		}
		a.controllers = c
	}
}

func sameSettings(a, b []*message.SettingsChange) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

func (a *altered) topic(w *World, t *metadata.Topic, was *message.TopicConfig) {
	w.mark(markTopicAltered)
	w.atlas.relies(t, was)
	for _, p := range t.Partitions {
		before, after := was.LeastInsync(metadata.Factor(p)), t.Config.LeastInsync(metadata.Factor(p))
		switch {
		case before <= len(p.ISR) && after > len(p.ISR):
			w.mark(markMinInsyncRaised)
		case before > len(p.ISR) && after <= len(p.ISR):
			w.mark(markMinInsyncLowered)
			if old := w.book.part(p.ID).state; old != nil && len(old.ELR) > 0 && len(p.ELR) == 0 {
				w.mark(markEligibleReleased)
			}
		}
	}
}

func (a *altered) members(w *World, was, is *message.ControllersChange, active int32) {
	for _, n := range is.Learners {
		if !slices.Contains(was.Learners, n) {
			w.mark(markLearnerAdded)
		}
	}
	for _, n := range is.Voters {
		if slices.Contains(was.Learners, n) {
			w.mark(markVoterPromoted)
		}
	}
	for _, n := range was.Voters {
		if slices.Contains(is.Voters, n) {
			continue
		}
		w.mark(markVoterRemoved)
		if int32(n) == active {
			w.mark(markLeaderRemoved)
		}
	}
}
