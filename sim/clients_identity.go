package sim

import (
	"slices"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/txn"
)

// identities are those that a process which makes transactions was given, in that
// order, and how far it has gone on with them.
type identities struct {
	list []txn.Identity
	used int // the place of the one that it used last
}

// given takes in an identity. The same answer may come again.
func (s *identities) given(who txn.Identity) {
	if !slices.Contains(s.list, who) {
		s.list = append(s.list, who)
	}
}

// uses says whether an identity was given, and is not one from before that which was
// used last.
func (s *identities) uses(who txn.Identity) bool {
	i := slices.Index(s.list[s.used:], who)
	if i < 0 {
		return false
	}
	if s.used += i; s.used > 64 { // what is long past does not come again
		s.list = append(s.list[:0], s.list[s.used-16:]...)
		s.used = 16
	}
	return true
}

// hearsWhoItIs takes in an answer with an identity.
func (u *user) hearsWhoItIs(reply message.Reply) {
	if !u.plan.Role.transacts() {
		return
	}
	switch m := reply.(type) {
	case *message.InitProducerIDReply:
		if m.Code == message.None {
			u.whoIs.given(txn.Identity{ID: m.ID, Epoch: m.Epoch})
		}
	case *message.EndTransactionReply:
		if m.Code == message.None {
			u.whoIs.given(txn.Identity{ID: m.ID, Epoch: m.Epoch})
		}
	}
}

// isItself is INV-29 for who makes transactions: each is ended, and has its positions
// stored, under the identity that the coordinator gave for it, and never under one
// from before.
func (u *user) isItself(r message.Request) {
	if !u.plan.Role.transacts() {
		return
	}
	var who txn.Identity
	switch m := r.(type) {
	case *message.EndTransaction:
		who = txn.Identity{ID: m.ID, Epoch: m.Epoch}
	case *message.CommitTransactionOffsets:
		who = txn.Identity{ID: m.ID, Epoch: m.Epoch}
	default:
		return
	}
	if !u.whoIs.uses(who) {
		u.world.fail("INV-29", 0, "a producer takes an identity that it does not have", "client %d goes on as producer %d with epoch %d; it was given %v, and has used the %d. of these", u.plan.ID, who.ID, who.Epoch, u.whoIs.list, u.whoIs.used+1)
	}
}
