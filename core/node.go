// Package core is the whole protocol of one node as a pure state machine: a
// broker on every node, and a controller on those that hold the metadata log.
// Step takes one input and the time and gives effects; what the rooms below
// (replica, controller, group, txn) have to tell one another is carried here.
package core

import (
	"github.com/tamarack-mq/tamarack/core/chance"
	"github.com/tamarack-mq/tamarack/core/controller"
	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/group"
	"github.com/tamarack-mq/tamarack/core/marker"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/metadata"
	"github.com/tamarack-mq/tamarack/core/replica"
	"github.com/tamarack-mq/tamarack/core/settings"
	"github.com/tamarack-mq/tamarack/core/txn"
)

// Node is one node of the cluster. It is not safe for concurrent use: a driver
// steps it from one place.
type Node struct {
	cfg        Config        // as it holds: see adopt
	began      Config        // as this run was started
	started    settings.Node // what this run was started with
	holds      settings.Node
	life       lifecycle
	forwards   forwards
	ids        producerIDs
	image      *metadata.Image
	replicas   *replica.Manager
	groups     *group.Coordinator
	txns       *txn.Coordinator
	controller *controller.Controller // nil on a node that was never asked to hold the log
	chances    *chance.Stream         // the controller's

	offsets      internalTopic // of groups
	transactions internalTopic // of transactional ids
	markers      *marker.Desk  // what this broker writes for coordinators of transactions
	alters       uint64        // requests to change in-sync sets so far
	replicaOut   replica.Out
	groupOut     group.Out
	txnOut       txn.Out
	selfMail     []message.Message // what this node sent to itself in this step
	halted       bool
}

// New builds a node from what storage found. It acts only once it is stepped;
// a first Tick gets it going. cfg must be valid.
func New(cfg Config, found effect.Recovered, random *chance.Stream, now message.Now) *Node {
	if err := cfg.Validate(); err != nil {
		panic("core: " + err.Error())
	}
	cfg = cfg.withDefaults()
	n := &Node{
		cfg:      cfg,
		began:    cfg,
		started:  cfg.start(),
		holds:    settings.Resolve(cfg.start(), nil, nil),
		life:     newLifecycle(cfg, found.DiskID, random.Split("incarnation"), now.Mono),
		forwards: forwards{patience: cfg.Timing.RequestTimeout, last: cfg.Incarnation},
		ids:      producerIDs{patience: cfg.Timing.RequestTimeout, request: cfg.Incarnation},
		image:    metadata.NewImage(),
	}
	n.replicas = replica.New(replicaConfig(cfg), found.Logs, random.Split("replica"), now)
	n.groups = group.New(groupConfig(cfg))
	n.txns = txn.New(txnConfig(cfg), &n.ids)
	n.offsets = internalTopic{of: ofGroups, keeper: kept[group.Out]{n.groups, &n.groupOut}}
	n.transactions = internalTopic{of: ofTransactions, keeper: kept[txn.Out]{n.txns, &n.txnOut}}
	n.markers = marker.New()
	n.chances = random.Split("controller")
	if cfg.isVoter() || len(found.Journal) > 0 || found.JournalDamaged != "" {
		n.controller = controller.New(controllerConfig(cfg), &found, n.chances, now)
	}
	return n
}

// Step takes one input at the time now and adds what is to be done to out,
// which the driver hands over empty. After a Halt it does nothing any more.
func (n *Node) Step(now message.Now, in effect.Input, out *effect.Out) {
	if n.halted {
		return
	}
	n.replicas.Begin()
	n.replicaOut.Out = out
	n.input(now, in, out)
	seen := n.settle(now, 0, out)
	if n.halted {
		return
	}
	n.tick(now, out)
	n.settle(now, seen, out)
}

// Wake is the time of this node's clock at which it wants a Tick.
func (n *Node) Wake() message.Time {
	if n.halted {
		return message.Never
	}
	wake := min(n.life.wake(), n.forwards.wake(), n.ids.wake(), n.replicas.Wake(), n.groups.Wake(), n.txns.Wake())
	if n.controller != nil {
		wake = min(wake, n.controller.Wake())
	}
	return wake
}

// tick lets every room act whose time has come.
func (n *Node) tick(now message.Now, out *effect.Out) {
	if n.life.asksAnother(now.Mono) {
		n.life.voters = n.mayLead()
	}
	n.life.tick(now.Mono, n.image.Version(), n.replicas.Damaged, out)
	n.forwards.tick(now.Mono, n.life.target, out)
	n.ids.tick(now.Mono, &n.life, out)
	if now.Mono >= n.replicas.Wake() {
		n.replicas.Tick(now, &n.replicaOut)
	}
	if now.Mono >= n.groups.Wake() {
		n.groups.Tick(now, &n.groupOut)
	}
	if now.Mono >= n.txns.Wake() {
		n.txns.Tick(now, &n.txnOut)
	}
	if n.controller != nil && now.Mono >= n.controller.Wake() {
		n.controller.Tick(now, out)
	}
}

// maxRounds bounds how often rooms may answer one another within one step; more
// means that two of them chase each other in a circle.
const maxRounds = 10000

// settle carries what the rooms told one another, and what the node sent to
// itself, until nothing is left. The first scanned effects were looked at; it
// returns how many that are in the end.
func (n *Node) settle(now message.Now, scanned int, out *effect.Out) int {
	for range maxRounds {
		scanned = n.collectSelfMail(scanned, out)
		if n.halted {
			return scanned
		}
		if len(n.selfMail) > 0 {
			m := n.selfMail[0]
			n.selfMail = n.selfMail[1:]
			n.receive(now, n.cfg.ID, m, out)
			continue
		}
		n.selfMail = nil
		if !n.carry(now, out) {
			return scanned
		}
	}
	n.halt("rooms of the core answer one another without end: this is a bug", out)
	return len(out.List)
}

// collectSelfMail takes messages to this node itself, and whatever follows a
// Halt, out of the effects from index from on.
func (n *Node) collectSelfMail(from int, out *effect.Out) int {
	kept := from
	for i := from; i < len(out.List); i++ {
		e := out.List[i]
		if s, ok := e.(effect.Send); ok && s.To == n.cfg.ID {
			n.selfMail = append(n.selfMail, s.Msg)
			continue
		}
		if kept < i {
			out.List[kept] = e
		}
		kept++
		if _, ok := e.(effect.Halt); ok {
			n.halted = true
			break
		}
	}
	clear(out.List[kept:])
	out.List = out.List[:kept]
	return kept
}

func (n *Node) halt(reason string, out *effect.Out) {
	out.Add(effect.Halt{Reason: reason})
	n.halted = true
}
