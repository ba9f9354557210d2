package group

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tamarack-mq/tamarack/core/ledger"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/order"
	"github.com/tamarack-mq/tamarack/core/record"
)

// world runs processes of one group against a coordinator that loses its
// memory, whose appends fail and whose replies get lost, while old requests of
// dead and living processes come in again.
type world struct {
	*bench
	rt        *rapid.T
	processes []*actor
	past      []message.Request // everything that was ever sent
	clock     record.Offset     // the position of the next commit
	floor     map[record.PartitionID]record.Offset
	commits   map[message.Token]message.GroupOffset
	fetches   map[message.Token]map[record.PartitionID]record.Offset
	named     int

	tellers []*teller // producers of transactions
	told    []told    // what coordinators of transactions have said, on its way
	stables map[message.Token][]record.Offset
}

// actor is a process that may lose replies.
type actor struct {
	process
	running bool
	asked   message.Token // the heartbeat that it waits for; 0: none
}

const worldGroup = "g"

func newWorld(rt *rapid.T) *world {
	w := &world{
		bench: newBench(rt, Config{MaxMembers: 6, Ledger: ledger.Config{SnapshotMinimum: 40, SnapshotFactor: 2, MaxBatchBytes: 400}}),
		rt:    rt, floor: map[record.PartitionID]record.Offset{},
		commits: map[message.Token]message.GroupOffset{}, fetches: map[message.Token]map[record.PartitionID]record.Offset{},
		stables: map[message.Token][]record.Offset{},
	}
	w.hold = true
	w.tellers = w.newTellers()
	w.topic("t0", 3)
	w.topic("t1", 2)
	w.flushed()
	return w
}

// flushed commits what is under way.
func (w *world) flushed() {
	w.commit(len(w.log))
	w.settle()
}

func (w *world) spawn() {
	if len(w.processes) > 12 {
		return
	}
	w.named++
	a := &actor{process: *w.process(worldGroup, fmt.Sprintf("m%d", w.named)), running: true}
	if rapid.IntRange(0, 2).Draw(w.rt, "static") == 0 {
		a.instance = rapid.SampledFrom([]string{"i", "j"}).Draw(w.rt, "instance")
	}
	a.topics = rapid.SampledFrom([][]string{{"t0"}, {"t1"}, {"t0", "t1"}, {"t0", "t1"}}).Draw(w.rt, "topics")
	w.processes = append(w.processes, a)
}

func (w *world) pick() *actor {
	var running []*actor
	for _, a := range w.processes {
		if a.running {
			running = append(running, a)
		}
	}
	if len(running) == 0 {
		return nil
	}
	return rapid.SampledFrom(running).Draw(w.rt, "process")
}

// deliver sends a request and remembers it.
func (w *world) deliver(m message.Request) message.Token {
	w.past = append(w.past, m)
	return w.send(m)
}

func (w *world) heartbeat() {
	if a := w.pick(); a != nil {
		a.asked = w.deliver(a.request())
	}
}

// quiet is a heartbeat that names nothing.
func (w *world) quiet() {
	a := w.pick()
	if a == nil || a.epoch == message.JoinEpoch {
		return
	}
	a.asked = w.deliver(&message.GroupHeartbeat{Group: worldGroup, Member: a.id, MemberEpoch: a.epoch})
}

// hear lets a process have the reply that it waits for.
func (w *world) hear() {
	if a := w.pick(); a != nil {
		w.listen(a)
	}
}

func (w *world) listen(a *actor) {
	reply, ok := w.answers[a.asked].(*message.GroupHeartbeatReply)
	if !ok {
		return
	}
	w.answer(a.asked)
	a.asked = 0
	if a.take(reply); reply.Code == message.FencedInstanceID {
		a.running = false
	}
}

func (w *world) resubscribe() {
	if a := w.pick(); a != nil {
		a.topics = rapid.SampledFrom([][]string{{"t0"}, {"t1"}, {"t0", "t1"}, nil}).Draw(w.rt, "topics")
	}
}

// leave ends a process in good order, for a while if it is static.
func (w *world) leave() {
	a := w.pick()
	if a == nil || a.epoch == message.JoinEpoch {
		return
	}
	r := &message.GroupHeartbeat{Group: worldGroup, Member: a.id, MemberEpoch: message.LeaveEpoch}
	if a.instance != "" && rapid.Bool().Draw(w.rt, "for a while") {
		r.MemberEpoch, r.Instance = message.LeaveStaticEpoch, a.instance
	}
	w.deliver(r)
	a.running, a.epoch, a.owned = false, 0, nil
}

func (w *world) crash() {
	if a := w.pick(); a != nil {
		a.running = false
	}
}

