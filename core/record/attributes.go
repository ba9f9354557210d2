package record

import "strconv"

// Codec says how the records of a batch are compressed. The core never looks
// inside: compressed records are opaque to it, and clients compress.
type Codec uint8

// The codecs of format v2, with their numbers on the wire.
const (
	NoCodec Codec = 0
	Gzip    Codec = 1
	Snappy  Codec = 2
	LZ4     Codec = 3
	Zstd    Codec = 4
)

// String is the codec's name as configurations spell it.
func (c Codec) String() string {
	switch c {
	case NoCodec:
		return "none"
	case Gzip:
		return "gzip"
	case Snappy:
		return "snappy"
	case LZ4:
		return "lz4"
	case Zstd:
		return "zstd"
	}
	return "codec " + strconv.Itoa(int(c))
}

const (
	codecBits         Attributes = 0x07
	appendTimeBit     Attributes = 0x08
	transactionalBit  Attributes = 0x10
	controlBit        Attributes = 0x20
	knownAttributes              = codecBits | appendTimeBit | transactionalBit | controlBit
	noAttributes      Attributes = 0
	highestKnownCodec            = Zstd
)

// Codec is how the records are compressed.
func (a Attributes) Codec() Codec { return Codec(a & codecBits) }

// AppendTime says that all records carry the batch's MaxTimestamp, which the
// broker set when it appended them, in place of the times of their creation.
func (a Attributes) AppendTime() bool { return a&appendTimeBit != 0 }

// Transactional says that the records belong to a transaction.
func (a Attributes) Transactional() bool { return a&transactionalBit != 0 }

// Control says that the batch holds a marker of the broker's own, such as the
// end of a transaction, which is not given to applications.
func (a Attributes) Control() bool { return a&controlBit != 0 }
