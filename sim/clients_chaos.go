package sim

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strconv"

	"github.com/tamarack-mq/tamarack/core/client"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/history"
)

// chaosTopic is where chaos clients write, and delete: what they may destroy.
const chaosTopic = "chaos"

// chaos sends any legal request with any arguments to anybody, in any order;
// with malformed set it sends what must be refused. It does not care for the
// answers, but for one: what is malformed must not be answered with success.
type chaos struct {
	malformed bool
	n         int64
	open      int
	known     []acquaintance
	last      struct { // the member of its own that was told last where it stands
		membership
		epoch message.MemberEpoch
	}
	turn int64              // of its own producer, see numbered
	home record.PartitionID // where that one writes in its present epoch
}

func (c *chaos) begin(u *user) {
	if u.listed() {
		u.beginList()
		return
	}
	u.next(u.some(u.plan.Every))
}

func (c *chaos) act(u *user, _ uint64) {
	if u.world.phase > draining {
		return
	}
	if u.listed() {
		c.actListed(u)
		return
	}
	u.next(u.some(u.plan.Every))
	if c.open > 20 {
		return
	}
	c.one(u)
}

// one sends one request.
func (c *chaos) one(u *user) {
	if u.world.options.Record {
		u.note(ClientOp{Do: "send", Draw: u.random.State()})
	}
	anybody := func() message.NodeID {
		return message.NodeID(u.random.Between(1, int64(u.world.plan.Cluster.Nodes)))
	}
	if c.malformed {
		c.send(u, anybody(), 1, c.wrong(u), history.Operation{})
		return
	}
	r, op := c.any(u)
	if leader := leaderOfNumbered(u, r); leader != message.NoNode {
		_ = anybody() // whoever it is, who else would not even look at it
		c.send(u, leader, 0, r, op)
		return
	}
	if c.toAll(r) {
		// All are asked at once: who was deposed and has not heard of it, too.
		for node := range message.NodeID(u.world.plan.Cluster.Nodes) {
			c.send(u, node+1, 0, r, op)
		}
		return
	}
	c.send(u, anybody(), 0, r, op)
}

// toAll says whether a request has something to say only to who coordinates its group,
// and nobody need find that out first.
func (c *chaos) toAll(r message.Request) bool {
	switch r := r.(type) {
	case *message.FetchOffsets:
		return true
	case *message.GroupHeartbeat:
		return r.MemberEpoch == message.JoinEpoch && len(r.Owned) == 0
	case *message.CommitOffsets:
		return r.Member != "" && r.Member == c.last.member && r.MemberEpoch == c.last.epoch
	}
	return false
}

func (c *chaos) send(u *user, to message.NodeID, arg int64, r message.Request, op history.Operation) {
	c.open++
	target := client.Target{Kind: client.TheNode, Node: to}
	u.ask(opChaos, arg, op, func(op client.Op) client.Input {
		return client.Ask{Op: op, Request: r, Target: target, Timeout: 5 * message.Second, Once: true}
	})
}

// partition draws a partition: of the chaos topic, of any topic, or none that
// exists.
func (c *chaos) partition(u *user, own bool) record.PartitionID {
	topics := u.world.liveTopics()
	if len(topics) > 0 && !u.random.OneIn(10) {
		t := topics[u.random.Below(int64(len(topics)))]
		for _, other := range topics {
			if own && other.Name == chaosTopic {
				t = other
			}
		}
		if !own || t.Name == chaosTopic {
			return record.PartitionID{Topic: t.ID, Index: int32(u.random.Below(int64(len(t.Partitions)) + 1))}
		}
	}
	return record.PartitionID{Topic: 1_000_000 + record.TopicID(u.random.Below(100)), Index: int32(u.random.Between(-1, 5))}
}

func (c *chaos) offset(u *user) record.Offset {
	if u.random.OneIn(8) {
		return record.Offset(u.random.Uint64())
	}
	return record.Offset(u.random.Between(-2, 300))
}

func (c *chaos) epoch(u *user) record.LeaderEpoch {
	return record.LeaderEpoch(u.random.Between(-1, 12))
}

