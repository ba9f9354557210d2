// Package pack writes and reads the small binary forms that the core stores in
// its own logs: varints, and strings with their length before them. It exists
// so that the rooms which keep a journal share one careful reader: one that
// never panics, never trusts a length and reports the first fault.
package pack

import (
	"encoding/binary"
	"errors"
)

// ErrShort says that the bytes end before the value does, or that a number
// does not fit its type.
var ErrShort = errors.New("pack: the bytes end within a value")

// Uint appends v as a varint.
func Uint(to []byte, v uint64) []byte { return binary.AppendUvarint(to, v) }

// Int appends v as a zigzag varint.
func Int(to []byte, v int64) []byte { return binary.AppendVarint(to, v) }

// Bool appends one byte.
func Bool(to []byte, v bool) []byte {
	if v {
		return append(to, 1)
	}
	return append(to, 0)
}

// Bytes appends the length of v and v.
func Bytes(to, v []byte) []byte { return append(Uint(to, uint64(len(v))), v...) }

// String appends the length of v and v.
func String(to []byte, v string) []byte { return append(Uint(to, uint64(len(v))), v...) }

// Reader takes values from the front of a byte slice. After the first fault
// every read gives a zero value and Err tells the fault, so that callers may
// read a whole record and ask once.
type Reader struct {
	left []byte
	err  error
}

// Read returns a reader of b.
func Read(b []byte) Reader { return Reader{left: b} }

// Err is the first fault, or nil.
func (r *Reader) Err() error { return r.err }

// Left is the number of bytes that were not read yet.
func (r *Reader) Left() int { return len(r.left) }

// Fail makes err the fault, when there was none before.
func (r *Reader) Fail(err error) {
	if r.err == nil {
		r.err, r.left = err, nil
	}
}

// Uint reads a varint.
func (r *Reader) Uint() uint64 {
	v, n := binary.Uvarint(r.left)
	if n <= 0 {
		r.Fail(ErrShort)
		return 0
	}
	r.left = r.left[n:]
	return v
}

// Int reads a zigzag varint.
func (r *Reader) Int() int64 {
	v, n := binary.Varint(r.left)
	if n <= 0 {
		r.Fail(ErrShort)
		return 0
	}
	r.left = r.left[n:]
	return v
}

// Int32 reads a zigzag varint that must fit 32 bits.
func (r *Reader) Int32() int32 {
	v := r.Int()
	if v != int64(int32(v)) {
		r.Fail(ErrShort)
		return 0
	}
	return int32(v)
}

// Byte reads one byte.
func (r *Reader) Byte() byte {
	if len(r.left) == 0 {
		r.Fail(ErrShort)
		return 0
	}
	b := r.left[0]
	r.left = r.left[1:]
	return b
}

// Bool reads one byte, which must be 0 or 1.
func (r *Reader) Bool() bool {
	b := r.Byte()
	if b > 1 {
		r.Fail(ErrShort)
	}
	return b == 1
}

// Bytes reads a length and that many bytes. The result shares memory with the
// reader's input.
func (r *Reader) Bytes() []byte {
	n := r.Uint()
	if n > uint64(len(r.left)) {
		r.Fail(ErrShort)
		return nil
	}
	b := r.left[:n:n]
	r.left = r.left[n:]
	return b
}

// String reads a length and that many bytes.
func (r *Reader) String() string { return string(r.Bytes()) }

// Count reads the number of items that follow. Each takes at least size bytes,
// so that a damaged count can never make its reader allocate beyond the input.
func (r *Reader) Count(size int) int {
	n := r.Uint()
	if n > uint64(len(r.left)/size) {
		r.Fail(ErrShort)
		return 0
	}
	return int(n)
}
