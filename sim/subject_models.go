package sim

import (
	"bytes"
	"regexp"
	"slices"
	"strconv"

	"github.com/tamarack-mq/tamarack/history"
	"github.com/tamarack-mq/tamarack/models"
)

// subjectOfViolation finds what a model's finding is about: in its sentence, which
// names a place as 9/0 and a record as 9/0@12, and in the operations that it names. A
// transaction goes before a group, and a group before a record.
func subjectOfViolation(v *models.Violation, ops []history.Operation) Subject {
	text := quotedInText.ReplaceAllString(v.Text, `""`)
	s := Subject{At: lastOf(v.Ops, ops)}
	if m := placeInText.FindStringSubmatch(text); m != nil {
		s.Topic, _ = strconv.ParseUint(m[1], 10, 64)
		index, _ := strconv.ParseInt(m[2], 10, 32)
		s.Partition = int32(index)
		s.Offset = offsetIn(m[3])
	}
	for _, doubt := range doubtsInText {
		if m := doubt.FindStringSubmatch(text); m != nil && s.Topic != 0 {
			s.Offset = offsetIn(m[1])
			break
		}
	}
	if m := groupInText.FindStringSubmatch(text); m != nil {
		s.Group = m[1]
	}
	for _, id := range v.Ops { // a commit is one of a group, though the sentence names its client
		if op := &ops[id]; op.Kind == history.Commit || op.Kind == history.FetchCommitted {
			named(&s.Group, op.Group)
		}
	}
	if s.Topic == 0 {
		s.ofOperations(v.Ops, ops)
	}
	switch {
	case v.Anomaly == "two owners":
		s.Member = memberOf(v.Ops, ops)
	case v.Anomaly == "doubled output": // the second one, which should not be there
		s = Subject{At: s.At}
		s.ofOperations(v.Ops[len(v.Ops)-1:], ops)
	case v.Anomaly == "duplicate" && len(v.Ops) > 0:
		s.standsAt(ops[v.Ops[0]].Value, ops)
	}
	if transactionInText.MatchString(text) {
		for _, id := range v.Ops {
			if op := &ops[id]; op.Kind == history.Transact {
				s = Subject{Transactional: op.TransactionalID, At: endOf(op), Kept: s.kept()}
				break
			}
		}
	}
	return s
}

var (
	quotedInText      = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
	placeInText       = regexp.MustCompile(`\b(\d+)/(\d+)(?:@(\d+))?`)
	groupInText       = regexp.MustCompile(`\bgroup ([^ ,]+) (?:has|had|was|is|reads|accepted|for|began)\b`)
	transactionInText = regexp.MustCompile(`\btransaction \d+ of client \d+`)
)

// doubtsInText tell which of several offsets is in doubt.
var doubtsInText = []*regexp.Regexp{
	regexp.MustCompile(`\b(\d+) was due\b`),
	regexp.MustCompile(`no member was given (\d+)`),
	regexp.MustCompile(`after (\d+) had been committed`),
	regexp.MustCompile(`at (\d+)(?: was never made|, is committed)`),
	regexp.MustCompile(`up to (\d+) with transaction`),
	regexp.MustCompile(`was told (\d+) for`),
	regexp.MustCompile(`\b(\d+) the first,`),
	regexp.MustCompile(`at or behind (\d+)`),
	regexp.MustCompile(`got offset (\d+)`),
}

func offsetIn(text string) *int64 {
	at, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return nil
	}
	return &at
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

// ofOperations takes the first place, and a group, from what operations say.
func (s *Subject) ofOperations(ids []int64, ops []history.Operation) {
	for _, id := range ids {
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
}

// memberOf is a member that operations name.
func memberOf(ids []int64, ops []history.Operation) string {
	for _, id := range ids {
		if op := &ops[id]; op.Member != "" {
			return op.Member
		}
	}
	return ""
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
