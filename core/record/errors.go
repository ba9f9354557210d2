package record

import (
	"errors"
	"fmt"
)

// What can be wrong with a batch. Each error of this package is an
// *InvalidError that wraps one of these.
var (
	ErrShort       = errors.New("record: the bytes end before the batch does")
	ErrLength      = errors.New("record: the length field does not fit the batch")
	ErrMagic       = errors.New("record: the magic is not that of format v2")
	ErrChecksum    = errors.New("record: the checksum does not match the content")
	ErrAttributes  = errors.New("record: attribute bits that are not known, or an unknown codec")
	ErrCount       = errors.New("record: the count of records is wrong")
	ErrOffsetDelta = errors.New("record: offsets do not rise by one from record to record")
	ErrOffset      = errors.New("record: the offsets of the batch leave the range of offsets")
	ErrTimestamp   = errors.New("record: the maximum timestamp is not that of the records")
	ErrProducer    = errors.New("record: producer id, epoch and sequence do not belong together")
	ErrMarker      = errors.New("record: a control batch that ends no transaction")
	ErrRecord      = errors.New("record: a record is malformed")
	ErrTooLarge    = errors.New("record: too large for one batch")
)

// InvalidError says what is wrong with a batch, what was found, and what
// should have been there.
type InvalidError struct {
	Problem     error // one of the sentinels of this package
	Found, Want int64
}

func (e *InvalidError) Error() string {
	return fmt.Sprintf("%v (found %d, want %d)", e.Problem, e.Found, e.Want)
}

// Unwrap gives the problem, for errors.Is.
func (e *InvalidError) Unwrap() error { return e.Problem }

func invalid(problem error, found, want int64) error {
	return &InvalidError{Problem: problem, Found: found, Want: want}
}
