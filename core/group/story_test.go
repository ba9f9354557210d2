package group

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

func beatReply(id string, epoch message.MemberEpoch, assignment []record.PartitionID) *message.GroupHeartbeatReply {
	return &message.GroupHeartbeatReply{
		Member: id, MemberEpoch: epoch, Interval: 5 * message.Second, Assigned: true, Assignment: assignment,
	}
}

func TestASecondMemberGetsAPartitionOnlyAfterTheFirstGaveItUp(t *testing.T) {
	b := newBench(t, Config{})
	orders := b.topic("orders", 4)
	a, z := b.process("g", "a", "orders"), b.process("g", "z", "orders")

	require.Equal(t, beatReply("a", 3, parts(orders, 0, 1, 2, 3)), a.beat())
	require.Equal(t, "Stable", b.state("g"))

	require.Equal(t, beatReply("z", 4, nil), z.beat(), "all is held: z waits")
	require.Equal(t, "Reconciling", b.state("g"))
	require.Equal(t, beatReply("z", 4, nil), z.beat(), "a has not heard of it yet")

	before := a.request()
	require.Equal(t, beatReply("a", 6, parts(orders, 0, 1)), a.beat(), "a is told to give two up")
	require.Equal(t, beatReply("z", 4, nil), z.beat(), "told is not done")
	require.Equal(t, beatReply("a", 6, parts(orders, 0, 1)), b.ask(before), "a lost reply is given again")
	require.Equal(t, beatReply("z", 4, nil), z.beat(), "and it confirmed nothing")

	require.Equal(t, beatReply("a", 7, parts(orders, 0, 1)), a.beat(), "now a confirms")
	require.Equal(t, beatReply("z", 8, parts(orders, 2, 3)), z.beat())
	require.Equal(t, "Stable", b.state("g"))

	quiet := &message.GroupHeartbeat{Group: "g", Member: "z", MemberEpoch: 8}
	require.Equal(t, &message.GroupHeartbeatReply{Member: "z", MemberEpoch: 8, Interval: 5 * message.Second}, b.ask(quiet),
		"nothing new is not told again")
}

func (b *bench) state(group string) string {
	return b.ask(&message.DescribeGroup{Group: group}).(*message.DescribeGroupReply).State
}

func TestMembersBeyondThePartitionsIdle(t *testing.T) {
	b := newBench(t, Config{})
	orders := b.topic("orders", 1)
	a, z := b.process("g", "a", "orders"), b.process("g", "z", "orders")
	require.Equal(t, parts(orders, 0), a.beat().Assignment)
	require.Empty(t, z.beat().Assignment)
	require.Equal(t, "Stable", b.state("g"))
	b.ask(&message.GroupHeartbeat{Group: "g", Member: "a", MemberEpoch: message.LeaveEpoch})
	require.Equal(t, parts(orders, 0), z.beat().Assignment)
}

// KAFKA-16147: the target takes a partition away and gives it back before the
// member confirmed; nobody else may get it on the way.
func TestAPartitionThatIsTakenAndGivenBackHasOneOwner(t *testing.T) {
	b := newBench(t, Config{})
	orders := b.topic("orders", 2)
	a, z := b.process("g", "a", "orders"), b.process("g", "z", "orders")
	a.beat()
	z.beat()
	require.Equal(t, parts(orders, 0), a.beat().Assignment, "a is to give 1 up")
	held := a.request() // says that 1 is given up, and is held back

	b.ask(&message.GroupHeartbeat{Group: "g", Member: "z", MemberEpoch: message.LeaveEpoch})
	z.epoch = message.JoinEpoch
	b.sound()
	require.Empty(t, z.beat().Assignment, "a still holds both")

	reply := b.ask(held).(*message.GroupHeartbeatReply)
	a.take(reply)
	b.sound()
	require.Equal(t, parts(orders, 0), a.owned, "each has exactly one")
	require.Equal(t, parts(orders, 1), z.beat().Assignment)
}

// The same, while the member says nothing about what it owns.
func TestAPartitionThatComesBackIsConfirmedFirst(t *testing.T) {
	b := newBench(t, Config{})
	orders := b.topic("orders", 2)
	a, z := b.process("g", "a", "orders"), b.process("g", "z", "orders")
	a.beat()
	z.beat()
	a.beat()
	b.ask(&message.GroupHeartbeat{Group: "g", Member: "z", MemberEpoch: message.LeaveEpoch})
	quiet := &message.GroupHeartbeat{Group: "g", Member: "a", MemberEpoch: a.epoch}
	require.Equal(t, &message.GroupHeartbeatReply{Member: "a", MemberEpoch: a.epoch, Interval: 5 * message.Second}, b.ask(quiet))
	b.sound()
	require.Equal(t, parts(orders, 0, 1), a.beat().Assignment)
}

