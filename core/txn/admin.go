package txn

import (
	"github.com/tamarack-mq/tamarack/core/ledger"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/order"
)

// describe decides a DescribeTransaction. It is confirmed, as refusals are.
func (s *shard) describe(m *message.DescribeTransaction) (message.Reply, *refusal) {
	e := s.state.entries[m.TransactionalID]
	if e == nil {
		return nil, refused(message.TransactionalIDNotFound, "the transactional id is not known, or was not used for so long that it expired")
	}
	return &message.DescribeTransactionReply{
		TransactionalID: e.name, State: e.phase.String(), ID: e.now.ID, Epoch: e.now.Epoch,
		Timeout: e.timeout, Started: e.started, Partitions: e.partitions,
	}, nil
}

// listing is a ListTransactions on its way: it is answered once what it saw of
// every shard is committed.
type listing struct {
	token   message.Token
	reply   *message.ListTransactionsReply
	waiting int // shards that are not ready
	over    bool
}

// list decides a ListTransactions over all shards.
func (c *Coordinator) list(now message.Now, token message.Token, out *Out) {
	l := &listing{token: token, reply: &message.ListTransactionsReply{}}
	for _, s := range c.shards.Books() {
		if s.Phase() != ledger.Serving {
			l.Failed(message.CoordinatorLoadInProgress, &out.Out)
			return
		}
	}
	for _, s := range c.shards.Books() {
		for _, name := range order.Keys(s.state.entries) {
			e := s.state.entries[name]
			l.reply.Transactions = append(l.reply.Transactions, message.TransactionListing{
				TransactionalID: name, State: e.phase.String(), ID: e.now.ID, Epoch: e.now.Epoch,
			})
		}
	}
	l.waiting = 1
	for _, s := range c.shards.Books() {
		if s.Pending() > 0 {
			l.waiting++
			s.Tell(now, l, ledger.Written, &out.Out)
		}
	}
	l.Ready(now, &out.Out)
}

// Ready says that one more part is committed.
func (l *listing) Ready(_ message.Now, out *ledger.Out) {
	if l.waiting--; l.waiting == 0 && !l.over {
		l.over = true
		out.Replies = append(out.Replies, Reply{Token: l.token, Msg: l.reply})
	}
}

// Failed answers that not all can be told now.
func (l *listing) Failed(_ message.Code, out *ledger.Out) {
	if !l.over {
		l.over = true
		out.Replies = append(out.Replies, Reply{Token: l.token, Msg: &message.ListTransactionsReply{Code: message.CoordinatorLoadInProgress}})
	}
}
