// Package controller is the cluster's controller: it decides over the metadata
// image, has the decision committed by the quorum, applies it and only then
// answers (KRaft, KIP-500, KIP-631). Every voter runs one; the leader of the
// quorum is active, the others follow.
//
// One decision is in flight at a time, so each is made over everything that
// was decided before it. Requests wait for it in a bounded queue. What the
// controller wants by itself (fence a silent broker, unfence one that has
// caught up, balance leaders) is noted as a chore and goes before requests.
package controller

import (
	"cmp"

	"github.com/tamarack-mq/tamarack/core/chance"
	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/metadata"
	"github.com/tamarack-mq/tamarack/core/quorum"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/core/settings"
)

// Config holds the settings of a controller. Zero values mean the default.
type Config struct {
	Quorum quorum.Config
	Start  settings.Node // what this node was started with: what is set while running comes over it

	SessionTimeout     message.Duration // a broker not heard of for so long is fenced; default 6 s
	ResendAfter        message.Duration // a push not applied for so long is sent again; default 500 ms
	BalanceAfter       message.Duration // from unfencing to preferred-leader balancing; default 30 s; negative: never
	ShutdownGrace      message.Duration // how long a leaving broker may wait for somebody to take over; default 5 s
	DefaultReplication int16            // of topics that ask for none; default 3, or as many brokers as there are
	ProducerIDBlock    int64            // ids given out at a time; default 1000
	MaxQueue           int              // requests waiting for a decision; default 1000
	HistoryChanges     int              // changes kept to send deltas from; default 10000
	MaxPartitions      int32            // of one topic; default 10000
	MovesAtOnce        int              // partitions that drains have on their way; default 50
}

func (c *Config) complete() {
	c.SessionTimeout = cmp.Or(c.SessionTimeout, 6*message.Second)
	c.ResendAfter = cmp.Or(c.ResendAfter, 500*message.Millisecond)
	c.BalanceAfter = cmp.Or(c.BalanceAfter, 30*message.Second)
	c.ShutdownGrace = cmp.Or(c.ShutdownGrace, 5*message.Second)
	c.DefaultReplication = cmp.Or(c.DefaultReplication, 3)
	c.ProducerIDBlock = cmp.Or(c.ProducerIDBlock, 1000)
	c.MaxQueue = cmp.Or(c.MaxQueue, 1000)
	c.HistoryChanges = cmp.Or(c.HistoryChanges, 10_000)
	c.MaxPartitions = cmp.Or(c.MaxPartitions, 10_000)
	c.MovesAtOnce = cmp.Or(c.MovesAtOnce, 50)
}

// Controller is one voter's controller. All its output are effects: Send (also
// to its own node), SaveQuorum, ReplaceQuorum and Halt.
type Controller struct {
	cfg    Config
	id     message.NodeID
	random *chance.Stream
	quorum *quorum.Quorum
	result quorum.Out // of the present call, reused

	image   *metadata.Image
	history history

	hinted message.NodeID // see Hint

	active *active // nil unless this controller decides
	halted bool
	reason string // why the journal could not be applied at the start
}

// active is what only the deciding controller has. It begins anew with every
// leadership.
type active struct {
	term     quorum.Term
	sessions map[message.NodeID]*session
	expireAt message.Time // no session ends before
	chores   bool         // some session has one
	queue    []request
	flight   *decision

	balanceAt  message.Time
	superseded map[message.NodeID][]uint64 // incarnations that a newer one replaced

	moved []record.PartitionID // moves to look at; see move.go
	drain bool                 // something may have to leave a broker that is being drained
	// redirect: a move may lead to such a broker. It needs no room to be sent elsewhere.
	redirect bool
}

// request waits for a decision.
type request struct {
	from message.NodeID
	msg  message.Message
}

