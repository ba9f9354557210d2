package log_test

import (
	"testing"

	"github.com/tamarack-mq/tamarack/core/log"
	"github.com/tamarack-mq/tamarack/core/record"
)

// BenchmarkProduce is what a leader's log costs for each batch.
func BenchmarkProduce(b *testing.B) {
	l := log.New(0)
	var next [100]record.Sequence
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		id := i % len(next)
		h := from(plain(l.End(), 10, 1), record.ProducerID(id), 0, next[id])
		if l.Check(&h).Outcome != log.Accepted {
			b.Fatal("refused")
		}
		l.Append(&h)
		next[id] = record.AddSequence(next[id], 10)
		l.Settle(l.End() - 50) // five batches are on their way
		i++
	}
}

// BenchmarkTransactions is what a leader's log costs for each transaction of one
// batch.
func BenchmarkTransactions(b *testing.B) {
	l := log.New(0)
	var next [100]record.ProducerEpoch
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		id := i % len(next)
		h := write(l.End(), record.ProducerID(id), next[id], 0)
		if l.Check(&h).Outcome != log.Accepted {
			b.Fatal("refused")
		}
		l.Append(&h)
		next[id] = (next[id] + 1) & 0x3fff
		if next[id] == 0 { // epochs are used up: another producer
			l = log.New(0)
			clear(next[:])
			continue
		}
		m := commits(l.End(), record.ProducerID(id), next[id])
		if l.CheckMarker(m.ProducerID, m.ProducerEpoch, 3).Outcome != log.Accepted {
			b.Fatal("the marker is refused")
		}
		l.Append(&m)
		l.Settle(l.LastStable(l.End() - 15))
		i++
	}
}

func thousandProducers() *log.Log {
	l := log.New(0)
	for i := range 5000 {
		h := from(plain(l.End(), 10, 1), record.ProducerID(i%1000), 0, record.Sequence(i/1000*10))
		l.Append(&h)
	}
	l.Settle(l.End())
	return l
}

func BenchmarkCheckpoint(b *testing.B) {
	l := thousandProducers()
	b.ReportAllocs()
	for b.Loop() {
		_, state := l.Checkpoint()
		b.SetBytes(int64(len(state)))
	}
}

func BenchmarkDigest(b *testing.B) {
	l := thousandProducers()
	b.ReportAllocs()
	for b.Loop() {
		l.Digest()
	}
}
