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
func (r *rolling) text(s string) {
	var word uint64
	for i := range len(s) {
		word = word<<8 | uint64(s[i])
		if i&7 == 7 {
			r.fold(word)
			word = 0
		}
	}
	r.fold(word ^ uint64(len(s))<<56)
}

// bytes mixes bytes in; long ones by their length, head and tail, which holds
// the CRC of a record batch.
func (r *rolling) bytes(b []byte) {
	r.fold(uint64(len(b)))
	if len(b) > 128 {
		r.bytes(b[:64])
		b = b[len(b)-32:]
	}
	var word uint64
	for i, c := range b {
		word = word<<8 | uint64(c)
		if i&7 == 7 {
			r.fold(word)
			word = 0
		}
	}
	r.fold(word)
}
