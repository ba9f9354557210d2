package sim

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/metadata"
	"github.com/tamarack-mq/tamarack/core/record"
)

type nodeIDs = []message.NodeID

// moved has one change of the partition judged.
func (s *stage) moved(old, new message.PartitionChange) {
	s.t.Helper()
	old.ID, new.ID, new.PartitionEpoch = part, part, old.PartitionEpoch+1
	s.book.meta.changed = []partChange{{s.book.part(part), &old, &new}}
	(&safeMoves{}).Stepped(s.World, s.nodes[1], nil, nil)
	s.book.meta.changed = nil
}

// cluster makes up the metadata: brokers 1 to 5 and one topic.
func (s *stage) cluster(draining ...message.NodeID) *metadata.Image {
	m := metadata.NewImage()
	v := message.Version(0)
	do := func(c message.Change) {
		v++
		if err := m.Apply(v, &c); err != nil {
			s.t.Fatal(err)
		}
	}
	for id := message.NodeID(1); id <= 5; id++ {
		do(message.Change{Broker: &message.BrokerChange{Node: id, Epoch: message.BrokerEpoch(v + 1), Draining: slices.Contains(draining, id)}})
	}
	v = 9
	do(message.Change{Topic: &message.TopicChange{ID: part.Topic, Name: "t", Config: message.TopicConfig{MinInsync: 2}}})
	s.book.meta.image, s.book.meta.version = m, m.Version()
	return m
}

func TestMovesThatDoNotGoThroughTheInSyncSetAreRefused(t *testing.T) {
	all := nodeIDs{1, 2, 3, 4, 5}
	moving := message.PartitionChange{Replicas: all, Adding: nodeIDs{4, 5}, Target: nodeIDs{4, 5, 3}, ISR: all, Leader: 3, LeaderEpoch: 7}
	with := func(change func(p *message.PartitionChange)) message.PartitionChange {
		p := moving
		change(&p)
		return p
	}
	ended := message.PartitionChange{Replicas: nodeIDs{4, 5, 3}, ISR: nodeIDs{4, 5, 3}, Leader: 3, LeaderEpoch: 8}
	back := message.PartitionChange{Replicas: nodeIDs{1, 2, 3}, ISR: nodeIDs{1, 2, 3}, Leader: 3, LeaderEpoch: 8}
	still := message.PartitionChange{Replicas: nodeIDs{1, 2, 3}, ISR: nodeIDs{1, 2, 3}, Leader: 3, LeaderEpoch: 7}
	for _, c := range []struct {
		old, new message.PartitionChange
		words    string // "": it is fine
	}{
		{still, with(func(p *message.PartitionChange) { p.ISR = nodeIDs{1, 2, 3} }), ""},
		{still, message.PartitionChange{Replicas: all, ISR: nodeIDs{1, 2, 3}, Leader: 3, LeaderEpoch: 7}, "no move is noted"},
		{still, message.PartitionChange{Replicas: nodeIDs{4, 2, 3}, ISR: nodeIDs{2, 3}, Leader: 3, LeaderEpoch: 8}, "come and go in one step"},
		{still, message.PartitionChange{Replicas: nodeIDs{1, 3}, ISR: nodeIDs{1, 3}, Leader: 3, LeaderEpoch: 8}, "neither the target nor those of before"},
		{moving, with(func(p *message.PartitionChange) { p.ISR = nodeIDs{1, 2, 3, 4} }), ""},
		{moving, with(func(p *message.PartitionChange) { p.Adding = nil }), "not those that were added"},
		{moving, ended, ""},
		{with(func(p *message.PartitionChange) { p.ISR = nodeIDs{1, 2, 3, 4} }), ended, "node 5 is not in sync"},
		{with(func(p *message.PartitionChange) { p.Leader, p.LeaderEpoch = 1, 6 }), ended, "its leader goes"},
		{moving, func() message.PartitionChange { p := ended; p.LeaderEpoch = 7; return p }(), "what was heard of those that leave"},
		{
			with(func(p *message.PartitionChange) { p.Target, p.ISR = nodeIDs{3, 4}, nodeIDs{1, 2, 4}; p.Leader = 4 }),
			message.PartitionChange{Replicas: nodeIDs{3, 4}, ISR: nodeIDs{4}, Leader: 4, LeaderEpoch: 8}, "only 1 are in sync, of 2",
		},
		{moving, back, ""},
		{with(func(p *message.PartitionChange) { p.ISR = nodeIDs{3, 4} }), message.PartitionChange{Replicas: nodeIDs{1, 2, 3}, ISR: nodeIDs{3}, Leader: 3, LeaderEpoch: 8}, "is held by 1 others, of 2"},
		{with(func(p *message.PartitionChange) { p.ISR, p.Leader = nodeIDs{4, 5}, 4 }), message.PartitionChange{Replicas: nodeIDs{1, 2, 3}, LeaderEpoch: 8}, "nobody that stays can lead"},
		{with(func(p *message.PartitionChange) { p.ISR, p.Leader = nil, 0 }), message.PartitionChange{Replicas: nodeIDs{1, 2, 3}, LeaderEpoch: 8}, ""},
	} {
		s := newStage(t)
		s.cluster()
		s.moved(c.old, c.new)
		if c.words == "" {
			s.passed()
		} else {
			s.refused("INV-43", c.words)
		}
	}
}

