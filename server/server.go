// Package server drives one core.Node on a real machine: its clock, its disk,
// its connections. It decides nothing about the protocol.
package server

import (
	"context"
	"log/slog"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
)

// Core is the protocol, as the driver sees it.
type Core interface {
	// Step takes one input and adds the effects that it caused to out.
	Step(now message.Now, in effect.Input, out *effect.Out)
	// Wake is the time of the monotonic clock at which a Tick is wanted.
	Wake() message.Time
}

// Config is all that a node needs to be told.
type Config struct {
	Node      message.NodeID
	ClusterID string
	DataDir   string
	Listen    string // address to listen on, host:port
	Advertise string // address that others reach this node at; default: Listen
	Rack      string
	// Voters are the nodes that run the metadata quorum, with their addresses.
	// The list is the same on all nodes.
	Voters []Voter
	HTTP   string // address of metrics and health checks; empty: none
	Pprof  bool   // serve profiles below /debug/pprof/ there too
	Logger *slog.Logger
}

// Voter is one member of the metadata quorum.
type Voter struct {
	Node    message.NodeID
	Address string
}

// Run runs a node until ctx is done (a controlled shutdown is tried then) or
// until the node halts. It returns nil after a clean end.
func Run(ctx context.Context, cfg Config) error { panic("not built yet") }
