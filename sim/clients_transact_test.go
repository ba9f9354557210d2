package sim

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/client"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/metadata"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/history"
)

// A worker takes less when its transactions are open for too long, and not when
// another one with its id comes between: two that share an id do that to each other
// for as long as there is work.
func TestAWorkerTakesLessOnlyWhenItsTransactionsAreTooLong(t *testing.T) {
	for _, c := range []struct {
		limit, lasted Span
		most          int
	}{
		{3 * Second, 3 * Second, 100},
		{3 * Second, 3*Second + 1, 50},
		{0, 100 * Second, 100},
	} {
		s := newStage(t)
		u := s.clients[0]
		plan := *u.plan
		plan.Limit = c.limit
		u.plan = &plan
		s.now, s.phase = 200*Second, draining
		k := &worker{}
		x := &transaction{since: s.now - c.lasted, id: s.history.Begin(history.Operation{Kind: history.Transact})}
		k.now = x
		fenced := &client.Result{Outcome: client.NotDone, Err: &client.Error{Problem: client.Fenced, Code: message.ProducerFenced}}
		require.Equal(t, gone, k.over(u, x, client.Verdict{Next: client.ToRewind, Outcome: client.NotDone}, fenced))
		require.Equal(t, c.most, k.most(u), "%+v", c)
	}
}

// Two that share an id fence each other for as long as both have work, and none of it is
// the cluster's doing. After the faults who is fenced leaves the work to the other one,
// if that does the same, and goes on; and nobody misses it.
func TestWhoIsReplacedAfterTheFaultsStaysAway(t *testing.T) {
	mine := ClientPlan{ID: 1, Role: Worker, Topics: []string{"in"}, Into: []string{"out"}, Group: "g", Transactional: "x", Limit: Second}
	for _, c := range []struct {
		name  string
		given func(s *stage, u, other *user, plan *ClientPlan)
		back  bool
	}{
		{"the other one works", func(*stage, *user, *user, *ClientPlan) {}, false},
		{"while it rests too", func(s *stage, _, _ *user, _ *ClientPlan) { s.phase = resting }, false},
		{"among faults they fence each other", func(s *stage, _, _ *user, _ *ClientPlan) { s.phase = faulting }, true},
		{"the other one is down", func(_ *stage, _, other *user, _ *ClientPlan) { other.up = false }, true},
		{"it leaves", func(_ *stage, _, other *user, _ *ClientPlan) { other.closing = true }, true},
		{"it is about to leave", func(_ *stage, _, _ *user, p *ClientPlan) { p.Stop = Second }, true},
		{"it has another id", func(_ *stage, _, _ *user, p *ClientPlan) { p.Transactional = "y" }, true},
		{"it works for another group", func(_ *stage, _, _ *user, p *ClientPlan) { p.Group = "h" }, true},
		{"it reads something else", func(_ *stage, _, _ *user, p *ClientPlan) { p.Topics = []string{"elsewhere"} }, true},
		{"it is no worker", func(_ *stage, _, _ *user, p *ClientPlan) { p.Role = Transactor }, true},
		{"the transaction was open for too long", func(s *stage, u, _ *user, _ *ClientPlan) { s.now += Second + 1 }, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStage(t)
			s.transacted, s.phase, s.now = true, draining, 200*Second
			u, other := s.clients[0], newUser(s.World, 0)
			s.clients = []*user{u, other}
			plan, theirs := mine, mine
			u.plan, other.plan = &plan, &theirs
			u.up, other.up, u.session, other.session = true, true, 1, 1
			x := &transaction{since: s.now, id: s.history.Begin(history.Operation{Kind: history.Transact})}
			c.given(s, u, other, &theirs)
			k := &worker{}
			k.now = x
			fenced := &client.Result{Outcome: client.NotDone, Err: &client.Error{Problem: client.Fenced, Code: message.ProducerFenced}}
			require.Equal(t, gone, k.over(u, x, client.Verdict{Next: client.ToRewind, Outcome: client.NotDone}, fenced))
			require.False(t, u.up)
			s.clients = s.clients[:1] // of the other one nothing is told
			var want, got []string
			if c.back {
				want = []string{"client 1 (worker) is to be started again"}
			}
			s.clientUnrest(func(_, format string, args ...any) { got = append(got, fmt.Sprintf(format, args...)) })
			require.Equal(t, want, got)
		})
	}
}

// What a worker was too slow for may be over: it does not stay slow for good.
func TestAWorkerTakesMoreAgainWhenItsTransactionsEndSoonEnough(t *testing.T) {
	const limit = 8 * Second
	for _, c := range []struct {
		halved, inputs int
		lasted         Span
		most           int
	}{
		{2, 25, limit/4 - 1, 50},
		{2, 25, limit / 4, 25}, // twice as much might take too long
		{2, 24, 1, 25},         // and what was less says nothing of all
		{mostHalved, 3, 1, 6},
		{0, 100, 1, 100},
	} {
		s := newStage(t)
		u := s.clients[0]
		plan := *u.plan
		plan.Limit = limit
		u.plan, u.halved = &plan, c.halved
		s.now, s.phase = 200*Second, resting
		k := &worker{}
		x := &transaction{verb: "commit", inputs: c.inputs, since: s.now - c.lasted, id: s.history.Begin(history.Operation{Kind: history.Transact})}
		k.now = x
		require.Equal(t, committed, k.told(u, &openOp{what: opEnd, of: x}, &client.Result{Outcome: client.OK}))
		require.Equal(t, c.most, k.most(u), "%+v", c)
	}
}

