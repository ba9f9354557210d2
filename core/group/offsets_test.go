package group

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

const day = 24 * message.Hour

func TestOnlyTheOwnerUnderItsEpochCommits(t *testing.T) {
	b := newBench(t, Config{})
	orders := b.topic("orders", 4)
	a, z := b.process("g", "a", "orders"), b.process("g", "z", "orders")
	a.beat()
	z.beat()
	a.beat()
	p0, p3 := parts(orders, 0)[0], parts(orders, 3)[0]

	require.Equal(t, &message.CommitOffsetsReply{Offsets: []message.CommittedOffset{{ID: p3}}}, a.commit(p3, 5),
		"what a is to give up it may still commit")
	a.beat()
	z.beat()
	require.Equal(t, &message.CommitOffsetsReply{Offsets: []message.CommittedOffset{{ID: p3, Code: message.StaleMemberEpoch}}},
		a.commit(p3, 6), "what it gave up it may not")
	require.Equal(t, &message.CommitOffsetsReply{Offsets: []message.CommittedOffset{{ID: p3}}}, z.commit(p3, 7))

	early, late := *a, *a
	early.epoch--
	late.epoch++
	require.Equal(t, message.StaleMemberEpoch, early.commit(p0, 1).Code)
	require.Equal(t, message.FencedMemberEpoch, late.commit(p0, 1).Code)
	require.Equal(t, message.UnknownMemberID, b.process("g", "x").commit(p0, 1).Code)
	require.Equal(t, message.UnknownMemberID, b.process("h", "x").commit(p0, 1).Code)
	require.Equal(t, message.UnknownMemberID, b.ask(outside("g", p0, 1)).(*message.CommitOffsetsReply).Code,
		"from outside only while there are no members")
	nameless := outside("h", p0, 1)
	nameless.MemberEpoch = 0
	require.Equal(t, message.UnknownMemberID, b.ask(nameless).(*message.CommitOffsetsReply).Code)

	fetch := &message.FetchOffsets{Group: "g", Member: "a", MemberEpoch: early.epoch}
	require.Equal(t, &message.FetchOffsetsReply{Code: message.StaleMemberEpoch}, b.ask(fetch))
	fetch.MemberEpoch = a.epoch
	require.Equal(t, &message.FetchOffsetsReply{Offsets: []message.GroupOffset{{ID: p3, Offset: 7, LeaderEpoch: 7}}}, b.ask(fetch))
	require.Equal(t, &message.FetchOffsetsReply{Offsets: []message.GroupOffset{
		{ID: p3, Offset: 7, LeaderEpoch: 7}, {ID: p0, Offset: message.NoOffset, LeaderEpoch: record.NoLeaderEpoch},
	}}, b.ask(&message.FetchOffsets{Group: "g", IDs: []record.PartitionID{p3, p0}}))
	require.Equal(t, &message.FetchOffsetsReply{Offsets: []message.GroupOffset{}}, b.ask(&message.FetchOffsets{Group: "nobody"}))
}

// The position a member has committed last is not moved back by an earlier
// attempt that was under way all the time; also not after the coordinator has
// moved, for a late request may find any node coordinating again.
func TestALateAttemptOfAnEarlierCommitIsRefused(t *testing.T) {
	b := newBench(t, Config{})
	p0 := parts(b.topic("orders", 1), 0)[0]
	a := b.process("g", "a", "orders")
	a.beat()
	commit := func(number uint64, offset record.Offset) message.Code {
		reply := b.ask(&message.CommitOffsets{Group: "g", Member: "a", MemberEpoch: a.epoch, Number: number,
			Offsets: []message.GroupOffset{{ID: p0, Offset: offset}}}).(*message.CommitOffsetsReply)
		require.Equal(t, message.None, reply.Code)
		require.Len(t, reply.Offsets, 1)
		return reply.Offsets[0].Code
	}
	require.Equal(t, message.None, commit(1, 166))
	require.Equal(t, message.None, commit(3, 194))
	for range 2 {
		require.Equal(t, message.OutOfOrderSequence, commit(1, 166), "it was answered long ago")
		require.Equal(t, message.OutOfOrderSequence, commit(2, 180), "it was given up")
		require.Equal(t, message.None, commit(3, 194), "a repeat of the newest is one")
		require.Equal(t, record.Offset(194), b.position("g", p0))
		b.failover()
	}
	require.Equal(t, message.None, commit(4, 194), "it changes nothing but what is late")
	require.Equal(t, message.OutOfOrderSequence, commit(3, 200))
	require.Equal(t, message.None, commit(5, 170), "who seeks back may commit that")
	require.Equal(t, record.Offset(170), b.position("g", p0))

	a.epoch = message.LeaveEpoch
	a.beat()
	a.epoch = message.JoinEpoch // who joins anew counts anew
	a.beat()
	require.Equal(t, message.None, commit(1, 160))
	require.Equal(t, record.Offset(160), b.position("g", p0))
	b.sound()
}

