// Package codec turns messages into frames and back. A frame is
//
//	length      4 bytes, big endian: all that follows
//	kind        1 byte: message.Kind
//	correlation 8 bytes, big endian: chosen by the asker, echoed in the reply
//	head length 4 bytes, big endian
//	head        msgpack: the fields of the message, as an array in their order
//	lengths     4 bytes each, big endian: one for each record-bytes field
//	payload     the record bytes themselves, one after the other
//
// Only messages that implement message.Payload have lengths and payload. Record
// bytes are neither copied nor looked into: encoding hands the caller's slices
// on, decoding gives slices of the frame. A Forward or Forwarded has two values
// in its head: its own fields with the kind of its body, then the body.
//
// New fields are added at the end of a message: a decoder takes a missing field
// for zero, and refuses one that it does not know, since it cannot know whether
// that may be ignored. Versions are agreed on in the handshake. A test holds the
// order of the fields to testdata/fields.txt.
package codec

import (
	"encoding/binary"
	"fmt"
	"math"
	"sync"

	"github.com/hashicorp/go-msgpack/v2/codec"

	"github.com/tamarack-mq/tamarack/core/message"
)

// PrefixSize is the number of bytes before the head: length, kind,
// correlation, head length.
const PrefixSize = 17

// lengthSize is the size of the length field, which does not count itself.
const lengthSize = 4

// maxDepth is how deeply values may nest in a head: twice what messages need.
const maxDepth = 16

// handle is shared by all encoders and decoders; it does not change.
var handle = newHandle()

func newHandle() *codec.MsgpackHandle {
	h := &codec.MsgpackHandle{WriteExt: true}
	h.StructToArray = true
	h.ErrorIfNoField = true
	h.MaxDepth = maxDepth
	return h
}

// encoder is one reusable msgpack encoder with the buffer that it writes to.
type encoder struct {
	msgpack *codec.Encoder
	out     []byte
}

var encoders = sync.Pool{New: func() any {
	e := &encoder{out: make([]byte, 0, 256)}
	e.msgpack = codec.NewEncoderBytes(&e.out, handle)
	return e
}}

// append encodes v behind dst.
func (e *encoder) append(dst []byte, v any) ([]byte, error) {
	e.msgpack.ResetBytes(&e.out)
	if err := e.msgpack.Encode(v); err != nil {
		return dst, err
	}
	return append(dst, e.out...), nil
}

// Encode appends the frame of m, without its record bytes, to dst, and those
// record bytes, as they are, to payload. Both are returned: dst's new part and
// payload's, one behind the other, are the frame. It fails only for a message
// that cannot be said on the wire: a nil one, or one with too many bytes.
func Encode(dst []byte, payload [][]byte, correlation uint64, m message.Message) ([]byte, [][]byte, error) {
	start, first := len(dst), len(payload)
	dst = append(dst, make([]byte, PrefixSize)...)
	dst, err := appendHead(dst, m)
	if err != nil {
		return dst[:start], payload, err
	}
	headEnd := len(dst)
	total := 0
	if p, ok := m.(message.Payload); ok {
		p.EachPayload(func(b *[]byte) {
			dst = binary.BigEndian.AppendUint32(dst, uint32(len(*b)))
			total += len(*b)
			if len(*b) > 0 {
				payload = append(payload, *b)
			}
		})
	}
	length := len(dst) - start - lengthSize + total
	if length > math.MaxInt32 {
		return dst[:start], payload[:first], fault(m.Kind(), ErrTooLarge, "%d bytes", length)
	}
	prefix := dst[start:]
	binary.BigEndian.PutUint32(prefix, uint32(length))
	prefix[4] = byte(m.Kind())
	binary.BigEndian.PutUint64(prefix[5:], correlation)
	binary.BigEndian.PutUint32(prefix[13:], uint32(headEnd-start-PrefixSize))
	return dst, payload, nil
}

func appendHead(dst []byte, m message.Message) ([]byte, error) {
	e := encoders.Get().(*encoder)
	defer encoders.Put(e)
	var err error
	switch m := m.(type) {
	case nil:
		return dst, fmt.Errorf("codec: there is no message to encode")
	case *message.Forward:
		if m.Body == nil {
			return dst, fault(m.Kind(), ErrMalformed, "it has no body")
		}
		dst, err = e.append(dst, &forwardHead{Request: m.Request, Body: m.Body.Kind()})
		if err == nil {
			dst, err = e.append(dst, m.Body)
		}
	case *message.Forwarded:
		head := forwardedHead{Request: m.Request, Code: m.Code, Controller: m.Controller}
		if m.Body != nil {
			head.Body = m.Body.Kind()
		}
		dst, err = e.append(dst, &head)
		if err == nil && m.Body != nil {
			dst, err = e.append(dst, m.Body)
		}
	default:
		dst, err = e.append(dst, m)
	}
	if err != nil {
		return dst, fmt.Errorf("codec: cannot encode %s: %w", m.Kind(), err)
	}
	return dst, nil
}

// forwardHead and forwardedHead stand for the fields of the messages that hold
// other messages; the body follows as a value of its own.
type forwardHead struct {
	Request uint64
	Body    message.Kind
}

type forwardedHead struct {
	Request    uint64
	Code       message.Code
	Controller message.NodeID
	Body       message.Kind // KindInvalid: none
}

// Copy passes m through the codec and returns what the other side would get,
// with record bytes of its own.
func Copy(m message.Message) (message.Message, error) {
	frame, payload, err := Encode(nil, nil, 0, m)
	if err != nil {
		return nil, err
	}
	for _, p := range payload {
		frame = append(frame, p...)
	}
	_, c, err := Decode(frame)
	return c, err
}