func TestAnOldHeartbeatConfirmsNothing(t *testing.T) {
	b := newBench(t, Config{})
	b.topic("orders", 2)
	a, z := b.process("g", "a", "orders"), b.process("g", "z", "orders")
	first := a.request()
	a.beat()
	early := a.request()
	early.Owned = nil // from before a took its partitions
	z.beat()
	a.beat() // told to give one up

	digest, _ := b.c.Digest(0)
	require.Equal(t, message.None, b.ask(early).(*message.GroupHeartbeatReply).Code)
	require.Equal(t, message.None, b.ask(first).(*message.GroupHeartbeatReply).Code, "a late join is told where the member stands")
	after, _ := b.c.Digest(0)
	require.Equal(t, digest, after)
	require.Empty(t, z.beat().Assignment)

	a.beat()
	require.Len(t, z.beat().Assignment, 1)
	require.Equal(t, message.FencedMemberEpoch, b.ask(early).(*message.GroupHeartbeatReply).Code, "two epochs old")
}

func TestAMemberThatNamesForeignPartitionsIsFenced(t *testing.T) {
	b := newBench(t, Config{})
	orders := b.topic("orders", 2)
	a := b.process("g", "a", "orders")
	a.beat()
	r := a.request()
	r.Owned = parts(orders, 0, 1, 2)
	require.Equal(t, &message.GroupHeartbeatReply{
		Code: message.FencedMemberEpoch, Member: "a", MemberEpoch: 3,
		Detail: `member "a" names partition 101/2, which it does not own: join again with epoch 0`,
	}, b.ask(r))
}

func TestASilentMemberIsRemovedAndItsCommitsAreRefused(t *testing.T) {
	b := newBench(t, Config{})
	orders := b.topic("orders", 2)
	a, z := b.process("g", "a", "orders"), b.process("g", "z", "orders")
	a.beat()
	zombie := *a
	for range 5 {
		b.pass(25 * message.Second)
		z.beat()
	}
	require.Equal(t, parts(orders, 0, 1), z.owned)
	require.Equal(t, message.UnknownMemberID, zombie.commit(parts(orders, 0)[0], 5).Code)
	require.Equal(t, message.UnknownMemberID, zombie.beat().Code)
	require.Empty(t, zombie.beat().Assignment, "it joins anew, and waits its turn")
}

func TestAMemberThatDoesNotGiveUpInTimeIsRemoved(t *testing.T) {
	b := newBench(t, Config{})
	orders := b.topic("orders", 2)
	a, z := b.process("g", "a", "orders"), b.process("g", "z", "orders")
	a.beat()
	z.beat()
	stubborn := a.request()
	for range 2 {
		b.pass(20 * message.Second)
		a.epoch = b.ask(stubborn).(*message.GroupHeartbeatReply).MemberEpoch
		stubborn.MemberEpoch = a.epoch
		stubborn.Owned = parts(orders, 0, 1) // never gives anything up
		z.beat()
	}
	require.Empty(t, z.owned)
	for range 3 {
		b.pass(20 * message.Second)
		b.ask(stubborn)
		z.beat()
	}
	require.Equal(t, parts(orders, 0, 1), z.owned)
	require.Equal(t, message.UnknownMemberID, b.ask(stubborn).(*message.GroupHeartbeatReply).Code)
}

func TestAStaticMemberComesBackUnderAnotherMemberID(t *testing.T) {
	b := newBench(t, Config{})
	orders := b.topic("orders", 4)
	old, other := b.process("g", "m1", "orders"), b.process("g", "x", "orders")
	old.instance = "i"
	old.beat()
	other.beat()
	old.beat()
	old.beat()
	other.beat()
	kept := old.owned

	next := b.process("g", "m2", "orders")
	next.instance = "i"
	require.Equal(t, message.UnreleasedInstanceID, next.beat().Code, "the old one is alive")

	leave := old.request()
	leave.MemberEpoch, leave.Owned = message.LeaveStaticEpoch, nil
	require.Equal(t, &message.GroupHeartbeatReply{Member: "m1", MemberEpoch: message.LeaveStaticEpoch}, b.ask(leave))
	b.sound()
	require.Equal(t, message.FencedMemberEpoch, old.commit(kept[0], 1).Code, "who left commits nothing")
	b.c.EachOwner(func(_ int32, o Owner) bool {
		require.Equal(t, "x", o.Member)
		return true
	})
	require.Equal(t, parts(orders, 2, 3), other.beat().Assignment, "its place is kept")

	require.Equal(t, kept, next.beat().Assignment)
	zombie := *old
	require.Equal(t, message.FencedInstanceID, zombie.beat().Code)
	require.Equal(t, message.UnknownMemberID, old.commit(kept[0], 1).Code)

	b.failover() // KAFKA-10284: a new coordinator knows it as well
	require.Equal(t, kept, next.beat().Assignment)
	require.Equal(t, message.UnknownMemberID, old.commit(kept[0], 1).Code)
	require.Equal(t, message.None, next.commit(kept[0], 1).Code)
}

