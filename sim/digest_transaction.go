package sim

import (
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

func foldTransaction(r *rolling, m message.Message) bool {
	switch m := m.(type) {
	case *message.EndTransaction:
		r.producer(m.TransactionalID, m.ID, m.Epoch)
		r.flag(m.Commit)
	case *message.EndTransactionReply:
		r.outcome(m.Code, m.Detail)
		r.producer("", m.ID, m.Epoch)
	case *message.CommitTransactionOffsets:
		r.producer(m.TransactionalID, m.ID, m.Epoch)
		r.text(m.Group)
		r.text(m.Member)
		r.fold(uint64(m.MemberEpoch))
		r.offsets(m.Offsets)
		r.fold(m.Number)
	case *message.CommitTransactionOffsetsReply:
		r.outcome(m.Code, m.Detail)
		r.committed(m.Offsets)
	case *message.AddToTransaction:
		r.pair(int64(m.BrokerEpoch), int64(m.Request))
		r.producer(m.TransactionalID, m.ID, m.Epoch)
		r.ids(m.Partitions)
	case *message.AddedToTransaction:
		r.pair(int64(m.BrokerEpoch), int64(m.Request))
		r.fold(uint64(m.Code))
		for _, o := range m.Others {
			r.pair(int64(o.Request), int64(o.Code))
		}
	case *message.WriteMarkers:
		r.pair(int64(m.BrokerEpoch), int64(m.Request))
		r.fold(uint64(m.CoordinatorEpoch))
		r.producer("", m.ID, m.Epoch)
		r.flag(m.Commit)
		r.ids(m.Partitions)
	case *message.WroteMarkers:
		r.pair(int64(m.BrokerEpoch), int64(m.Request))
		for i := range m.Results {
			r.id(m.Results[i].ID)
			r.fold(uint64(m.Results[i].Code))
		}
	default:
		return foldTransactionAdmin(r, m)
	}
	return true
}

func foldTransactionAdmin(r *rolling, m message.Message) bool {
	switch m := m.(type) {
	case *message.ListTransactions:
	case *message.ListTransactionsReply:
		r.fold(uint64(m.Code))
		for i := range m.Transactions {
			t := &m.Transactions[i]
			r.producer(t.TransactionalID, t.ID, t.Epoch)
			r.text(t.State)
		}
	case *message.DescribeTransaction:
		r.text(m.TransactionalID)
	case *message.DescribeTransactionReply:
		r.outcome(m.Code, m.Detail)
		r.producer(m.TransactionalID, m.ID, m.Epoch)
		r.text(m.State)
		r.pair(int64(m.Timeout), int64(m.Started))
		r.ids(m.Partitions)
	default:
		return false
	}
	return true
}

func (r *rolling) producer(name string, id record.ProducerID, epoch record.ProducerEpoch) {
	r.text(name)
	r.pair(int64(id), int64(epoch))
}
