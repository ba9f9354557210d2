package client_test

import (
	"context"
	"fmt"
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
// real connection: the id has to reach it. Waiting would not change that, so the
// client is told at once, with both names, while one that is not turned away waits.
func TestWhoAsksForAnotherClusterIsToldAtOnce(t *testing.T) {
	first, second := nodeOf(t, "oak"), nodeOf(t, "oak")

	_, err := client.Dial(t.Context(), first+","+second, client.WithClusterID("elm"))
	require.ErrorIs(t, err, message.ClusterIDMismatch)
	require.EqualError(t, err, fmt.Sprintf(
		`tcp: %s refused the connection: you asked for cluster "elm", node 1 belongs to "oak": check the address and the cluster id (CLUSTER_ID_MISMATCH)
tcp: %s refused the connection: you asked for cluster "elm", node 1 belongs to "oak": check the address and the cluster id (CLUSTER_ID_MISMATCH)`, first, second))

	brief, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err = client.Dial(brief, first, client.WithClusterID("oak"))
	require.NotErrorIs(t, err, message.ClusterIDMismatch)
}

// As long as one address may still turn out right, the client waits.
func TestANodeOfAnotherClusterAmongTheAddressesIsPassedOver(t *testing.T) {
	other, down := nodeOf(t, "oak"), "127.0.0.1:1"
	brief, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	began := time.Now()
	_, err := client.Dial(brief, other+","+down, client.WithClusterID("elm"))
	require.ErrorIs(t, err, message.ClusterIDMismatch, "the reason is told all the same")
	require.GreaterOrEqual(t, time.Since(began), 900*time.Millisecond)
}

// nodeOf is the address of a silent node of a cluster.
func nodeOf(t *testing.T, cluster string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := listener.Addr().String()
	n := tcp.Listen(listener, tcp.Config{Node: 1, ClusterID: cluster, Advertise: address, Software: "test"}, patient{})
	t.Cleanup(func() { n.Close() })
	return address
}
