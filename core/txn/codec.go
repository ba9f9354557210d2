package txn

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/pack"
	"github.com/tamarack-mq/tamarack/core/record"
)

// Records of the internal topic. A key is its kind (one byte) and the
// transactional id; a value is a version (one byte) and the fields. Each change
// has exactly one encoding, so that equal states have equal bytes.
const (
	kindTransaction = 2 // 1 is a mark of the ledger
	// Versions of the value. A reader must refuse a higher one: it was written by a
	// newer release. What has no incarnation, and with which nothing waits, is written
	// as before there were any; and so is an id of which no transaction took too long.
	valuePlain   = 0
	valueWaiting = 1 // ends with the incarnation, and with what waits
	valueVersion = 2 // and with the transaction that took too long
)

var (
	errTrailing = errors.New("has bytes behind its end")
	errRange    = errors.New("holds what this release does not write")
)

// AppendKey appends the encoded key.
func (c change) AppendKey(b []byte) []byte {
	return pack.String(append(b, kindTransaction), c.name)
}

// AppendValue appends the encoded value, or nothing for a tombstone.
func (c change) AppendValue(b []byte) []byte {
	if c.gone {
		return b
	}
	return c.value.append(b)
}

func (v *value) append(b []byte) []byte {
	version := byte(valueVersion)
	if v.overrun.limit == 0 {
		version = valueWaiting
		if v.incarnation == 0 && len(v.waiting) == 0 {
			version = valuePlain
		}
	}
	b = append(b, version, byte(v.phase))
	b = v.now.append(b)
	b = pack.Int(b, int64(v.next))
	b = v.ended.append(b)
	b = pack.Int(b, int64(v.timeout))
	b = pack.Int(b, int64(v.started))
	b = pack.Int(b, int64(v.updated))
	b = appendPartitions(b, v.partitions)
	if version == valuePlain {
		return b
	}
	b = appendPartitions(pack.Uint(b, v.incarnation), v.waiting)
	if version == valueWaiting {
		return b
	}
	return pack.Int(v.overrun.by.append(b), int64(v.overrun.limit))
}

func (i Identity) append(b []byte) []byte {
	return pack.Int(pack.Int(b, int64(i.ID)), int64(i.Epoch))
}

// appendPartitions encodes a set: its size, then for each partition how far the
// topic is from the one before, and the index.
func appendPartitions(b []byte, set []record.PartitionID) []byte {
	b = pack.Uint(b, uint64(len(set)))
	topic := record.TopicID(0)
	for _, p := range set {
		b = pack.Uint(b, uint64(p.Topic-topic))
		b = pack.Uint(b, uint64(p.Index))
		topic = p.Topic
	}
	return b
}

// decode reads one record and refuses everything that this release would not
// have written.
func decode(k, v []byte) (change, error) {
	r := pack.Read(k)
	kind := r.Byte()
	if r.Err() == nil && kind != kindTransaction {
		return change{}, fmt.Errorf("the key has kind %d, which this release does not know", kind)
	}
	c := change{name: r.String(), gone: v == nil}
	if err := end(&r); err != nil {
		return change{}, fmt.Errorf("the key %w", err)
	}
	if !bytes.Equal(c.AppendKey(nil), k) {
		return change{}, fmt.Errorf("the key %w", errRange)
	}
	if c.gone {
		return c, nil
	}
	r = pack.Read(v)
	version := r.Byte()
	if version > valueVersion {
		return change{}, fmt.Errorf("the value has version %d, which this release does not know", version)
	}
	c.value = readValue(&r)
	if version > valuePlain {
		c.incarnation, c.waiting = r.Uint(), readPartitions(&r)
	}
	if version > valueWaiting {
		c.overrun = overrun{readIdentity(&r), message.Duration(r.Int())}
	}
	if err := end(&r); err != nil {
		return change{}, fmt.Errorf("the value %w", err)
	}
	if !c.value.valid() || !bytes.Equal(c.value.append(nil), v) {
		return change{}, fmt.Errorf("the value %w", errRange)
	}
	return c, nil
}

func end(r *pack.Reader) error {
	if r.Err() == nil && r.Left() > 0 {
		return errTrailing
	}
	return r.Err()
}

func readValue(r *pack.Reader) value {
	return value{
		phase:      Phase(r.Byte()),
		now:        readIdentity(r),
		next:       record.ProducerID(r.Int()),
		ended:      readIdentity(r),
		timeout:    message.Duration(r.Int()),
		started:    record.Timestamp(r.Int()),
		updated:    record.Timestamp(r.Int()),
		partitions: readPartitions(r),
	}
}

func readIdentity(r *pack.Reader) Identity {
	return Identity{record.ProducerID(r.Int()), record.ProducerEpoch(r.Int())}
}

func readPartitions(r *pack.Reader) []record.PartitionID {
	n := r.Count(2)
	if n == 0 {
		return nil
	}
	set := make([]record.PartitionID, n)
	topic := record.TopicID(0)
	for i := range set {
		topic += record.TopicID(r.Uint())
		set[i] = record.PartitionID{Topic: topic, Index: int32(r.Uint())}
	}
	return set
}

// valid says whether a value may stand in a log. Numbers that do not fit their
// type are found by encoding them again.
func (v *value) valid() bool {
	if !isSet(v.partitions) || !isSet(v.waiting) {
		return false
	}
	open := v.phase == Ongoing || v.phase.prepared()
	waits := len(v.waiting) == 0 || v.phase.prepared() || v.phase.complete()
	return v.phase >= Empty && v.phase <= CompleteAbort && open == (len(v.partitions) > 0) && waits && v.overrun.limit >= 0
}

func isSet(list []record.PartitionID) bool {
	for i, p := range list {
		if p.Index < 0 || i > 0 && list[i-1].Compare(p) >= 0 {
			return false
		}
	}
	return true
}
