package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tamarack-mq/tamarack/core/group"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/order"
	"github.com/tamarack-mq/tamarack/core/quorum"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/core/replica"
)

// unrest is INV-34: it says what keeps the cluster from being at rest, most
// telling first, up to a number of reasons. Each entry is "what: who waits for
// whom", but for a single one: it is not told, as nobody reads it.
func (w *World) unrest(most int) []string {
	var out []string
	add := func(what, format string, args ...any) {
		switch {
		case len(out) == most:
		case most == 1:
			out = append(out, what)
		default:
			out = append(out, what+": "+fmt.Sprintf(format, args...))
		}
	}
	for _, n := range w.nodes[1:] {
		if !n.up && !n.forGood {
			add("a node is down", "node %d has not come back", n.id)
		}
	}
	w.controllerUnrest(add)
	if len(out) == most {
		return out
	}
	if w.newest() != nil {
		w.partitionUnrest(add)
		w.moveUnrest(add)
		w.groupUnrest(add)
		w.leftoverUnrest(add)
		w.transactionUnrest(add)
	}
	w.requestUnrest(add)
	w.clientUnrest(add)
	w.wayUnrest(add)
	if len(out) == 0 {
		w.diskUnrest(add) // which is dear to look at
	}
	return out
}

type complain func(what, format string, args ...any)

func (w *World) controllerUnrest(add complain) {
	active := 0
	for _, n := range w.nodes[1:] {
		c := n.Core()
		if c == nil || n.forGood { // where nobody reaches it
			continue
		}
		if mute := w.voteless(n); mute != "" {
			add("a voter takes no part", "node %d: %s", n.id, mute)
		}
		if c.Controller() != nil && slices.Contains(w.votersNow(), n.node()) {
			v := c.Controller().View().Quorum
			admissionUnrest(n.id, &v, add)
			if newest := w.newest(); newest != nil {
				voterUnrest(n.id, &v, newest.Version(), add)
			}
		}
		if c.Controller() != nil && c.Controller().Active() {
			active++
		}
		if w.newest() != nil && c.Image().Version() < w.newest().Version() && imageDigest(c.Image()) != imageDigest(w.newest()) {
			add("a broker lags behind the metadata", "node %d is at version %d of %d", n.id, c.Image().Version(), w.newest().Version())
		}
	}
	if active != 1 {
		add("no single active controller", "%d nodes say that they are it", active)
		return
	}
	if image := w.newest(); image != nil {
		for _, n := range w.nodes[1:] {
			if n.up && !n.forGood && !image.Live(n.node()) {
				add("a running broker is fenced", "node %d is up, but the controller holds it fenced", n.id)
			}
		}
	}
}

// admissionUnrest judges that a voter which had to begin with an empty journal is one
// again. The others do without it, so that nobody would notice.
func admissionUnrest(node int32, v *quorum.View, add complain) {
	switch {
	case v.Mute != "":
	case !v.Admitted:
		add("a voter waits to be let in", "node %d has an empty journal, and the others have not told it enough", node)
	case !v.Whole:
		add("a voter has not caught up with what it may have promised", "node %d holds the log up to %d", node, v.Last)
	}
}

// voterUnrest judges that a voter holds all that is committed: as a broker it hears of
// that in other ways, and the others do without its vote until one of them is lost.
func voterUnrest(node int32, v *quorum.View, committed message.Version, add complain) {
	if v.Mute == "" && v.Admitted && v.Last < committed {
		add("a voter lacks what is committed", "node %d holds the log of the controllers up to %d, and %d is committed", node, v.Last, committed)
	}
}

// Requests that wait at rest: a fetch waits for records as long as it says, all
// else is answered at once.
const (
	longestFetch   = 20 * Second
	longestRequest = 3 * Second
)

