package history

import (
	"bytes"
	"strconv"
)

// A worker reads records and writes others in their place. The value of each
// record that it writes says from which one it was made, so that a judge can
// follow an effect back to its cause through any number of stages:
//
//	c5.2-17<1<c3.1-9
//
// is what client 5 in its session 2 called its 17th record, and the second copy
// (they count from 0) that it made of the whole value c3.1-9.
const productMark = '<'

// AppendProduct appends the value of a record that was made of another one. name is
// unique over the history and has no '<'.
func AppendProduct(to []byte, name string, copy int, input []byte) []byte {
	to = append(append(to, name...), productMark)
	to = append(strconv.AppendInt(to, int64(copy), 10), productMark)
	return append(to, input...)
}

// Product takes such a value apart: which copy it is, and of what. ok is false for
// the value of a record that was made of no other.
func Product(value []byte) (copy int, input []byte, ok bool) {
	_, rest, named := bytes.Cut(value, []byte{productMark})
	number, input, numbered := bytes.Cut(rest, []byte{productMark})
	if !named || !numbered {
		return 0, nil, false
	}
	n, err := strconv.ParseUint(string(number), 10, 31)
	return int(n), input, err == nil
}
