// Package message holds every value that crosses the boundary of a node or of
// a client: requests, replies, what nodes tell one another, and the numbers
// they are made of.
//
// A message is immutable once it has been handed to a network: sender and
// receiver may share it. One exception: the receiver of a Produce owns the
// record bytes in it and may stamp offsets and epochs into them, so a network
// that passes pointers must deliver a copy of those bytes (see Detach).
package message

// Message is any value of this package that travels by itself.
type Message interface {
	// Kind names the type on the wire.
	Kind() Kind
}

// Request is a message that a client sends and that is answered by exactly one
// Reply (but for a Produce with acks=0, which is never answered).
type Request interface {
	Message
	isRequest()
}

// Reply answers a Request.
type Reply interface {
	Message
	isReply()
}

// Refused answers any request that could not even be looked at: not
// understood, from another version or cluster, or sent to a node that is not
// ready. Nothing has taken effect.
type Refused struct {
	Code   Code
	Detail string
}

// Payload is implemented by messages that carry record bytes. The codec sends
// those bytes behind the encoded head and never copies or re-encodes them.
type Payload interface {
	Message
	// EachPayload calls visit for every record-bytes field, always in the same
	// order. The codec reads and sets the fields through it.
	EachPayload(visit func(*[]byte))
}

// Detach returns m with its own copy of the bytes that its receiver may write
// to, for networks that pass pointers.
func Detach(m Message) Message {
	p, ok := m.(*Produce)
	if !ok {
		return m
	}
	c := *p
	c.Partitions = make([]ProducePartition, len(p.Partitions))
	for i, part := range p.Partitions {
		part.Records = append([]byte(nil), part.Records...)
		c.Partitions[i] = part
	}
	return &c
}
