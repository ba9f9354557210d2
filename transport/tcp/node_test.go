package tcp_test

import (
	"bytes"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/transport/tcp"
)

func quorum(i int) *message.Quorum { return &message.Quorum{Data: []byte{byte(i >> 8), byte(i)}} }

func TestNodesHearOneAnotherInOrder(t *testing.T) {
	b := &book{}
	one, inbox1 := node(t, b, 1)
	two, inbox2 := node(t, b, 2)
	const many = 5000
	for i := range many {
		one.Send(2, quorum(i))
		two.Send(1, quorum(i))
	}
	for i := range many {
		require.Equal(t, got{from: 1, m: quorum(i)}, inbox2.next(t))
		require.Equal(t, got{from: 2, m: quorum(i)}, inbox1.next(t))
	}
}

// dropLog remembers what was dropped.
type dropLog struct {
	mu   sync.Mutex
	lost []message.Message
	any  chan struct{}
}

func (d *dropLog) count(_ message.NodeID, m message.Message) {
	d.mu.Lock()
	d.lost = append(d.lost, m)
	d.mu.Unlock()
	select {
	case d.any <- struct{}{}:
	default:
	}
}

// A node that restarts is reached again, without anybody being told.
func TestANodeThatComesBackIsReachedAgain(t *testing.T) {
	b := &book{}
	one, _ := node(t, b, 1)
	two, inbox := node(t, b, 2)
	address := two.Address().String()
	one.Send(2, quorum(1))
	inbox.next(t)
	require.NoError(t, two.Close())

	_, inbox = nodeAt(t, b, 2, address)
	for i := 2; len(inbox.mail) == 0; i++ { // the first may be lost with the old connection
		one.Send(2, quorum(i))
		require.Less(t, i, 1<<22)
	}
	require.Equal(t, message.NodeID(1), inbox.next(t).from)
}

// What is sent to a node that is away is lost, counted, and holds nobody up.
func TestMessagesToAnAbsentNodeAreDropped(t *testing.T) {
	b := &book{}
	drops := &dropLog{any: make(chan struct{}, 1)}
	one, _ := node(t, b, 1, func(c *tcp.Config) { c.Count.Dropped = drops.count })
	_, inbox := node(t, b, 2)
	one.Send(3, quorum(1)) // no address
	<-drops.any
	one.Send(2, quorum(2)) // nobody else has to wait
	require.Equal(t, got{from: 1, m: quorum(2)}, inbox.next(t))

	gone, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	b.set(4, gone.Addr().String())
	gone.Close()
	one.Send(4, quorum(3))
	<-drops.any
	drops.mu.Lock()
	defer drops.mu.Unlock()
	require.Equal(t, []message.Message{quorum(1), quorum(3)}, drops.lost)
}

// A node that does not read fills a bounded queue; beyond it messages are lost.
func TestTheQueueToANodeIsBounded(t *testing.T) {
	b := &book{}
	drops := &dropLog{any: make(chan struct{}, 1)}
	const limit = 1 << 20
	one, _ := node(t, b, 1, func(c *tcp.Config) { c.Limits.MaxQueued, c.Count.Dropped = limit, drops.count })
	deaf, err := net.Listen("tcp", "127.0.0.1:0") // accepts and never reads
	require.NoError(t, err)
	defer deaf.Close()
	b.set(2, deaf.Addr().String())
	chunk := &message.Quorum{Data: make([]byte, 64<<10)}
	for range 64 {
		one.Send(2, chunk)
	}
	drops.mu.Lock()
	defer drops.mu.Unlock()
	require.GreaterOrEqual(t, len(drops.lost), 64-2*limit/len(chunk.Data))
}

// The second connection of a node ends the first: it is a new run of it.
func TestANodeHasOneConnectionAtATime(t *testing.T) {
	b := &book{}
	one, inbox := node(t, b, 1)
	first, _ := node(t, b, 2)
	first.Send(1, quorum(1))
	inbox.next(t)
	second, _ := node(t, b, 2)
	second.Send(1, quorum(2))
	require.Equal(t, got{from: 2, m: quorum(2)}, inbox.next(t))
	_ = one
}

// Two processes under one number take the connection from each other for as long as
// they run. Whom they talk to says so, once, and not with every connection.
func TestTwoProcessesUnderOneNumberAreToldOf(t *testing.T) {
	b, said := &book{}, &lines{}
	_, inbox := node(t, b, 1, func(c *tcp.Config) { c.Log = slog.New(slog.NewTextHandler(said, nil)) })
	first, _ := node(t, b, 2)
	second, _ := node(t, b, 2)
	for i := range 20 {
		for _, n := range []*tcp.Network{first, second} {
			for len(inbox.mail) == 0 { // the first may be lost with the old connection
				n.Send(1, quorum(i))
				time.Sleep(time.Millisecond)
			}
			for len(inbox.mail) > 0 {
				inbox.next(t)
			}
		}
	}
	require.Equal(t, 1, said.with("do two processes run under its number?"), said.text())
	require.Less(t, said.with(""), 20, said.text())
}

// lines is a log that is looked at.
type lines struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.Write(b)
}

func (l *lines) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.String()
}

// with counts the lines with some words.
func (l *lines) with(words string) (n int) {
	for line := range strings.Lines(l.text()) {
		if strings.Contains(line, words) {
			n++
		}
	}
	return n
}

// A node may not pass for a client, nor a client's request for a message.
func TestANodeThatSendsRequestsIsDisconnected(t *testing.T) {
	b := &book{}
	bad := make(chan struct{}, 1)
	_, inbox := node(t, b, 1, func(c *tcp.Config) { c.Count.BadFrame = func() { bad <- struct{}{} } })
	two, _ := node(t, b, 2)
	two.Send(1, &message.ListGroups{})
	<-bad
	require.Empty(t, inbox.mail)
}

// Many writers at once, answers of all sizes: nothing is mixed up.
func TestManyClientsAtOnce(t *testing.T) {
	n, inbox := node(t, &book{}, 1)
	const clients, each = 8, 200
	stop := make(chan struct{})
	var answering sync.WaitGroup
	answering.Go(func() {
		for {
			select {
			case g := <-inbox.mail:
				p := g.m.(*message.Produce)
				n.Reply(g.token, &message.FetchReply{Partitions: []message.FetchedPartition{{Records: p.Partitions[0].Records}}})
			case <-stop:
				return
			}
		}
	})
	var asking sync.WaitGroup
	for id := range clients {
		c, replies := dial(t, n)
		asking.Go(func() {
			for i := range each {
				records := bytes.Repeat([]byte{byte(id), byte(i)}, 1+(i*i*37)%20000)
				if c.Send(uint64(i), &message.Produce{Acks: message.AcksAll, Partitions: []message.ProducePartition{{Records: records}}}) != nil {
					t.Error("not sent")
				}
			}
			for range each {
				g := <-replies.mail
				records := g.m.(*message.FetchReply).Partitions[0].Records
				if records[0] != byte(id) || records[1] != byte(g.correlation) {
					t.Error("another's answer")
				}
			}
		})
	}
	asking.Wait()
	close(stop)
	answering.Wait()
}

// Close returns although a client waits for answers that never come.
func TestCloseWaitsForNobody(t *testing.T) {
	n, inbox := node(t, &book{}, 1, func(c *tcp.Config) { c.Limits.MaxInFlight = 1 })
	c, _ := dial(t, n)
	for i := range 10 {
		require.NoError(t, c.Send(uint64(i), &message.ListGroups{}))
	}
	inbox.next(t)
	require.NoError(t, n.Close())
	require.NoError(t, n.Close())
}
