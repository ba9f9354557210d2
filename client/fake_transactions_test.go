package client_test

import (
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// transactions is what the fake knows of transactional ids. Markers are written with
// the decision.
type transactions struct {
	producers map[string]*producer
	lastID    record.ProducerID
	aborted   [2][]message.AbortedTransaction
	refuse    map[message.Kind]message.Code // the next request of the kind is refused
}

// producer is one transactional id.
type producer struct {
	id     record.ProducerID
	epoch  record.ProducerEpoch
	first  map[int32]record.Offset // of the transaction that is open, by partition
	offers []message.GroupOffset   // positions that are pending
	ended  *message.EndTransaction
	self   uint64 // the incarnation
}

func newTransactions() transactions {
	return transactions{producers: map[string]*producer{}, lastID: 900, refuse: map[message.Kind]message.Code{}}
}

// refused takes the refusal that a kind of request is to get.
func (t *transactions) refused(k message.Kind) message.Code {
	code := t.refuse[k]
	delete(t.refuse, k)
	return code
}

func (t *transactions) unstable() bool {
	for _, p := range t.producers {
		if len(p.offers) > 0 {
			return true
		}
	}
	return false
}

// stable is the last stable offset of a partition.
func (t *transactions) stable(partition int32, end record.Offset) record.Offset {
	for _, p := range t.producers {
		if first, ok := p.first[partition]; ok {
			end = min(end, first)
		}
	}
	return end
}

func (f *fake) initTransactions(m *message.InitProducerID) message.Reply {
	t := &f.transactions
	p := t.producers[m.TransactionalID]
	if p == nil {
		t.lastID++
		p = &producer{id: t.lastID, epoch: -1, first: map[int32]record.Offset{}}
		t.producers[m.TransactionalID] = p
	}
	if p.self == m.Incarnation {
		return &message.InitProducerIDReply{ID: p.id, Epoch: p.epoch}
	}
	f.finish(p, false)
	p.epoch++
	p.ended, p.self = nil, m.Incarnation
	return &message.InitProducerIDReply{ID: p.id, Epoch: p.epoch}
}

// open has a partition take part in its producer's transaction.
func (f *fake) open(h *record.Header, partition int32) message.Code {
	if code := f.transactions.refused(message.KindProduce); code != message.None || !h.Attributes.Transactional() {
		return code
	}
	for _, p := range f.transactions.producers {
		switch {
		case p.id != h.ProducerID:
		case p.epoch != h.ProducerEpoch:
			return message.ProducerFenced
		default:
			if _, is := p.first[partition]; !is {
				p.first[partition] = f.ends[partition]
			}
			return message.None
		}
	}
	return message.InvalidProducerIDMapping
}

func (f *fake) addOffsets(m *message.CommitTransactionOffsets) message.Reply {
	code := f.transactions.refused(m.Kind())
	p := f.transactions.producers[m.TransactionalID]
	switch {
	case code != message.None:
	case p == nil || p.epoch != m.Epoch:
		code = message.ProducerFenced
	default:
		p.offers = append(p.offers, m.Offsets...)
	}
	return message.Fail(m, code, "")
}

func (f *fake) endTransaction(m *message.EndTransaction) message.Reply {
	code := f.transactions.refused(m.Kind())
	p := f.transactions.producers[m.TransactionalID]
	switch {
	case code != message.None:
	case p == nil:
		code = message.InvalidProducerIDMapping
	case p.ended != nil && *p.ended == *m:
		return &message.EndTransactionReply{ID: p.id, Epoch: p.epoch}
	case p.epoch != m.Epoch:
		code = message.ProducerFenced
	case m.Commit && len(p.first) == 0 && len(p.offers) == 0:
		code = message.InvalidTxnState
	default:
		f.finish(p, m.Commit)
		p.epoch++
		p.ended = m
		return &message.EndTransactionReply{ID: p.id, Epoch: p.epoch}
	}
	return message.Fail(m, code, "")
}

// finish writes the markers of a transaction, and the positions when it commits.
func (f *fake) finish(p *producer, commit bool) {
	how := record.Aborted
	if commit {
		how = record.Committed
		for _, o := range p.offers {
			f.offsets[o.ID] = o
		}
	}
	for partition := range int32(2) {
		first, is := p.first[partition]
		if !is {
			continue
		}
		marker := record.BuildMarker(1, p.id, p.epoch+1, record.Marker{Outcome: how})
		record.Stamp(marker, f.ends[partition], 0)
		f.logs[partition] = append(f.logs[partition], marker...)
		f.ends[partition]++
		if !commit {
			f.transactions.aborted[partition] = append(f.transactions.aborted[partition], message.AbortedTransaction{ID: p.id, First: first})
		}
	}
	p.offers = nil
	clear(p.first)
	f.news.Broadcast()
}
