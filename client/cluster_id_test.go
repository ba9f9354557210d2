package client_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/client"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/transport/tcp"
)

// patient is a node that hears what comes in and answers nothing.
type patient struct{}

func (patient) Receive(message.NodeID, message.Message) {}

func (patient) Request(message.Token, message.Request) {}

// A node turns away clients that name another cluster than its own, over a
// real connection: the id has to reach it.
func TestTheClusterIDReachesTheNode(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := listener.Addr().String()
	n := tcp.Listen(listener, tcp.Config{Node: 1, ClusterID: "oak", Advertise: address, Software: "test"}, patient{})
	t.Cleanup(func() { n.Close() })
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()

	_, err = client.Dial(ctx, address, client.WithClusterID("elm"))
	require.ErrorIs(t, err, message.ClusterIDMismatch)

	_, err = client.Dial(ctx, address, client.WithClusterID("oak"))
	require.NotErrorIs(t, err, message.ClusterIDMismatch)
}
