package sim

import (
	"slices"
	"strings"

	"github.com/tamarack-mq/tamarack/core"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/settings"
)

// alter strikes with what an operator does about settings and controllers.
func (o *operator) alter(w *World, u *user, f *Fault) {
	switch f.Kind {
	case AlterTopic:
		set, unset := wanted(f.Set)
		m := &message.AlterConfig{Topic: f.Topic, Set: set, Unset: unset}
		if w.atlas.mayAlter(o, m) {
			o.order(u, "alter-topic", m)
		}
	case AlterNodes:
		set, unset := wanted(f.Set)
		o.order(u, "alter-nodes", &message.AlterConfig{Node: message.NodeID(f.Node), Set: set, Unset: unset})
	case AddVoter, RemoveVoter:
		if n := w.target(f); n != nil {
			o.order(u, string(f.Kind), &message.AlterControllers{Node: n.node(), Remove: f.Kind == RemoveVoter})
		}
	}
}

// wanted reads settings as plans have them: "key=value", and "key" for one that
// goes back to its default.
func wanted(list []string) (set []message.Setting, unset []string) {
	for _, s := range list {
		if key, value, ok := strings.Cut(s, "="); ok {
			set = append(set, message.Setting{Key: key, Value: value})
		} else {
			unset = append(unset, key)
		}
	}
	return set, unset
}

func keyOf(s string) string {
	key, _, _ := strings.Cut(s, "=")
	return key
}

// restartOther gives a node another configuration file for the runs from now on:
// other settings, and the voters that there are now, as far as anybody knows.
func (n *Node) restartOther(set []string) {
	n.others, _ = wanted(set)
	n.listed = nil
	if image := n.world.newest(); image != nil && image.Controllers() != nil {
		n.listed = image.Controllers().Voters
	}
	n.world.mark(markOtherSettings)
}

// configure lays a node's own configuration file over what the plan says of all.
func (n *Node) configure(cfg *core.Config) {
	if n.listed != nil {
		cfg.Voters = slices.Clone(n.listed)
	}
	if n.others == nil {
		return
	}
	start := settings.Node{
		settings.HeartbeatInterval: int64(cfg.Timing.HeartbeatInterval),
		settings.SessionTimeout:    int64(cfg.Timing.SessionTimeout),
		settings.ReplicaLag:        int64(cfg.Timing.ReplicaLag),
		settings.FetchWait:         int64(cfg.Timing.FetchWait),
		settings.GroupSession:      int64(cfg.Groups.SessionTimeout),
		settings.GroupHeartbeat:    int64(cfg.Groups.HeartbeatInterval),
	}
	holds := settings.Resolve(start, n.others, nil)
	cfg.Timing.ReplicaLag = holds.Duration(settings.ReplicaLag)
	cfg.Timing.FetchWait = holds.Duration(settings.FetchWait)
	cfg.Groups.SessionTimeout = holds.Duration(settings.GroupSession)
	cfg.Groups.HeartbeatInterval = holds.Duration(settings.GroupHeartbeat)
}

// votersNow are the voters by the newest image; those of the plan before there
// is one.
func (w *World) votersNow() []message.NodeID {
	if image := w.newest(); image != nil && image.Controllers() != nil {
		return image.Controllers().Voters
	}
	ids := make([]message.NodeID, w.plan.Cluster.Voters)
	for i := range ids {
		ids[i] = message.NodeID(i + 1)
	}
	return ids
}

// forgetful says whether a node has lost its disk and does not yet hold again
// what it may have promised.
func (a *atlas) forgetful(n *Node) bool {
	if a.ails[n.id].journal {
		return true
	}
	if !n.forgot {
		return false
	}
	if c := n.Core(); c != nil && c.Controller() != nil {
		if v := c.Controller().View().Quorum; v.Admitted && v.Whole {
			n.forgot = false
			a.world.mark(markVoterForgot)
		}
	}
	return n.forgot
}

// votersSpare says whether the controllers can do without a node for ever: those
// that are left make a majority, nobody waits for it, and no change is asked for
// that counts on it.
func (a *atlas) votersSpare(node int32) bool {
	w := a.world
	if o := w.operatorUser().script.(*operator); o.open > 0 {
		return false
	}
	voters, left := w.votersNow(), 0
	for _, v := range voters {
		if n := w.nodes[v]; n.id != node && !n.forGood && !a.forgetful(n) {
			left++
		} else if a.forgetful(n) {
			return false // it asks all the others before it votes again
		}
	}
	return left > len(voters)/2
}

// votes says whether a node holds the controller's log, or may think so.
func (n *Node) votes() bool {
	c := n.Core()
	return contains(n.world.votersNow(), n.node()) || c != nil && c.Controller() != nil
}