func (c *chaos) group(u *user) string { return "chaos-" + strconv.Itoa(int(u.random.Below(3))) }

func (c *chaos) member(u *user) string {
	return "m" + strconv.Itoa(u.plan.ID) + "-" + strconv.Itoa(int(u.random.Below(3)))
}

// outsideGroup is a group to which positions are committed from outside only: it
// never has members.
const outsideGroup = "outside"

// lastingGroup is one whose members may stay for as long as a coordinator grants: it
// is mostly never empty. The others of these clients are, and are deleted then.
const lastingGroup = "chaos-0"

// What a coordinator grants at most, as its settings in these plans have it.
const (
	longestSession   = 30 * message.Minute
	longestRebalance = 24 * message.Hour
)

// batch builds one record with a value of its own.
func (c *chaos) batch(u *user) (batch, value []byte) {
	c.n++
	value = []byte("x" + strconv.Itoa(u.plan.ID) + "." + strconv.Itoa(int(u.session)) + "-" + strconv.FormatInt(c.n, 10))
	var b record.Builder
	if b.Append(u.clock.now(u.world.now).Wall, nil, value, nil) != nil {
		panic("sim: a small record does not fit a batch")
	}
	return b.Build(), value
}

// any draws a legal request. What it publishes is noted in the history.
func (c *chaos) any(u *user) (message.Request, history.Operation) {
	r := u.random
	if u.world.transacted && r.OneIn(3) {
		return c.anyOfTransactions(u)
	}
	switch r.Below(14) {
	case 0, 1, 2:
		batch, value := c.batch(u)
		acks := message.Acks(r.Between(-1, 1))
		m := &message.Produce{Acks: acks, Timeout: message.Duration(r.Below(int64(3 * Second)))}
		id := c.partition(u, true)
		if c.n%3 == 0 {
			id, batch = c.numbered(u, id, value)
		}
		m.Partitions = []message.ProducePartition{{ID: id, Records: batch}}
		return m, history.Operation{
			// Raw requests go to whom they please: nobody promises their order, so
			// each counts as a producer of its own.
			Session: u.session<<20 + int32(c.n),
			Kind:    history.Publish, Topic: chaosTopic, TopicID: uint64(id.Topic), Partition: id.Index,
			Value: value, Acks: int8(acks), Timestamp: int64(u.clock.now(u.world.now).Wall),
		}
	case 3, 4:
		m := &message.Fetch{MaxWait: message.Duration(r.Below(int64(Second))), MinBytes: int32(r.Below(1000)), MaxBytes: int32(r.Below(1 << 20))}
		for range r.Between(1, 4) {
			m.Partitions = append(m.Partitions, message.FetchPartition{
				ID: c.partition(u, false), LeaderEpoch: c.epoch(u), Offset: c.offset(u), LastEpoch: c.epoch(u), MaxBytes: int32(r.Below(1 << 16)),
			})
		}
		return m, history.Operation{}
	case 5:
		return &message.ListOffsets{Partitions: []message.ListOffsetsPartition{{
			ID: c.partition(u, false), LeaderEpoch: c.epoch(u), Timestamp: record.Timestamp(r.Between(-3, 3)),
		}}}, history.Operation{}
	case 6:
		return &message.OffsetForLeaderEpoch{Partitions: []message.EpochQuestion{{
			ID: c.partition(u, false), LeaderEpoch: c.epoch(u), Epoch: c.epoch(u),
		}}}, history.Operation{}
	case 7:
		p := message.DeleteRecordsPartition{ID: c.partition(u, true), Before: record.Offset(r.Between(-1, 100))}
		if part := u.world.book.parts[p.ID]; part != nil && p.Before%2 == 0 {
			p.Before = part.high // all that is committed, whatever is open
		}
		return &message.DeleteRecords{Partitions: []message.DeleteRecordsPartition{p}}, history.Operation{}
	case 8:
		return &message.Metadata{}, history.Operation{}
	case 9:
		return &message.InitProducerID{}, history.Operation{}
	case 10:
		return c.anySetting(u), history.Operation{}
	case 11:
		return c.anyOperation(u), history.Operation{}
	}
	return c.anyOfGroup(u), history.Operation{}
}

