package tcp_test

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/transport/tcp"
)

// patience bounds every wait of these tests; none of them waits for so long
// unless it fails.
const patience = 20 * time.Second

// got is what a node or a client was given.
type got struct {
	from        message.NodeID
	token       message.Token
	correlation uint64
	m           message.Message
}

// mailbox collects what is delivered. It is both a node's receiver and a
// client's handler.
type mailbox struct {
	mail  chan got
	ended chan error
}

func newMailbox() *mailbox {
	return &mailbox{mail: make(chan got, 1<<16), ended: make(chan error, 1)}
}

func (b *mailbox) Receive(from message.NodeID, m message.Message) { b.mail <- got{from: from, m: m} }
func (b *mailbox) Request(t message.Token, m message.Request)     { b.mail <- got{token: t, m: m} }
func (b *mailbox) Replied(c uint64, m message.Reply)              { b.mail <- got{correlation: c, m: m} }
func (b *mailbox) Closed(err error)                               { b.ended <- err }

func (b *mailbox) next(t *testing.T) got {
	t.Helper()
	select {
	case g := <-b.mail:
		return g
	case <-time.After(patience):
		t.Fatal("nothing was delivered")
		return got{}
	}
}

func (b *mailbox) end(t *testing.T) error {
	t.Helper()
	select {
	case err := <-b.ended:
		return err
	case <-time.After(patience):
		t.Fatal("the connection did not end")
		return nil
	}
}

// book is where nodes find one another.
type book struct {
	mu        sync.Mutex
	addresses map[message.NodeID]string
}

func (b *book) resolve(n message.NodeID) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.addresses[n]
}

func (b *book) set(n message.NodeID, address string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.addresses == nil {
		b.addresses = map[message.NodeID]string{}
	}
	b.addresses[n] = address
}

// node starts a network on loopback and ends it with the test.
func node(t *testing.T, b *book, id message.NodeID, change ...func(*tcp.Config)) (*tcp.Network, *mailbox) {
	t.Helper()
	return nodeAt(t, b, id, "127.0.0.1:0", change...)
}

func nodeAt(t *testing.T, b *book, id message.NodeID, address string, change ...func(*tcp.Config)) (*tcp.Network, *mailbox) {
	t.Helper()
	listener, err := net.Listen("tcp", address)
	require.NoError(t, err)
	cfg := tcp.Config{Node: id, ClusterID: "oak", Advertise: listener.Addr().String(), Software: "test", Resolve: b.resolve}
	for _, c := range change {
		c(&cfg)
	}
	box := newMailbox()
	n := tcp.Listen(listener, cfg, box)
	t.Cleanup(func() { n.Close() })
	b.set(id, n.Address().String())
	return n, box
}

func dial(t *testing.T, n *tcp.Network) (*tcp.Conn, *mailbox) {
	t.Helper()
	box := newMailbox()
	c, err := tcp.Dial(context.Background(), n.Address().String(), tcp.Hello{ClusterID: "oak"}, box)
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	return c, box
}
