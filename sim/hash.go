package sim

// rolling folds numbers into one, in order. It is not cryptographic; it is
// there to tell two runs of one plan apart at the first difference.
type rolling uint64

// fold mixes one number in.
func (r *rolling) fold(x uint64) {
	h := (uint64(*r) ^ x) * 0x9e3779b97f4a7c15
	*r = rolling(h ^ h>>29)
}

// text mixes a string in.
func (r *rolling) text(s string) { words(r, s) }

// bytes mixes bytes in; long ones by their length, head and tail, which holds
// the CRC of a record batch.
func (r *rolling) bytes(b []byte) {
	if len(b) > 128 {
		r.fold(uint64(len(b)))
		words(r, b[:64])
		b = b[len(b)-32:]
	}
	words(r, b)
}

// words mixes in all that s holds, eight bytes at a time.
func words[S string | []byte](r *rolling, s S) {
	size := uint64(len(s)) << 56
	for ; len(s) >= 8; s = s[8:] {
		r.fold(uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
			uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56)
	}
	var word uint64
	for i := range len(s) {
		word = word<<8 | uint64(s[i])
	}
	r.fold(word ^ size)
}