func TestReplicasWhereNoneMayBeAreRefused(t *testing.T) {
	place := func(s *stage, o *ownedLogs, old, new nodeIDs) {
		c := partChange{s.book.part(part), &message.PartitionChange{ID: part, Replicas: old}, &message.PartitionChange{ID: part, Replicas: new}}
		s.book.meta.image.Advance(s.book.meta.image.Version() + 1)
		s.book.meta.changed = []partChange{c}
		o.Stepped(s.World, s.nodes[1], nil, nil)
	}
	s, o := newStage(t), &ownedLogs{}
	s.cluster(4)
	o.Stepped(s.World, s.nodes[1], nil, nil)
	place(s, o, nodeIDs{1, 2, 3}, nodeIDs{1, 2, 3, 5})
	place(s, o, nodeIDs{1, 2, 4}, nodeIDs{1, 2, 4, 5}) // it was there before
	s.passed()
	place(s, o, nodeIDs{1, 2, 3}, nodeIDs{1, 2, 3, 4})
	s.refused("INV-44", "which is being drained")

	s, o = newStage(t), &ownedLogs{}
	m := s.cluster()
	o.Stepped(s.World, s.nodes[1], nil, nil)
	gone := message.Change{RemoveBroker: &message.RemoveBrokerChange{Node: 5, Epoch: 5}}
	if err := m.Apply(20, &gone); err != nil {
		t.Fatal(err)
	}
	o.Stepped(s.World, s.nodes[1], nil, nil)
	s.refused("INV-44", "while it was not fenced")
}

func TestAPartitionOnFewerRacksThanThereAreIsRefused(t *testing.T) {
	s, o := newStage(t), &ownedLogs{}
	v := message.Version(20)
	image := s.cluster(5)
	register := func(node message.NodeID, rack string, fenced bool) {
		v++
		b := &message.BrokerChange{Node: node, Epoch: message.BrokerEpoch(v), Rack: rack, Fenced: fenced, Draining: node == 5}
		if err := image.Apply(v, &message.Change{Broker: b}); err != nil {
			t.Fatal(err)
		}
	}
	register(1, "a", false)
	register(2, "a", false)
	register(3, "b", false)
	register(4, "c", true)
	register(5, "d", false) // it is being drained
	place := func(replicas ...message.NodeID) {
		v++
		image.Advance(v)
		s.book.meta.entries = 1
		s.book.meta.changed = []partChange{{s.book.part(part), nil, &message.PartitionChange{ID: part, Replicas: replicas}}}
		o.Stepped(s.World, s.nodes[1], nil, nil)
	}
	o.Stepped(s.World, s.nodes[1], nil, nil)
	place(1, 3)
	place(2)
	place(1, 2, 3) // who does not run comes last
	place(1, 2, 3, 4)
	s.passed()
	place(1, 2)
	s.refused("INV-44", "the replicas [1 2] of partition 5/0 are on the racks [\"a\"], though there were brokers of 2 racks")
}

