package tcp_test

import (
	"context"
	"net"
	"testing"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/transport/tcp"
)

// echo answers every request from the goroutine that read it.
type echo struct{ network chan *tcp.Network }

func (e *echo) Receive(message.NodeID, message.Message) {}
func (e *echo) Request(t message.Token, _ message.Request) {
	n := <-e.network
	n.Reply(t, &message.ProduceReply{Partitions: make([]message.ProducedPartition, 1)})
	e.network <- n
}

// A produce of 1 KiB there and its reply back, one at a time and many at once.
func BenchmarkRoundTrip(b *testing.B) {
	for _, window := range []int{1, 64} {
		b.Run(map[int]string{1: "window1", 64: "window64"}[window], func(b *testing.B) {
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				b.Fatal(err)
			}
			e := &echo{make(chan *tcp.Network, 1)}
			n := tcp.Listen(listener, tcp.Config{Node: 1, ClusterID: "oak"}, e)
			defer n.Close()
			e.network <- n
			box := newMailbox()
			c, err := tcp.Dial(context.Background(), n.Address().String(), tcp.Hello{}, box)
			if err != nil {
				b.Fatal(err)
			}
			defer c.Close()
			request := &message.Produce{Acks: message.AcksAll, Partitions: []message.ProducePartition{{Records: make([]byte, 1<<10)}}}
			b.SetBytes(1 << 10)
			b.ReportAllocs()
			open := 0
			for b.Loop() {
				if open == window {
					<-box.mail
					open--
				}
				if err := c.Send(0, request); err != nil {
					b.Fatal(err)
				}
				open++
			}
		})
	}
}