// Who reads on from a position looks for a leader of its epoch or a later one: none is
// stored that never was. The coordinator may also be the one who has not heard of it yet.
func TestAPositionOfAnEpochThatIsNotKnownIsNotStored(t *testing.T) {
	b := newBench(t, Config{})
	p0 := parts(b.topic("orders", 1), 0)[0]
	commit := func(epoch record.LeaderEpoch) message.Code {
		reply := b.ask(&message.CommitOffsets{Group: "g", MemberEpoch: -1,
			Offsets: []message.GroupOffset{{ID: p0, Offset: 5, LeaderEpoch: epoch}}}).(*message.CommitOffsetsReply)
		require.Equal(t, message.None, reply.Code)
		return reply.Offsets[0].Code
	}
	require.Equal(t, message.InvalidRequest, commit(record.NoLeaderEpoch-1))
	require.Equal(t, message.UnknownLeaderEpoch, commit(8))
	require.Equal(t, message.NoOffset, b.position("g", p0))
	pending := enlisting("g", 3, 1, p0, 5)
	pending.Offsets[0].LeaderEpoch = 8
	require.Equal(t, []message.CommittedOffset{{ID: p0, Code: message.UnknownLeaderEpoch}}, b.pending(pending).Offsets)
	b.topics.epochs = map[record.PartitionID]record.LeaderEpoch{p0: 8}
	require.Equal(t, message.None, commit(8))
	require.Equal(t, record.Offset(5), b.position("g", p0))
	require.Equal(t, message.None, commit(record.NoLeaderEpoch), "it need not be known")
	b.sound()
}

func TestEachOffsetIsCheckedByItself(t *testing.T) {
	b := newBench(t, Config{MaxNote: 3})
	orders := b.topic("orders", 2)
	ids := parts(orders, 0, 1, 2, -1)
	strange := record.PartitionID{Topic: 77}
	require.Equal(t, &message.CommitOffsetsReply{Offsets: []message.CommittedOffset{
		{ID: ids[0]},
		{ID: ids[1], Code: message.OffsetMetadataTooLarge},
		{ID: ids[2], Code: message.UnknownTopicOrPartition},
		{ID: ids[3], Code: message.UnknownTopicOrPartition},
		{ID: strange, Code: message.UnknownTopicID},
		{ID: ids[1], Code: message.OffsetOutOfRange},
	}}, b.ask(&message.CommitOffsets{Group: "g", MemberEpoch: -1, Offsets: []message.GroupOffset{
		{ID: ids[0], Offset: 1, Note: "abc"},
		{ID: ids[1], Offset: 1, Note: "abcd"},
		{ID: ids[2], Offset: 1},
		{ID: ids[3], Offset: 1},
		{ID: strange, Offset: 1},
		{ID: ids[1], Offset: -1},
	}}))
	b.sound()
	require.Equal(t, &message.FetchOffsetsReply{Offsets: []message.GroupOffset{{ID: ids[0], Offset: 1, Note: "abc"}}},
		b.ask(&message.FetchOffsets{Group: "g"}))
}

func TestACommitThatChangesNothingWritesNothing(t *testing.T) {
	b := newBench(t, Config{})
	p := parts(b.topic("orders", 1), 0)[0]
	a := b.process("g", "a", "orders")
	a.beat()
	a.commit(p, 5)
	end := b.end
	require.Equal(t, message.None, a.commit(p, 5).Offsets[0].Code)
	require.Equal(t, end, b.end)
	require.Equal(t, message.None, a.commit(p, 4).Offsets[0].Code, "going back is allowed")
	require.Equal(t, record.Offset(4), b.position("g", p))
}

// KIP-211: the retention of offsets counts from the moment when the group
// became empty, and not while it lives, however idle.
func TestOffsetsOutliveTheRetentionWhileTheGroupLives(t *testing.T) {
	b := newBench(t, Config{})
	p := parts(b.topic("orders", 1), 0)[0]
	a := b.process("g", "a", "orders")
	a.beat()
	a.commit(p, 5)
	for range 30 {
		for range 20 {
			b.pass(25 * message.Second)
			a.beat()
		}
		b.now.Wall += record.Timestamp(day / message.Millisecond)
		b.now.Mono = b.now.Mono.Add(5 * message.Second)
	}
	require.Equal(t, record.Offset(5), b.position("g", p))

	b.pass(40 * message.Second)
	require.Equal(t, "Empty", b.state("g"))
	b.pass(7*day - 30*message.Second)
	require.Equal(t, record.Offset(5), b.position("g", p))
	b.failover() // the time of becoming empty is in the log
	b.pass(message.Minute)
	require.Equal(t, message.NoOffset, b.position("g", p))
	require.Equal(t, "Dead", b.state("g"), "and the group with them")
	b.sound()
}

