package ledger

import (
	"fmt"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// Refusal is why a request is not granted.
type Refusal struct {
	Code   message.Code
	Detail string
}

// Refused makes one. The detail says what to do.
func Refused(code message.Code, format string, args ...any) *Refusal {
	return &Refusal{code, fmt.Sprintf(format, args...)}
}

// Refuse answers at once; only for what shows nothing of a shard's state.
func (o *Out) Refuse(token message.Token, m message.Request, r *Refusal) {
	o.Replies = append(o.Replies, Reply{Token: token, Msg: message.Fail(m, r.Code, r.Detail)})
}

// Topics tells how many partitions a topic has.
type Topics interface {
	ByName(name string) (id record.TopicID, partitions int32, ok bool)
}

// Serving finds the book that keeps what is called name, when it can take a request.
// topics shows the internal topic; nil: nothing is known yet.
func (s *Set[C, B]) Serving(name string, topics Topics) (book B, no *Refusal) {
	topic, shards := s.desk.cfg.Topic, int32(0)
	if topics != nil {
		_, shards, _ = topics.ByName(topic)
	}
	if shards < 1 {
		return book, Refused(message.CoordinatorNotAvailable, "the topic %s is not there yet; try again", topic)
	}
	index := Shard(name, shards)
	at, led := s.find(index)
	if !led {
		return book, Refused(message.NotCoordinator, "this broker does not lead shard %d of %s; ask again who coordinates %q", index, topic, name)
	}
	switch l := s.ledgers[at]; {
	case l.phase != Serving:
		return book, Refused(message.CoordinatorLoadInProgress, "shard %d of %s is being loaded; try again", index, topic)
	case l.Full():
		return book, Refused(message.CoordinatorLoadInProgress, "%d requests wait for shard %d of %s to be replicated; try again later", l.Waiting(), index, topic)
	}
	return s.books[at], nil
}
