package sim

import (
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/core/replica"
	"github.com/tamarack-mq/tamarack/core/txn"
)

// crossed are the marks of coordinators that die, by the state of a transaction.
var crossed = map[txn.Phase]mark{
	txn.Empty: markCrossedEmpty, txn.Ongoing: markCrossedOngoing,
	txn.PrepareCommit: markCrossedPrepareCommit, txn.PrepareAbort: markCrossedPrepareAbort,
	txn.CompleteCommit: markCrossedCompleteCommit, txn.CompleteAbort: markCrossedCompleteAbort,
}

// markCrossed notes which states of transactions a node is in the middle of as it
// dies.
func (n *Node) markCrossed() {
	w := n.world
	c := n.Core()
	if !w.transacted || c == nil || w.phase > faulting {
		return
	}
	c.Transactions().EachTransaction(func(_ int32, t txn.Transaction) bool {
		w.mark(crossed[t.Phase])
		return true
	})
	var of replica.View
	for _, p := range w.book.list {
		if p.state == nil || p.state.Leader != n.node() {
			continue
		}
		if v := w.replicaAt(p, n.node(), &of); v != nil && v.Role == replica.Leading && v.LastStable < v.HighWatermark {
			w.mark(markLeaderCrashedOpen)
			return
		}
	}
}

// markDied notes what a client was doing as it died.
func (u *user) markDied() {
	t, ok := u.script.(interface{ present() *transaction })
	if !ok || t.present() == nil || u.world.phase > faulting {
		return
	}
	switch x := t.present(); {
	case x.verb == "commit":
		u.world.mark(markDiedCommitting)
	case x.verb == "abort":
		u.world.mark(markDiedAborting)
	case x.began:
		u.world.mark(markDiedOpen)
	default:
		u.world.mark(markDiedBeginning)
	}
}

// markFenced notes why a client makes no more transactions.
func (w *World) markFenced(u *user, x *transaction, code message.Code) {
	switch {
	case code == message.InvalidProducerIDMapping:
		w.mark(markIDExpired)
	case u.outlived(x):
		w.mark(markOutlivedLimit)
	case code == message.ProducerFenced:
		w.mark(markProducerFenced)
	}
}

// markTransaction notes what is rare about what brokers tell of transactions.
func (w *World) markTransaction(m message.Message) {
	switch m := m.(type) {
	case *message.AddedToTransaction:
		w.markAddition(m.Code)
		for _, other := range m.Others {
			w.markAddition(other.Code)
		}
	case *message.WroteMarkers:
		for i := range m.Results {
			if m.Results[i].Code == message.TransactionCoordinatorFenced {
				w.mark(markOldCoordinatorRefused)
			}
		}
	case *message.FetchOffsetsReply:
		if m.Code == message.UnstableOffsetCommit {
			w.mark(markPositionPending)
		}
	case *message.DeleteOffsetsReply:
		if len(m.Offsets) > 0 && m.Offsets[0].Code == message.UnstableOffsetCommit {
			w.mark(markPendingKept)
		}
	}
}

// markAddition notes what a coordinator tells of a partition that is to take part.
func (w *World) markAddition(code message.Code) {
	switch code {
	case message.ConcurrentTransactions:
		w.mark(markHeldForEnd)
	case message.ProducerFenced, message.InvalidProducerEpoch:
		w.mark(markLateRecordRefused)
	}
}

// markStable notes what a reader of committed records is not given.
func (w *World) markStable(m *message.FetchReply) {
	if !w.transacted {
		return
	}
	for i := range m.Partitions {
		p := &m.Partitions[i]
		if p.Code == message.None && p.LastStable < p.HighWatermark && p.Records == nil && p.LastStable >= 0 {
			w.mark(markStableBehind)
		}
		if len(p.Aborted) > 0 {
			w.mark(markAbortedSkipped)
		}
	}
}

// askedMarker is one marker that a coordinator has asked for.
type askedMarker struct {
	id        record.ProducerID
	epoch     record.ProducerEpoch
	partition record.PartitionID
}

// markMarkers notes that a marker is asked for that was asked for before.
func (w *World) markMarkers(m *message.WriteMarkers) {
	if w.asked == nil {
		w.asked = map[askedMarker]bool{}
	}
	for _, id := range m.Partitions {
		a := askedMarker{m.ID, m.Epoch, id}
		if w.asked[a] {
			w.mark(markMarkerAgain)
		}
		w.asked[a] = true
	}
}
