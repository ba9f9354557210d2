package sim

import (
	"github.com/tamarack-mq/tamarack/history"
	"github.com/tamarack-mq/tamarack/models"
)

// subjectOfViolation is what a model's finding is about, in the terms of a failure. A
// transaction goes before a group, and a group before a record.
func subjectOfViolation(v *models.Violation, ops []history.Operation) Subject {
	about := &v.About
	s := Subject{Group: about.Group, Member: about.Member, Copies: about.Again, At: lastOf(v.Ops, ops)}
	if about.Place.TopicID != 0 {
		s.Topic, s.Partition = about.Place.TopicID, about.Place.Partition
		if about.Offset != history.None {
			s.Offset = &about.Offset
		}
	}
	if t := about.Transaction; t != nil {
		return Subject{Transactional: t.TransactionalID, At: endOf(t), Kept: s.kept()}
	}
	return s
}

// kept is the place of a record that is seen of a transaction.
func (s *Subject) kept() *Kept {
	if s.Topic == 0 || s.Offset == nil {
		return nil
	}
	return &Kept{s.Topic, s.Partition, *s.Offset}
}

// lastOf is when the last of some operations was over; 0: there is none.
func lastOf(ids []int64, ops []history.Operation) (at Span) {
	for _, id := range ids {
		if id >= 0 && id < int64(len(ops)) {
			at = max(at, endOf(&ops[id]))
		}
	}
	return at
}

func endOf(op *history.Operation) Span {
	if op.Return == history.Open {
		return Span(op.Invoke)
	}
	return Span(op.Return)
}