// What is moved because of a drain goes to racks that hold nothing of it yet, as long as
// somebody runs there; where an operator wants it, it may go anywhere.
func TestADrainToFewerRacksThanThereAreIsRefused(t *testing.T) {
	s, o := newStage(t), &ownedLogs{}
	v := message.Version(20)
	image := s.cluster()
	for node, rack := range []string{1: "a", 2: "b", 3: "a", 4: "a", 5: "c", 6: "d"} {
		if node == 0 {
			continue
		}
		v++
		b := &message.BrokerChange{Node: message.NodeID(node), Epoch: message.BrokerEpoch(v), Rack: rack, Draining: node < 3, Fenced: node == 6}
		if err := image.Apply(v, &message.Change{Broker: b}); err != nil {
			t.Fatal(err)
		}
	}
	move := func(of nodeIDs, target ...message.NodeID) {
		v++
		image.Advance(v)
		s.book.meta.entries = 1
		old := &message.PartitionChange{ID: part, Replicas: of}
		s.book.meta.changed = []partChange{{s.book.part(part), old, &message.PartitionChange{ID: part, Replicas: of, Target: target}}}
		o.Stepped(s.World, s.nodes[3], nil, nil)
	}
	o.Stepped(s.World, s.nodes[3], nil, nil)
	move(nodeIDs{1, 2}, 3, 5)
	move(nodeIDs{1, 2, 5}, 3, 4, 5) // there are no more
	move(nodeIDs{1, 5, 4}, 3, 5, 4)
	move(nodeIDs{1, 4}, 5, 4)
	wanted := &message.AlterReassignments{Partitions: []message.Reassignment{{ID: part, Replicas: nodeIDs{4, 3}}}}
	o.Stepped(s.World, s.nodes[3], effect.Requested{Msg: wanted}, nil)
	move(nodeIDs{2, 3}, 4, 3)
	s.passed()
	move(nodeIDs{2, 4}, 3, 4)
	s.refused("INV-44", `is to move to [3 4], because brokers are drained, which are on the racks ["a"], though there were brokers of 2 racks`)
}

// Who leaves and is the last in sync is waited for, unless nobody hears of it.
func TestABrokerThatLeavesIsWaitedFor(t *testing.T) {
	const ms = message.Time(message.Millisecond)
	for name, c := range map[string]struct {
		beats  []message.Time   // asking for leave
		busy   bool             // with a decision
		other  bool             // decides, or may
		gone   message.Time     // out of service by then
		settle message.Duration // that a session shall be of now; 0: as before
		refuse string
	}{
		"at once":                            {beats: []message.Time{100 * ms, 600 * ms}, gone: 700 * ms, refuse: "takes node 2 out of service 600 ms after that one asked"},
		"before its time":                    {beats: []message.Time{100 * ms, 1600 * ms, 3000 * ms, 4500 * ms}, gone: 5000 * ms, refuse: "it was to wait for 5000 ms"},
		"when its time is up":                {beats: []message.Time{100 * ms, 1600 * ms, 3000 * ms, 4500 * ms}, gone: 5100 * ms},
		"silent":                             {beats: []message.Time{100 * ms, 600 * ms}, gone: 2600 * ms},
		"silent for a while":                 {beats: []message.Time{100 * ms, 600 * ms, 3000 * ms}, gone: 3100 * ms},
		"under another":                      {beats: []message.Time{100 * ms, 600 * ms}, gone: 700 * ms, other: true},
		"decided before":                     {beats: []message.Time{100 * ms}, busy: true, gone: 110 * ms},
		"unheard":                            {gone: 700 * ms},
		"a session is shorter, and over":     {beats: []message.Time{100 * ms, 600 * ms}, settle: message.Second, gone: 1600 * ms},
		"a session is shorter, and not over": {beats: []message.Time{100 * ms, 600 * ms}, settle: message.Second, gone: 1500 * ms, refuse: "takes node 2 out of service 1400 ms after"},
		"a session is longer":                {beats: []message.Time{100 * ms, 600 * ms}, settle: 9 * message.Second, gone: 2600 * ms},
	} {
		t.Run(name, func(t *testing.T) {
			s, o := newStage(t), &goneInOrder{}
			o.serves(s.World, &message.BrokerChange{Node: 2, Epoch: 7}, nil, 0)
			for _, at := range c.beats {
				o.hears(office{1, 1, 1}, at, 2*message.Second, c.busy, &message.BrokerHeartbeat{Node: 2, Epoch: 7, WantShutdown: true})
			}
			if c.settle > 0 {
				o.settles(office{1, 1, 1}, c.settle)
			}
			by := o.heard[1]
			if c.other {
				by = nil
			}
			o.serves(s.World, &message.BrokerChange{Node: 2, Epoch: 7, Fenced: true}, by, c.gone)
			if c.refuse == "" {
				s.passed()
				return
			}
			s.refused("INV-7", c.refuse)
		})
	}
}

