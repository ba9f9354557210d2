package group

import (
	"github.com/tamarack-mq/tamarack/core/ledger"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/core/verify"
)

// heldCommit is a request that waits for the coordinator of its transaction.
type heldCommit struct {
	shard   *shard
	token   message.Token
	request *message.CommitTransactionOffsets
}

// partition is what a shard asks for. Which topic it is of, core knows.
func (s *shard) partition() record.PartitionID { return record.PartitionID{Index: s.Index()} }

// enlist takes a CommitTransactionOffsets. It waits unless what is pending shows
// already that the partition is a part of the transaction: it is until the marker
// comes, which takes away what is pending.
func (s *shard) enlist(now message.Now, token message.Token, r *message.CommitTransactionOffsets, out *Out) {
	c := s.home
	_, no := s.mayPend(s.state.groups[r.Group], r)
	epoch, open := s.state.openEpoch(r.ID)
	if no != nil && no.Code == message.ConcurrentTransactions && epoch < r.Epoch {
		no = nil // that of the one before has no marker here yet: the coordinator has it wait for that
	}
	part := verify.Part{Partition: s.partition(), TransactionalID: r.TransactionalID, ID: r.ID, Epoch: r.Epoch}
	switch {
	case no != nil || open && epoch == r.Epoch:
		s.answerCommit(now, token, r, out)
	case c.unverified.Held() >= heldMost:
		out.Refuse(token, r, ledger.Refused(message.CoordinatorLoadInProgress, "%d requests wait for coordinators of transactions; try again later", c.unverified.Held()))
	default:
		c.unverified.Hold(now, part, heldCommit{s, token, r}, 1, &out.Verify)
	}
}

// heldMost is how many requests to one broker may wait for the coordinators of
// their transactions.
const heldMost = 10000

// Verified takes the answer to a Verify: see verify.Desk. A code that is not
// Retriable and not None is the answer to those who wait.
func (c *Coordinator) Verified(now message.Now, ticket uint64, code message.Code, out *Out) {
	waiting := c.unverified.Answered(now, ticket, code)
	if len(waiting) == 0 {
		return
	}
	for _, h := range waiting {
		if code == message.None {
			h.shard.answerCommit(now, h.token, h.request, out)
		} else {
			out.Refuse(h.token, h.request, ledger.Refused(code, "the coordinator of the transaction does not let the group take part in it"))
		}
	}
	waiting[0].shard.Flush(now, &out.Out) // a question is of one shard
	c.collect(out)
}

// askAgain acts on the questions whose time has come.
func (c *Coordinator) askAgain(now message.Now, out *Out) {
	c.unverified.Tick(now, func(h heldCommit) {
		out.Refuse(h.token, h.request, ledger.Refused(message.RequestTimedOut, "the coordinator of the transaction has not answered in time; nothing was stored"))
	}, &out.Verify)
}

// sendAway answers all who wait, in a call that has no Out for it.
func (s *shard) sendAway() {
	for _, h := range s.home.unverified.Abandon(s.partition()) {
		reply := message.Fail(h.request, message.NotCoordinator, "the coordinator of the group changes; nothing was stored")
		s.home.replies = append(s.home.replies, Reply{Token: h.token, Msg: reply})
	}
}

// answerCommit decides a request whose transaction is known to go on.
func (s *shard) answerCommit(now message.Now, token message.Token, r *message.CommitTransactionOffsets, out *Out) {
	s.Answer(now, token, r, s.pend(now, r), ledger.Written, &out.Out)
}
