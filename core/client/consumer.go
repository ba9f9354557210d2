package client

import (
	"fmt"
	"slices"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// consumer reads partitions: those that a group's coordinator gives it, or
// those that the application named.
type consumer struct {
	c      *Client
	mode   mode
	group  string // empty: positions are not committed
	style  Style
	reset  Reset
	auto   autoCommit
	member *member  // of a group; nil in other modes
	ending []func() // told when the Unsubscribe that is under way is done

	flows     map[record.PartitionID]*flow
	list      []*flow // by id
	stretches uint64  // counts the positions that flows were set to
	turn      int     // the flow that is served first by the next Poll
	spin      int     // the flow that is named first by the next fetch
	routes    []route // room for the next plan
	awaited   []start // assigned by hand, of topics not known yet
	buffered  int64   // bytes fetched and not handed over
	polls     []*poll
	handing   *handover
	commits   committer
	expelled  *Error // what Polls fail with

	stir  bool  // something may be fetched or asked now
	nudge alarm // sets stir again

	askingCommitted bool
	committedFails  int
	committedRest   message.Time
}

// mode is who chooses the partitions.
type mode uint8

const (
	idle    mode = iota
	manual       // the application
	grouped      // the coordinator of a group
)

// start is a partition that waits for its topic to become known.
type start struct {
	Start
	until message.Time
}

func (k *consumer) init(c *Client) {
	k.c = c
	k.flows = map[record.PartitionID]*flow{}
	k.nudge.Due = func() { k.stir = true }
	k.auto.alarm.Due = k.autoDue
	k.commits.init(k)
}

// operate begins an operation of the application.
func (k *consumer) operate(in Input) {
	switch in := in.(type) {
	case Subscribe:
		k.subscribe(in)
	case Assign:
		k.assign(in)
	case Seek:
		k.seek(in)
	case Poll:
		k.poll(in)
	case Commit:
		k.commit(in)
	case Pause:
		k.pause(in.Op, in.Partitions, true)
	case Resume:
		k.pause(in.Op, in.Partitions, false)
	case Positions:
		k.positions(in)
	case Committed:
		k.committed(in)
	case Rewind:
		k.rewind()
		k.c.transactor.rewound()
		k.c.succeed(in.Op, Result{})
	case Unsubscribe:
		k.unsubscribe(func() { k.c.succeed(in.Op, Result{}) })
	}
}

func (k *consumer) misused(op Op, detail string) {
	k.c.fail(op, NotDone, &Error{Problem: Misused, Detail: detail})
}

func (k *consumer) subscribe(in Subscribe) {
	switch {
	case in.Group == "" || len(in.Topics) == 0 || slices.Contains(in.Topics, ""):
		k.misused(in.Op, "subscribe: name a group and at least one topic")
		return
	case in.AutoCommit && in.Style != AtLeastOnce:
		k.misused(in.Op, "subscribe: AutoCommit is for AtLeastOnce: AtMostOnce commits before it hands over")
		return
	case len(k.ending) > 0 || k.mode == manual || k.mode == grouped && k.expelled == nil && (k.group != in.Group || k.member.instance != in.Instance):
		k.misused(in.Op, "subscribe: the client reads something else: Unsubscribe first, and wait until it is done")
		return
	}
	topics := slices.Clone(in.Topics)
	slices.Sort(topics)
	topics = slices.Compact(topics)
	fresh := k.mode == idle || k.expelled != nil
	k.mode, k.group, k.style, k.reset, k.expelled = grouped, in.Group, in.Style, in.Reset, nil
	k.auto.on = in.AutoCommit
	for _, name := range topics {
		k.c.cluster.topic(name)
	}
	if fresh {
		k.member = newMember(k, in.Group, in.Instance, topics)
		k.member.join()
	} else {
		k.member.resubscribe(topics)
	}
	k.c.transactor.subscribed()
	k.c.succeed(in.Op, Result{})
}

func (k *consumer) assign(in Assign) {
	switch {
	case len(k.ending) > 0 || k.mode == grouped:
		k.misused(in.Op, "assign: the client is a member of a group: Unsubscribe first, and wait until it is done")
		return
	case slices.ContainsFunc(in.Partitions, func(s Start) bool { return s.Topic == "" || s.Partition < 0 || s.From.Offset < 0 }):
		k.misused(in.Op, "assign: name a topic, a partition of 0 or above and an offset of 0 or above")
		return
	}
	k.dropAll()
	k.mode, k.group, k.style, k.reset = manual, in.Group, in.Style, in.Reset
	k.awaited = nil
	until := k.c.now.Mono.Add(k.c.cfg.TopicTimeout)
	for _, s := range in.Partitions {
		k.c.cluster.topic(s.Topic)
		k.awaited = append(k.awaited, start{s, until})
	}
	k.placeAwaited()
	k.c.alarms.Sooner(&k.nudge, until)
	k.c.succeed(in.Op, Result{})
}

// placeAwaited begins to read what was assigned by hand and is known now.
func (k *consumer) placeAwaited() {
	left := k.awaited[:0]
	for _, s := range k.awaited {
		t := k.c.cluster.topic(s.Topic)
		switch {
		case t.known && int(s.Partition) < len(t.parts):
			k.add(record.PartitionID{Topic: t.id, Index: s.Partition}, s.Place).begin(s.From)
		case k.c.now.Mono >= s.until && t.told >= s.until.Add(-k.c.cfg.TopicTimeout): // silence is no answer
			k.c.out.Add(Event{Kind: Stuck, Group: k.group, Partitions: []PlacedID{{Place: s.Place}},
				Err: &Error{Problem: NoSuchTopic, Code: message.UnknownTopicOrPartition, Detail: fmt.Sprintf("no broker knows %s/%d: create it, then Assign it", s.Topic, s.Partition)}})
		default:
			k.c.cluster.want()
			left = append(left, s)
		}
	}
	k.awaited = left
}

// add begins a flow, or finds the one that is there.
func (k *consumer) add(id record.PartitionID, place Place) *flow {
	if f := k.flows[id]; f != nil {
		return f
	}
	f := newFlow(k, id, place)
	k.flows[id] = f
	i, _ := slices.BinarySearchFunc(k.list, id, func(f *flow, id record.PartitionID) int { return f.id.Compare(id) })
	k.list = slices.Insert(k.list, i, f)
	return f
}

// drop ends a flow.
func (k *consumer) drop(f *flow) {
	f.dead = true
	f.discard()
	delete(k.flows, f.id)
	if i := slices.Index(k.list, f); i >= 0 {
		k.list = slices.Delete(k.list, i, i+1)
	}
}

// dropAll ends all flows and returns which they were.
func (k *consumer) dropAll() []PlacedID {
	ids := placed(k.list)
	for len(k.list) > 0 {
		k.drop(k.list[len(k.list)-1])
	}
	return ids
}

func placed(flows []*flow) []PlacedID {
	if len(flows) == 0 {
		return nil
	}
	ids := make([]PlacedID, 0, len(flows))
	for _, f := range flows {
		ids = append(ids, PlacedID{f.place, f.id})
	}
	return ids
}

// find is the flow of a partition by name.
func (k *consumer) find(p Place) *flow {
	for _, f := range k.list {
		if f.place == p {
			return f
		}
	}
	return nil
}

func (k *consumer) notReading(op Op, p Place) {
	k.c.fail(op, NotDone, &Error{Problem: NotReading, Detail: fmt.Sprintf("%s/%d is not being read by this client", p.Topic, p.Partition)})
}

func (k *consumer) seek(in Seek) {
	f := k.find(in.Place)
	switch {
	case f == nil || f.leaving:
		k.notReading(in.Op, in.Place)
	case in.From.Kind > AtCommitted || in.From.Kind == AtOffset && in.From.Offset < 0:
		k.misused(in.Op, "seek: name an offset of 0 or above, or another kind of position")
	default:
		f.begin(in.From)
		k.c.succeed(in.Op, Result{})
	}
}

// rewind has everything read again that was handed over and is not committed.
func (k *consumer) rewind() {
	if k.group == "" {
		return
	}
	for _, f := range k.list {
		if f.stage == reading && f.used && !f.leaving && f.given != f.committed {
			f.begin(Position{Kind: AtCommitted})
			f.goBack, f.used = true, false // what was handed over counts no more
		}
	}
}

func (k *consumer) pause(op Op, places []Place, on bool) {
	flows := k.list
	if places != nil {
		flows = nil
	}
	for _, p := range places {
		f := k.find(p)
		if f == nil {
			k.notReading(op, p)
			return
		}
		flows = append(flows, f)
	}
	for _, f := range flows {
		f.paused = on
	}
	k.stir = true
	k.c.succeed(op, Result{})
}

func (k *consumer) positions(in Positions) {
	list := make([]PartitionOffset, 0, len(k.list))
	for _, f := range k.list {
		at := PartitionOffset{PlacedID: PlacedID{f.place, f.id}, Offset: f.given, LeaderEpoch: f.givenEpoch}
		if before, ok := k.handing.of(f); ok {
			at.Offset, at.LeaderEpoch = before.Offset, before.LeaderEpoch
		}
		if !f.placed() {
			at.Offset, at.LeaderEpoch = message.NoOffset, record.NoLeaderEpoch
		}
		list = append(list, at)
	}
	k.c.succeed(in.Op, Result{Offsets: list})
}

// committed asks the coordinator, whatever this client believes.
func (k *consumer) committed(in Committed) {
	if k.group == "" {
		k.misused(in.Op, "committed: the client reads for no group")
		return
	}
	places := in.Partitions
	if places == nil {
		for _, f := range k.list {
			places = append(places, f.place)
		}
	}
	var ids []record.PartitionID
	group := k.group
	prepare := func() (message.Request, bool) {
		ids = make([]record.PartitionID, 0, len(places))
		for _, p := range places {
			t := k.c.cluster.topic(p.Topic)
			if !t.known {
				return nil, false
			}
			ids = append(ids, record.PartitionID{Topic: t.id, Index: p.Partition})
		}
		return &message.FetchOffsets{Group: group, MemberEpoch: -1, IDs: ids, Stable: k.stable()}, true
	}
	finish := func(r Result) {
		if m, ok := r.Reply.(*message.FetchOffsetsReply); ok && r.Err == nil {
			for i, id := range ids {
				r.Offsets = append(r.Offsets, committedIn(m, PlacedID{places[i], id}))
			}
		}
		r.Reply = nil
		k.c.succeed(in.Op, r)
	}
	k.c.begin(&ask{target: Target{Kind: Coordinator, Group: group}, prepare: prepare, finish: finish}, k.c.cfg.AskTimeout)
}

// committedIn finds the position of a partition in a reply.
func committedIn(m *message.FetchOffsetsReply, id PlacedID) PartitionOffset {
	for _, o := range m.Offsets {
		if o.ID == id.ID && o.Offset >= 0 {
			return PartitionOffset{PlacedID: id, Offset: o.Offset, LeaderEpoch: o.LeaderEpoch, Note: o.Note}
		}
	}
	return PartitionOffset{PlacedID: id, Offset: message.NoOffset, LeaderEpoch: record.NoLeaderEpoch}
}

// unsubscribe stops reading and tells done when the group has been left.
func (k *consumer) unsubscribe(done func()) {
	k.ending = append(k.ending, done)
	if len(k.ending) > 1 {
		return
	}
	k.endPolls(&Error{Problem: NotReading, Detail: "poll: the client has stopped reading"})
	ended := func() {
		k.dropAll()
		k.mode, k.group, k.member, k.expelled, k.awaited = idle, "", nil, nil, nil
		k.auto.on = false
		k.c.alarms.Stop(&k.auto.alarm)
		told := k.ending
		k.ending = nil
		for _, done := range told {
			done()
		}
	}
	if k.mode == grouped {
		k.member.leave(func() { k.commits.whenIdle(ended) })
		return
	}
	k.commits.whenIdle(ended)
}

// refreshed looks again at what waits for metadata.
func (k *consumer) refreshed() {
	k.stir = true
	if k.mode == grouped {
		k.member.reconcile()
	}
}
