package record

// Batches walks over batches that stand one behind the other, as fetches and
// segment files hold them:
//
//	it := record.Batches(bytes)
//	for it.Next() {
//		use(&it.Header, it.Bytes)
//	}
//	if it.Err() != nil { ... } // it.Rest begins with what could not be read
//
// The walk reads lengths, headers and the markers of control batches. It does
// not look at checksums or other records: see Validate.
func Batches(b []byte) BatchIterator { return BatchIterator{Rest: b} }

// BatchIterator is a walk that Batches began.
type BatchIterator struct {
	Header Header
	Bytes  []byte // the batch that Header belongs to
	Rest   []byte // all behind it

	err error
}

// Next moves to the next batch. It is false at the end, and at bytes that are
// no whole batch.
func (it *BatchIterator) Next() bool {
	if it.err != nil || len(it.Rest) == 0 {
		return false
	}
	it.Header, it.err = DecodeHeader(it.Rest)
	if it.err != nil {
		return false
	}
	size := it.Header.Size()
	if size > len(it.Rest) {
		it.err = invalid(ErrShort, int64(len(it.Rest)), int64(size))
		return false
	}
	it.Bytes, it.Rest = it.Rest[:size:size], it.Rest[size:]
	FillMarker(&it.Header, it.Bytes)
	return true
}

// Err is what ended the walk: ErrShort when the bytes stop inside a batch,
// else what DecodeHeader found; nil at the regular end.
func (it *BatchIterator) Err() error { return it.err }
