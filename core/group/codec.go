package group

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// Records of the internal topic. A key is its kind (one byte) and the key's
// fields; a value is a version (one byte) and the value's fields. Numbers are
// varints, texts and sets carry their length. Each change has exactly one
// encoding, so that equal states have equal bytes.

// valueVersion is the only version of values so far. A reader must refuse a
// higher one: it was written by a newer release.
const valueVersion = 0

var (
	errShort    = errors.New("ends too early")
	errTrailing = errors.New("has bytes behind its end")
	errRange    = errors.New("holds a number out of range")
	errOrder    = errors.New("holds a set out of order")
	errFlag     = errors.New("holds a flag that is neither 0 nor 1")
)

// AppendKey appends the encoded key.
func (c change) AppendKey(b []byte) []byte { return appendKey(b, c.key) }

// AppendValue appends the encoded value, or nothing for a tombstone.
func (c change) AppendValue(b []byte) []byte {
	if c.value == nil {
		return b
	}
	return appendValue(b, c.value)
}

func appendKey(b []byte, k key) []byte {
	b = append(b, byte(k.kind))
	switch k.kind {
	case kindGroup:
		b = appendText(b, k.group)
	case kindMember, kindTarget:
		b = appendText(appendText(b, k.group), k.member)
	case kindOffset:
		b = appendText(b, k.group)
		b = binary.AppendUvarint(b, uint64(k.id.Topic))
		b = binary.AppendUvarint(b, uint64(k.id.Index))
	case kindPending:
		b = binary.AppendUvarint(appendText(b, k.group), uint64(k.producer))
		b = binary.AppendUvarint(b, uint64(k.id.Topic))
		b = binary.AppendUvarint(b, uint64(k.id.Index))
	case kindProducer:
		b = binary.AppendUvarint(b, uint64(k.producer))
	}
	return b
}

// appendValue encodes a value that is not nil.
func appendValue(b []byte, v value) []byte {
	b = append(b, valueVersion)
	switch v := v.(type) {
	case floorValue:
		b = binary.AppendVarint(b, int64(v.epoch))
	case groupValue:
		b = binary.AppendVarint(b, int64(v.epoch))
		b = binary.AppendVarint(b, int64(v.emptySince))
	case memberValue:
		b = appendMember(b, v)
	case targetValue:
		b = appendPartitions(b, v.partitions)
	case offsetValue:
		b = appendOffset(b, v)
	case pendingValue:
		b = appendOffset(binary.AppendVarint(b, int64(v.epoch)), v.position)
	case producerValue:
		b = binary.AppendVarint(b, int64(v.epoch))
		b = binary.AppendVarint(b, int64(v.coordinator))
		b = binary.AppendVarint(b, int64(v.at))
	}
	return b
}

func appendOffset(b []byte, v offsetValue) []byte {
	b = binary.AppendVarint(b, int64(v.offset))
	b = binary.AppendVarint(b, int64(v.leaderEpoch))
	b = appendText(b, v.note)
	b = binary.AppendVarint(b, int64(v.at))
	if v.by.number > 0 {
		b = binary.AppendVarint(appendText(b, v.by.member), int64(v.by.epoch))
		b = binary.AppendUvarint(b, v.by.number)
	}
	return b
}

func appendMember(b []byte, v memberValue) []byte {
	b = appendText(b, v.instance)
	b = binary.AppendVarint(b, int64(v.session))
	b = binary.AppendVarint(b, int64(v.rebalance))
	b = binary.AppendUvarint(b, uint64(len(v.topics)))
	for _, topic := range v.topics {
		b = appendText(b, topic)
	}
	b = binary.AppendVarint(b, int64(v.epoch))
	b = binary.AppendVarint(b, int64(v.previous))
	b = appendPartitions(b, v.assigned)
	b = appendPartitions(b, v.revoking)
	if v.left {
		return append(b, 1)
	}
	return append(b, 0)
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// appendPartitions encodes a set: its size, then for each partition how far
// topic and index are from the one before. Within a topic the distance of the
// topic is 0 and that of the index at least 1.
func appendPartitions(b []byte, set []record.PartitionID) []byte {
	b = binary.AppendUvarint(b, uint64(len(set)))
	last := record.PartitionID{}
	for i, p := range set {
		b = binary.AppendUvarint(b, uint64(p.Topic-last.Topic))
		if i > 0 && p.Topic == last.Topic {
			b = binary.AppendUvarint(b, uint64(p.Index-last.Index))
		} else {
			b = binary.AppendUvarint(b, uint64(p.Index))
		}
		last = p
	}
	return b
}

// decode reads one record and refuses everything that this release would not
// have written.
func decode(k, v []byte) (change, error) {
	var c change
	r := reader{rest: k}
	c.key = r.key()
	if err := r.end(); err != nil {
		return change{}, fmt.Errorf("the key %w", err)
	}
	if v == nil {
		return c, nil
	}
	r = reader{rest: v}
	if version := r.byte(); r.err == nil && version != valueVersion {
		return change{}, fmt.Errorf("the value has version %d, which this release does not know", version)
	}
	c.value = r.value(c.key.kind)
	if err := r.end(); err != nil {
		return change{}, fmt.Errorf("the value %w", err)
	}
	return c, nil
}

// reader takes fields off a record. After the first error all reads give zero.
type reader struct {
	rest []byte
	err  error
}

func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
	r.rest = nil
}

