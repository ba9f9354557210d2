package sim

import (
	"testing"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

func TestAProducerGoesOnWithTheIdentityThatItWasGiven(t *testing.T) {
	gets := func(u *user, id record.ProducerID, epoch record.ProducerEpoch) {
		u.hearsWhoItIs(&message.EndTransactionReply{ID: id, Epoch: epoch})
	}
	ends := func(u *user, id record.ProducerID, epoch record.ProducerEpoch) {
		u.isItself(&message.EndTransaction{ID: id, Epoch: epoch})
	}
	begin := func() (*stage, *user) {
		s := newStage(t)
		u := s.clients[0]
		p := *u.plan
		p.Role = Transactor
		u.plan = &p
		u.hearsWhoItIs(&message.InitProducerIDReply{ID: 7, Epoch: 4})
		ends(u, 7, 4)
		ends(u, 7, 4)
		gets(u, 7, 5)
		gets(u, 7, 5)
		u.isItself(&message.CommitTransactionOffsets{ID: 7, Epoch: 5})
		gets(u, 8, 0) // the epochs of 7 are used up
		ends(u, 8, 0)
		s.passed()
		return s, u
	}
	s, u := begin()
	ends(u, 7, 5)
	s.refused("INV-29", "client 1 goes on as producer 7 with epoch 5; it was given [{7 4} {7 5} {8 0}], and has used the 3. of these")
	s, u = begin()
	u.isItself(&message.CommitTransactionOffsets{ID: 7})
	s.refused("INV-29", "goes on as producer 7 with epoch 0")
}