// anyOfGroup draws a request about groups. On groups of others it never sends
// what could be accepted and change something.
func (c *chaos) anyOfGroup(u *user) message.Request {
	r := u.random
	g := c.group(u)
	switch r.Below(12) {
	case 0:
		return &message.FindCoordinator{Group: g}
	case 1, 2:
		m := &message.GroupHeartbeat{
			Group: g, Member: c.member(u), MemberEpoch: message.MemberEpoch(r.Between(-2, 6)),
			Full: true, SessionTimeout: message.Duration(r.Below(int64(20 * Second))), Topics: []string{chaosTopic},
		}
		if r.OneIn(2) {
			m.Owned = []record.PartitionID{c.partition(u, true)}
		}
		switch {
		case g != lastingGroup && m.MemberEpoch >= 4:
			m.MemberEpoch = message.LeaveEpoch
		case g == lastingGroup:
			switch m.SessionTimeout % 8 { // the longest that anybody may ask for
			case 0:
				m.SessionTimeout = longestSession
			case 1:
				m.SessionTimeout, m.RebalanceTimeout = 0, longestRebalance
			}
		}
		return m
	case 3:
		m := &message.CommitOffsets{Group: g, Member: c.member(u), MemberEpoch: message.MemberEpoch(r.Between(-1, 6))}
		outside := m.MemberEpoch >= 4 // in any topic, as those that come and go are not the clients' own
		present := c.last.epoch > 0 && m.MemberEpoch >= 0 && !outside
		m.Offsets = []message.GroupOffset{{ID: c.partition(u, !outside), Offset: record.Offset(r.Below(100)), LeaderEpoch: -1}}
		if present { // also of what must be nobody's, or another member's
			m.Group, m.Member, m.MemberEpoch = c.last.group, c.last.member, c.last.epoch
			for _, t := range u.world.liveTopics() {
				m.Offsets = append(m.Offsets, message.GroupOffset{ID: record.PartitionID{Topic: t.ID}, LeaderEpoch: -1})
			}
		}
		if outside { // often from the very start
			m.Group, m.Member, m.MemberEpoch = outsideGroup, "", -1
			m.Offsets[0].Offset /= 40
			if u.lastOp%4 == 0 {
				m.Offsets[0].LeaderEpoch = noSuchEpoch
			}
		}
		return m
	case 4:
		if real := c.realGroup(u); real != nil {
			g = real.Group // a stranger's commit to a real group must be refused
		}
		if r.OneIn(2) { // from outside: while it has no members it may, so of what it does not read
			return &message.CommitOffsets{Group: g, MemberEpoch: -1, Offsets: []message.GroupOffset{{ID: c.partition(u, true), LeaderEpoch: -1}}}
		}
		return &message.CommitOffsets{
			Group: g, Member: "stranger", MemberEpoch: message.MemberEpoch(r.Between(0, 6)),
			Offsets: []message.GroupOffset{{ID: c.partition(u, false), Offset: 0, LeaderEpoch: -1}},
		}
	case 5, 10, 11:
		if real := c.realGroup(u); real != nil && !r.OneIn(3) {
			g = real.Group
		}
		// All that there are, and every other time only if no transaction may change one.
		return &message.FetchOffsets{Group: g, MemberEpoch: -1, Stable: u.lastOp%2 == 0}
	case 6:
		return &message.ListGroups{}
	case 7:
		return &message.DescribeGroup{Group: g}
	case 8:
		if m := c.deleteRead(u); m != nil {
			return m
		}
	}
	if r.OneIn(2) {
		if g == lastingGroup {
			g = outsideGroup
		}
		return &message.DeleteGroup{Group: g}
	}
	return &message.DeleteOffsets{Group: g, IDs: []record.PartitionID{c.partition(u, true)}}
}

