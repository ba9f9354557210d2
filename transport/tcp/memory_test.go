package tcp_test

import (
	"encoding/binary"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/transport/codec"
	"github.com/tamarack-mq/tamarack/transport/tcp"
)

func produceOf(bytes int) *message.Produce {
	return &message.Produce{Acks: message.AcksAll, Partitions: []message.ProducePartition{{Records: make([]byte, bytes)}}}
}

// A length that is announced is no memory that is used: clients that stop after
// it (or die there) keep nobody else from being read.
func TestAnAnnouncedFrameHoldsNoMemory(t *testing.T) {
	n, inbox := node(t, &book{}, 1, func(c *tcp.Config) { c.Limits.MaxFrame, c.Limits.MaxBuffered = 1<<20, 1<<20 })
	for range 20 {
		announced := binary.BigEndian.AppendUint32(nil, 1<<20-4)
		_, err := raw(t, n).Write(append(announced, byte(message.KindProduce), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 20))
		require.NoError(t, err)
	}
	c, _ := dial(t, n)
	require.NoError(t, c.Send(1, produceOf(700<<10)))
	require.Equal(t, produceOf(700<<10), inbox.next(t).m)
}

// Frames that have begun to arrive side by side do not wait for one another,
// even when there is not enough memory for all of them.
func TestLargeFramesThatArriveTogetherAllArrive(t *testing.T) {
	const large = 3 << 20
	n, inbox := node(t, &book{}, 1, func(c *tcp.Config) { c.Limits.MaxFrame, c.Limits.MaxBuffered = 4<<20, 5<<20 })
	parts, payload, err := codec.Encode(nil, nil, 7, produceOf(large))
	require.NoError(t, err)
	frame := parts
	for _, p := range payload {
		frame = append(frame, p...)
	}
	slow := raw(t, n)
	_, err = slow.Write(frame[:2<<20]) // it has all its memory now
	require.NoError(t, err)

	first, replies := dial(t, n)
	second, _ := dial(t, n)
	require.NoError(t, first.Send(1, produceOf(large)))
	g := inbox.next(t)
	require.NoError(t, second.Send(2, produceOf(100)))
	n.Reply(g.token, &message.ProduceReply{}) // what the spare lane held is free again
	replies.next(t)
	require.NoError(t, first.Send(3, produceOf(100)))
	inbox.next(t)
	inbox.next(t)

	_, err = slow.Write(frame[2<<20:])
	require.NoError(t, err)
	require.Equal(t, produceOf(large), inbox.next(t).m)
}

// Connections that say nothing are bounded like those that do.
func TestSilentConnectionsAreBounded(t *testing.T) {
	n, _ := node(t, &book{}, 1, func(c *tcp.Config) { c.Limits.MaxConnections = 1 })
	const handshakes = 64
	var last net.Conn
	for range 1 + handshakes + 1 {
		conn, err := net.Dial("tcp", n.Address().String())
		require.NoError(t, err)
		defer conn.Close()
		last = conn
	}
	require.NoError(t, last.SetDeadline(time.Now().Add(handshakes*time.Second)))
	began := time.Now()
	_, err := last.Read(make([]byte, 1))
	require.Error(t, err)
	require.Less(t, time.Since(began), 5*time.Second, "not only after the time that a handshake may take")
}
