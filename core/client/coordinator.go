package client

import (
	"github.com/tamarack-mq/tamarack/core/message"
)

// office names what is coordinated: a group, or a transactional id.
type office struct{ group, transactionalID string }

// String says which it is.
func (s office) String() string {
	if s.transactionalID != "" {
		return "transactional id " + s.transactionalID
	}
	return "group " + s.group
}

// coordinator is what is known about who coordinates an office.
type coordinator struct {
	node    *node // nil: not known
	asking  bool
	waiting []func(*node, message.Code)
}

// coordinate hands the coordinator of an office to then: at once when it is
// known, else when a broker has told. On failure then gets nil and the code;
// to try again, after a pause, is its matter.
func (c *Client) coordinate(of office, then func(*node, message.Code)) {
	k := c.coordinators[of]
	if k == nil {
		k = &coordinator{}
		c.coordinators[of] = k
	}
	if k.node != nil && k.node.usable(c.now.Mono) {
		then(k.node, message.None)
		return
	}
	k.waiting = append(k.waiting, then)
	if k.asking {
		return
	}
	to, ok := c.cluster.anyNode()
	if !ok {
		c.cluster.want()
		k.tell(nil, message.BrokerNotAvailable)
		return
	}
	k.asking = true
	c.send(to, &message.FindCoordinator{Group: of.group, TransactionalID: of.transactionalID}, c.cfg.RequestTimeout, func(reply message.Reply, how ending) {
		k.asking = false
		m, code, ok := read[*message.FindCoordinatorReply](reply, how)
		if ok {
			code = m.Code
		}
		if code != message.None || m.Node <= message.NoNode {
			if code == message.None {
				code = message.CoordinatorNotAvailable
			}
			k.tell(nil, code)
			return
		}
		c.coordinatedBy(k, c.node(m.Node))
	})
}

func (c *Client) coordinatedBy(k *coordinator, n *node) {
	if !n.usable(c.now.Mono) {
		c.cluster.want() // its address is not known, or it rests after a failure
		k.tell(nil, message.CoordinatorNotAvailable)
		return
	}
	k.node = n
	k.tell(n, message.None)
}

func (k *coordinator) tell(n *node, code message.Code) {
	waiting := k.waiting
	k.waiting = nil
	for _, then := range waiting {
		then(n, code)
	}
}

// uncoordinate forgets that a node coordinates an office, when it has said so or
// does not answer.
func (c *Client) uncoordinate(of office, n *node) {
	if k := c.coordinators[of]; k != nil && k.node == n {
		k.node = nil
	}
}

// lostCoordinator are the codes after which the coordinator must be looked for
// again.
func lostCoordinator(code message.Code) bool {
	switch code {
	case message.NotCoordinator, message.CoordinatorNotAvailable, message.BrokerNotAvailable, message.RequestTimedOut, message.ShuttingDown:
		return true
	}
	return false
}
