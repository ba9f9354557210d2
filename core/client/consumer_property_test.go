package client

import (
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// hall is a group of two clients, its coordinator and three logs, behind a
// network that loses and delays.
type hall struct {
	t       *rapid.T
	guests  [2]*guest
	members map[string]*seat
	epoch   message.MemberEpoch
	target  [3]int // the guest that is meant to own a partition
	stored  [3]record.Offset
	logs    [3]record.Offset // ends
	style   Style
	given   [3]map[record.Offset]int // how often each record was handed over
	pages   []page                   // requests that may still arrive
}

// guest is one client and what it was handed.
type guest struct {
	*play
	number int
	mine   [3]bool          // between Assigned and Revoking or Lost
	next   [3]record.Offset // behind the last record that it was handed since Assigned; -1: none
	most   [3]record.Offset // behind the last that it was ever handed
	seen   int              // events looked at
	polls  []Op
}

// seat is a member as the coordinator sees it.
type seat struct {
	guest  int
	epoch  message.MemberEpoch
	before message.MemberEpoch // with which a heartbeat whose answer was lost comes again
	holds  [3]bool
	silent int // rounds without a heartbeat
}

// expire ends the sessions of members that have long been silent.
func (h *hall) expire() {
	for id, s := range h.members {
		if s.silent++; s.silent > 20 {
			delete(h.members, id)
		}
	}
}

// bump gives a member an epoch that no member had before.
func (h *hall) bump(s *seat) {
	h.epoch++
	s.before, s.epoch = s.epoch, h.epoch
}

// page is a request on the network.
type page struct {
	guest int
	call  Call
}

func (h *hall) holder(p int32) *seat {
	for _, s := range h.members {
		if s.holds[p] {
			return s
		}
	}
	return nil
}

func (h *hall) heartbeat(g int, r *message.GroupHeartbeat) *message.GroupHeartbeatReply {
	s := h.members[r.Member]
	switch {
	case r.MemberEpoch < 0:
		delete(h.members, r.Member)
		return &message.GroupHeartbeatReply{}
	case r.MemberEpoch == message.JoinEpoch && (s == nil || s.before != message.JoinEpoch):
		s = &seat{guest: g}
		h.bump(s)
		s.before = message.JoinEpoch
		h.members[r.Member] = s
	case s == nil:
		return &message.GroupHeartbeatReply{Code: message.UnknownMemberID}
	case r.MemberEpoch != s.epoch && r.MemberEpoch != s.before:
		return &message.GroupHeartbeatReply{Code: message.FencedMemberEpoch}
	}
	changed := false
	s.silent = 0
	a := &message.GroupHeartbeatReply{Interval: message.Second, Assigned: true}
	for p := range int32(3) {
		id := record.PartitionID{Topic: ordersID, Index: p}
		meant := h.target[p] == g
		if s.holds[p] && !meant && r.Full && !slices.Contains(r.Owned, id) {
			s.holds[p] = false
			changed = true
		}
		if meant && h.holder(p) == nil {
			s.holds[p] = true
			changed = true
		}
		if meant && s.holds[p] {
			a.Assignment = append(a.Assignment, id)
		}
	}
	if changed {
		h.bump(s)
	}
	a.MemberEpoch = s.epoch
	return a
}

func (h *hall) commit(g int, r *message.CommitOffsets) message.Reply {
	s := h.members[r.Member]
	switch {
	case s == nil:
		return message.Fail(r, message.UnknownMemberID, "")
	case r.MemberEpoch != s.epoch:
		return message.Fail(r, message.StaleMemberEpoch, "")
	}
	for _, o := range r.Offsets {
		require.True(h.t, s.holds[o.ID.Index], "a commit for what the member does not hold")
		if h.style == AtLeastOnce {
			require.LessOrEqual(h.t, o.Offset, h.guests[g].most[o.ID.Index], "INV-26")
		}
		h.stored[o.ID.Index] = o.Offset
	}
	return message.Fail(r, message.None, "")
}

func (h *hall) serve(g int, c Call) message.Reply {
	switch r := c.Request.(type) {
	case *message.Metadata:
		reply := h.guests[g].image
		return &reply
	case *message.FindCoordinator:
		return &message.FindCoordinatorReply{Node: 1}
	case *message.GroupHeartbeat:
		return h.heartbeat(g, r)
	case *message.CommitOffsets:
		return h.commit(g, r)
	case *message.FetchOffsets:
		a := &message.FetchOffsetsReply{}
		if s := h.members[r.Member]; s == nil || s.epoch != r.MemberEpoch {
			a.Code = message.StaleMemberEpoch
			return a
		}
		for _, id := range r.IDs {
			a.Offsets = append(a.Offsets, message.GroupOffset{ID: id, Offset: h.stored[id.Index], LeaderEpoch: -1})
		}
		return a
	case *message.Fetch:
		a := message.Fail(r, message.None, "").(*message.FetchReply)
		for i, p := range r.Partitions {
			var values []string
			for at := p.Offset; at < min(h.logs[p.ID.Index], p.Offset+3); at++ {
				values = append(values, strconv.Itoa(int(at)))
			}
			if len(values) > 0 {
				a.Partitions[i].Records = stored(p.Offset, 5, values...)
			}
		}
		return a
	case *message.OffsetForLeaderEpoch:
		a := message.Fail(r, message.None, "").(*message.OffsetForLeaderEpochReply)
		for i, q := range r.Partitions {
			a.Partitions[i].Epoch, a.Partitions[i].End = q.Epoch, h.logs[q.ID.Index]
		}
		return a
	}
	h.t.Fatalf("nobody answers %s", c.Request.Kind())
	return nil
}

// look takes in what the client has said: events and records, in their order.
func (g *guest) look(h *hall) {
	for _, e := range g.events[g.seen:] {
		for _, p := range e.Partitions {
			switch e.Kind {
			case Assigned:
				require.False(h.t, g.mine[p.Partition], "assigned twice")
				g.mine[p.Partition], g.next[p.Partition] = true, -1
			case Revoking, Lost:
				g.mine[p.Partition] = false
			case Revoked:
				require.False(h.t, g.mine[p.Partition], "revoked without notice")
			default:
				h.t.Fatalf("event %v", e)
			}
		}
	}
	g.seen = len(g.events)
}

// feed steps a guest and looks at what came of it.
func (h *hall) feed(g *guest, in Input) {
	g.c.Step(g.now, in, &g.out)
	for _, e := range g.out.List {
		switch e := e.(type) {
		case Call:
			g.calls = append(g.calls, e)
		case Event:
			g.events = append(g.events, e)
			g.look(h)
		case Done:
			for _, d := range e.Result.Polled {
				h.handed(g, d)
			}
		}
	}
	g.out.Empty()
}

// handed checks one delivery: only of what the guest owns, in order, without a
// hole.
func (h *hall) handed(g *guest, d Delivery) {
	p := d.Partition
	leaving := h.style == AtMostOnce // a handover that was committed is finished first
	require.True(h.t, g.mine[p] || leaving, "partition %d was handed over after it was taken away", p)
	for _, r := range d.Records {
		if g.next[p] >= 0 {
			require.Equal(h.t, g.next[p], r.Offset)
		}
		require.Equal(h.t, strconv.Itoa(int(r.Offset)), string(r.Value))
		g.next[p] = r.Offset + 1
		g.most[p] = max(g.most[p], g.next[p])
		h.given[p][r.Offset]++
		if h.style == AtMostOnce {
			require.Equal(h.t, 1, h.given[p][r.Offset], "partition %d offset %d was handed over again", p, r.Offset)
		}
	}
}

func (h *hall) pass(g *guest, d message.Duration) {
	end := g.now.Mono.Add(d)
	for g.c.Wake() <= end {
		g.now.Mono = max(g.now.Mono, g.c.Wake())
		h.feed(g, Tick{})
	}
	g.now.Mono = end
}

func (h *hall) step(g *guest) {
	take := func() Call {
		i := rapid.IntRange(0, len(g.calls)-1).Draw(h.t, "which")
		c := g.calls[i]
		g.calls = slices.Delete(g.calls, i, i+1)
		return c
	}
	switch what := rapid.IntRange(0, 13).Draw(h.t, "what"); {
	case what <= 5 && len(g.calls) > 0:
		c := take()
		h.feed(g, Answered{c.Call, h.serve(g.number, c)})
	case what == 6 && len(g.calls) > 0: // the answer is lost
		c := take()
		h.serve(g.number, c)
		h.feed(g, Failed{c.Call, Broken})
	case what == 7 && len(g.calls) > 0: // the request is late
		c := take()
		if _, ok := c.Request.(*message.CommitOffsets); ok { // what a late heartbeat does is the coordinator's matter
			h.pages = append(h.pages, page{g.number, c})
		}
		h.feed(g, Failed{c.Call, Broken})
	case what == 8 && len(h.pages) > 0:
		i := rapid.IntRange(0, len(h.pages)-1).Draw(h.t, "page")
		late := h.pages[i]
		h.pages = slices.Delete(h.pages, i, i+1)
		h.serve(late.guest, late.call)
	case what == 9:
		h.target[rapid.IntRange(0, 2).Draw(h.t, "partition")] = rapid.IntRange(0, 1).Draw(h.t, "owner")
	case what == 10 && rapid.IntRange(0, 3).Draw(h.t, "fence") == 0:
		for id, s := range h.members {
			if s.guest == g.number {
				delete(h.members, id)
			}
		}
	case what == 11:
		h.logs[rapid.IntRange(0, 2).Draw(h.t, "partition")] += 2
	case what == 12:
		h.poll(g)
	default:
		h.pass(g, message.Duration(rapid.IntRange(1, 2500).Draw(h.t, "ms"))*message.Millisecond)
	}
}

func (h *hall) poll(g *guest) {
	g.op++
	h.feed(g, Poll{g.op, rapid.IntRange(1, 4).Draw(h.t, "max"), message.Duration(rapid.IntRange(0, 2).Draw(h.t, "wait")) * message.Second})
	if h.style == AtLeastOnce && rapid.Bool().Draw(h.t, "commit") {
		g.op++
		h.feed(g, Commit{Op: g.op})
	}
}

func checkGroup(t *rapid.T, style Style) {
	h := &hall{t: t, members: map[string]*seat{}, style: style}
	for p := range h.given {
		h.given[p] = map[record.Offset]int{}
	}
	for i := range h.guests {
		s := newPlay(t, func(c *Config) {
			c.Name = "guest" + strconv.Itoa(i)
			c.RequestTimeout, c.MaxPollInterval, c.AutoCommitInterval = 3*message.Second, message.Hour, message.Second
		})
		g := &guest{play: s, number: i}
		h.guests[i] = g
		h.feed(g, Subscribe{Op: 1, Group: "g", Topics: []string{"orders"}, Style: style, AutoCommit: style == AtLeastOnce && rapid.Bool().Draw(t, "auto")})
		g.op = 1
	}
	for range rapid.IntRange(1, 200).Draw(t, "steps") {
		h.step(h.guests[rapid.IntRange(0, 1).Draw(t, "guest")])
	}
	for range 120 { // everything comes to rest
		h.expire()
		for _, g := range h.guests {
			for range 30 {
				if len(g.calls) == 0 {
					break
				}
				c := g.calls[0]
				g.calls = g.calls[1:]
				h.feed(g, Answered{c.Call, h.serve(g.number, c)})
			}
			h.pass(g, message.Second)
			h.poll(g)
		}
	}
	for p := range int32(3) {
		require.Equal(t, h.logs[p], max(h.guests[0].next[p], h.guests[1].next[p], h.stored[p]), "partition %d was not read to its end", p)
		for at := record.Offset(0); at < h.logs[p] && style == AtLeastOnce; at++ {
			require.Positive(t, h.given[p][at], "partition %d offset %d was never handed over", p, at)
		}
	}
}

// INV-9, INV-26 and "repeats but never skips".
func TestAtLeastOnceSkipsNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { checkGroup(t, AtLeastOnce) })
}

// "Skips but never repeats", whatever commits are lost or late.
func TestAtMostOnceRepeatsNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { checkGroup(t, AtMostOnce) })
}
