package tcp_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/transport/codec"
	"github.com/tamarack-mq/tamarack/transport/tcp"
)

func TestRepliesFindTheirRequestsInAnyOrder(t *testing.T) {
	n, inbox := node(t, &book{}, 1)
	c, replies := dial(t, n)
	require.Equal(t, tcp.Welcome{ClusterID: "oak", Node: 1, MaxFrame: 32 << 20}, public(c.Peer()))

	require.NoError(t, c.Send(7, &message.DescribeGroup{Group: "a"}))
	require.NoError(t, c.Send(8, &message.DescribeGroup{Group: "b"}))
	a, b := inbox.next(t), inbox.next(t)
	require.Equal(t, &message.DescribeGroup{Group: "a"}, a.m)
	n.Reply(b.token, &message.DescribeGroupReply{Group: "b"})
	n.Reply(a.token, &message.DescribeGroupReply{Group: "a"})
	n.Reply(a.token, &message.DescribeGroupReply{Group: "twice"}) // a token is good for one reply
	require.Equal(t, got{correlation: 8, m: &message.DescribeGroupReply{Group: "b"}}, replies.next(t))
	require.Equal(t, got{correlation: 7, m: &message.DescribeGroupReply{Group: "a"}}, replies.next(t))

	require.NoError(t, c.Close())
	require.NoError(t, replies.end(t))
	require.ErrorIs(t, c.Send(9, &message.ListGroups{}), tcp.ErrClosed)
	require.Empty(t, replies.mail)
}

// public leaves out what the handshake keeps to itself.
func public(w tcp.Welcome) tcp.Welcome {
	return tcp.Welcome{ClusterID: w.ClusterID, Node: w.Node, MaxFrame: w.MaxFrame}
}

func TestRecordBytesOfAnySizeComeThrough(t *testing.T) {
	n, inbox := node(t, &book{}, 1)
	c, replies := dial(t, n)
	for i, size := range []int{0, 1, 100, 32<<10 - 20, 32 << 10, 40 << 10, 1 << 20, 9 << 20} {
		records := bytes.Repeat([]byte{byte(i + 1)}, size)
		sent := &message.Produce{Acks: message.AcksAll, Partitions: []message.ProducePartition{
			{ID: record.PartitionID{Topic: 1, Index: 1}, Records: records},
			{ID: record.PartitionID{Topic: 1, Index: 2}, Records: []byte("tail")},
		}}
		require.NoError(t, c.Send(uint64(i), sent))
		g := inbox.next(t)
		produce := g.m.(*message.Produce)
		require.True(t, bytes.Equal(records, produce.Partitions[0].Records))
		require.Equal(t, "tail", string(produce.Partitions[1].Records))
		n.Reply(g.token, &message.FetchReply{Partitions: []message.FetchedPartition{{Records: records}}})
		reply := replies.next(t).m.(*message.FetchReply)
		require.True(t, bytes.Equal(records, reply.Partitions[0].Records))
	}
}

// A produce that wants no answer gets none and takes no place among the
// unanswered.
func TestProduceWithoutAcksIsNotAwaited(t *testing.T) {
	n, inbox := node(t, &book{}, 1, func(c *tcp.Config) { c.Limits.MaxInFlight = 1 })
	c, replies := dial(t, n)
	for i := range 10 {
		require.NoError(t, c.Send(uint64(i), &message.Produce{Acks: message.AcksNone}))
	}
	for range 10 {
		n.Reply(inbox.next(t).token, &message.ProduceReply{})
	}
	require.NoError(t, c.Send(99, &message.ListGroups{}))
	n.Reply(inbox.next(t).token, &message.ListGroupsReply{})
	require.Equal(t, uint64(99), replies.next(t).correlation)
}

// A client that asks for more than it may is not read from until it has got
// answers, and one after another it gets all of them.
func TestTooManyRequestsWait(t *testing.T) {
	const limit, asked = 4, 50
	n, inbox := node(t, &book{}, 1, func(c *tcp.Config) { c.Limits.MaxInFlight = limit })
	c, replies := dial(t, n)
	for i := range asked {
		require.NoError(t, c.Send(uint64(i), &message.ListGroups{}))
	}
	open := []got{}
	for i := range asked {
		open = append(open, inbox.next(t))
		require.LessOrEqual(t, len(open), limit)
		if len(open) == limit || i == asked-1 {
			require.Empty(t, inbox.mail)
			for _, g := range open {
				n.Reply(g.token, &message.ListGroupsReply{})
			}
			open = open[:0]
		}
	}
	for range asked {
		replies.next(t)
	}
}