// end is the error of the whole read.
func (r *reader) end() error {
	if r.err == nil && len(r.rest) > 0 {
		return errTrailing
	}
	return r.err
}

func (r *reader) key() key {
	k := key{kind: kind(r.byte())}
	switch k.kind {
	case kindFloor:
	case kindGroup:
		k.group = r.text()
	case kindMember, kindTarget:
		k.group, k.member = r.text(), r.text()
	case kindOffset:
		k.group = r.text()
		k.id = record.PartitionID{Topic: record.TopicID(r.uvarint()), Index: r.index()}
	case kindPending:
		k.group, k.producer = r.text(), r.producer()
		k.id = record.PartitionID{Topic: record.TopicID(r.uvarint()), Index: r.index()}
	case kindProducer:
		k.producer = r.producer()
	default:
		if r.err == nil {
			r.fail(fmt.Errorf("has kind %d, which this release does not know", k.kind))
		}
	}
	return k
}

func (r *reader) value(k kind) value {
	switch k {
	case kindFloor:
		return floorValue{r.int32()}
	case kindGroup:
		return groupValue{epoch: r.int32(), emptySince: record.Timestamp(r.varint())}
	case kindMember:
		return r.member()
	case kindTarget:
		return targetValue{r.partitions()}
	case kindPending:
		return pendingValue{r.epoch(), r.offset()}
	case kindProducer:
		return producerValue{r.epoch(), record.LeaderEpoch(r.int32()), record.Timestamp(r.varint())}
	}
	return r.offset()
}

func (r *reader) offset() offsetValue {
	v := offsetValue{
		offset:      record.Offset(r.varint()),
		leaderEpoch: record.LeaderEpoch(r.int32()),
		note:        r.text(),
		at:          record.Timestamp(r.varint()),
	}
	if len(r.rest) > 0 { // only of a commit that is counted
		v.by = turn{r.text(), message.MemberEpoch(r.int32()), r.uvarint()}
		if r.err == nil && v.by.number == 0 {
			r.fail(errRange)
		}
	}
	return v
}

func (r *reader) member() memberValue {
	v := memberValue{
		instance:  r.text(),
		session:   message.Duration(r.varint()),
		rebalance: message.Duration(r.varint()),
	}
	for range r.count(1) {
		v.topics = append(v.topics, r.text())
	}
	for i := 1; i < len(v.topics); i++ {
		if v.topics[i-1] >= v.topics[i] {
			r.fail(errOrder)
		}
	}
	v.epoch, v.previous = message.MemberEpoch(r.int32()), message.MemberEpoch(r.int32())
	v.assigned, v.revoking = r.partitions(), r.partitions()
	v.left = r.flag()
	return v
}

func (r *reader) byte() byte {
	if len(r.rest) == 0 {
		r.fail(errShort)
		return 0
	}
	b := r.rest[0]
	r.rest = r.rest[1:]
	return b
}

func (r *reader) flag() bool {
	b := r.byte()
	if b > 1 {
		r.fail(errFlag)
	}
	return b == 1
}

// uvarint refuses numbers that are not in their shortest form.
func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.rest)
	switch {
	case n == 0:
		r.fail(errShort)
		return 0
	case n < 0 || n > 1 && r.rest[n-1] == 0:
		r.fail(errRange)
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

func (r *reader) varint() int64 {
	u := r.uvarint()
	return int64(u>>1) ^ -int64(u&1)
}

func (r *reader) int32() int32 {
	v := r.varint()
	if v < math.MinInt32 || v > math.MaxInt32 {
		r.fail(errRange)
		return 0
	}
	return int32(v)
}

func (r *reader) producer() record.ProducerID {
	v := r.uvarint()
	if v > math.MaxInt64 {
		r.fail(errRange)
		return 0
	}
	return record.ProducerID(v)
}

func (r *reader) epoch() record.ProducerEpoch {
	v := r.varint()
	if v < 0 || v > math.MaxInt16 {
		r.fail(errRange)
		return 0
	}
	return record.ProducerEpoch(v)
}

func (r *reader) index() int32 {
	v := r.uvarint()
	if v > math.MaxInt32 {
		r.fail(errRange)
		return 0
	}
	return int32(v)
}

// count reads how many items of at least size bytes follow.
func (r *reader) count(size int) int {
	n := r.uvarint()
	if n > uint64(len(r.rest)/size) {
		r.fail(errShort)
		return 0
	}
	return int(n)
}

func (r *reader) text() string {
	n := r.count(1)
	s := string(r.rest[:n])
	r.rest = r.rest[n:]
	return s
}

func (r *reader) partitions() []record.PartitionID {
	n := r.count(2)
	if n == 0 {
		return nil
	}
	set := make([]record.PartitionID, 0, n)
	last := record.PartitionID{}
	for i := range n {
		p := record.PartitionID{Topic: last.Topic + record.TopicID(r.uvarint()), Index: r.index()}
		if i > 0 && p.Topic == last.Topic {
			if p.Index > math.MaxInt32-last.Index {
				r.fail(errRange)
				return nil
			}
			p.Index += last.Index
		}
		if i > 0 && p.Compare(last) <= 0 {
			r.fail(errOrder)
			return nil
		}
		set = append(set, p)
		last = p
	}
	return set
}
