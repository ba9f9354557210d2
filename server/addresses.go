package server

import (
	"sync"

	"github.com/tamarack-mq/tamarack/core"
	"github.com/tamarack-mq/tamarack/core/message"
)

// addresses is where a node looks up how to reach another one. What a node said
// when it connected is newest, then what is registered in the cluster, then
// what the configuration says about voters, which is all there is at first.
type addresses struct {
	mu         sync.RWMutex
	met        map[message.NodeID]string
	registered map[message.NodeID]string
	configured map[message.NodeID]string
}

func (a *addresses) configure(voters []Voter) {
	a.configured, a.met = map[message.NodeID]string{}, map[message.NodeID]string{}
	for _, v := range voters {
		a.configured[v.Node] = v.Address
	}
}

func (a *addresses) resolve(id message.NodeID) string {
	a.mu.RLock()
	defer a.mu.RUnlock()
	for _, known := range []map[message.NodeID]string{a.met, a.registered, a.configured} {
		if address := known[id]; address != "" {
			return address
		}
	}
	return ""
}

// meet takes note of what a node that connected says about itself.
func (a *addresses) meet(id message.NodeID, address string) {
	a.mu.Lock()
	a.met[id] = address
	a.mu.Unlock()
}

// follow gives a function that takes over the addresses of registered nodes
// whenever the core's image of the cluster has changed.
func (a *addresses) follow(c *core.Node) func() {
	var seen message.Version
	return func() {
		image := c.Image()
		if image.Version() == seen {
			return
		}
		seen = image.Version()
		registered := map[message.NodeID]string{}
		for _, b := range image.Brokers() {
			registered[b.Node] = b.Address
		}
		a.mu.Lock()
		a.registered = registered
		a.mu.Unlock()
	}
}