// New builds the controller of a voter from what storage found.
func New(cfg Config, found *effect.Recovered, random *chance.Stream, now message.Now) *Controller {
	cfg.complete()
	c := &Controller{
		cfg:     cfg,
		id:      cfg.Quorum.ID,
		random:  random.Split("placement"),
		quorum:  quorum.New(cfg.Quorum, found.Journal, found.JournalDamaged, random.Split("election"), now.Mono),
		image:   metadata.NewImage(),
		history: history{limit: cfg.HistoryChanges},
	}
	c.result.Out = &effect.Out{}
	c.quorum.Begin(now.Mono, &c.result)
	for _, e := range c.result.List {
		if h, ok := e.(effect.Halt); ok {
			c.reason = h.Reason
		}
	}
	if err := c.follow(now.Mono); err != nil {
		c.reason = "controller: " + err.Error()
	}
	return c
}

// Receive takes a Quorum, RegisterBroker, BrokerHeartbeat, AlterPartition,
// AllocateProducerIDs or Forward message. Others are ignored.
func (c *Controller) Receive(now message.Now, from message.NodeID, msg message.Message, out *effect.Out) {
	if !c.begin(now.Mono, out) {
		return
	}
	switch m := msg.(type) {
	case *message.Quorum:
		c.quorum.Receive(now.Mono, from, m.Data, &c.result)
	case *message.BrokerHeartbeat:
		c.quorum.Claimed(from)
		c.heartbeat(now.Mono, from, m, out)
	case *message.RegisterBroker, *message.AlterPartition, *message.AllocateProducerIDs, *message.Forward:
		c.enqueue(request{from, msg}, out)
	}
	c.end(now.Mono, out)
}

// Saved takes QuorumSaved.
func (c *Controller) Saved(now message.Now, seq uint64, out *effect.Out) {
	if !c.begin(now.Mono, out) {
		return
	}
	c.quorum.Saved(now.Mono, seq, &c.result)
	c.end(now.Mono, out)
}

// Tick lets time pass.
func (c *Controller) Tick(now message.Now, out *effect.Out) {
	if !c.begin(now.Mono, out) {
		return
	}
	c.quorum.Tick(now.Mono, &c.result)
	c.expire(now.Mono)
	c.end(now.Mono, out)
}

// Wake is when Tick is wanted.
func (c *Controller) Wake() message.Time {
	if c.halted {
		return message.Never
	}
	if c.reason != "" {
		return 0
	}
	at := c.quorum.Wake()
	if a := c.active; a != nil {
		at = min(at, a.expireAt)
		if a.flight == nil { // else whatever is due comes after it
			at = min(at, a.balanceAt)
		}
	}
	return at
}

// Image is the cluster as this voter knows it to be committed. Read only.
func (c *Controller) Image() *metadata.Image { return c.image }

// Active says whether this controller is the one that decides.
func (c *Controller) Active() bool { return c.active != nil }

// Leader is the node of the active controller as far as this one knows, or
// NoNode.
func (c *Controller) Leader() message.NodeID {
	if leader := c.quorum.Leader(); leader != message.NoNode || c.hinted == c.id {
		return leader
	}
	return c.hinted
}

// Hint says which controller this node's broker talks to. One that votes no more
// knows no other.
func (c *Controller) Hint(n message.NodeID) { c.hinted = n }

// View is what observers may see of a controller.
type View struct {
	Quorum  quorum.View
	Active  bool
	Version message.Version // of Image
	Waiting int             // requests in the queue
	Flying  bool            // a decision is on its way through the quorum
}

// View returns the present state.
func (c *Controller) View() View {
	v := View{Quorum: c.quorum.View(), Active: c.active != nil, Version: c.image.Version()}
	if a := c.active; a != nil {
		v.Waiting, v.Flying = len(a.queue), a.flight != nil
	}
	return v
}

// QuorumInto writes the quorum's part of View over v, for those who look at every step.
func (c *Controller) QuorumInto(v *quorum.View) { c.quorum.ViewInto(v) }

// Remembered is how many changes are kept for brokers that are behind, without those
// of the newest entry: at most Config.HistoryChanges. For observers.
func (c *Controller) Remembered() int { return c.history.older() }

func (c *Controller) halt(reason string, out *effect.Out) {
	if !c.halted {
		c.halted = true
		c.active = nil
		out.Add(effect.Halt{Reason: reason})
	}
}