func TestAStaticMemberThatStaysAwayLosesItsPlace(t *testing.T) {
	b := newBench(t, Config{})
	orders := b.topic("orders", 2)
	a, z := b.process("g", "a", "orders"), b.process("g", "z", "orders")
	a.instance = "i"
	a.beat()
	z.beat()
	leave := a.request()
	leave.MemberEpoch, leave.Owned = message.LeaveStaticEpoch, nil
	b.ask(leave)
	require.Equal(t, parts(orders, 1), z.beat().Assignment, "who left holds nothing that it was to give up")
	b.pass(29 * message.Second)
	require.Equal(t, parts(orders, 1), z.beat().Assignment)
	b.pass(2 * message.Second)
	require.Equal(t, parts(orders, 0, 1), z.beat().Assignment)
}

func TestAPlaceThatIsKeptShrinksWhenOthersJoin(t *testing.T) {
	b := newBench(t, Config{})
	orders := b.topic("orders", 2)
	a, z := b.process("g", "a", "orders"), b.process("g", "z", "orders")
	a.instance = "i"
	a.beat()
	leave := a.request()
	leave.MemberEpoch, leave.Owned = message.LeaveStaticEpoch, nil
	b.ask(leave)
	require.Equal(t, &message.GroupHeartbeatReply{Member: "a", MemberEpoch: message.LeaveStaticEpoch}, b.ask(leave), "once more")
	require.Equal(t, parts(orders, 1), z.beat().Assignment, "at once: the one who is away has nothing to give up")

	a.epoch = message.JoinEpoch // the same process, under the same member id
	a.topics = nil
	require.Empty(t, a.beat().Assignment, "it gets its place, and is asked to give it up")
	a.beat()
	require.Equal(t, parts(orders, 0, 1), z.beat().Assignment)
}

func TestTimeoutsAreTheMembersOrTheBrokers(t *testing.T) {
	b := newBench(t, Config{SessionTimeout: 10 * message.Second})
	b.topic("orders", 2)
	join := &message.GroupHeartbeat{Group: "g", Member: "a", Topics: []string{"orders"}}
	reply := b.ask(join).(*message.GroupHeartbeatReply)
	require.Equal(t, 10*message.Second/3, reply.Interval, "often enough for the session")
	b.pass(9 * message.Second)
	b.ask(&message.GroupHeartbeat{Group: "g", Member: "a", MemberEpoch: reply.MemberEpoch, SessionTimeout: 20 * message.Second, RebalanceTimeout: message.Second})
	b.sound()
	b.pass(19 * message.Second)
	require.Equal(t, "Stable", b.state("g"))
	require.Equal(t, []ShardView{{Epoch: 1, Serving: true, Groups: 1, Members: 1}}, b.c.Views())
	b.pass(2 * message.Second)
	require.Equal(t, "Empty", b.state("g"))
}

func TestARebalanceTimeoutBeyondTheEndOfTimeIsRefused(t *testing.T) {
	b := newBench(t, Config{})
	b.topic("orders", 2)
	join := func(timeout message.Duration) *message.GroupHeartbeatReply {
		return b.ask(&message.GroupHeartbeat{
			Group: "g", Member: "a", Topics: []string{"orders"}, RebalanceTimeout: timeout,
		}).(*message.GroupHeartbeatReply)
	}
	require.Equal(t, message.InvalidRequest, join(math.MaxInt64).Code)
	require.Equal(t, message.InvalidRequest, join(maxRebalance+1).Code)
	require.Equal(t, message.None, join(maxRebalance).Code)
}