// commitOne commits what a process believes that it owns, also when it is a
// zombie. Positions rise in the order of decisions.
func (w *world) commitOne() {
	var owners []*actor
	for _, a := range w.processes {
		if len(a.owned) > 0 {
			owners = append(owners, a)
		}
	}
	if len(owners) == 0 {
		return
	}
	a := rapid.SampledFrom(owners).Draw(w.rt, "owner")
	w.clock++
	o := message.GroupOffset{ID: rapid.SampledFrom(a.owned).Draw(w.rt, "partition"), Offset: w.clock}
	token := w.deliver(&message.CommitOffsets{Group: worldGroup, Member: a.id, MemberEpoch: a.epoch, Offsets: []message.GroupOffset{o}})
	w.commits[token] = o
}

// fetchAll asks for all positions; what was acknowledged by now must be in the
// answer (INV-24).
func (w *world) fetchAll() {
	seen := map[record.PartitionID]record.Offset{}
	for p, o := range w.floor {
		seen[p] = o
	}
	w.fetches[w.send(&message.FetchOffsets{Group: worldGroup})] = seen
}

// collect takes in the answers to commits and fetches.
func (w *world) collect() {
	for token, o := range w.commits {
		if reply, ok := w.answer(token).(*message.CommitOffsetsReply); ok {
			delete(w.commits, token)
			if reply.Code == message.None && reply.Offsets[0].Code == message.None && w.exists(o.ID) {
				w.floor[o.ID] = max(w.floor[o.ID], o.Offset)
			}
		}
	}
	for token, seen := range w.fetches {
		reply, ok := w.answer(token).(*message.FetchOffsetsReply)
		if !ok {
			continue
		}
		delete(w.fetches, token)
		if reply.Code != message.None {
			continue
		}
		got := map[record.PartitionID]record.Offset{}
		for _, o := range reply.Offsets {
			got[o.ID] = o.Offset
		}
		for p, at := range seen {
			if w.exists(p) {
				require.GreaterOrEqual(w.rt, got[p], at, "the committed position of %v went back", p)
			}
		}
	}
}

func (w *world) exists(p record.PartitionID) bool {
	_, _, ok := w.topics.ByID(p.Topic)
	return ok
}

// haunt delivers an old request again. Of a member's epoch that is neither the
// present one nor the one before it, it must change nothing (INV-22).
func (w *world) haunt() {
	if len(w.past) == 0 {
		return
	}
	old := rapid.SampledFrom(w.past).Draw(w.rt, "old request")
	before, serving := w.c.Digest(0)
	stale := serving && w.stale(old)
	if c, ok := old.(*message.CommitOffsets); ok {
		w.clock++ // a late commit sets its position back, so it is given a new one
		again := *c
		again.Offsets = []message.GroupOffset{{ID: c.Offsets[0].ID, Offset: w.clock}}
		old = &again
	}
	token := w.send(old)
	after, _ := w.c.Digest(0)
	if stale {
		require.Equal(w.rt, before, after, "a stale request changed the state: %+v", old)
	}
	if reply := w.answer(token); stale && reply != nil {
		require.NotEqual(w.rt, message.None, codeOf(reply), "a stale request was granted: %+v", old)
	}
}

func codeOf(m message.Reply) message.Code {
	switch m := m.(type) {
	case *message.GroupHeartbeatReply:
		return m.Code
	case *message.CommitOffsetsReply:
		return m.Code
	}
	return message.None
}

func (w *world) stale(m message.Request) bool {
	g := w.c.shards.Books()[0].state.groups[worldGroup]
	current := func(id string) (*member, bool) {
		if g == nil {
			return nil, false
		}
		m, ok := g.members[id]
		return m, ok
	}
	switch r := m.(type) {
	case *message.CommitOffsets:
		m, ok := current(r.Member)
		return !ok || m.left || m.epoch != r.MemberEpoch
	case *message.GroupHeartbeat:
		m, ok := current(r.Member)
		return r.MemberEpoch > 0 && (!ok || m.left || m.epoch != r.MemberEpoch && m.previous != r.MemberEpoch)
	}
	return false
}

func (w *world) retopic() {
	name := rapid.SampledFrom([]string{"t0", "t1"}).Draw(w.rt, "topic")
	partitions := int32(rapid.IntRange(0, 5).Draw(w.rt, "partitions"))
	row, there := w.topics.rows[name]
	if !there && partitions == 0 || there && partitions != 0 && partitions < row.partitions {
		return
	}
	if partitions == 0 {
		for p := range w.floor {
			if p.Topic == row.id {
				delete(w.floor, p)
			}
		}
	}
	w.topic(name, partitions)
}

// someCommit commits some of what is under way, in order.
func (w *world) someCommit() {
	first := slices.IndexFunc(w.log, func(e entry) bool { return !e.committed })
	if first < 0 {
		return
	}
	w.commit(rapid.IntRange(first+1, len(w.log)).Draw(w.rt, "up to"))
	w.settle()
}

