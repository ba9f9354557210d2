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
			m := &message.AlterControllers{Node: n.node(), Remove: f.Kind == RemoveVoter}
			o.reshapes(m)
			o.order(u, string(f.Kind), m)
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
// that counts on it. It is so of the voters in force and of those that are on their
// way; and it stays so whatever comes through of what was asked for before. A
// controller does not begin a change that those who answer cannot carry on, but it takes
// a while until it knows who does not answer any more.
func (a *atlas) votersSpare(node int32) bool {
	w := a.world
	o := w.operatorUser().script.(*operator)
	if o.open > 0 {
		return false
	}
	stays := func(n *Node) bool { return n.id != node && !n.forGood }
	for _, v := range w.votersNow() {
		if a.forgetful(w.nodes[v]) {
			return false // it asks all the others before it votes again
		}
	}
	for _, voters := range w.votersSoon() {
		left, all := 0, len(voters)
		for _, v := range voters {
			if stays(w.nodes[v]) {
				left++
			}
		}
		if left <= all/2 {
			return false
		}
		for i := range o.reshaping {
			switch r := &o.reshaping[i]; {
			case !stays(w.nodes[r.node]) && !r.remove && !slices.Contains(voters, r.node):
				all++
			case stays(w.nodes[r.node]) && r.remove && slices.Contains(voters, r.node):
				left, all = left-1, all-1
			}
		}
		if left <= all/2 {
			return false
		}
	}
	return true
}

// votersSoon are the voters that are known to be in force, and those that a controller's
// log will make once it is committed.
func (w *World) votersSoon() [][]message.NodeID {
	sets := [][]message.NodeID{w.votersNow()}
	for _, n := range w.nodes[1:] {
		if c := n.Core(); c != nil && c.Controller() != nil {
			if own := c.Controller().Sets(); len(own) > 1 {
				sets = append(sets, own[1:]...)
			}
		}
	}
	return sets
}

// votes says whether a node holds the controller's log, or may think so.
func (n *Node) votes() bool {
	c := n.Core()
	return slices.Contains(n.world.votersNow(), n.node()) || c != nil && c.Controller() != nil
}
