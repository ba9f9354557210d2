package client

import (
	"context"
	"crypto/rand"
	"encoding/binary"

	protocol "github.com/tamarack-mq/tamarack/core/client"
	"github.com/tamarack-mq/tamarack/core/message"
)

// TransactionListing is one transactional id, and the broker that coordinates it.
type TransactionListing struct {
	message.TransactionListing
	Coordinator message.NodeID
}

// ListTransactions lists the transactional ids of the whole cluster, in no order.
// Brokers that do not answer are left out, and named by the error.
func (c *Client) ListTransactions(ctx context.Context) ([]TransactionListing, error) {
	replies, err := c.AskAll(ctx, &message.ListTransactions{})
	if err != nil {
		return nil, err
	}
	var list []TransactionListing
	err = fromEach(replies, func(node message.NodeID, m *message.ListTransactionsReply) {
		for _, t := range m.Transactions {
			list = append(list, TransactionListing{t, node})
		}
	})
	return list, err
}

func coordinatorOf(id string) protocol.Target {
	return protocol.Target{Kind: protocol.Coordinator, TransactionalID: id}
}

// DescribeTransaction tells everything about a transactional id. One that is not
// known is message.TransactionalIDNotFound.
func (c *Client) DescribeTransaction(ctx context.Context, id string) (*message.DescribeTransactionReply, error) {
	r, err := c.Ask(ctx, &message.DescribeTransaction{TransactionalID: id}, coordinatorOf(id))
	if err != nil {
		return nil, err
	}
	m, ok := r.(*message.DescribeTransactionReply)
	if !ok {
		return nil, unexpected(r)
	}
	return m, refusal(m.Code, m.Detail, "transactional id "+id)
}

// FenceProducer takes a transactional id as a new producer of it would, and does
// nothing with it. What the producer before has open is aborted, everywhere by the
// time that this returns; what was decided before is not changed, and is everywhere
// too. That producer is fenced: it makes no more transactions. An id that is not known
// comes into being, so DescribeTransaction goes before.
func (c *Client) FenceProducer(ctx context.Context, id string) (*message.InitProducerIDReply, error) {
	var self [8]byte
	_, _ = rand.Read(self[:])
	r, err := c.Ask(ctx, &message.InitProducerID{TransactionalID: id, Incarnation: max(binary.BigEndian.Uint64(self[:]), 1)}, coordinatorOf(id))
	if err != nil {
		return nil, err
	}
	m, ok := r.(*message.InitProducerIDReply)
	if !ok {
		return nil, unexpected(r)
	}
	return m, refusal(m.Code, m.Detail, "transactional id "+id)
}
