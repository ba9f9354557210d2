package record

// Record is one record of a batch. Its bytes are those of the batch: they are
// not copied and must not be changed. A nil Key or Value is not the same as an
// empty one; a nil Value is a tombstone where topics are compacted.
type Record struct {
	Offset    Offset
	Timestamp Timestamp
	Key       []byte
	Value     []byte
	Headers   HeaderList
}

// HeaderList are the headers of one record, still encoded.
type HeaderList struct {
	count int
	bytes []byte
}

// RecordHeader is one header of a record. Keys may repeat; their order is kept.
// Value may be nil.
type RecordHeader struct {
	Key   []byte
	Value []byte
}

// Len is the number of headers.
func (l HeaderList) Len() int { return l.count }

// Each calls visit for each header, in order, until it returns false.
func (l HeaderList) Each(visit func(RecordHeader) bool) {
	at := 0
	for range l.count {
		var h RecordHeader
		if h, at = readHeader(l.bytes, at); at < 0 || !visit(h) {
			return // the iterator that made the list has checked it: at is never below 0
		}
	}
}

// List returns the headers as a slice; nil when there are none.
func (l HeaderList) List() []RecordHeader {
	if l.count == 0 {
		return nil
	}
	list := make([]RecordHeader, 0, l.count)
	l.Each(func(h RecordHeader) bool {
		list = append(list, h)
		return true
	})
	return list
}

func readHeader(b []byte, at int) (h RecordHeader, next int) {
	var size int32
	size, at = readVarint(b, at)
	if at < 0 || size < 0 || int(size) > len(b)-at {
		return h, -1
	}
	h.Key = b[at : at+int(size) : at+int(size)]
	h.Value, at = readBytes(b, at+int(size))
	return h, at
}

// readBytes reads a length and that many bytes; a length of -1 gives nil.
func readBytes(b []byte, at int) (value []byte, next int) {
	size, at := readVarint(b, at)
	switch {
	case at < 0 || size < -1 || int(size) > len(b)-at:
		return nil, -1
	case size == -1:
		return nil, at
	}
	end := at + int(size)
	return b[at:end:end], end
}

// Records walks over the records of one batch:
//
//	it := record.Records(&header, payload)
//	for it.Next() {
//		use(it.Record)
//	}
//	if it.Err() != nil { ... }
//
// payload is what stands behind the header, uncompressed: Payload(batch), or
// what a codec made of it. The walk checks everything that it reads, and that
// there are exactly as many records as the header says.
func Records(h *Header, payload []byte) RecordIterator {
	return RecordIterator{header: *h, rest: payload}
}

// RecordIterator is a walk that Records began.
type RecordIterator struct {
	Record Record

	header Header // a copy: a pointer would put the caller's header on the heap
	rest   []byte
	read   int32
	err    error
}

// Payload is the part of a whole batch that holds its records.
func Payload(batch []byte) []byte { return batch[HeaderSize:] }

// Next reads the next record into it.Record. It is false at the end and at the
// first record that is malformed.
func (it *RecordIterator) Next() bool {
	if it.err != nil {
		return false
	}
	if it.read == it.header.Count {
		if len(it.rest) > 0 {
			it.err = invalid(ErrLength, int64(len(it.rest)), 0)
		}
		return false
	}
	size, at := readVarint(it.rest, 0)
	if at < 0 || size < 0 || int(size) > len(it.rest)-at {
		it.err = it.broken()
		return false
	}
	body := it.rest[at : at+int(size)]
	it.rest = it.rest[at+int(size):]
	if it.err = it.decode(body); it.err != nil {
		return false
	}
	it.read++
	return true
}

// Err is what ended the walk; nil at the regular end.
func (it *RecordIterator) Err() error { return it.err }

func (it *RecordIterator) broken() error {
	if len(it.rest) == 0 {
		return invalid(ErrCount, int64(it.read), int64(it.header.Count))
	}
	return invalid(ErrRecord, int64(it.read), int64(it.header.Count))
}

// decode reads the fields of one record, whose length is known.
func (it *RecordIterator) decode(b []byte) error {
	malformed := func() error { return invalid(ErrRecord, int64(it.read), int64(it.header.Count)) }
	if len(b) == 0 {
		return malformed()
	}
	timeDelta, at := readVarlong(b, 1) // b[0] are the record's attributes: none are in use
	if at < 0 {
		return malformed()
	}
	offsetDelta, at := readVarint(b, at)
	if at < 0 {
		return malformed()
	}
	if offsetDelta != it.read {
		return invalid(ErrOffsetDelta, int64(offsetDelta), int64(it.read))
	}
	r := &it.Record
	if r.Key, at = readBytes(b, at); at < 0 {
		return malformed()
	}
	if r.Value, at = readBytes(b, at); at < 0 {
		return malformed()
	}
	if r.Headers, at = readHeaders(b, at); at != len(b) {
		return malformed()
	}
	r.Offset = it.header.BaseOffset + Offset(offsetDelta)
	r.Timestamp = it.header.BaseTimestamp + Timestamp(timeDelta)
	if it.header.Attributes.AppendTime() {
		r.Timestamp = it.header.MaxTimestamp
	}
	return nil
}

// readHeaders checks the headers that fill the rest of a record.
func readHeaders(b []byte, at int) (HeaderList, int) {
	count, at := readVarint(b, at)
	if at < 0 || count < 0 {
		return HeaderList{}, -1
	}
	from := at
	for range count {
		if _, at = readHeader(b, at); at < 0 {
			return HeaderList{}, -1
		}
	}
	return HeaderList{count: int(count), bytes: b[from:at]}, at
}
