package client

import (
	"context"
	"time"

	protocol "github.com/tamarack-mq/tamarack/core/client"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/transport/tcp"
)

// settings are what the options set.
type settings struct {
	config    protocol.Config
	clusterID string
	dialer    Dialer
	onEvent   func(protocol.Event)
}

// Option changes a setting of a client.
type Option func(*settings)

func defaults(bootstrap []string) settings {
	return settings{config: protocol.DefaultConfig(bootstrap...)}
}

// complete fills in what depends on the options: only once all of them are
// there is it known which cluster the connections ask for.
func (s *settings) complete() {
	s.config = s.config.Filled()
	if s.dialer == nil {
		s.dialer = dialTCP(s.clusterID)
	}
}

// dialTCP dials nodes of one cluster, or of any if its id is empty.
func dialTCP(clusterID string) Dialer {
	return func(ctx context.Context, address string, want message.NodeID, handler tcp.Handler) (Conn, error) {
		conn, err := tcp.Dial(ctx, address, tcp.Hello{ClusterID: clusterID, Want: want, Software: "tamarack-client"}, handler)
		if err != nil {
			return nil, err // not conn: a nil *tcp.Conn is no nil Conn
		}
		return conn, nil
	}
}

// WithName names the client in logs and member ids.
func WithName(name string) Option { return func(s *settings) { s.config.Name = name } }

// WithClusterID refuses to talk to any other cluster.
func WithClusterID(id string) Option { return func(s *settings) { s.clusterID = id } }

// WithAcks sets what a Publish waits for: message.AcksAll (the default),
// AcksLeader or AcksNone.
func WithAcks(acks message.Acks) Option { return func(s *settings) { s.config.Acks = acks } }

// WithoutIdempotence lets retries append a record twice, and a record whose
// outcome is Unknown arrive late, behind records that were published after it.
func WithoutIdempotence() Option { return func(s *settings) { s.config.Idempotent = false } }

// WithLinger lets a batch that is not full wait for more records.
func WithLinger(d time.Duration) Option {
	return func(s *settings) { s.config.Linger = message.Duration(d) }
}

// WithDeliveryTimeout bounds the time from Publish to its result, retries
// included. The default is two minutes.
func WithDeliveryTimeout(d time.Duration) Option {
	return func(s *settings) { s.config.DeliveryTimeout = message.Duration(d) }
}

// WithRequestTimeout bounds the time that one node has to answer one request
// before another way is tried. The default is ten seconds.
func WithRequestTimeout(d time.Duration) Option {
	return func(s *settings) { s.config.RequestTimeout = message.Duration(d) }
}

// WithSessionTimeout sets how long a group waits for a silent member.
func WithSessionTimeout(d time.Duration) Option {
	return func(s *settings) { s.config.SessionTimeout = message.Duration(d) }
}

// WithReadCommitted reads only records whose transaction has committed, and those
// of no transaction, and of a group only positions that no open transaction may
// change. It sees nothing beyond the oldest transaction that is open.
func WithReadCommitted() Option {
	return func(s *settings) { s.config.Isolation = message.ReadCommitted }
}

// WithConfig changes any setting of the protocol.
func WithConfig(change func(*protocol.Config)) Option {
	return func(s *settings) { change(&s.config) }
}

// WithDialer makes connections in another way than TCP.
func WithDialer(d Dialer) Option { return func(s *settings) { s.dialer = d } }

// WithEvents calls f with what the application did not ask for: partitions
// assigned and revoked, positions moved. It is called from the client's own
// goroutine and must not block, nor call the client and wait.
func WithEvents(f func(protocol.Event)) Option { return func(s *settings) { s.onEvent = f } }
