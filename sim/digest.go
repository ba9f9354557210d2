package sim

import (
	"math/bits"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// digest folds all fields of a message into one number without encoding it.
// Every message that is sent is folded into the hash of the run by it. A test
// finds the fields that it forgets.
func digest(m message.Message) uint64 {
	r := rolling(m.Kind())
	switch m := m.(type) {
	case *message.ReplicaFetch, *message.ReplicaFetchReply, *message.ReplicaProgress, *message.Quorum:
		foldReplication(&r, m)
	case *message.Produce, *message.ProduceReply, *message.Fetch, *message.FetchReply:
		foldRecords(&r, m)
	default:
		if !foldOffsets(&r, m) && !foldGroup(&r, m) && !foldTransaction(&r, m) && !foldAdmin(&r, m) && !foldSettings(&r, m) && !foldOperation(&r, m) {
			foldCluster(&r, m)
		}
	}
	return uint64(r)
}

// A partition is folded at once: no bit of its numbers is lost.
func (r *rolling) id(p record.PartitionID) {
	r.fold(bits.RotateLeft64(uint64(p.Topic), 32) ^ uint64(uint32(p.Index)))
}

func (r *rolling) ids(ps []record.PartitionID) {
	r.fold(uint64(len(ps)))
	for _, p := range ps {
		r.id(p)
	}
}

func (r *rolling) nodes(ns []message.NodeID) {
	r.fold(uint64(len(ns)))
	for _, n := range ns {
		r.fold(uint64(n))
	}
}

func (r *rolling) texts(ts []string) {
	r.fold(uint64(len(ts)))
	for _, t := range ts {
		r.text(t)
	}
}

func (r *rolling) flag(b bool) {
	if b {
		r.fold(1)
	} else {
		r.fold(0)
	}
}

// flags folds several truth values at once.
func (r *rolling) flags(list ...bool) {
	var bits uint64
	for _, b := range list {
		bits <<= 1
		if b {
			bits |= 1
		}
	}
	r.fold(bits)
}

// pair folds two numbers at once. Either may be large: no bit of it is lost.
func (r *rolling) pair(a, b int64) { r.fold(bits.RotateLeft64(uint64(a), 32) ^ uint64(b)) }

func (r *rolling) epochEnd(e *message.EpochEnd) {
	if e != nil {
		r.pair(int64(e.Epoch), int64(e.End))
	}
}

// size folds how many of a list follow, so that none is taken for one of the
// next list.
func (r *rolling) size(n int) { r.fold(uint64(n)) }