func TestTopicsChangeTheTarget(t *testing.T) {
	b := newBench(t, Config{})
	a := b.process("g", "a", "orders")
	require.Empty(t, a.beat().Assignment, "there is no such topic yet")
	orders := b.topic("orders", 1)
	require.Equal(t, parts(orders, 0), a.beat().Assignment)
	b.topic("orders", 3)
	require.Equal(t, parts(orders, 0, 1, 2), a.beat().Assignment)
	require.Equal(t, message.None, a.commit(parts(orders, 2)[0], 9).Code)

	b.topic("orders", 0)
	again := b.topic("orders", 2)
	b.sound()
	require.NotEqual(t, orders, again)
	a.beat()
	require.Equal(t, parts(again, 0, 1), a.beat().Assignment, "a topic made again is another topic")
	require.Equal(t, &message.FetchOffsetsReply{Offsets: []message.GroupOffset{}}, b.ask(&message.FetchOffsets{Group: "g"}),
		"the offsets went with the topic")
}

func TestTopicsThatWentWhileNobodyLedAreCaughtUpWith(t *testing.T) {
	b := newBench(t, Config{})
	orders := b.topic("orders", 2)
	a := b.process("g", "a", "orders")
	a.beat()
	a.commit(parts(orders, 0)[0], 9)
	delete(b.topics.rows, "orders")
	b.failover()
	b.sound()
	require.Empty(t, a.beat().Assignment)
	require.Empty(t, b.ask(&message.FetchOffsets{Group: "g"}).(*message.FetchOffsetsReply).Offsets)
}

func TestANewCoordinatorGivesFreshSessions(t *testing.T) {
	b := newBench(t, Config{})
	orders := b.topic("orders", 2)
	a := b.process("g", "a", "orders")
	a.beat()
	b.pass(29 * message.Second)
	b.failover()
	b.pass(29 * message.Second)
	require.Equal(t, beatReply("a", 3, parts(orders, 0, 1)), a.beat())
	b.pass(31 * message.Second)
	require.Equal(t, "Empty", b.state("g"))
}

func TestAGroupIsBounded(t *testing.T) {
	b := newBench(t, Config{MaxMembers: 2})
	for _, id := range []string{"a", "b"} {
		require.Equal(t, message.None, b.process("g", id, "orders").beat().Code)
	}
	require.Equal(t, message.GroupMaxSizeReached, b.process("g", "c", "orders").beat().Code)
	require.Equal(t, message.None, b.process("h", "c", "orders").beat().Code, "groups do not touch one another")
}

func TestAGroupMadeAgainNeverRepeatsAnEpoch(t *testing.T) {
	b := newBench(t, Config{})
	orders := b.topic("orders", 1)
	a := b.process("g", "a", "orders")
	a.beat()
	zombie := *a
	b.ask(&message.GroupHeartbeat{Group: "g", Member: "a", MemberEpoch: message.LeaveEpoch})
	require.Equal(t, &message.DeleteGroupReply{}, b.ask(&message.DeleteGroup{Group: "g"}))
	b.failover()
	a.epoch, a.owned = 0, nil
	a.beat()
	require.Greater(t, a.epoch, zombie.epoch)
	require.Equal(t, message.StaleMemberEpoch, zombie.commit(parts(orders, 0)[0], 1).Code)
}

func TestDescribeAndList(t *testing.T) {
	b := newBench(t, Config{})
	orders := b.topic("orders", 2)
	a := b.process("g", "a", "orders")
	a.instance = "i"
	a.beat()
	a.commit(parts(orders, 1)[0], 42)
	require.Equal(t, &message.DescribeGroupReply{
		Group: "g", State: "Stable", Epoch: 3,
		Members: []message.MemberInfo{{
			Member: "a", Instance: "i", Epoch: 3, Topics: []string{"orders"},
			Assigned: parts(orders, 0, 1), Target: parts(orders, 0, 1),
		}},
		Offsets: []message.GroupOffset{{ID: parts(orders, 1)[0], Offset: 42, LeaderEpoch: 7}},
	}, b.ask(&message.DescribeGroup{Group: "g"}))
	require.Equal(t, &message.DescribeGroupReply{Code: message.GroupIDNotFound, Group: "h", State: "Dead"},
		b.ask(&message.DescribeGroup{Group: "h"}))
	require.Equal(t, &message.ListGroupsReply{Groups: []message.GroupListing{{Group: "g", State: "Stable", Members: 1}}},
		b.ask(&message.ListGroups{}))
	require.Equal(t, &message.DeleteGroupReply{Code: message.NonEmptyGroup}, b.ask(&message.DeleteGroup{Group: "g"}))
	require.Equal(t, &message.DeleteGroupReply{Code: message.GroupIDNotFound}, b.ask(&message.DeleteGroup{Group: "h"}))
}