// requestUnrest tells of each node the oldest request that it has not answered,
// when that should have been long ago.
func (w *World) requestUnrest(add complain) {
	for _, n := range w.nodes[1:] {
		oldest := message.Token(0)
		for token, c := range n.tokens {
			longest := longestRequest
			if _, ok := c.request.(*message.Fetch); ok {
				longest = longestFetch
			}
			if w.now-c.since > longest && (oldest == 0 || token < oldest) {
				oldest = token
			}
		}
		if n.up && oldest > 0 {
			c := n.tokens[oldest]
			add("a request is not answered", "node %d has not answered since %v: %s", n.id, time.Duration(c.since), describe(c.request))
		}
	}
}

func (w *World) partitionUnrest(add complain) {
	var ofLeader, ofReplica replica.View
	for state := range w.newest().Partitions() {
		part := w.book.part(state.ID)
		if part.forsaken() {
			continue
		}
		leader := w.replicaAt(part, state.Leader, &ofLeader)
		if leader == nil || leader.Role != replica.Leading {
			add("a partition has no leader", "%s", w.tellPartition(state))
			continue
		}
		if !leader.Shown {
			add("a leader shows nothing to clients", "%s", w.tellPartition(state))
		}
		for _, m := range state.Replicas {
			n := w.nodes[m]
			if n.forGood {
				continue
			}
			v := w.replicaAt(part, m, &ofReplica)
			switch {
			case v == nil:
				add("a replica is missing", "node %d holds none of %s", m, w.tellPartition(state))
			case v.Damage != "":
				add("a replica is damaged", "node %d (%s) in %s: %s", m, v.Role, w.tellPartition(state), v.Damage)
			case !slices.Contains(state.ISR, m):
				add("a replica is not in sync", "node %d (%s, end %d, damage %q) of %s", m, v.Role, v.End, v.Damage, w.tellPartition(state))
			case v.End != leader.End || v.HighWatermark != leader.HighWatermark:
				add("replicas differ at rest", "node %d has end %d and high watermark %d, its leader %d and %d, in %s", m, v.End, v.HighWatermark, leader.End, leader.HighWatermark, w.tellPartition(state))
			case v.Start != leader.Start:
				add("log starts differ at rest", "the log of node %d starts at %d, that of its leader at %d, in %s", m, v.Start, leader.Start, w.tellPartition(state))
			}
		}
		if leader.HighWatermark != leader.End {
			add("a high watermark is behind the end", "%d of %d in %s", leader.HighWatermark, leader.End, w.tellPartition(state))
		}
	}
}

// readable is what readers must find in a partition at rest.
func (w *World) readable(p *partBook) (start, end record.Offset) {
	if p.state == nil {
		return p.readable(nil)
	}
	return p.readable(w.replicaAt(p, p.state.Leader, &replica.View{}))
}

// forsaken says that no broker may lead a partition any more, after records of
// it were given up: it is offline, and says so, until an operator acts again.
func (p *partBook) forsaken() bool {
	return p != nil && (p.off() || p.loss) && p.state != nil && len(p.state.ISR) == 0 && len(p.state.ELR) == 0
}

// readable is all that was ever committed and not retired, but for what an operator
// has given up. As long as it is not known what that was, it is all that the leader
// has.
func (p *partBook) readable(leader *replica.View) (start, end record.Offset) {
	if p.forsaken() {
		return 0, 0
	}
	if (p.deleted || p.open) && leader != nil {
		return leader.Start, leader.HighWatermark
	}
	return p.shownStart, p.high
}

// replicaAt looks at a running replica and returns into; nil: there is none.
func (w *World) replicaAt(p *partBook, m message.NodeID, into *replica.View) *replica.View {
	if m == message.NoNode || int(m) >= len(w.nodes) {
		return nil
	}
	c := w.nodes[m].Core()
	if c == nil {
		return nil
	}
	if !c.Replicas().ViewInto(p.id, into) {
		return nil
	}
	return into
}

