package group

import (
	"fmt"

	"github.com/tamarack-mq/tamarack/core/record"
)

// encodeBatches puts changes into record batches of at most limit bytes each
// (more only for a single record that is larger by itself).
func encodeBatches(changes []change, at record.Timestamp, limit int) [][]byte {
	var (
		batches [][]byte
		b       record.Builder
		scratch []byte
	)
	for _, c := range changes {
		scratch = appendKey(scratch[:0], c.key)
		split := len(scratch)
		var value []byte
		if c.value != nil {
			scratch = appendValue(scratch, c.value)
			value = scratch[split:]
		}
		k := scratch[:split:split]
		if b.Count() > 0 && b.Size()+record.SizeBound(k, value, nil) > limit {
			batches = append(batches, b.Build())
		}
		if err := b.Append(at, k, value, nil); err != nil {
			panic("group: a record of the coordinator does not fit a batch, though all that it holds is bounded: " + err.Error())
		}
	}
	return append(batches, b.Build())
}

// eachRecord walks over the records of whole batches and decodes them.
func eachRecord(batches []byte, visit func(record.Offset, change)) error {
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
			c, err := decode(r.Key, r.Value)
			if err != nil {
				return fmt.Errorf("the record at offset %d cannot be read: %w", r.Offset, err)
			}
			visit(r.Offset, c)
		}
		if err := records.Err(); err != nil {
			return fmt.Errorf("the batch at offset %d cannot be read: %w", header.BaseOffset, err)
		}
	}
	return it.Err()
}