// wrong draws a request that no broker may accept.
func (c *chaos) wrong(u *user) message.Request {
	r := u.random
	if u.world.transacted && r.OneIn(3) {
		return c.wrongOfTransactions(u)
	}
	batch, _ := c.batch(u)
	m := &message.Produce{Acks: message.AcksAll, Timeout: message.Second}
	m.Partitions = []message.ProducePartition{{ID: c.partition(u, true), Records: batch}}
	switch r.Below(14) {
	case 0:
		batch[len(batch)-1] ^= 0x40 // the checksum does not match any more
	case 1:
		m.Partitions[0].Records = batch[:r.Below(int64(len(batch)))]
	case 2:
		m.Partitions[0].Records = append(batch, 1, 2, 3)
	case 3:
		m.Acks = 7
	case 4:
		if id, ok := c.internal(u); ok && c.n%2 == 0 {
			m.Partitions[0].ID = id // only the cluster itself writes there
		} else {
			m.Partitions[0].Records = nil
		}
	case 5:
		batch[16] = 1 // magic
	case 6:
		return wrongTopic(uint64(u.lastOp))
	case 7:
		return &message.AddPartitions{Name: chaosTopic, Count: -1}
	case 8:
		return &message.GroupHeartbeat{Group: "", Member: "", Full: true}
	case 9, 10, 11:
		return c.wrongSetting(u)
	case 12: // what shards of groups are made of goes only when it is replaced
		if t := u.world.shards(offsetsTopic); t != nil {
			id := record.PartitionID{Topic: t.ID, Index: int32(r.Below(int64(len(t.Partitions))))}
			return &message.DeleteRecords{Partitions: []message.DeleteRecordsPartition{{ID: id, Before: record.Offset(r.Between(-1, 20))}}}
		}
		return c.wrongSetting(u)
	case 13: // a good checksum over a record that is none
		at := record.HeaderSize
		switch c.n % 3 { // not the only one, or with a number that is longer than it may be
		case 0:
			batch, at = c.second(u)
			m.Partitions[0].Records = batch
		case 1:
			m.Partitions[0].Records = longNumber(batch)
			return m
		}
		switch r.Below(5) {
		case 0: // it ends in no number of headers
			batch[len(batch)-1] = 0x01
		case 1:
			batch[len(batch)-1] = 0x80
		case 2: // it is longer than its batch
			batch[at] = 0x7e
		case 3: // or of less than no length
			batch[at] = 0x01
		default: // it ends before the number of its headers
			batch[at] -= 2
		}
		record.SetProducer(batch, record.NoProducerID, -1, -1)
	}
	return m
}

// internal is one after the other of the partitions of the cluster's own topics; false:
// there are none yet.
func (c *chaos) internal(u *user) (record.PartitionID, bool) {
	var all []record.PartitionID
	for _, name := range []string{offsetsTopic, statesTopic} {
		if t := u.world.shards(name); t != nil {
			for _, p := range t.Partitions {
				all = append(all, p.ID)
			}
		}
	}
	if len(all) == 0 {
		return record.PartitionID{}, false
	}
	return all[c.n/2%int64(len(all))], true
}

// second is a batch of two records, and where the second begins.
func (c *chaos) second(u *user) (batch []byte, at int) {
	now := u.clock.now(u.world.now).Wall
	var b record.Builder
	if errors.Join(b.Append(now, nil, []byte("first"), nil), b.Append(now, nil, []byte("second"), nil)) != nil {
		panic("sim: two small records do not fit a batch")
	}
	batch = b.Build()
	return batch, record.HeaderSize + 1 + int(batch[record.HeaderSize]/2)
}

// longNumber writes the offset of the only record of a batch, which is 0, in six bytes:
// one more than a number of 32 bits can have.
func longNumber(batch []byte) []byte {
	const at, more = record.HeaderSize + 3, 5
	out := append(bytes.Clone(batch[:at]), 0x80, 0x80, 0x80, 0x80, 0x80)
	out = append(out, batch[at:]...)
	out[record.HeaderSize] += 2 * more
	size := binary.BigEndian.Uint32(out[8:]) + more
	binary.BigEndian.PutUint32(out[8:], size)
	record.SetProducer(out, record.NoProducerID, -1, -1)
	return out
}