// A drain is an operator's word: it outlives the runs of the broker, and ends when
// an operator takes it back.
func TestADrainThatEndsWithARestartIsRefused(t *testing.T) {
	register := func(draining bool, epoch message.BrokerEpoch) *stage {
		s, o := newStage(t), &ownedLogs{}
		m := s.cluster(4)
		o.Stepped(s.World, s.nodes[1], nil, nil)
		if err := m.Apply(20, &message.Change{Broker: &message.BrokerChange{Node: 4, Epoch: epoch, Draining: draining}}); err != nil {
			t.Fatal(err)
		}
		m.Advance(20)
		s.book.meta.entries = 1
		o.Stepped(s.World, s.nodes[1], nil, nil)
		return s
	}
	register(true, 20).passed()
	register(false, 4).passed() // taken back while it runs
	register(false, 20).refused("INV-44", "is not any more since it was registered under broker epoch 20")
}

// Who shuts down in good order has handed over everything before.
func TestABrokerThatShutsDownWhileItLeadsIsRefused(t *testing.T) {
	shutsDown := func(run message.BrokerEpoch, clean bool, leader message.NodeID) *stage {
		s := newStage(t)
		m := s.cluster()
		p := &message.PartitionChange{ID: part, Replicas: nodeIDs{1, 2}, ISR: nodeIDs{1, 2}, Leader: leader, LeaderEpoch: 1}
		if err := m.Apply(20, &message.Change{Partition: p}); err != nil {
			t.Fatal(err)
		}
		in := effect.Received{From: 3, Msg: &message.BrokerHeartbeatReply{Epoch: run, MayShutdown: true}}
		s.step(&goneInOrder{}, 1, in, []effect.Effect{effect.Halt{Clean: clean}})
		return s
	}
	shutsDown(1, true, 2).passed()
	shutsDown(7, true, 1).passed() // of another run
	shutsDown(1, false, 1).passed()
	shutsDown(1, true, 1).refused("INV-7", "and is the leader of 1 partitions")
}

// copies plays a broker that copies one replica: it asks under the throttle in
// force, and gets so many bytes at once.
type copies struct {
	throttled
	now  message.Time
	sent uint32 // the fetch that stated the position last
}

func (c *copies) pass(ms int) { c.now = c.now.Add(message.Duration(ms) * message.Millisecond) }

// set changes the throttle; a position is stated in that very step, too.
func (c *copies) set(rate int64) { c.states(true, c.goes(1, rate, c.now)) }

// changes has another throttle come when no position is stated.
func (c *copies) changes(rate int64) { c.goes(1, rate, c.now) }

// states a position with one more fetch.
func (c *copies) states(added, changed bool) {
	c.sent++
	c.asks(part, 1, c.sent, added, changed)
}

// came says whether what came is within the throttle, and asks for more. It answers
// all that was asked.
func (c *copies) came(bytes int64) bool {
	within := c.answers(c.sent, bytes)
	c.states(true, false)
	return within
}

// answers says whether what came with the answer to a fetch is within the throttle.
func (c *copies) answers(sequence uint32, bytes int64) bool {
	c.overtakes(1, sequence)
	b := c.pours(part, 1, sequence, bytes, c.now)
	return b == nil || b.level <= c.allowed(b)
}

// What is copied for replicas being added is a bucket that leaks.
func TestCopiesBeyondTheThrottleAreRefused(t *testing.T) {
	c := &copies{}
	c.set(1000)
	for range 20 {
		require.True(t, c.came(250), "it keeps to the throttle")
		c.pass(250)
	}
	require.True(t, c.came(250))
	c.pass(125)
	require.False(t, c.came(250), "a quarter's worth in an eighth of a second, on top of a burst")
}

