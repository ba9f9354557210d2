package tape

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/hashicorp/go-msgpack/v2/codec"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/pack"
	wire "github.com/tamarack-mq/tamarack/transport/codec"
)

// errMalformed is wrapped by errors about bytes that no version of this package
// has written.
var errMalformed = errors.New("malformed")

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errMalformed, fmt.Sprintf(format, args...))
}

var handle = func() *codec.MsgpackHandle {
	h := &codec.MsgpackHandle{WriteExt: true}
	h.StructToArray = true
	h.ErrorIfNoField = true // written by code that knows more than this
	h.MaxDepth = 16
	return h
}()

// packer appends values as msgpack.
type packer struct {
	msgpack *codec.Encoder
	out     []byte
	frame   []byte   // of a message
	payload [][]byte // of a message
}

func newPacker() *packer {
	p := &packer{out: make([]byte, 0, 256)}
	p.msgpack = codec.NewEncoderBytes(&p.out, handle)
	return p
}

// value appends the length of v's msgpack and that msgpack.
func (p *packer) value(to []byte, v any) ([]byte, error) {
	p.msgpack.ResetBytes(&p.out)
	if err := p.msgpack.Encode(v); err != nil {
		return to, err
	}
	return pack.Bytes(to, p.out), nil
}

// unpack reads what value wrote.
func unpack(r *pack.Reader, v any) error {
	b := r.Bytes()
	if r.Err() != nil {
		return r.Err()
	}
	d := codec.NewDecoderBytes(b, handle)
	if err := d.Decode(v); err != nil {
		return malformed("%v", err)
	}
	if d.NumBytesRead() != len(b) {
		return malformed("%d of %d bytes are used", d.NumBytesRead(), len(b))
	}
	return nil
}

// Sum stands for bytes that are not kept.
type Sum struct {
	Size int
	CRC  uint32 // CRC-32C
}

// String is the size and the sum, in hex.
func (s Sum) String() string { return fmt.Sprintf("%d bytes with sum %08x", s.Size, s.CRC) }

func appendSum(to, b []byte) []byte {
	return binary.BigEndian.AppendUint32(pack.Uint(to, uint64(len(b))), crc32.Checksum(b, castagnoli))
}

func readSum(r *pack.Reader) (s Sum) {
	s.Size = int(r.Uint())
	for range 4 {
		s.CRC = s.CRC<<8 | uint32(r.Byte())
	}
	return s
}

// message appends a message: kind, size of its head, head, number of its record
// bytes. Then follow these, whole or as sums.
func (p *packer) message(to []byte, m message.Message, whole bool) ([]byte, error) {
	frame, payload, err := wire.Encode(p.frame[:0], p.payload[:0], 0, m)
	p.frame, p.payload = frame[:0], payload[:0]
	if err != nil {
		return to, err
	}
	head := binary.BigEndian.Uint32(frame[wire.PrefixSize-4:])
	to = append(to, byte(m.Kind()))
	to = pack.Bytes(to, frame[wire.PrefixSize:wire.PrefixSize+head])
	lengths := frame[wire.PrefixSize+head:]
	to = pack.Uint(to, uint64(len(lengths)/4))
	for ; len(lengths) > 0; lengths = lengths[4:] {
		var b []byte // the wire leaves empty ones out
		if binary.BigEndian.Uint32(lengths) > 0 {
			b, payload = payload[0], payload[1:]
		}
		if whole {
			to = pack.Bytes(to, b)
		} else {
			to = appendSum(to, b)
		}
	}
	clear(p.payload[:cap(p.payload)]) // holds on to nothing
	return to, nil
}

// readMessage reads what message wrote. Record bytes share memory with the
// reader's input; where only sums stand, the message has none.
func readMessage(r *pack.Reader, whole bool) (message.Message, []Sum, error) {
	kind := message.Kind(r.Byte())
	head := r.Bytes()
	fields := r.Count(1)
	if r.Err() != nil {
		return nil, nil, r.Err()
	}
	if message.New(kind) == nil {
		return nil, nil, malformed("a message of kind %d, which this code does not know", kind)
	}
	body := make([]byte, len(head)+4*fields)
	copy(body, head)
	m, err := wire.DecodeBody(wire.Prefix{Kind: kind, HeadSize: len(head)}, body)
	if err != nil {
		return nil, nil, malformed("%v", err)
	}
	var sums []Sum
	carrier, _ := m.(message.Payload)
	switch {
	case carrier == nil:
		if fields != 0 {
			return nil, nil, malformed("record bytes of a message that has none")
		}
	case whole:
		carrier.EachPayload(func(b *[]byte) {
			if got := r.Bytes(); len(got) > 0 {
				*b = got
			}
		})
	default:
		for range fields {
			sums = append(sums, readSum(r))
		}
	}
	return m, sums, r.Err()
}
