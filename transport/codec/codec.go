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
// on, decoding gives slices of the frame.
package codec

import "github.com/tamarack-mq/tamarack/core/message"

// PrefixSize is the number of bytes before the head: length, kind,
// correlation, head length.
const PrefixSize = 17

// Frame is an encoded message: the pieces, put one behind the other, are what
// goes over the wire. The first piece is the encoder's; the others are the
// message's own record bytes.
type Frame struct {
	Head    []byte
	Payload [][]byte
}

// Encode appends the frame of m, without its record bytes, to dst, and the
// record bytes to payload. Both are returned. It fails only when m has no kind
// or exceeds what the length fields can say.
func Encode(dst []byte, payload [][]byte, correlation uint64, m message.Message) ([]byte, [][]byte, error) {
	panic("not built yet")
}

// Decode reads one whole frame, with its length field. The message's record
// bytes are slices of frame, which must not be used again by the caller. Any
// byte sequence gives either a message or an *Error.
func Decode(frame []byte) (correlation uint64, m message.Message, err error) {
	panic("not built yet")
}

// Copy passes m through the codec and returns what the other side would get,
// with record bytes of its own. The simulator's network uses it.
func Copy(m message.Message) (message.Message, error) { panic("not built yet") }