// There is one burst for all that are being added, and not one for each.
func TestTheBurstIsThereOnce(t *testing.T) {
	for each, within := range map[int64]bool{125: true, 165: true, 250: false} {
		c := &copies{}
		c.set(1000)
		c.most = 20
		second := record.PartitionID{Topic: part.Topic, Index: 1}
		c.asks(second, 1, c.sent, true, false)
		require.True(t, c.answers(1, each))
		c.buckets[0].sharers = 2
		b := c.pours(second, 1, 1, each, c.now)
		require.Equal(t, within, b.level <= c.allowed(b), "%d bytes each", each)
	}
}

// A change of the throttle excuses one answer, and blinds nobody.
func TestCopiesSoonAfterAChangeOfTheThrottleAreJudged(t *testing.T) {
	c := &copies{}
	c.set(100_000)
	require.True(t, c.came(12_500))
	c.set(1000)
	require.True(t, c.came(12_500), "it was asked for when 100000 bytes a second were allowed")
	c.pass(10)
	require.True(t, c.came(250), "a burst")
	c.pass(10)
	require.False(t, c.came(250), "20 ms after the change twice a burst has come")

	c = &copies{}
	c.set(0)
	c.set(1000)
	require.True(t, c.came(1<<30), "it was asked for when there was no limit")
	require.False(t, c.came(1<<20), "and this under the limit")

	c = &copies{}
	c.set(1000)
	require.True(t, c.came(250))
	c.states(true, false)
	c.changes(100_000)
	require.False(t, c.came(2000), "a larger throttle is not for what was asked under the smaller one")
}

// A position is stated once more while a fetch that stated it is under way, when what
// was copied before has become durable. Each answer is held to the throttle under
// which its own fetch asked.
func TestCopiesAreHeldToTheThrottleOfTheFetchThatIsAnswered(t *testing.T) {
	fetches := func(before, after int64) *copies {
		c := &copies{}
		c.set(before)
		c.changes(after)
		c.states(true, false)
		return c
	}
	c := fetches(100_000, 1000)
	require.True(t, c.answers(1, 25_000), "it was asked for before the throttle fell")
	require.False(t, c.answers(2, 50_000), "and this when it had fallen")

	c = fetches(100_000, 1000)
	require.True(t, c.answers(1, 25_000))
	require.False(t, c.answers(1, 50_000), "one answer answers")

	c = fetches(100_000, 1000)
	require.False(t, c.answers(2, 50_000), "an answer to the later fetch is not excused by the earlier one")

	c = fetches(1000, 100_000)
	require.False(t, c.answers(1, 2000), "it was asked for before the throttle rose")
	require.True(t, c.answers(2, 2000))

	c = &copies{}
	c.set(1000)
	c.states(false, false)
	c.states(true, false)
	require.True(t, c.answers(2, 50_000), "the replica was not being added when this was asked for")
	require.False(t, c.answers(3, 50_000))

	c = fetches(100_000, 1000)
	b := c.pours(part, 2, 1, 50_000, c.now)
	require.Equal(t, &c.buckets[1], b, "what no position of this session has asked for keeps to the throttle of now")
}

func TestMetadataToldOtherwiseThanCommittedIsRefused(t *testing.T) {
	s := newStage(t)
	m := s.cluster()
	made := message.Change{Partition: &message.PartitionChange{ID: part, Replicas: nodeIDs{1, 2, 3}, ISR: nodeIDs{1, 2}, Leader: 2, LeaderEpoch: 4}}
	if err := m.Apply(11, &made); err != nil {
		t.Fatal(err)
	}
	told := message.PartitionInfo{Leader: 2, LeaderEpoch: 4, Replicas: nodeIDs{1, 2, 3}, ISR: nodeIDs{1, 2}}
	tell := func() {
		(&toldAsCommitted{}).compare(s.World, s.nodes[1], m, &message.MetadataReply{Topics: []message.TopicInfo{
			{ID: part.Topic, Partitions: []message.PartitionInfo{told}}, {Code: message.UnknownTopicID, ID: 99},
		}})
	}
	tell()
	s.passed()
	told.LeaderEpoch = 3
	tell()
	s.refused("INV-20", "leads partition 5/0 in epoch 3")
}
