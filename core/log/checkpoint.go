package log

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// A checkpoint is, in varints unless said otherwise:
//
//	version                      1 byte
//	flags                        1 byte; bit 0: producers were forgotten
//	at                           what is encoded holds for the records below it
//	epochs: count, then          epoch, start
//	chunks: count, then          start, bytes, oldest and latest timestamp
//	producers: count, then       id (they rise), epoch, idle milliseconds,
//	                             batches: count, then base, first, delta
//	CRC-32C of all before it     4 bytes, big endian
//
// Version 2 is for logs with transactions. Of each producer it says more behind
// the batches, of which there may be none, and of the log behind the producers:
//
//	kind                         bit 0: its epoch is one of transactions; bit 1:
//	                             one is open; bit 2: there is a marker
//	with bit 1                   first offset of the open transaction
//	with bit 2                   offset of the newest marker, coordinator epoch
//	aborted transactions: count, then
//	                             marker (they rise), producer, first offset
//
// A log that has never seen a transaction is written in version 1, which
// releases from before transactions read.
const (
	plainVersion         = 1
	transactionalVersion = 2
)

const flagForgotten = 1

const (
	kindTransactional = 1 << iota
	kindOpen
	kindMarked
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// ErrCheckpoint is what every error about the bytes of a checkpoint wraps.
var ErrCheckpoint = errors.New("log: the checkpoint cannot be used")

// snapshot is a checkpoint decoded.
type snapshot struct {
	at        record.Offset
	forgotten bool
	epochs    history
	chunks    []chunk
	producers []snapshotProducer
	aborted   []span
}

type snapshotProducer struct {
	id   record.ProducerID
	idle message.Duration
	run  run
}

// Checkpoint encodes the settled state; at is the offset that it holds for.
// Restore reads it.
func (l *Log) Checkpoint() (at record.Offset, state []byte) {
	s := snapshot{at: l.settled, chunks: l.chunks.list}
	l.describe(&s)
	return s.at, s.encode()
}

// CarryOver encodes what a follower that must start at Start cannot learn from
// the records any more: the producers of removed batches and the last epoch
// before Start. The follower gives it to Inherit. With it, idempotence outlives
// the records on every replica and not only on those that have seen them.
func (l *Log) CarryOver() []byte {
	s := snapshot{at: l.start}
	l.describe(&s)
	return s.encode()
}

// describe adds the epochs and the producers as they were at s.at, which is
// not above the settled point.
func (l *Log) describe(s *snapshot) {
	for _, e := range l.epochs {
		if e.start < s.at {
			s.epochs = append(s.epochs, e)
		}
	}
	s.forgotten = l.producers.forgotten
	s.producers = make([]snapshotProducer, 0, len(l.producers.list))
	for _, p := range l.producers.list {
		if was := p.settled.below(s.at); was != (run{}) {
			s.producers = append(s.producers, snapshotProducer{p.id, p.idle, was})
		}
	}
	for _, a := range l.producers.transactions.aborted {
		switch {
		case a.marker < s.at:
			s.aborted = append(s.aborted, a)
		case a.first < s.at && a.marker < l.settled:
			s.reopen(a)
		}
	}
	slices.SortFunc(s.producers, func(a, b snapshotProducer) int { return cmp.Compare(a.id, b.id) })
}

// reopen says of a transaction that was aborted behind at that it was open there.
// Its producer's run is one of what follows the marker, of which nothing was
// there yet.
func (s *snapshot) reopen(a span) {
	i := slices.IndexFunc(s.producers, func(p snapshotProducer) bool { return p.id == a.id })
	if i < 0 {
		i = len(s.producers)
		s.producers = append(s.producers, snapshotProducer{id: a.id})
	}
	s.producers[i].run.transactional, s.producers[i].run.open = true, spotAt(a.first)
}

// CheckCarryOver says what is wrong with a state for Inherit; nil when nothing is.
func CheckCarryOver(start record.Offset, state []byte) error {
	_, err := decodeCarryOver(start, state)
	return err
}

func decodeCarryOver(start record.Offset, state []byte) (snapshot, error) {
	s, err := decodeSnapshot(state)
	if err == nil && s.at < start {
		err = fmt.Errorf("%w: it was taken at %d, below the start %d", ErrCheckpoint, s.at, start)
	}
	return s, err
}

// Inherit is Reset to start, with what CarryOver of the leader's log gave. start
// is where that log starts, or the base of the batch that holds its start. Give
// out a Checkpoint effect next, so that a crash does not lose it. On an error
// nothing has changed.
func (l *Log) Inherit(start record.Offset, state []byte) error {
	s, err := decodeCarryOver(start, state)
	if err != nil {
		return err
	}
	l.Reset(start)
	s.epochs.truncate(start) // a batch that reaches over start is still to come
	s.chunks = nil
	l.adopt(&s)
	return nil
}

// adopt makes a snapshot the settled state of a log without records.
func (l *Log) adopt(s *snapshot) {
	l.epochs = s.epochs
	l.producers.forgotten = s.forgotten
	l.chunks.list = s.chunks
	for i := range s.chunks {
		l.chunks.total += s.chunks[i].bytes
	}
	for i := range s.producers {
		p := l.producers.know(s.producers[i].id)
		p.idle = s.producers[i].idle
		p.settled, p.live = s.producers[i].run, s.producers[i].run
	}
	if s.transactional() {
		l.producers.transactions.setOpen(slices.Clone(l.producers.list))
		l.producers.transactions.adopt(s.aborted, s.at)
	}
}

// transactional says whether there is anything to say that version 1 cannot.
func (s *snapshot) transactional() bool {
	return len(s.aborted) > 0 || slices.ContainsFunc(s.producers, func(p snapshotProducer) bool {
		return p.run.transactional || p.run.open.is() || p.run.marker.is()
	})
}

func (s *snapshot) encode() []byte {
	b := make([]byte, 0, 32+8*len(s.epochs)+24*len(s.chunks)+(16+10*remembered)*len(s.producers))
	var flags byte
	if s.forgotten {
		flags |= flagForgotten
	}
	version := byte(plainVersion)
	if s.transactional() {
		version = transactionalVersion
	}
	b = append(b, version, flags)
	b = binary.AppendVarint(b, int64(s.at))
	b = binary.AppendVarint(b, int64(len(s.epochs)))
	for _, e := range s.epochs {
		b = binary.AppendVarint(b, int64(e.epoch))
		b = binary.AppendVarint(b, int64(e.start))
	}
	b = binary.AppendVarint(b, int64(len(s.chunks)))
	for _, c := range s.chunks {
		b = binary.AppendVarint(b, int64(c.start))
		b = binary.AppendVarint(b, c.bytes)
		b = binary.AppendVarint(b, int64(c.oldest))
		b = binary.AppendVarint(b, int64(c.latest))
	}
	b = binary.AppendVarint(b, int64(len(s.producers)))
	for i := range s.producers {
		p := &s.producers[i]
		b = binary.AppendVarint(b, int64(p.id))
		b = binary.AppendVarint(b, int64(p.run.epoch))
		b = binary.AppendVarint(b, int64(p.idle/message.Millisecond))
		b = binary.AppendVarint(b, int64(p.run.count))
		for _, w := range p.run.batches[:p.run.count] {
			b = binary.AppendVarint(b, int64(w.base))
			b = binary.AppendVarint(b, int64(w.first))
			b = binary.AppendVarint(b, int64(w.delta))
		}
		if version == transactionalVersion {
			b = p.run.encode(b)
		}
	}
	if version == transactionalVersion {
		b = binary.AppendVarint(b, int64(len(s.aborted)))
		for _, a := range s.aborted {
			b = binary.AppendVarint(b, int64(a.marker))
			b = binary.AppendVarint(b, int64(a.id))
			b = binary.AppendVarint(b, int64(a.first))
		}
	}
	return binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// encode adds what a run says of transactions.
func (r *run) encode(b []byte) []byte {
	var kind int64
	if r.transactional {
		kind |= kindTransactional
	}
	if r.open.is() {
		kind |= kindOpen
	}
	if r.marker.is() {
		kind |= kindMarked
	}
	b = binary.AppendVarint(b, kind)
	if r.open.is() {
		b = binary.AppendVarint(b, int64(r.open.offset()))
	}
	if r.marker.is() {
		b = binary.AppendVarint(b, int64(r.marker.offset()))
		b = binary.AppendVarint(b, int64(r.coordinator))
	}
	return b
}
