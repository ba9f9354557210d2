package quorum

import (
	"fmt"
	"slices"

	"github.com/stretchr/testify/require"
	pb "go.etcd.io/raft/v3/raftpb"
	"pgregory.net/rapid"

	"github.com/tamarack-mq/tamarack/core/chance"
	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
)

// club is a set of voters on one thread: a network that can lose, repeat and
// delay, disks that lose what was not confirmed, and observers of what Raft
// promises.
type club struct {
	t      rapid.TB
	random *chance.Stream
	now    message.Time
	ids    []message.NodeID
	nodes  map[message.NodeID]*member
	mail   []letter
	cut    map[[2]message.NodeID]bool
	lossy  bool // loses, repeats and reorders
	config Config
	trace  []string

	// what must hold over all voters and the whole run
	votes   map[[2]uint64]message.NodeID // (voter, term) -> candidate
	leaders map[Term]message.NodeID      // term -> leader
	decided map[message.Version]Entry    // index -> entry
	digests map[message.Version]uint64   // applied -> digest
}

// member is one voter and its disk.
type member struct {
	q       *Quorum
	disk    [][]byte        // durable frames
	durable journal         // what they say
	pending []effect.Effect // writes that are not durable yet
	applied []Entry
	state   []byte // what a snapshot of the application would be
	halted  string
	down    bool
	starts  uint64
	file    []message.NodeID // the voters that its configuration names; nil: the first ones
}

type letter struct {
	from, to message.NodeID
	data     []byte
	at       message.Time
}

func newClub(t rapid.TB, seed uint64, voters int, config Config) *club {
	c := &club{
		t: t, random: chance.New(seed), config: config,
		nodes: map[message.NodeID]*member{}, cut: map[[2]message.NodeID]bool{},
		votes: map[[2]uint64]message.NodeID{}, leaders: map[Term]message.NodeID{},
		decided: map[message.Version]Entry{}, digests: map[message.Version]uint64{},
	}
	for i := range voters {
		c.ids = append(c.ids, message.NodeID(i+1))
	}
	c.config.ClusterID = "club"
	c.config.Voters = c.ids
	for _, id := range c.ids {
		c.nodes[id] = &member{}
		c.start(id)
	}
	return c
}

func (c *club) start(id message.NodeID) {
	m := c.nodes[id]
	m.starts++
	cfg := c.config
	cfg.ID = id
	if m.file != nil {
		cfg.Voters = m.file
	}
	m.q = New(cfg, m.disk, "", c.random.Split(fmt.Sprintf("voter/%d/%d", id, m.starts)), c.now)
	m.down, m.applied, m.state, m.pending = false, nil, nil, nil
	m.durable = journal{}
	for _, frame := range m.disk {
		m.durable.read(frame)
	}
	out := c.out()
	m.q.Begin(c.now, out)
	c.carry(id, out)
}

// crash loses every write that was not confirmed, or keeps a prefix of them.
func (c *club) crash(id message.NodeID) {
	m := c.nodes[id]
	for range c.random.Below(int64(len(m.pending)) + 1) {
		m.persist()
	}
	m.down, m.pending = true, nil
}

func (m *member) persist() uint64 {
	e := m.pending[0]
	m.pending = m.pending[1:]
	switch e := e.(type) {
	case effect.SaveQuorum:
		m.disk = append(slices.Clip(m.disk), e.Frame)
		m.durable.read(e.Frame)
		return e.Seq
	case effect.ReplaceQuorum:
		m.disk, m.durable = e.Frames, journal{}
		for _, frame := range e.Frames {
			m.durable.read(frame)
		}
		return e.Seq
	}
	panic("no write")
}

func (j *journal) read(frame []byte) {
	f, err := decodeFrame(frame)
	if err == nil {
		err = j.take(&f)
	}
	if err != nil {
		panic(err)
	}
}