// At rest a transactor that has committed nothing since the last fault is not done: it
// makes transactions until one commits.
func TestATransactorProvesAtRestThatItCanGoOn(t *testing.T) {
	s := newStage(t)
	s.transacted, s.phase, s.now = true, resting, 100*Second
	plan := ClientPlan{ID: 1, Role: Transactor, Topics: []string{"there", "deleted"}, Transactional: "orders"}
	u := s.clients[0]
	u.plan, u.up = &plan, true
	k := &transactor{}
	u.script = k
	exists := func(topics ...string) {
		image := metadata.NewImage()
		for i, name := range topics {
			require.NoError(t, image.Apply(message.Version(i+1), &message.Change{Topic: &message.TopicChange{ID: record.TopicID(i + 1), Name: name}}))
		}
		s.book.meta.image = image
	}
	says := func() string {
		for _, reason := range s.unrest(100) {
			if strings.Contains(reason, "client") {
				return reason
			}
		}
		return ""
	}
	exists("there")
	healed := s.plan.Phases.Warm + s.plan.Phases.Faults
	const none = "a transactor does not go on: client 1 has committed no transaction since the last fault"
	require.Equal(t, none, says())
	require.Equal(t, []string{"there"}, k.topics(u), "what was deleted is not waited for")
	u.committedAt = healed - 1
	require.Equal(t, none, says())
	k.now = &transaction{since: s.now}
	require.Equal(t, none, says(), "it tries")
	k.now.since = s.now - lately
	require.Equal(t, "a client waits: client 1 (transactor) has a transaction that does not end", says())
	k.now = nil
	u.committedAt = healed
	require.Empty(t, says())
	u.committedAt = 0
	plan.Count, k.made = 3, 3
	require.Empty(t, says(), "it has made all that it should")
	plan.Count = 0
	exists()
	require.Empty(t, says(), "it has nowhere to publish")
}

// A list may leave a transaction open, or end before that has begun: at rest it is
// committed.
func TestATransactionThatAListLeavesOpenEndsAtRest(t *testing.T) {
	for _, begin := range []Span{9 * Second, 10*Second - 1} {
		plan := scripted()
		plan.Script, plan.Faults, plan.Cluster.TransactionShards = nil, nil, 1
		plan.Topics = append(plan.Topics, TopicPlan{Name: "o", Partitions: 1, Replication: 3, MinInsync: 2})
		plan.Clients = append(plan.Clients,
			ClientPlan{ID: 2, Role: Transactor, Topics: []string{"t"}, Transactional: "x", Limit: 100 * Second, Ops: []ClientOp{
				{At: begin, Do: "begin"}, {At: begin, Do: "publish", Topic: "t"},
			}},
			ClientPlan{ID: 3, Role: Worker, Topics: []string{"t"}, Into: []string{"o"}, Group: "g", Reset: "earliest", Transactional: "y", Limit: 100 * Second, Ops: []ClientOp{
				{At: 8 * Second, Do: "poll", Count: 1}, {At: begin, Do: "begin"}, {At: begin, Do: "work", Count: 1},
			}})
		require.NoError(t, plan.Validate())
		r := Run(plan, Options{})
		require.Nil(t, r.Failure)
	}
}

// Who tries a transaction again does so with the very same records, as an application
// does that has not heard that a partition was taken away: to refuse them is for the
// client. How often is drawn: without the plan's say-so it goes back instead.
func TestAWorkerTriesAgainWithTheSameRecords(t *testing.T) {
	for _, c := range []struct {
		retry int
		next  client.Next
		want  course
	}{{100, client.ToTryAgain, again}, {0, client.ToTryAgain, undone}, {100, client.ToRewind, undone}} {
		s := newStage(t)
		u := s.clients[0]
		u.plan = &ClientPlan{ID: 1, Role: Worker, Group: "g", Into: []string{"o"}, Transactional: "x", Retry: c.retry}
		u.given, u.back = map[record.PartitionID]record.Offset{}, map[record.PartitionID]bool{}
		delivery := func(topic record.TopicID, from record.Offset) client.Delivery {
			return client.Delivery{PlacedID: client.PlacedID{ID: record.PartitionID{Topic: topic}}, Next: from + 2, Stretch: 7,
				Records: []client.Record{{Offset: from, Value: []byte("a")}, {Offset: from + 1, Value: []byte("b")}}}
		}
		k := &worker{member: member{owned: map[record.PartitionID]record.Offset{}}, work: []client.Delivery{delivery(3, 10), delivery(4, 20)}}
		x := &transaction{number: 1, began: true, id: s.history.Begin(history.Operation{Kind: history.Transact})}
		k.transacting.now = x
		k.process(u, 3)
		first := k.before
		k.event(u, &client.Event{Kind: client.Lost, Partitions: []client.PlacedID{first[0].PlacedID, first[1].PlacedID}})
		require.Empty(t, k.work, "what it has not begun with is another member's")
		got := k.over(u, x, client.Verdict{Next: c.next, Outcome: client.NotDone}, &client.Result{})
		require.Equal(t, c.want, got)
		u.up = true
		u.depth = 1 // nothing is asked of its machine, which there is none of here
		k.transacted(u, got)
		if c.want == undone {
			require.Empty(t, k.work)
			require.False(t, k.next.Repeats())
			continue
		}
		require.True(t, k.next.Repeats())
		now, all := k.take(k.count)
		part := delivery(4, 20)
		part.Next, part.Records = 21, part.Records[:1]
		require.Equal(t, []client.Delivery{delivery(3, 10), part}, now)
		require.False(t, all)
		require.True(t, k.same)
	}
}
