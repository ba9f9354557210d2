package ledger

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"

	"github.com/tamarack-mq/tamarack/core/record"
)

// MarkKind is the first byte of the keys that a ledger writes for itself.
const MarkKind = 1

// mark is a record that changes nothing. Its key is MarkKind and the mark; its
// value a version (one byte, 0) and the number of the run, a varint.
type mark uint8

const (
	markBegin   mark = 1 // a snapshot of the whole state begins
	markEnd     mark = 2 // the snapshot that began last is complete
	markBarrier mark = 3 // committed, it settles all that was written before it
)

// entry is one record: a mark, or a change when mark is 0.
type entry[C Change] struct {
	mark   mark
	run    uint64
	change C
}

// appendRecord appends an encoded key and value. What is behind split is the
// value; nothing means that the key is removed.
func (e *entry[C]) appendRecord(b []byte) (out []byte, split int) {
	if e.mark == 0 {
		b = e.change.AppendKey(b)
		split = len(b)
		return e.change.AppendValue(b), split
	}
	b = append(b, MarkKind, byte(e.mark))
	return binary.AppendUvarint(append(b, 0), e.run), len(b)
}

// encode puts records into batches of at most limit bytes each (more only for a
// single record that is larger by itself).
func encode[C Change](entries []entry[C], at record.Timestamp, limit int) [][]byte {
	var (
		batches [][]byte
		b       record.Builder
		scratch []byte
	)
	for i := range entries {
		var split int
		scratch, split = entries[i].appendRecord(scratch[:0])
		key, value := scratch[:split:split], scratch[split:]
		if len(value) == 0 {
			value = nil
		}
		if b.Count() > 0 && b.Size()+record.SizeBound(key, value, nil) > limit {
			batches = append(batches, b.Build())
		}
		if err := b.Append(at, key, value, nil); err != nil {
			panic("ledger: a record of the coordinator does not fit a batch, though all that it holds is bounded: " + err.Error())
		}
	}
	return append(batches, b.Build())
}

// Encode puts changes into batches as a ledger appends them, without their
// offsets. For observers and tests.
func Encode[C Change](changes []C, at record.Timestamp, limit int) [][]byte {
	entries := make([]entry[C], len(changes))
	for i, c := range changes {
		entries[i].change = c
	}
	return encode(entries, at, limit)
}

// Each visits the changes in whole batches. For observers.
func Each[C Change](batches []byte, decode func(key, value []byte) (C, error), visit func(record.Offset, C)) error {
	return each(batches, decode, func(at record.Offset, e entry[C]) {
		if e.mark == 0 {
			visit(at, e.change)
		}
	})
}

// Digest hashes changes that a walk visits, in their order. For observers.
func Digest[C Change](walk func(visit func(C))) uint64 {
	h := fnv.New64a()
	var scratch []byte
	walk(func(c C) {
		scratch = c.AppendValue(c.AppendKey(scratch[:0]))
		h.Write(scratch)
	})
	return h.Sum64()
}

// each walks over the records of whole batches and decodes them.
func each[C Change](batches []byte, decode func(key, value []byte) (C, error), visit func(record.Offset, entry[C])) error {
	it := record.Batches(batches)
	for it.Next() {
		header := it.Header
		switch {
		case header.Attributes.Control():
			continue
		case header.Attributes.Codec() != record.NoCodec:
			return fmt.Errorf("the batch at offset %d is compressed; the coordinator writes none such", header.BaseOffset)
		}
		records := record.Records(&header, record.Payload(it.Bytes))
		for records.Next() {
			r := records.Record
			e, err := decodeEntry(r.Key, r.Value, decode)
			if err != nil {
				return fmt.Errorf("the record at offset %d cannot be read: %w", r.Offset, err)
			}
			visit(r.Offset, e)
		}
		if err := records.Err(); err != nil {
			return fmt.Errorf("the batch at offset %d cannot be read: %w", header.BaseOffset, err)
		}
	}
	return it.Err()
}

var errMark = errors.New("it is a mark that this release does not write")

func decodeEntry[C Change](key, value []byte, decode func(key, value []byte) (C, error)) (e entry[C], err error) {
	if len(key) == 0 || key[0] != MarkKind {
		e.change, err = decode(key, value)
		return e, err
	}
	if len(key) != 2 || mark(key[1]) < markBegin || mark(key[1]) > markBarrier || len(value) < 2 || value[0] != 0 {
		return e, errMark
	}
	run, n := binary.Uvarint(value[1:])
	if n != len(value)-1 || n > 1 && value[n] == 0 {
		return e, errMark
	}
	return entry[C]{mark: mark(key[1]), run: run}, nil
}