// What all clients together have waiting is bounded too; a request beyond it
// waits in the network.
func TestBytesOfUnansweredRequestsAreBounded(t *testing.T) {
	n, inbox := node(t, &book{}, 1, func(c *tcp.Config) { c.Limits.MaxFrame, c.Limits.MaxBuffered = 1<<20, 1<<20 })
	big := &message.Produce{Acks: message.AcksAll, Partitions: []message.ProducePartition{{Records: make([]byte, 700<<10)}}}
	first, firstReplies := dial(t, n)
	second, secondReplies := dial(t, n)
	require.NoError(t, first.Send(1, big))
	g := inbox.next(t)
	require.NoError(t, second.Send(2, big))
	n.Reply(g.token, &message.ProduceReply{})
	firstReplies.next(t)
	n.Reply(inbox.next(t).token, &message.ProduceReply{})
	secondReplies.next(t)

	require.NoError(t, first.Send(3, big)) // one that is never answered, of a client that leaves
	inbox.next(t)
	first.Close()
	require.NoError(t, second.Send(4, big))
	inbox.next(t)
}

// Answers that come while the network is corked leave together.
func TestCorkGathersAnswersIntoOneWrite(t *testing.T) {
	var writes atomic.Int32
	n, inbox := node(t, &book{}, 1, func(c *tcp.Config) { c.Count.Sent = func(int) { writes.Add(1) } })
	c, replies := dial(t, n)
	const many = 100
	for i := range many {
		require.NoError(t, c.Send(uint64(i), &message.ListGroups{}))
	}
	n.Cork()
	for range many {
		n.Reply(inbox.next(t).token, &message.ListGroupsReply{})
	}
	require.Empty(t, replies.mail)
	n.Flush()
	for range many {
		replies.next(t)
	}
	require.Equal(t, int32(1), writes.Load())
}

func TestHandshakeNamesWhatIsWrong(t *testing.T) {
	n, _ := node(t, &book{}, 1)
	address := n.Address().String()
	cases := []struct {
		name  string
		hello tcp.Hello
		code  message.Code
		says  string
	}{
		{"another cluster", tcp.Hello{ClusterID: "elm"}, message.ClusterIDMismatch, `"elm", node 1 belongs to "oak"`},
		{"a node without cluster", tcp.Hello{Node: 2}, message.ClusterIDMismatch, "check the address"},
		{"another node", tcp.Hello{ClusterID: "oak", Want: 2}, message.InvalidRequest, "this is node 1"},
		{"the same node", tcp.Hello{ClusterID: "oak", Node: 1}, message.InvalidRequest, "give each node its own id"},
		{"another version", tcp.HelloOfVersion(tcp.Version+1, "oak"), message.UnsupportedVersion, "run the same release"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := tcp.Dial(context.Background(), address, c.hello, newMailbox())
			require.ErrorIs(t, err, c.code)
			require.ErrorContains(t, err, c.says)
		})
	}
	_, err := tcp.Dial(context.Background(), address, tcp.Hello{}, newMailbox()) // a client may not know the cluster
	require.NoError(t, err)
}

func TestOnePartyTooManyIsToldSo(t *testing.T) {
	n, _ := node(t, &book{}, 1, func(c *tcp.Config) { c.Limits.MaxConnections = 1 })
	dial(t, n)
	_, err := tcp.Dial(context.Background(), n.Address().String(), tcp.Hello{}, newMailbox())
	require.ErrorIs(t, err, message.BrokerNotAvailable)
	_, err = tcp.Dial(context.Background(), n.Address().String(), tcp.Hello{ClusterID: "oak", Node: 2}, newMailbox())
	require.NoError(t, err, "other nodes always get in")
}

func TestDialGivesUpWithItsContext(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer silent.Close()
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		c, err := silent.Accept()
		if err == nil {
			defer c.Close()
		}
		cancel()
		<-time.After(patience)
	}()
	_, err = tcp.Dial(ctx, silent.Addr().String(), tcp.Hello{}, newMailbox())
	require.Error(t, err)
	require.ErrorIs(t, ctx.Err(), context.Canceled)
}

