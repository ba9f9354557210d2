package client

import (
	"cmp"
	"slices"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// aborted tells, batch by batch in the order of the log, which belong to aborted
// transactions. A fetch names the aborted transactions that have records in what
// it gave, each by its producer and first offset. From there on that producer's
// batches are dropped, up to its next marker: what comes behind it belongs to
// another transaction. (The algorithm is KIP-98's.)
type aborted struct {
	ahead    []message.AbortedTransaction // those not begun, by first offset
	dropping []record.ProducerID          // those that have begun and not ended
}

// begin goes over to what another fetch gave.
func (a *aborted) begin(list []message.AbortedTransaction) {
	a.ahead, a.dropping = list, a.dropping[:0]
}

// drops says whether the next batch is to be dropped.
func (a *aborted) drops(h *record.Header) bool {
	for len(a.ahead) > 0 && a.ahead[0].First < h.End() {
		if id := a.ahead[0].ID; !slices.Contains(a.dropping, id) {
			a.dropping = append(a.dropping, id)
		}
		a.ahead = a.ahead[1:]
	}
	if len(a.dropping) == 0 || !h.Attributes.Transactional() {
		return false
	}
	i := slices.Index(a.dropping, h.ProducerID)
	if i >= 0 && h.Attributes.Control() {
		a.dropping = slices.Delete(a.dropping, i, i+1)
	}
	return i >= 0
}

// aborted is what a fetch says about aborted transactions, in the order in which
// they began, as far as it concerns this reader.
func (k *consumer) aborted(e *message.FetchedPartition) []message.AbortedTransaction {
	if len(e.Aborted) == 0 || k.c.cfg.Isolation != message.ReadCommitted {
		return nil
	}
	byFirst := func(a, b message.AbortedTransaction) int { return cmp.Compare(a.First, b.First) }
	if slices.IsSortedFunc(e.Aborted, byFirst) {
		return e.Aborted
	}
	list := slices.Clone(e.Aborted)
	slices.SortFunc(list, byFirst)
	return list
}

// stable says that the group's positions must not be read while a transaction is
// open that may change them.
func (k *consumer) stable() bool {
	return k.c.cfg.Isolation == message.ReadCommitted || k.c.transactor.on()
}