func TestCommitsFromOutsideKeepAnEmptyGroupAlive(t *testing.T) {
	b := newBench(t, Config{})
	orders := b.topic("orders", 2)
	old, young := parts(orders, 0)[0], parts(orders, 1)[0]
	b.ask(outside("g", old, 1))
	b.pass(5 * day)
	b.ask(outside("g", young, 1))
	b.pass(3 * day)
	require.Equal(t, message.NoOffset, b.position("g", old))
	require.Equal(t, record.Offset(1), b.position("g", young))
	b.ask(outside("g", young, 1))
	b.pass(6 * day)
	require.Equal(t, record.Offset(1), b.position("g", young))
	b.pass(day)
	require.Equal(t, "Dead", b.state("g"))
}

func TestAPositionExpiresAlsoInAGroupThatHeldNone(t *testing.T) {
	b := newBench(t, Config{OffsetRetention: 10 * message.Minute})
	p := parts(b.topic("orders", 1), 0)[0]
	for range 2 {
		b.ask(outside("g", p, 1))
		b.pass(9 * message.Minute)
		require.Equal(t, record.Offset(1), b.position("g", p))
		b.pass(2 * message.Minute)
		require.Equal(t, message.NoOffset, b.position("g", p))
		require.Equal(t, "Empty", b.state("g"), "an empty group stays for a while")
	}
}

func TestAClockThatJumpsBackExpiresNothingEarly(t *testing.T) {
	b := newBench(t, Config{})
	p := parts(b.topic("orders", 1), 0)[0]
	b.ask(outside("g", p, 1))
	b.now.Wall -= record.Timestamp(3 * day / message.Millisecond)
	b.pass(8 * day)
	require.Equal(t, record.Offset(1), b.position("g", p))
	b.pass(3 * day)
	require.Equal(t, message.NoOffset, b.position("g", p))
}

func TestAnEmptyGroupWithoutOffsetsGoes(t *testing.T) {
	b := newBench(t, Config{})
	a := b.process("g", "a", "orders")
	a.beat()
	b.pass(31 * message.Second)
	b.pass(59 * message.Minute)
	require.Equal(t, "Empty", b.state("g"))
	b.pass(2 * message.Minute)
	require.Equal(t, "Dead", b.state("g"))
	require.Equal(t, message.Never, b.c.Wake())
	b.sound()
}

func TestDeleteOffsetsSparesWhatIsRead(t *testing.T) {
	b := newBench(t, Config{})
	orders, bills := b.topic("orders", 1), b.topic("bills", 1)
	both := []record.PartitionID{parts(orders, 0)[0], parts(bills, 0)[0]}
	a := b.process("g", "a", "orders")
	b.ask(outside("g", both[0], 1))
	b.ask(outside("g", both[1], 1))
	a.beat()
	request := &message.DeleteOffsets{Group: "g", IDs: both}
	require.Equal(t, &message.DeleteOffsetsReply{Offsets: []message.CommittedOffset{
		{ID: both[0], Code: message.GroupSubscribedToTopic}, {ID: both[1]},
	}}, b.ask(request))
	b.sound()
	require.Equal(t, record.Offset(1), b.position("g", both[0]))
	require.Equal(t, message.NoOffset, b.position("g", both[1]))
	request.Group = "nobody"
	require.Equal(t, message.GroupIDNotFound, b.ask(request).(*message.DeleteOffsetsReply).Code)
}

