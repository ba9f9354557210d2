package txn

import (
	"github.com/tamarack-mq/tamarack/core/ledger"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/order"
)

// describe decides a DescribeTransaction. It is confirmed, as refusals are.
func (s *shard) describe(m *message.DescribeTransaction) (message.Reply, *ledger.Refusal) {
	e := s.state.entries[m.TransactionalID]
	if e == nil {
		return nil, ledger.Refused(message.TransactionalIDNotFound, "the transactional id is not known, or was not used for so long that it expired")
	}
	return &message.DescribeTransactionReply{
		TransactionalID: e.name, State: e.phase.String(), ID: e.now.ID, Epoch: e.now.Epoch,
		Timeout: e.timeout, Started: e.started, Partitions: e.partitions,
	}, nil
}

// list decides a ListTransactions over all shards.
func (c *Coordinator) list(now message.Now, token message.Token, out *Out) {
	refusal := &message.ListTransactionsReply{Code: message.CoordinatorLoadInProgress}
	c.shards.Survey(now, token, refusal, func() message.Reply {
		reply := &message.ListTransactionsReply{}
		for _, s := range c.shards.Books() {
			for _, name := range order.Keys(s.state.entries) {
				e := s.state.entries[name]
				reply.Transactions = append(reply.Transactions, message.TransactionListing{
					TransactionalID: name, State: e.phase.String(), ID: e.now.ID, Epoch: e.now.Epoch,
				})
			}
		}
		return reply
	}, &out.Out)
}
