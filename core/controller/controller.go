// Package controller is the cluster's controller: it decides over the metadata
// image, has the decision committed by the quorum, applies it and only then
// answers (KRaft, KIP-500, KIP-631). Every voter runs one; the leader of the
// quorum is active, the others follow.
package controller

import (
	"github.com/tamarack-mq/tamarack/core/chance"
	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/metadata"
	"github.com/tamarack-mq/tamarack/core/quorum"
)

// Config holds the settings of a controller. Zero values mean the default.
type Config struct {
	Quorum quorum.Config

	SessionTimeout     message.Duration // a broker not heard of for so long is fenced; default 6 s
	ResendAfter        message.Duration // a push not applied for so long is sent again; default 500 ms
	BalanceAfter       message.Duration // from unfencing to preferred-leader balancing; default 30 s; negative: never
	ShutdownGrace      message.Duration // how long a leaving broker may wait for somebody to take over; default 5 s
	DefaultReplication int16            // of topics that ask for none; default 3, or as many brokers as there are
	ProducerIDBlock    int64            // default 1000
	MaxQueue           int              // requests waiting for a decision; default 1000
	HistoryChanges     int              // changes kept to send deltas from; default 10000
	MaxPartitions      int32            // of one topic; default 10000
}

// Controller is one voter's controller. All its output are effects: Send (also
// to its own node), SaveQuorum, ReplaceQuorum and Halt.
type Controller struct{}

// New builds the controller of a voter from what storage found.
func New(cfg Config, found *effect.Recovered, random *chance.Stream, now message.Now) *Controller {
	panic("not built yet")
}

// Receive takes a Quorum, RegisterBroker, BrokerHeartbeat, AlterPartition,
// AllocateProducerIDs or Forward message.
func (c *Controller) Receive(now message.Now, from message.NodeID, msg message.Message, out *effect.Out) {
	panic("not built yet")
}

// Saved takes QuorumSaved.
func (c *Controller) Saved(now message.Now, seq uint64, out *effect.Out) { panic("not built yet") }

// Tick lets time pass.
func (c *Controller) Tick(now message.Now, out *effect.Out) { panic("not built yet") }

// Wake is when Tick is wanted.
func (c *Controller) Wake() message.Time { panic("not built yet") }

// Image is the cluster as this voter knows it to be committed. Read only.
func (c *Controller) Image() *metadata.Image { panic("not built yet") }

// Active says whether this controller is the one that decides.
func (c *Controller) Active() bool { panic("not built yet") }

// Leader is the node of the active controller as far as this one knows, or
// NoNode.
func (c *Controller) Leader() message.NodeID { panic("not built yet") }

// Term is the quorum's term that this voter is in.
func (c *Controller) Term() quorum.Term { panic("not built yet") }