func (w *world) fail() {
	w.refuse(message.NotEnoughReplicasAfterAppend, rapid.Bool().Draw(w.rt, "lost"))
	w.settle()
}

func (w *world) moveCoordinator() {
	if rapid.Bool().Draw(w.rt, "all survives") {
		w.takeOver()
	} else {
		w.failover()
	}
	w.pass(1) // requests of before are never answered
	w.told = nil
}

func (w *world) wait() {
	w.pass(message.Duration(rapid.IntRange(1, 20).Draw(w.rt, "seconds")) * message.Second)
}

// obliterate deletes the group, or lets it expire, if it has no members.
func (w *world) obliterate() {
	if rapid.Bool().Draw(w.rt, "by time") {
		w.pass(2 * message.Hour)
		return
	}
	clear(w.floor) // and with it what is still under way
	clear(w.commits)
	clear(w.fetches)
	w.send(&message.DeleteGroup{Group: worldGroup})
}

// revive starts a process again that left or crashed, under the same member id.
func (w *world) revive() {
	for _, a := range w.processes {
		if !a.running {
			a.running, a.epoch, a.owned, a.asked = true, message.JoinEpoch, nil, 0
			return
		}
	}
}

// check holds after every step.
func (w *world) check() {
	w.collect()
	w.hearTellers()
	w.trim()
	w.sound()
	if _, serving := w.c.Digest(0); !serving {
		return
	}
	g := w.c.shards.Books()[0].state.groups[worldGroup]
	for _, a := range w.processes {
		if g == nil || g.members[a.id] == nil {
			continue
		}
		m := g.members[a.id]
		if a.epoch == m.epoch || a.epoch == m.previous {
			require.Empty(w.rt, order.Without(a.owned, m.holds()), "%s reads what the coordinator may give to others", a.id)
		}
	}
}

// rest ends all faults: within a bound the group is stable and every partition
// is with a process that runs (INV-34).
func (w *world) rest() {
	w.hold = false
	w.flushed()
	w.pass(message.Second)
	for range 24 {
		w.pass(5 * message.Second)
		for _, a := range w.processes {
			if a.running {
				a.asked = w.deliver(a.request())
				w.listen(a)
				w.check()
			}
		}
	}
	read := map[string]bool{}
	owners := map[record.PartitionID]int{}
	for _, a := range w.processes {
		if a.running && a.epoch > 0 {
			for _, topic := range a.topics {
				read[topic] = true
			}
			for _, p := range a.owned {
				owners[p]++
			}
		}
	}
	for topic := range read {
		row := w.topics.rows[topic]
		for i := range row.partitions {
			require.Equal(w.rt, 1, owners[record.PartitionID{Topic: row.id, Index: i}], "owners of %s/%d", topic, i)
		}
	}
	if len(read) > 0 {
		require.Equal(w.rt, "Stable", w.state(worldGroup))
	}
	w.fetchAll()
	w.check()
	w.settleTellers()
}

// round is a quiet time: everybody's heartbeat is heard.
func (w *world) round() {
	for _, a := range w.processes {
		if a.running {
			a.asked = w.deliver(a.request())
			w.flushed()
			w.listen(a)
			w.check()
		}
	}
}

// beatAndHear is one heartbeat without a fault.
func (w *world) beatAndHear() {
	if a := w.pick(); a != nil {
		a.asked = w.deliver(a.request())
		w.flushed()
		w.listen(a)
	}
}

type action struct {
	weight int
	act    func(*world)
}

// shuffled is a deck to draw from.
func shuffled(actions []action) (deck []func(*world)) {
	for _, a := range actions {
		deck = append(deck, slices.Repeat([]func(*world){a.act}, a.weight)...)
	}
	return deck
}

func TestWhateverHappensThereIsOneOwnerAndNothingIsForgotten(t *testing.T) {
	actions := []action{
		{2, (*world).spawn}, {6, (*world).heartbeat}, {10, (*world).beatAndHear}, {3, (*world).round}, {4, (*world).quiet},
		{5, (*world).hear}, {2, (*world).resubscribe}, {2, (*world).leave}, {1, (*world).crash}, {8, (*world).commitOne},
		{3, (*world).fetchAll}, {4, (*world).haunt}, {2, (*world).retopic}, {6, (*world).someCommit}, {1, (*world).fail},
		{2, (*world).moveCoordinator}, {2, (*world).wait}, {1, (*world).obliterate}, {1, (*world).revive},
		{10, (*world).tell}, {5, (*world).judge}, {6, (*world).bring}, {3, (*world).look},
	}
	deck := shuffled(actions)
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(rt)
		w.spawn()
		w.spawn()
		for range rapid.IntRange(1, 150).Draw(rt, "steps") {
			deck[rapid.IntRange(0, len(deck)-1).Draw(rt, "action")](w)
			w.check()
		}
		w.rest()
	})
}