// tellPartition describes a partition and what each of its replicas does.
func (w *World) tellPartition(s *message.PartitionChange) string {
	name := s.ID.String()
	if t := w.newest().Topic(s.ID.Topic); t != nil {
		name = t.Name + "/" + itoa(int(s.ID.Index))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s (leader %d in epoch %d, in sync %v, eligible %v", name, s.Leader, s.LeaderEpoch, s.ISR, s.ELR)
	var of replica.View
	for _, m := range s.Replicas {
		v := w.replicaAt(w.book.part(s.ID), m, &of)
		if v == nil {
			fmt.Fprintf(&b, "; node %d: nothing", m)
			continue
		}
		fmt.Fprintf(&b, "; node %d: %s epoch %d end %d flushed %d hw %d", m, v.Role, v.LeaderEpoch, v.End, v.Flushed, v.HighWatermark)
	}
	return b.String() + ")"
}

// groupUnrest judges that each group with running members is stable: every
// partition of its topics is owned, by a member that is alive.
func (w *World) groupUnrest(add complain) {
	members := map[string][]*user{}
	var names []string
	for _, u := range w.clients {
		if u.up && !u.closing && u.plan.Role.joins() {
			if members[u.plan.Group] == nil {
				names = append(names, u.plan.Group)
			}
			members[u.plan.Group] = append(members[u.plan.Group], u)
		}
	}
	if len(names) == 0 {
		return
	}
	owned := w.owners()
	for _, name := range names {
		if w.shardForsaken(name) || w.stalled(name) { // it has no coordinator, and says so
			// Or so it seems: what has just been committed may be on its way to it. It is
			// not dismissed for that.
			if i := slices.IndexFunc(members[name], (*user).goesOn); i >= 0 {
				add("a group that may be hindered commits", "client %d of group %q has committed %v ago", members[name][i].plan.ID, name, w.now-members[name][i].committedAt)
			}
			continue
		}
		held := map[record.PartitionID]*user{}
		for _, u := range members[name] {
			mine := u.script.(interface {
				holdings() map[record.PartitionID]record.Offset
			}).holdings()
			for _, id := range order.KeysBy(mine, record.PartitionID.Compare) { // the sentence must be the same each time
				next := mine[id]
				if other := held[id]; other != nil {
					add("two members hold one partition at rest", "clients %d and %d of group %q hold %s", other.plan.ID, u.plan.ID, name, id)
				}
				held[id] = u
				part := w.book.parts[id]
				if part == nil || part.deleted || next < 0 && !w.transacted && !u.plan.Role.publishes() {
					continue
				}
				if start, end := w.readableBy(u, part); u.readsOn(next, start, end) {
					add("a member does not read on", "client %d of group %q is at %d of %d in partition %s", u.plan.ID, name, next, end, id)
				}
			}
		}
		w.ownedUnrest(add, name, members[name], held, owned)
	}
}

// ownedUnrest compares what a group's members hold with its topics and with
// what the coordinator says.
func (w *World) ownedUnrest(add complain, name string, users []*user, held map[record.PartitionID]*user, owned map[claim]string) {
	for _, topic := range users[0].plan.Topics {
		t := w.newest().TopicNamed(topic)
		if t == nil {
			continue
		}
		for i := range t.Partitions {
			id := record.PartitionID{Topic: t.ID, Index: int32(i)}
			if held[id] == nil {
				add("a partition of a group has no owner", "%s/%d of group %q; the coordinator says %q", topic, i, name, owned[claim{name, id}])
			} else if owned[claim{name, id}] == "" {
				add("a member holds what the coordinator did not give it", "client %d holds %s/%d of group %q", held[id].plan.ID, topic, i, name)
			}
		}
	}
}

// owners is what all coordinators that serve say of who owns what.
func (w *World) owners() map[claim]string {
	out := map[claim]string{}
	for _, n := range w.nodes[1:] {
		if c := n.Core(); c != nil {
			c.Groups().EachOwner(func(_ int32, o group.Owner) bool {
				out[claim{o.Group, o.Partition}] = o.Member
				return true
			})
		}
	}
	return out
}