// backed checks that a message which says "I hold this" or "I voted" is backed
// by the disk (INV-14).
func (c *club) backed(id message.NodeID, data []byte) {
	from, disk := uint64(id), &c.nodes[id].durable
	m, err := decode(data, c.nodes[id].q.mark, from, 0)
	require.NoError(c.t, err)
	switch e := m.engine; {
	case e == nil:
	case e.GetType() == pb.MsgVote:
		require.Equal(c.t, ballot{e.GetTerm(), from}, disk.ballot(), "voter %d asks for votes", id)
		require.Equal(c.t, position{e.GetLogTerm(), e.GetIndex()}, disk.end(), "voter %d asks for votes", id)
	case e.GetType() == pb.MsgVoteResp && !e.GetReject():
		require.GreaterOrEqual(c.t, disk.term, e.GetTerm(), "voter %d gives its vote", id)
	case e.GetType() == pb.MsgAppResp && !e.GetReject():
		require.GreaterOrEqual(c.t, disk.term, e.GetTerm(), "voter %d acknowledges", id)
		require.GreaterOrEqual(c.t, disk.last(), e.GetIndex(), "voter %d acknowledges", id)
	}
}

func (c *club) out() *Out { return &Out{Out: &effect.Out{}} }

// carry carries out the effects of one call.
func (c *club) carry(id message.NodeID, out *Out) {
	m := c.nodes[id]
	if r := out.Restored; r != nil {
		m.state = slices.Clone(r.Data)
		m.applied = append(m.applied, Entry{Version: r.Version})
	}
	for _, e := range out.Committed {
		require.Equal(c.t, m.version()+1, e.Version, "voter %d", id)
		m.applied = append(m.applied, e)
		m.state = append(m.state, e.Data...)
		known, ok := c.decided[e.Version]
		if !ok {
			c.decided[e.Version] = e
			known = e
		}
		require.Equal(c.t, known, e, "voter %d applied another entry", id)
	}
	for _, e := range out.List {
		switch e := e.(type) {
		case effect.Send:
			data := e.Msg.(*message.Quorum).Data
			c.trace = append(c.trace, fmt.Sprintf("%d %d>%d %x", c.now, id, e.To, data))
			c.backed(id, data)
			c.send(letter{from: id, to: e.To, data: data})
		case effect.SaveQuorum:
			c.trace = append(c.trace, fmt.Sprintf("%d %d save %d %x", c.now, id, e.Seq, e.Frame))
			m.pending = append(m.pending, e)
		case effect.ReplaceQuorum:
			c.trace = append(c.trace, fmt.Sprintf("%d %d replace %d %x", c.now, id, e.Seq, e.Frames))
			m.pending = append(m.pending, e)
		case effect.Halt:
			m.halted = e.Reason
			m.down = true
		}
	}
	if m.q.WantsSnapshot() {
		more := c.out()
		m.q.Compact(slices.Clone(m.state), more)
		c.carry(id, more)
	}
	c.observe(id)
}

func (m *member) version() message.Version {
	if len(m.applied) == 0 {
		return 0
	}
	return m.applied[len(m.applied)-1].Version
}

// observe checks the promises of Raft (INV-16, INV-17).
func (c *club) observe(id message.NodeID) {
	v := c.nodes[id].q.View()
	if v.SavedVote != message.NoNode {
		key := [2]uint64{uint64(id), uint64(v.SavedTerm)}
		if was, ok := c.votes[key]; ok {
			require.Equal(c.t, was, v.SavedVote, "voter %d votes twice in term %d", id, v.SavedTerm)
		}
		c.votes[key] = v.SavedVote
	}
	if v.Role == Leader {
		if was, ok := c.leaders[v.Term]; ok {
			require.Equal(c.t, was, id, "two leaders in term %d", v.Term)
		}
		c.leaders[v.Term] = id
	}
	require.LessOrEqual(c.t, v.Applied, v.Commit)
	require.LessOrEqual(c.t, v.Commit, v.Last)
	if was, ok := c.digests[v.Applied]; ok {
		require.Equal(c.t, was, v.Digest, "voter %d, digest at %d", id, v.Applied)
	}
	c.digests[v.Applied] = v.Digest
}

