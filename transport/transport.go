// Package transport says what a node's driver expects of a network. Two
// networks satisfy it: transport/tcp between processes, transport/simnet
// between simulated nodes. Neither knows the protocol: a network may lose,
// delay and, across connections, reorder messages, but it never changes one.
package transport

import "github.com/tamarack-mq/tamarack/core/message"

// Network carries the messages of one node. Its calls never block: what does
// not fit a bounded queue is dropped, as if the wire had lost it, and the
// protocol sends it again.
type Network interface {
	// Send passes a message to another node. Messages to one node keep their
	// order while a connection lives.
	Send(to message.NodeID, m message.Message)
	// Reply answers the request that was delivered with the token. It is
	// dropped when the client is gone. A token is good for one reply.
	Reply(token message.Token, m message.Reply)
	// Close ends all connections. Nothing is delivered after it has returned.
	Close() error
}

// Receiver is what a network delivers to. A network may call it from several
// goroutines at once and waits until a call returns before it reads on from
// that connection, so a receiver that is full pushes back by not returning.
type Receiver interface {
	// Receive delivers a message of another node.
	Receive(from message.NodeID, m message.Message)
	// Request delivers a request of a client. The receiver owes one Reply with
	// the token, but for a Produce with acks=0.
	Request(token message.Token, m message.Request)
}
