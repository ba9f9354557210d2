package sim

import (
	"strings"

	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/witness"
)

// Subject is what a failure is about, as far as the judge could tell. What it is
// not about is left out. See witness.Run.Why for what is told of it.
type Subject struct {
	Topic     uint64 `json:"topic,omitempty"` // its id, not its name
	Partition int32  `json:"partition,omitempty"`
	// Offset is the first record in doubt; of a Group, the position.
	Offset *int64 `json:"offset,omitempty"`
	Group  string `json:"group,omitempty"`
	// Member says that it is about who is in the group, and who owns what in it; empty:
	// about its positions.
	Member string `json:"member,omitempty"`
	// Transactional is the transactional id whose transaction it is about.
	Transactional string `json:"transactional,omitempty"`
	// Copies are the offsets at which the same record stands, too.
	Copies []int64 `json:"copies,omitempty"`
	// Kept is the record by which a coordinator keeps what it is about: a position, or
	// the state of a transaction; or the marker of one.
	Kept *Kept `json:"kept,omitempty"`
	// At is the moment that it is about; 0: the one in which it was seen.
	At Span `json:"at,omitempty"`
}

// Kept is a place in a log.
type Kept struct {
	Topic     uint64 `json:"topic"`
	Partition int32  `json:"partition"`
	Offset    int64  `json:"offset"`
}

// subjectOf finds what a sentence is about in what it is made of and in the words that
// stand before that: the first partition; of the offsets the lowest, which is where the
// doubt begins; the first group, and the first transaction. A shard is the log of a
// coordinator: its offset is that of the record by which a position, or a transaction,
// is kept, and says nothing of the partition of that position. A judge for whom that is
// not so says it with about.
func subjectOf(format string, args []any) Subject {
	n := nouns{}
	for i, before := range wordsBefore(format) {
		if i < len(args) {
			n.take(before, args[i])
		}
	}
	return n.subject()
}

// wordsBefore are the words of a format before each of its verbs.
func wordsBefore(format string) (list []string) {
	parts := strings.Split(strings.ReplaceAll(format, "%%", ""), "%")
	for i := range parts[:len(parts)-1] {
		words := parts[i]
		if i > 0 {
			words = words[1:] // without the letter of the verb before
		}
		list = append(list, strings.TrimRight(words, " "))
	}
	return list
}

// nouns are the things that a sentence names.
type nouns struct {
	partition, shard             *record.PartitionID
	position                     *record.Offset // of a group
	offset, low                  *record.Offset // the first, and the lowest, of records
	group, member, transactional string
}

func (n *nouns) take(before string, arg any) {
	is := func(words ...string) bool {
		for _, w := range words {
			if strings.HasSuffix(before, w) {
				return true
			}
		}
		return false
	}
	switch arg := arg.(type) {
	case record.PartitionID:
		switch {
		case is("shard"):
			keepFirst(&n.shard, arg)
		default:
			keepFirst(&n.partition, arg)
		}
	case record.Offset:
		switch {
		case arg < 0:
		case is("position"):
			keepFirst(&n.position, arg)
		default:
			keepFirst(&n.offset, arg)
			if n.low == nil || arg < *n.low {
				n.low = &arg
			}
		}
	case string:
		switch {
		case is("group"):
			named(&n.group, arg)
		case is("member"):
			named(&n.member, arg)
		case is("transaction of", "transactional id", "decision of", "producer of", " gives", " tells"):
			named(&n.transactional, arg)
		}
	}
}

func keepFirst[T any](at **T, v T) {
	if *at == nil {
		*at = &v
	}
}

func named(at *string, v string) {
	if *at == "" {
		*at = v
	}
}

func (n *nouns) subject() Subject {
	s := Subject{Group: n.group, Member: n.member, Transactional: n.transactional}
	keeps := n.group != "" || n.transactional != ""
	at, offset, kept := n.partition, n.low, n.shard
	switch {
	case n.transactional != "" && n.group == "" && kept == nil:
		kept, at = n.partition, nil // the marker
	case !keeps && at == nil:
		at, kept = n.shard, nil // the log of the shard is what it is about
	case n.transactional != "" && n.group == "":
		at = nil
	}
	if keeps {
		if kept != nil && n.offset != nil {
			s.Kept = &Kept{uint64(kept.Topic), kept.Index, int64(*n.offset)}
			offset = nil
		}
		if n.group != "" && n.position != nil {
			offset = n.position
		}
	}
	if at != nil {
		s.Topic, s.Partition = uint64(at.Topic), at.Index
		if offset != nil {
			s.Offset = new(int64)
			*s.Offset = int64(*offset)
		}
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

// aboutPosition says that it is about the position that a record of a shard keeps.
func (w *World) aboutPosition(r *positionRecord) {
	shard := r.shard.part.id
	w.about(Subject{
		Topic: uint64(r.Partition.Topic), Partition: r.Partition.Index, Group: r.Group,
		Kept: &Kept{uint64(shard.Topic), shard.Index, int64(r.at)},
	})
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

func (s Subject) witnessed() witness.Subject {
	out := witness.Subject{
		Partition: record.PartitionID{Topic: record.TopicID(s.Topic), Index: s.Partition}, Offset: witness.None, Group: s.Group, Copies: s.Copies,
		Member: s.Member, Transactional: s.Transactional, At: int64(s.At),
	}
	if s.Offset != nil {
		out.Offset = *s.Offset
	}
	if k := s.Kept; k != nil {
		out.Kept, out.KeptAt = record.PartitionID{Topic: record.TopicID(k.Topic), Index: k.Partition}, k.Offset
	}
	return out
}
