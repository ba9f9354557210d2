package sim

import (
	"slices"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/group"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// committedOffsets is INV-24: a fetch of committed offsets tells the last commit
// that was acknowledged before it came, or a later one, whichever coordinator
// is asked. An attempt of a commit that comes when a later commit of the same
// member was acknowledged is not taken any more.
//
// In the log of its shard a commit that came in later, at whichever node, never
// stands before one that was acknowledged by then. So what may be told is the
// last acknowledged position, or that of any commit that came in after it.
type committedOffsets struct {
	blind
	came   map[asking]uint64 // the step in which a request came
	claims map[claim]*commitBook
	wiped  map[string]wiping // groups of which somebody asked to delete something
	alive  map[string]Span   // when the leader of a group's shard last answered a member
	lapsed map[string]uint64 // the step in which a group had a member again after too long
	turns  map[memberClaim]ackedTurn
	used   groupsUsed
	kept   map[claim]keptSince
}

// memberClaim is one member's say about one partition under one epoch.
type memberClaim struct {
	claim
	member string
	epoch  message.MemberEpoch
}

// ackedTurn is the last of a member's numbered commits that was acknowledged, the
// step in which it came and that of the answer; told are all that were, in order.
type ackedTurn struct {
	number, came, at uint64
	told             []uint64
}

// asking is a request on its way through a node.
type asking struct {
	node  int32
	run   uint32
	token message.Token
}

// wiping are the requests to delete positions of a group, or the group. Such a
// request may be carried out from when it comes until it is answered.
type wiping struct {
	open int    // not answered yet
	last uint64 // the step of the last answer
}

// may says whether a position may be gone by a request to delete it, of which the
// commit came in a certain step.
func (g wiping) may(came uint64) bool { return g.open > 0 || came < g.last }

// commitBook is what was committed for one partition by one group.
type commitBook struct {
	asked []commitAsked
	acked []commitAcked
}

type commitAsked struct {
	offset record.Offset
	came   uint64
}

type commitAcked struct {
	commitAsked
	at uint64 // the step of the answer
}

func (*committedOffsets) Invariant() string { return "INV-24" }

func (*committedOffsets) Looks() scope { return ofMoves | ofGroups | ofGroupsTold | ofBeaten }

func (o *committedOffsets) Stepped(w *World, n *Node, in effect.Input, out []effect.Effect) {
	if r, ok := in.(effect.Requested); ok {
		o.asked(w, n, r)
	}
	if b := &w.book.transactions; b.fresh(w) {
		for i := range b.positions {
			r := &b.positions[i]
			if r.resolves {
				o.ofTransaction(w, r)
			}
			switch {
			case r.Kind != group.Stored:
			case r.Gone:
				o.removed(w, n, r)
				delete(o.kept, claim{r.Group, r.Partition})
			default:
				o.keeps(r)
			}
		}
	}
	for _, e := range out {
		reply, ok := e.(effect.Reply)
		if !ok {
			continue
		}
		switch m := reply.Msg.(type) {
		case *message.CommitOffsetsReply:
			o.stored(w, n, reply.Token, m)
		case *message.DeleteGroupReply, *message.DeleteOffsetsReply:
			o.deleted(w, n, reply.Token)
		case *message.FetchOffsetsReply:
			o.told(w, n, reply.Token, m)
		case *message.GroupHeartbeatReply:
			o.beaten(w, n, n.asker(reply.Token), m)
			o.used.heard(w, n, n.asker(reply.Token), m)
		}
	}
}

func (o *committedOffsets) begin() {
	if o.came == nil {
		o.came, o.claims, o.wiped = map[asking]uint64{}, map[claim]*commitBook{}, map[string]wiping{}
		o.alive, o.lapsed = map[string]Span{}, map[string]uint64{}
	}
}

func (o *committedOffsets) claim(at claim) *commitBook {
	b := o.claims[at]
	if b == nil {
		b = &commitBook{}
		o.claims[at] = b
	}
	return b
}

// ofTransaction notes a position that a transaction has stored: it is committed, so
// that its producer may know of it, and was decided when it was written.
func (o *committedOffsets) ofTransaction(w *World, r *positionRecord) {
	o.begin()
	b, asked := o.claim(claim{r.Group, r.Partition}), commitAsked{r.was.Offset, r.step}
	at := len(b.asked)
	for at > 0 && b.asked[at-1].came > asked.came {
		at--
	}
	b.asked = slices.Insert(b.asked, at, asked)
	b.acked = append(b.acked, commitAcked{asked, w.stats.Steps})
}

// asked notes what comes in.
func (o *committedOffsets) asked(w *World, n *Node, r effect.Requested) {
	switch m := r.Msg.(type) {
	case *message.CommitOffsets:
		o.begin()
		o.came[asking{n.id, n.run, r.Token}] = w.stats.Steps
		for i := range m.Offsets {
			b := o.claim(claim{m.Group, m.Offsets[i].ID})
			b.asked = append(b.asked, commitAsked{m.Offsets[i].Offset, w.stats.Steps})
		}
	case *message.FetchOffsets:
		o.begin()
		o.came[asking{n.id, n.run, r.Token}] = w.stats.Steps
	case *message.DeleteGroup:
		o.delete(m.Group)
	case *message.DeleteOffsets:
		if mayLose(m) {
			o.delete(m.Group)
		}
	}
}

// mayLose says whether a request to delete positions names any that may be there.
func mayLose(m *message.DeleteOffsets) bool {
	return slices.ContainsFunc(m.IDs, func(id record.PartitionID) bool { return id.Index < noSuchPartition })
}

func (o *committedOffsets) delete(g string) {
	o.begin()
	at := o.wiped[g]
	at.open++
	o.wiped[g] = at
}

// deleted notes that a request to delete something is answered: whatever came of
// it has happened. One that is never answered may be carried out at any time.
func (o *committedOffsets) deleted(w *World, n *Node, token message.Token) {
	g := ""
	switch m := n.asker(token).request.(type) {
	case *message.DeleteGroup:
		g = m.Group
	case *message.DeleteOffsets:
		if !mayLose(m) {
			return
		}
		g = m.Group
	default:
		return
	}
	o.wiped[g] = wiping{o.wiped[g].open - 1, w.stats.Steps}
}

// take is the step in which an answered request came, and the request.
func (o *committedOffsets) take(n *Node, token message.Token) (message.Request, uint64) {
	at := asking{n.id, n.run, token}
	came := o.came[at]
	delete(o.came, at)
	return n.asker(token).request, came
}

// stored notes an acknowledged commit.
func (o *committedOffsets) stored(w *World, n *Node, token message.Token, m *message.CommitOffsetsReply) {
	r, came := o.take(n, token)
	asked, ok := r.(*message.CommitOffsets)
	if !ok || m.Code != message.None || len(m.Offsets) != len(asked.Offsets) {
		return
	}
	for i := range m.Offsets {
		if m.Offsets[i].Code == message.None && o.inTurn(w, n, asked, asked.Offsets[i].ID, came) {
			b := o.claims[claim{asked.Group, asked.Offsets[i].ID}]
			b.acked = append(b.acked, commitAcked{commitAsked{asked.Offsets[i].Offset, came}, w.stats.Steps})
		}
	}
}

// inTurn judges a commit that a member has followed with another one, which was
// acknowledged before this attempt of it came: it must not be taken any more. It
// says whether the answer tells of a commit that had not been acknowledged yet.
//
// One that had been says nothing new, and a coordinator that has been deposed and
// has not heard of it may say it again: what it answers for was taken in its turn,
// and nothing that it writes now can commit.
func (o *committedOffsets) inTurn(w *World, n *Node, asked *message.CommitOffsets, id record.PartitionID, came uint64) bool {
	if asked.Member == "" || asked.Number == 0 {
		return true
	}
	if o.turns == nil {
		o.turns = map[memberClaim]ackedTurn{}
	}
	at := memberClaim{claim{asked.Group, id}, asked.Member, asked.MemberEpoch}
	last := o.turns[at]
	place, again := slices.BinarySearch(last.told, asked.Number)
	switch {
	case asked.Number > last.number:
		o.turns[at] = ackedTurn{asked.Number, came, w.stats.Steps, append(last.told, asked.Number)}
	case again && w.deposedFromShard(n, asked.Group):
	case asked.Number < last.number && last.at < came && !o.wiped[asked.Group].may(last.came) && !w.shardGivenUp(asked.Group):
		w.fail("INV-24", n.id, "a commit is taken out of its turn", "node %d takes commit %d of member %q of group %q for partition %s, although it had come after commit %d was acknowledged", n.id, asked.Number, asked.Member, asked.Group, id, last.number)
		w.aboutCommit(asked.Group, id, -1)
	case !again:
		last.told = slices.Insert(last.told, place, asked.Number)
		o.turns[at] = last
	}
	return !again
}

// told judges what a fetch is told.
func (o *committedOffsets) told(w *World, n *Node, token message.Token, m *message.FetchOffsetsReply) {
	r, came := o.take(n, token)
	asked, ok := r.(*message.FetchOffsets)
	if !ok || m.Code != message.None || w.shardGivenUp(asked.Group) {
		return
	}
	for i := range m.Offsets {
		got := &m.Offsets[i]
		b, p := o.claims[claim{asked.Group, got.ID}], w.book.known(got.ID)
		if b == nil || p == nil || p.deleted {
			continue
		}
		last := b.before(came)
		if last != nil && got.Offset == message.NoOffset && o.mayExpire(w, asked.Group, last.came) {
			w.mark(markPositionsExpired)
			continue
		}
		if last != nil && got.Offset == message.NoOffset && o.wiped[asked.Group].may(last.came) {
			continue
		}
		if last != nil && !b.allows(last, got.Offset) {
			w.fail("INV-24", n.id, "an acknowledged commit is forgotten", "node %d tells group %q the position %d for partition %s, but %d was acknowledged before it was asked", n.id, asked.Group, got.Offset, got.ID, last.offset)
			w.aboutCommit(asked.Group, got.ID, last.offset)
			return
		}
	}
}

// beaten notes that a group has a member: whoever leads its shard has answered
// one. Another node may only think that it leads.
// What proves it is that the heartbeat came, and not that the answer could be given
// at last.
func (o *committedOffsets) beaten(w *World, n *Node, by caller, m *message.GroupHeartbeatReply) {
	asked, ok := by.request.(*message.GroupHeartbeat)
	if !ok || m.Code != message.None || m.MemberEpoch <= 0 || w.plan.Timing.OffsetRetention == 0 || w.newest() == nil {
		return
	}
	o.begin()
	if t := w.newest().TopicNamed(offsetsTopic); t != nil {
		p := w.newest().Partition(record.PartitionID{Topic: t.ID, Index: group.Shard(asked.Group, int32(len(t.Partitions)))})
		if p != nil && p.Leader == n.node() {
			if o.overdue(w, asked.Group) {
				o.lapsed[asked.Group] = w.stats.Steps
			}
			o.alive[asked.Group] = max(o.alive[asked.Group], by.since)
		}
	}
}

// mayExpire says whether the positions of a group may be gone because it had no
// member for so long, after the step in which the last one came: it may have
// waited for its acknowledgement, and what made it expire may stand behind it in
// the log by then.
func (o *committedOffsets) mayExpire(w *World, g string, came uint64) bool {
	return w.plan.Timing.OffsetRetention != 0 && (o.lapsed[g] > came || o.overdue(w, g))
}

// overdue says whether a group had no member for as long as positions are kept.
// One node notes when its last member left, and another may look whether that is
// over: as far as wall clocks have been apart, that may be sooner.
func (o *committedOffsets) overdue(w *World, g string) bool {
	return w.now-o.alive[g] >= w.plan.Timing.OffsetRetention-Millisecond-w.clocksApart()
}

// everExpired says whether positions of a group may have expired at any time.
func (w *World) everExpired(g string) bool {
	for _, o := range w.observers {
		if o, ok := o.(*committedOffsets); ok {
			return o.mayExpire(w, g, 0)
		}
	}
	return w.plan.Timing.OffsetRetention != 0
}

// before is the last commit that was acknowledged before a step.
func (b *commitBook) before(step uint64) *commitAcked {
	for i := len(b.acked) - 1; i >= 0; i-- {
		if b.acked[i].at < step {
			return &b.acked[i]
		}
	}
	return nil
}

// allows says whether a position may be told when last was acknowledged.
func (b *commitBook) allows(last *commitAcked, offset record.Offset) bool {
	if offset == last.offset {
		return true
	}
	for i := len(b.asked) - 1; i >= 0 && b.asked[i].came >= last.came; i-- {
		if b.asked[i].offset == offset {
			return true
		}
	}
	return false
}