// raw shakes hands as a client and then speaks bytes.
func raw(t *testing.T, n *tcp.Network) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", n.Address().String())
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	require.NoError(t, conn.SetDeadline(time.Now().Add(patience)))
	_, err = conn.Write(tcp.EncodeHello(tcp.Hello{ClusterID: "oak"}))
	require.NoError(t, err)
	require.NoError(t, tcp.ReadWelcome(conn))
	return conn
}

// A frame that cannot be used gets an answer that says why, under its own
// correlation as far as that is known, and the connection ends.
func TestBadFramesAreAnsweredBeforeTheConnectionEnds(t *testing.T) {
	n, inbox := node(t, &book{}, 1, func(c *tcp.Config) { c.Limits.MaxFrame, c.Limits.MaxHead = 1<<20, 1<<10 })
	frame := func(m message.Message) []byte {
		f, payload, err := codec.Encode(nil, nil, 5, m)
		require.NoError(t, err)
		return append(f, bytes.Join(payload, nil)...)
	}
	patch := func(f []byte, at int, b ...byte) []byte { copy(f[at:], b); return f }
	huge := patch(frame(&message.ListGroups{}), 0, 0x7f, 0xff, 0xff, 0xff)
	cases := []struct {
		name  string
		bytes []byte
		code  message.Code
		says  string
	}{
		{"oversized", append(huge, make([]byte, 1<<20)...), message.MessageTooLarge, "the limit is 1048576"},
		{"oversized head", frame(&message.DeleteGroup{Group: string(make([]byte, 2<<10))}), message.MessageTooLarge, "the limit is 1024"},
		{"unknown kind", patch(frame(&message.ListGroups{}), 4, 250), message.UnsupportedVersion, "kind 250"},
		{"garbage head", patch(frame(&message.DeleteGroup{Group: "gg"}), 17, 0xc1, 0xc1), message.InvalidRequest, "malformed"},
		{"a reply", frame(&message.ListGroupsReply{}), message.InvalidRequest, "is no request"},
		{"a node's message", frame(&message.Quorum{}), message.InvalidRequest, "is no request"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			conn := raw(t, n)
			_, err := conn.Write(c.bytes)
			require.NoError(t, err)
			answer, err := io.ReadAll(conn) // to the end of the connection
			require.NoError(t, err)
			correlation, m, err := codec.Decode(answer)
			require.NoError(t, err)
			require.Equal(t, uint64(5), correlation)
			require.Equal(t, c.code, m.(*message.Refused).Code)
			require.Contains(t, m.(*message.Refused).Detail, c.says)
		})
	}
	require.Empty(t, inbox.mail)
}

// Half a frame and silence does not hold a connection for ever.
func TestAStalledFrameEndsTheConnection(t *testing.T) {
	n, _ := node(t, &book{}, 1, func(c *tcp.Config) { c.Limits.Stall = 50 * time.Millisecond })
	conn := raw(t, n)
	half := binary.BigEndian.AppendUint32(nil, 100)
	_, err := conn.Write(append(half, byte(message.KindProduce), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1))
	require.NoError(t, err)
	_, err = io.ReadAll(conn)
	require.NoError(t, err)
}

func TestAnotherProtocolIsTurnedAway(t *testing.T) {
	n, inbox := node(t, &book{}, 1)
	conn, err := net.Dial("tcp", n.Address().String())
	require.NoError(t, err)
	defer conn.Close()
	_, err = conn.Write([]byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"))
	require.NoError(t, err)
	answer, err := io.ReadAll(conn)
	require.NoError(t, err)
	require.Contains(t, string(answer), "this port speaks Tamarack's own protocol")
	require.Empty(t, inbox.mail)
}

func TestANodeThatGoesAwayIsNoticed(t *testing.T) {
	n, _ := node(t, &book{}, 1)
	_, replies := dial(t, n)
	require.NoError(t, n.Close())
	require.ErrorContains(t, replies.end(t), "the node closed the connection")
}

func TestATooLargeProduceIsNotSent(t *testing.T) {
	n, _ := node(t, &book{}, 1, func(c *tcp.Config) { c.Limits.MaxFrame = 1 << 10 })
	c, _ := dial(t, n)
	err := c.Send(1, &message.Produce{Partitions: []message.ProducePartition{{Records: make([]byte, 1<<10)}}})
	require.True(t, errors.Is(err, tcp.ErrTooLarge), "%v", err)
}