func (c *club) send(l letter) {
	if c.cut[[2]message.NodeID{l.from, l.to}] {
		return
	}
	copies, latest := int64(1), int64(2)
	if c.lossy {
		if c.random.Percent(10) {
			copies = 0
		} else if c.random.Percent(10) {
			copies = 2
		}
		latest = 200
	}
	for range copies {
		l.at = c.now.Add(message.Duration(c.random.Between(1, latest)) * message.Millisecond)
		c.mail = append(c.mail, l)
	}
}

// step does the next thing: a write ends, a letter arrives, or time passes.
func (c *club) step() {
	for _, id := range c.ids {
		m := c.nodes[id]
		if !m.down && len(m.pending) > 0 && (!c.lossy || c.random.OneIn(3)) {
			out := c.out()
			m.q.Saved(c.now, m.persist(), out)
			c.carry(id, out)
			return
		}
	}
	next := message.Never
	at := -1
	for i, l := range c.mail {
		if l.at < next {
			next, at = l.at, i
		}
	}
	ticked := message.NoNode
	for _, id := range c.ids {
		if m := c.nodes[id]; !m.down && m.q.Wake() < next {
			next, ticked = m.q.Wake(), id
		}
	}
	if ticked != message.NoNode {
		c.now = max(c.now, next)
		out := c.out()
		c.nodes[ticked].q.Tick(c.now, out)
		c.carry(ticked, out)
		return
	}
	if at < 0 {
		c.now = c.now.Add(message.Millisecond)
		return
	}
	l := c.mail[at]
	c.mail = slices.Delete(c.mail, at, at+1)
	c.now = max(c.now, l.at)
	if m := c.nodes[l.to]; !m.down && !c.cut[[2]message.NodeID{l.from, l.to}] {
		out := c.out()
		m.q.Receive(c.now, l.from, l.data, out)
		c.carry(l.to, out)
	}
}

// run steps until ok holds, or fails after so much time.
func (c *club) run(within message.Duration, what string, ok func() bool) {
	c.t.Helper()
	end := c.now.Add(within)
	for !ok() {
		if c.now > end {
			for _, id := range c.ids {
				c.t.Logf("voter %d: down %v halted %q %+v", id, c.nodes[id].down, c.nodes[id].halted, c.nodes[id].q.View())
			}
			c.t.Fatalf("not within %d ms: %s", within/message.Millisecond, what)
		}
		c.step()
	}
}

func (c *club) pass(d message.Duration) {
	end := c.now.Add(d)
	for c.now < end {
		c.step()
	}
}

// leader is the one that is ready, with the highest term; NoNode: none.
func (c *club) leader() message.NodeID {
	best, term := message.NoNode, Term(0)
	for _, id := range c.ids {
		m := c.nodes[id]
		if t, ready := m.q.Leads(); ready && !m.down && t > term {
			best, term = id, t
		}
	}
	return best
}

func (c *club) elect() message.NodeID {
	c.t.Helper()
	c.run(30*message.Second, "a leader", func() bool { return c.leader() != message.NoNode })
	return c.leader()
}

func (c *club) propose(id message.NodeID, data string) (message.Version, bool) {
	out := c.out()
	v, ok := c.nodes[id].q.Propose(c.now, []byte(data), out)
	c.carry(id, out)
	return v, ok
}

// commit proposes at the leader and waits until all that are up have it.
func (c *club) commit(data string) {
	c.t.Helper()
	v, ok := c.propose(c.elect(), data)
	require.True(c.t, ok)
	c.run(30*message.Second, "entry "+data+" everywhere", func() bool { return c.everywhere(v) })
	require.Equal(c.t, data, string(c.decided[v].Data))
}

func (c *club) everywhere(v message.Version) bool {
	for _, id := range c.ids {
		if m := c.nodes[id]; !m.down && m.version() < v {
			return false
		}
	}
	return true
}

func (c *club) isolate(id message.NodeID, cut bool) {
	for _, o := range c.ids {
		c.cut[[2]message.NodeID{id, o}] = cut
		c.cut[[2]message.NodeID{o, id}] = cut
	}
}
