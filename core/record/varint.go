package record

import "encoding/binary"

// Format v2 writes the numbers of a record as zigzag varints: Kafka's varint
// (32 bits, at most 5 bytes) and varlong (64 bits, at most 10 bytes).

const maxVarint32 = 5

// readVarint reads a 32-bit varint at offset at of b. next is the offset
// behind it, or -1 when there is none.
func readVarint(b []byte, at int) (v int32, next int) {
	if at >= len(b) {
		return 0, -1
	}
	if c := b[at]; c < 0x80 {
		return int32(c>>1) ^ -int32(c&1), at + 1
	}
	wide, n := binary.Varint(b[at:])
	if n <= 0 || n > maxVarint32 || wide != int64(int32(wide)) {
		return 0, -1
	}
	return int32(wide), at + n
}

// readVarlong reads a 64-bit varint, in the same way.
func readVarlong(b []byte, at int) (v int64, next int) {
	if at >= len(b) {
		return 0, -1
	}
	if c := b[at]; c < 0x80 {
		return int64(c>>1) ^ -int64(c&1), at + 1
	}
	v, n := binary.Varint(b[at:])
	if n <= 0 {
		return 0, -1
	}
	return v, at + n
}

// varintSize is the number of bytes of v as a varint or varlong.
func varintSize(v int64) int {
	zigzag := uint64(v)<<1 ^ uint64(v>>63)
	n := 1
	for zigzag >= 0x80 {
		zigzag >>= 7
		n++
	}
	return n
}
