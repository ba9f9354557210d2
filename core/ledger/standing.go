package ledger

import "github.com/tamarack-mq/tamarack/core/record"

// Standing is where a led shard stands, for observers.
type Standing struct {
	Epoch   record.LeaderEpoch // in which it is led
	Serving bool               // it is loaded
	Pending int                // appends under way; 0: the state equals a fold of the committed log
}

// Stands says where a shard stands; false when it is not led.
func (s *Set[C, B]) Stands(index int32) (Standing, bool) {
	at, ok := s.find(index)
	if !ok {
		return Standing{}, false
	}
	l := s.ledgers[at]
	return Standing{Epoch: l.epoch, Serving: l.phase == Serving, Pending: l.queue.pending}, true
}