func TestBadInputGetsAClearAnswer(t *testing.T) {
	b := newBench(t, Config{})
	long := strings.Repeat("x", 300)
	for name, c := range map[string]struct {
		change func(*message.GroupHeartbeat)
		want   message.GroupHeartbeatReply
	}{
		"no group":          {func(r *message.GroupHeartbeat) { r.Group = "" }, message.GroupHeartbeatReply{Code: message.InvalidGroupID, Detail: "a group's name has 1 to 249 bytes; this one has 0"}},
		"no member":         {func(r *message.GroupHeartbeat) { r.Member = "" }, message.GroupHeartbeatReply{Code: message.InvalidRequest, Detail: "a member id has 1 to 255 bytes; this one has 0"}},
		"long instance":     {func(r *message.GroupHeartbeat) { r.Instance = long }, message.GroupHeartbeatReply{Code: message.InvalidRequest, Detail: "an instance id has at most 249 bytes; this one has 300"}},
		"strange epoch":     {func(r *message.GroupHeartbeat) { r.MemberEpoch = -3 }, message.GroupHeartbeatReply{Code: message.InvalidRequest, MemberEpoch: -3, Detail: "a member epoch is -2 or above; this one is -3"}},
		"dynamic pause":     {func(r *message.GroupHeartbeat) { r.MemberEpoch = -2 }, message.GroupHeartbeatReply{Code: message.InvalidRequest, MemberEpoch: -2, Detail: "only a static member can leave for a while: an instance id is needed"}},
		"join with things":  {func(r *message.GroupHeartbeat) { r.Owned = parts(1, 0) }, message.GroupHeartbeatReply{Code: message.InvalidRequest, Detail: "a member that joins must own nothing; this one names 1 partitions"}},
		"short session":     {func(r *message.GroupHeartbeat) { r.SessionTimeout = 1 }, message.GroupHeartbeatReply{Code: message.InvalidRequest, Detail: "a session timeout is from 1000 ms to 1800000 ms; this one is 0 ms"}},
		"negative patience": {func(r *message.GroupHeartbeat) { r.RebalanceTimeout = -1 }, message.GroupHeartbeatReply{Code: message.InvalidRequest, Detail: "a rebalance timeout cannot be negative"}},
		"nameless topic":    {func(r *message.GroupHeartbeat) { r.Topics = []string{""} }, message.GroupHeartbeatReply{Code: message.InvalidTopic, Detail: "a topic's name has 1 to 249 bytes; one of the subscription has 0"}},
		"too many topics":   {func(r *message.GroupHeartbeat) { r.Topics = make([]string, 1001) }, message.GroupHeartbeatReply{Code: message.InvalidRequest, Detail: "a member subscribes to at most 1000 topics; this one to 1001"}},
		"negative index":    {func(r *message.GroupHeartbeat) { r.MemberEpoch, r.Owned = 1, parts(1, -1) }, message.GroupHeartbeatReply{Code: message.InvalidRequest, MemberEpoch: 1, Detail: "partition 1/-1 does not exist"}},
		"unknown member":    {func(r *message.GroupHeartbeat) { r.MemberEpoch = -1 }, message.GroupHeartbeatReply{Code: message.UnknownMemberID, MemberEpoch: -1, Detail: `group "g" has no members: join again with epoch 0`}},
	} {
		r := &message.GroupHeartbeat{Group: "g", Member: "a"}
		c.change(r)
		c.want.Member = r.Member
		require.Equal(t, &c.want, b.ask(r), name)
	}
	require.Equal(t, &message.Refused{Code: message.InvalidRequest, Detail: "a group coordinator does not answer Metadata"}, b.ask(&message.Metadata{}))
	delete(b.topics.rows, TopicName)
	require.Equal(t, message.CoordinatorNotAvailable, b.ask(&message.FetchOffsets{Group: "g"}).(*message.FetchOffsetsReply).Code)
}

func TestAMemberKeepsItsIdentity(t *testing.T) {
	b := newBench(t, Config{})
	a := b.process("g", "a", "orders")
	a.beat()
	r := a.request()
	r.Instance = "i"
	require.Equal(t, message.InvalidRequest, b.ask(r).(*message.GroupHeartbeatReply).Code)
	r.MemberEpoch = message.JoinEpoch
	require.Equal(t, message.InvalidRequest, b.ask(r).(*message.GroupHeartbeatReply).Code)
}

func TestIdleGroupsCostNothing(t *testing.T) {
	b := newBench(t, Config{})
	p := parts(b.topic("orders", 1), 0)[0]
	for i := range 10_000 {
		b.ask(outside(fmt.Sprintf("g%d", i), p, 1))
	}
	wake := b.c.Wake()
	require.Equal(t, message.Time(1000).Add(message.Hour), wake, "the first look at the first group")
	require.Zero(t, testing.AllocsPerRun(100, func() {
		b.c.Tick(b.now, &b.out)
		b.c.Wake()
	}))
	a := b.process("busy", "a", "orders")
	a.beat()
	quiet := &message.GroupHeartbeat{Group: "busy", Member: "a", MemberEpoch: a.epoch}
	end := b.end
	for range 100 {
		b.now.Mono++
		b.ask(quiet)
	}
	require.Equal(t, end, b.end, "heartbeats without news write nothing")
	require.Equal(t, 10_001, b.c.shards.Books()[0].state.timers.Len(), "one timer for each group and member")
}
