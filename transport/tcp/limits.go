package tcp

import (
	"net"
	"time"

	"github.com/tamarack-mq/tamarack/core/message"
)

// Limits bound what connections may take from a node. Zero values mean the
// default.
type Limits struct {
	// MaxFrame is the largest frame that is read, in bytes. Default 32 MiB. Other
	// nodes may send nodeFrame in any case.
	MaxFrame int
	// MaxHead is the largest head of a frame that is read from a client, in
	// bytes. Heads grow several times when they are decoded. Default 1 MiB;
	// other nodes may send heads as large as MaxFrame.
	MaxHead int
	// MaxConnections is how many connections may be open to a node at once.
	// Default 10,000.
	MaxConnections int
	// MaxInFlight is how many unanswered requests a client's connection may
	// have. No more is read from it meanwhile. Default 1024.
	MaxInFlight int
	// MaxQueued is how many bytes may wait to be written to one connection:
	// beyond it nothing is read from a client, and messages to a node are
	// dropped. Default 64 MiB.
	MaxQueued int
	// MaxBuffered is how many bytes of unanswered requests all clients
	// together may have, but for one frame more. Default 256 MiB.
	MaxBuffered int64
	// Stall ends a connection whose other side takes no byte, or stops in the
	// middle of a frame, for so long. Default 30 s.
	Stall time.Duration
}

func (l Limits) withDefaults() Limits {
	set := func(v *int, to int) {
		if *v == 0 {
			*v = to
		}
	}
	set(&l.MaxFrame, 32<<20)
	set(&l.MaxHead, 1<<20)
	set(&l.MaxConnections, 10_000)
	set(&l.MaxInFlight, 1024)
	set(&l.MaxQueued, 64<<20)
	if l.MaxBuffered == 0 {
		l.MaxBuffered = 256 << 20
	}
	l.MaxBuffered = max(l.MaxBuffered, int64(l.MaxFrame))
	if l.Stall == 0 {
		l.Stall = 30 * time.Second
	}
	return l
}

// nodeFrame is what nodes take from one another however low MaxFrame is: what
// they send follows from the core's bounds, and a frame that is refused would be
// sent again for ever.
const nodeFrame = 32 << 20

// handshakeTime is how long either side waits for the other's half.
const handshakeTime = 10 * time.Second

// tune sets the options of a fresh connection. Small messages must not wait
// for more of them: the writers gather what there is to gather. A host that
// vanished is noticed within some fifteen seconds.
func tune(conn net.Conn) {
	if c, ok := conn.(*net.TCPConn); ok {
		_ = c.SetNoDelay(true)
		_ = c.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true, Idle: 5 * time.Second, Interval: 3 * time.Second, Count: 3})
	}
}

// sizeOf is about how many bytes a message takes on the wire. It never says
// too little for a Produce.
func sizeOf(m message.Message) int {
	const frame, entry = 64, 48
	size := frame
	switch m := m.(type) {
	case *message.Produce:
		for i := range m.Partitions {
			size += entry + len(m.Partitions[i].Records)
		}
	case *message.FetchReply:
		for i := range m.Partitions {
			size += 2*entry + len(m.Partitions[i].Records)
		}
	case *message.ReplicaFetchReply:
		for i := range m.Partitions {
			size += 2*entry + len(m.Partitions[i].Records)
		}
	case *message.ReplicaFetch:
		size += entry * (len(m.Partitions) + len(m.Forget))
	case *message.ReplicaProgress:
		size += entry * len(m.Partitions)
	case *message.ProduceReply:
		size += entry * len(m.Partitions)
	case *message.Quorum:
		size += len(m.Data)
	case *message.MetadataPush:
		size += 2 * entry * len(m.Changes)
	case *message.MetadataReply:
		for i := range m.Topics {
			size += 2*entry + 2*entry*len(m.Topics[i].Partitions)
		}
	}
	return size
}
