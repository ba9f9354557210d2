package sim

import (
	"fmt"

	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/internal/dump"
	"github.com/tamarack-mq/tamarack/witness"
)

// Session lets one look at any event of a run, in any order. The run is played
// once before a witness; to look at a state it is played again up to there.
// Worlds that were played so far are kept, so that going on from where one has
// been before costs nothing.
type Session struct {
	plan   *Plan
	run    witness.Run
	result *Result
	worlds []*World // the latest first
}

// keptWorlds bounds the memory of a session.
const keptWorlds = 6

// NewSession plays a plan to its end.
func NewSession(plan *Plan) *Session {
	s := &Session{plan: plan}
	s.result = Run(plan, Options{Witness: &s.run})
	return s
}

// Witness is all that happened in the run.
func (s *Session) Witness() *witness.Run { return &s.run }

// Result is what came of it.
func (s *Session) Result() *Result { return s.result }

// at is the world after an event. It must not be played further by others.
func (s *Session) at(event uint64) *World {
	event = min(max(event, 1), s.run.Events)
	best := -1
	for i, w := range s.worlds {
		if w.stats.Events <= event && (best < 0 || w.stats.Events > s.worlds[best].stats.Events) {
			best = i
		}
	}
	var w *World
	if best >= 0 {
		w = s.worlds[best]
		s.worlds = append(s.worlds[:best], s.worlds[best+1:]...)
	} else {
		w = newWorld(s.plan, Options{})
		w.begin()
	}
	if w.stats.Events < event {
		w.options.Until = event
		w.proceed()
	}
	s.worlds = append([]*World{w}, s.worlds...)
	if len(s.worlds) > keptWorlds {
		s.worlds = s.worlds[:keptWorlds]
	}
	return w
}

// node finds a node in the world after an event.
func (s *Session) node(event uint64, id int) (*Node, error) {
	w := s.at(event)
	if id < 1 || id >= len(w.nodes) {
		return nil, fmt.Errorf("there is no node %d: the run has nodes 1 to %d", id, len(w.nodes)-1)
	}
	return w.nodes[id], nil
}

// Dump is the whole state of a node after an event: lines "path = value", in an
// order that is the same each time.
func (s *Session) Dump(event uint64, node int) ([]string, error) {
	n, err := s.node(event, node)
	if err != nil {
		return nil, err
	}
	return n.dump(), nil
}

// Diff is how the state of a node differs between two events.
func (s *Session) Diff(node int, from, to uint64) ([]string, error) {
	a, err := s.Dump(from, node)
	if err != nil {
		return nil, err
	}
	b, err := s.Dump(to, node)
	if err != nil {
		return nil, err
	}
	return dump.Diff(a, b), nil
}

// Log are the batches of a partition on one node after an event, from an offset
// on.
func (s *Session) Log(event uint64, node int, id record.PartitionID, from int64) ([]string, error) {
	n, err := s.node(event, node)
	if err != nil {
		return nil, err
	}
	return n.batches(id, record.Offset(from)), nil
}

// Disk is what is on a node's disk after an event, and on its way there.
func (s *Session) Disk(event uint64, node int) ([]string, error) {
	n, err := s.node(event, node)
	if err != nil {
		return nil, err
	}
	return n.drive.dump(), nil
}

// Flight are the messages that are under way after an event.
func (s *Session) Flight(event uint64) []string { return s.at(event).flight() }

// Standings is how all replicas of a partition stand after an event.
func (s *Session) Standings(event uint64, id record.PartitionID) []string {
	return s.at(event).standings(id)
}
