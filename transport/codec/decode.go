package codec

import (
	"encoding/binary"
	"sync"

	"github.com/hashicorp/go-msgpack/v2/codec"

	"github.com/tamarack-mq/tamarack/core/message"
)

// Prefix is what stands before the head of a frame.
type Prefix struct {
	Size        int // of the whole frame, its length field included
	Kind        message.Kind
	Correlation uint64
	HeadSize    int
}

// HasPayload says whether frames of a kind carry record bytes. The decoded
// message shares memory with such a frame, and with no other.
func (p Prefix) HasPayload() bool { return carries[p.Kind] }

// carries tells which kinds carry record bytes.
var carries = func() (c [256]bool) {
	for _, k := range message.Kinds() {
		_, c[k] = message.New(k).(message.Payload)
	}
	return c
}()

// ReadPrefix checks the first PrefixSize bytes of a frame. A frame larger than
// maxFrame bytes, or with a head larger than maxHead, is refused before any of
// it is read. On ErrTooLarge and ErrKind the prefix is valid all the same, so
// that the frame can be answered.
func ReadPrefix(b []byte, maxFrame, maxHead int) (Prefix, error) {
	if len(b) < PrefixSize {
		return Prefix{}, fault(message.KindInvalid, ErrTruncated, "%d bytes where the prefix has %d", len(b), PrefixSize)
	}
	p := Prefix{
		Size:        int(binary.BigEndian.Uint32(b)) + lengthSize,
		Kind:        message.Kind(b[4]),
		Correlation: binary.BigEndian.Uint64(b[5:]),
		HeadSize:    int(binary.BigEndian.Uint32(b[13:])),
	}
	switch {
	case message.New(p.Kind) == nil:
		kind := p.Kind
		p.Kind = message.KindInvalid
		return p, fault(message.KindInvalid, ErrKind, "kind %d", kind)
	case p.Size < PrefixSize:
		return p, fault(p.Kind, ErrTruncated, "its length is given as %d", p.Size-lengthSize)
	case p.Size > maxFrame:
		return p, fault(p.Kind, ErrTooLarge, "%d bytes, the limit is %d", p.Size, maxFrame)
	case p.HeadSize > p.Size-PrefixSize:
		return p, fault(p.Kind, ErrTruncated, "a head of %d bytes in a frame of %d", p.HeadSize, p.Size)
	case p.HeadSize > maxHead:
		return p, fault(p.Kind, ErrTooLarge, "a head of %d bytes, the limit is %d", p.HeadSize, maxHead)
	case !p.HasPayload() && p.HeadSize != p.Size-PrefixSize:
		return p, fault(p.Kind, ErrTrailing, "%d bytes behind the head", p.Size-PrefixSize-p.HeadSize)
	}
	return p, nil
}

// Decode reads one whole frame. Record bytes of the message are slices of
// frame, which the caller must not use again. Any byte sequence gives either a
// message or an *Error.
func Decode(frame []byte) (correlation uint64, m message.Message, err error) {
	p, err := ReadPrefix(frame, len(frame), len(frame))
	switch {
	case err != nil && p.Size > len(frame):
		return p.Correlation, nil, fault(p.Kind, ErrTruncated, "%d bytes of %d", len(frame), p.Size)
	case err != nil:
		return p.Correlation, nil, err
	case p.Size < len(frame):
		return p.Correlation, nil, fault(p.Kind, ErrTrailing, "%d bytes where its length says %d", len(frame), p.Size)
	}
	m, err = DecodeBody(p, frame[PrefixSize:])
	return p.Correlation, m, err
}

// DecodeBody reads what follows a prefix that ReadPrefix has accepted.
func DecodeBody(p Prefix, body []byte) (message.Message, error) {
	m := message.New(p.Kind)
	if err := decodeHead(m, body[:p.HeadSize]); err != nil {
		return nil, err
	}
	if carrier, ok := m.(message.Payload); ok {
		if err := attach(carrier, body[p.HeadSize:]); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// attach gives the record-bytes fields of m their parts of rest: the lengths,
// then the bytes.
func attach(m message.Payload, rest []byte) error {
	fields := 0
	m.EachPayload(func(*[]byte) { fields++ })
	if len(rest) < 4*fields {
		return fault(m.Kind(), ErrTruncated, "%d bytes where %d lengths should be", len(rest), fields)
	}
	lengths, rest := rest[:4*fields], rest[4*fields:]
	ok := true
	m.EachPayload(func(b *[]byte) {
		n := int(binary.BigEndian.Uint32(lengths))
		lengths = lengths[4:]
		if !ok || n > len(rest) {
			ok = false
			return
		}
		if n > 0 {
			*b, rest = rest[:n:n], rest[n:]
		}
	})
	if !ok {
		return fault(m.Kind(), ErrTruncated, "the record bytes are cut short")
	}
	if len(rest) > 0 {
		return fault(m.Kind(), ErrTrailing, "%d bytes behind the record bytes", len(rest))
	}
	return nil
}

var decoders = sync.Pool{New: func() any { return codec.NewDecoderBytes([]byte{0}, handle) }}

func decodeHead(m message.Message, head []byte) error {
	if len(head) == 0 {
		return fault(m.Kind(), ErrTruncated, "it has no head")
	}
	d := decoders.Get().(*codec.Decoder)
	defer decoders.Put(d)
	d.ResetBytes(head)
	if err := decodeFields(d, m); err != nil {
		return err
	}
	if read := d.NumBytesRead(); read != len(head) {
		return fault(m.Kind(), ErrTrailing, "%d of the head's %d bytes are used", read, len(head))
	}
	return nil
}

func decodeFields(d *codec.Decoder, m message.Message) error {
	switch m := m.(type) {
	case *message.Forward:
		var head forwardHead
		if err := decodeValue(d, m.Kind(), &head); err != nil {
			return err
		}
		body, ok := message.New(head.Body).(message.Request)
		if !ok || carries[head.Body] {
			return fault(m.Kind(), ErrMalformed, "kind %d is no request that can be forwarded", head.Body)
		}
		m.Request, m.Body = head.Request, body
		return decodeValue(d, m.Kind(), body)
	case *message.Forwarded:
		var head forwardedHead
		if err := decodeValue(d, m.Kind(), &head); err != nil {
			return err
		}
		m.Request, m.Code, m.Controller = head.Request, head.Code, head.Controller
		if head.Body == message.KindInvalid {
			return nil
		}
		body, ok := message.New(head.Body).(message.Reply)
		if !ok || carries[head.Body] {
			return fault(m.Kind(), ErrMalformed, "kind %d is no reply that can be forwarded", head.Body)
		}
		m.Body = body
		return decodeValue(d, m.Kind(), body)
	}
	return decodeValue(d, m.Kind(), m)
}

func decodeValue(d *codec.Decoder, kind message.Kind, v any) error {
	if err := d.Decode(v); err != nil {
		return fault(kind, ErrMalformed, "%v", err)
	}
	return nil
}
