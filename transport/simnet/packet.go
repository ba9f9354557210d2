package simnet

import "github.com/tamarack-mq/tamarack/core/message"

// Endpoint is a place on the network: a node by its id, or a client by an id
// that the simulator gives it, above those of all nodes.
type Endpoint int32

// PacketKind says what a packet carries.
type PacketKind uint8

// The kinds of packets.
const (
	Message PacketKind = iota // from one node to another
	Request                   // from a client to a node
	Reply                     // from a node to a client
	Broken                    // tells a client that its connection to From ended
	Refused                   // and that nothing sent over it was ever taken
)

// Packet is something under way. Packets are pooled: nobody may keep one after
// Done.
type Packet struct {
	Kind PacketKind
	From Endpoint
	To   Endpoint
	// Call is the client's name of a call: in a Request and in its Reply.
	Call uint64
	// Generation is the connection that the packet belongs to. A Broken packet
	// ends all calls of this and earlier generations.
	Generation uint32
	Msg        message.Message
	// Digest is the simulator's: what it folded in when the packet was sent.
	Digest uint64
	// Cause is the simulator's, too: what Network.Cause was when it was sent.
	Cause int32
	// Late is set on a packet that outlived its connection.
	Late bool

	nth       uint32 // as in About, when somebody decides
	conn      *conn
	fruitless *bool // of a request: its generation of conn could not be made
	back      bool  // against the direction in which the connection was dialled
	copy      bool  // a second arrival of the same message
}

// Scheduler is the simulator's heap of events.
type Scheduler interface {
	// Schedule calls Network.Arrive with p when virtual time has come to at.
	Schedule(at message.Time, p *Packet)
}