// wrongTopic is a topic with one fault, or with several: one that is refused for
// another fault says nothing about the first.
func wrongTopic(turn uint64) *message.CreateTopic {
	m := &message.CreateTopic{Name: "fine", Partitions: 1, ReplicationFactor: 1}
	turn %= 8
	if turn == 0 || turn == 3 {
		m.Name = "no/such name"
	}
	if turn == 1 || turn == 3 {
		m.Partitions = -3
	}
	if turn == 2 || turn == 3 {
		m.ReplicationFactor = 99
	}
	switch turn { // what is the cluster's own to make, and batches that fit no frame
	case 4:
		m.Name = offsetsTopic
	case 5:
		m.Name = statesTopic
	case 6:
		m.Config.Internal = true
	case 7:
		m.Config.MaxBatchBytes = message.LargestBatch + 1
	}
	return m
}

func (c *chaos) done(u *user, op *openOp, result *client.Result) {
	c.open--
	w := u.world
	if ask, ok := op.ask.(client.Ask); ok && op.id >= 0 {
		if _, ok := ask.Request.(*message.Produce); ok {
			c.published(u, op, result)
		}
	}
	c.groupAnswered(u, op, result)
	c.hears(op, result)
	if u.plan.Undo {
		c.undoes(u, op, result)
	}
	c.moved(u, op, result)
	w.granted(u, op, result)
	u.toldNothing(result)
	u.mayBeAsked(op, result)
	if op.arg == 1 && result.Outcome == client.OK {
		w.fail("INV-10", 0, "a malformed request is answered with success", "client %d sent %s and was told that it succeeded", u.plan.ID, describe(op.ask.(client.Ask).Request))
	}
	c.blamed(u, op, result)
	u.notItsOwn(op, result)
}

// notItsOwn is INV-10 for who wants to make a topic that is the cluster's: that is the
// reason why it cannot, whether there is one yet or not.
func (u *user) notItsOwn(op *openOp, result *client.Result) {
	ask, _ := op.ask.(client.Ask)
	m, ok := ask.Request.(*message.CreateTopic)
	if !ok || m.Name != offsetsTopic && m.Name != statesTopic || result.Err == nil {
		return
	}
	if result.Err.Code == message.TopicAlreadyExists {
		u.world.fail("INV-10", 0, "a topic of the cluster is refused for another reason", "client %d wants to make %q, which only the cluster may, and was told %v", u.plan.ID, m.Name, result.Err.Code)
	}
}

// blamed judges what is said of a batch that no broker may take. One that is not
// what its checksum says, or that ends too soon, was damaged on its way and is
// worth sending again; anything else is wrong in itself, and will be so again.
func (c *chaos) blamed(u *user, op *openOp, result *client.Result) {
	ask, _ := op.ask.(client.Ask)
	m, _ := ask.Request.(*message.Produce)
	if m == nil || len(m.Partitions) != 1 || result.Err == nil {
		return
	}
	_, err := record.Validate(m.Partitions[0].Records)
	if err == nil {
		return
	}
	damaged := errors.Is(err, record.ErrChecksum) || errors.Is(err, record.ErrShort)
	if code := result.Err.Code; damaged && code == message.InvalidRequest || !damaged && code == message.CorruptMessage {
		u.world.fail("INV-10", 0, "a malformed batch is refused for another reason", "client %d sent a batch that cannot be taken (%v) and was told %v", u.plan.ID, err, code)
	}
}

// published notes where a raw produce ended up.
func (c *chaos) published(u *user, op *openOp, result *client.Result) {
	w := u.world
	reply, _ := result.Reply.(*message.ProduceReply)
	outcome, offset := history.Unknown, history.None
	if reply != nil && len(reply.Partitions) == 1 {
		switch p := reply.Partitions[0]; {
		case p.Code == message.None:
			outcome, offset = history.OK, int64(p.BaseOffset)
		case !p.Code.Unknown():
			outcome = history.Failed
		}
	}
	w.history.End(op.id, int64(w.now), outcome, func(o *history.Operation) { o.Offset = offset })
}

func (c *chaos) event(*user, *client.Event) {}

func (c *chaos) idle(*user) (string, bool) {
	if c.open > 0 {
		return strconv.Itoa(c.open) + " requests of a chaos client without an answer", false
	}
	return "", true
}
