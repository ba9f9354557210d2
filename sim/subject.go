package sim

import (
	"bytes"
	"slices"

	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/history"
	"github.com/tamarack-mq/tamarack/models"
	"github.com/tamarack-mq/tamarack/witness"
)

// Subject is what a failure is about, as far as the judge could tell. What it is
// not about is left out.
type Subject struct {
	Topic     uint64 `json:"topic,omitempty"` // its id, not its name
	Partition int32  `json:"partition,omitempty"`
	Offset    *int64 `json:"offset,omitempty"` // the first record in doubt
	Group     string `json:"group,omitempty"`
	// Copies are the offsets at which the same record stands, too.
	Copies []int64 `json:"copies,omitempty"`
}

// subjectOf finds what a sentence is about in what it is made of: the first
// partition, and of the offsets the lowest, which is where the doubt begins. A
// judge for whom that is not so says it with about.
func subjectOf(args []any) Subject {
	var s Subject
	for _, a := range args {
		switch a := a.(type) {
		case record.PartitionID:
			if s.Topic == 0 {
				s.Topic, s.Partition = uint64(a.Topic), a.Index
			}
		case record.Offset:
			if at := int64(a); at >= 0 && (s.Offset == nil || at < *s.Offset) {
				s.Offset = &at
			}
		}
	}
	if s.Topic == 0 {
		s.Offset = nil
	}
	return s
}

// about says what the failure of just now is about, where its sentence does not
// tell it well enough. Nothing happens when there is none, or another.
func (w *World) about(s Subject) {
	if f := w.failure; w.noted && f.Event == w.stats.Events {
		f.Subject = s
	}
}

// aboutCommit says that the failure of just now is about a group's position;
// below zero: about none in particular.
func (w *World) aboutCommit(group string, id record.PartitionID, offset record.Offset) {
	s := Subject{Topic: uint64(id.Topic), Partition: id.Index, Group: group}
	if at := int64(offset); at >= 0 {
		s.Offset = &at
	}
	w.about(s)
}

// aboutRecord says that it is about one record.
func (w *World) aboutRecord(id record.PartitionID, offset record.Offset) {
	w.aboutCommit("", id, offset)
}

// alsoAt says that it is about a record of which the partition has an earlier copy.
func (w *World) alsoAt(id record.PartitionID, offset, earlier record.Offset) {
	at := int64(offset)
	w.about(Subject{Topic: uint64(id.Topic), Partition: id.Index, Offset: &at, Copies: []int64{int64(earlier)}})
}

// subjectOfViolation finds what a model's finding is about in the operations
// that it names.
func subjectOfViolation(v *models.Violation, ops []history.Operation) Subject {
	var s Subject
	for _, id := range v.Ops {
		if id < 0 || id >= int64(len(ops)) {
			continue
		}
		op := &ops[id]
		if op.Group != "" {
			s.Group = op.Group
		}
		if s.Topic != 0 {
			continue
		}
		s.Topic, s.Partition = op.TopicID, op.Partition
		at := op.Offset
		if s.Topic == 0 && len(op.Positions) > 0 {
			s.Topic, s.Partition, at = op.Positions[0].TopicID, op.Positions[0].Partition, op.Positions[0].Offset
		}
		if s.Topic != 0 && at >= 0 && op.Kind != history.Read {
			s.Offset = &at
		}
	}
	if v.Anomaly == "duplicate" && len(v.Ops) > 0 {
		s.standsAt(ops[v.Ops[0]].Value, ops)
	}
	return s
}

// standsAt finds all places of a record in what the auditor has read at the end.
func (s *Subject) standsAt(value []byte, ops []history.Operation) {
	var places []int64
	for i := range ops {
		op := &ops[i]
		if op.Kind != history.Read || op.Client != auditorID || op.TopicID != s.Topic || op.Partition != s.Partition {
			continue
		}
		for j := range op.Records {
			if bytes.Equal(op.Records[j].Value, value) && !slices.Contains(places, op.Records[j].Offset) {
				places = append(places, op.Records[j].Offset)
			}
		}
	}
	if last := len(places) - 1; last > 0 {
		s.Offset, s.Copies = &places[last], places[:last]
	}
}

func (s Subject) witnessed() witness.Subject {
	out := witness.Subject{
		Partition: record.PartitionID{Topic: record.TopicID(s.Topic), Index: s.Partition}, Offset: witness.None, Group: s.Group, Copies: s.Copies,
	}
	if s.Offset != nil {
		out.Offset = *s.Offset
	}
	return out
}
