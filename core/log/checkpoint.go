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
const checkpointVersion = 1

const flagForgotten = 1

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
	for _, p := range l.producers.list {
		if was := p.settled.below(s.at); was.count > 0 {
			s.producers = append(s.producers, snapshotProducer{p.id, p.idle, was})
		}
	}
	slices.SortFunc(s.producers, func(a, b snapshotProducer) int { return cmp.Compare(a.id, b.id) })
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
}

func (s *snapshot) encode() []byte {
	b := make([]byte, 0, 32+8*len(s.epochs)+24*len(s.chunks)+(16+10*remembered)*len(s.producers))
	var flags byte
	if s.forgotten {
		flags |= flagForgotten
	}
	b = append(b, checkpointVersion, flags)
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
	}
	return binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}
