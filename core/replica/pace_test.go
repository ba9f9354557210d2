package replica

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// However often it is looked at, a throttle gives what its rate gives. Parts of a
// byte, and of a microsecond, must not be given away at each look: a rate of 1 MiB
// a second would be none.
func TestAThrottleGivesWhatItsRateGives(t *testing.T) {
	const looks = 1000
	for _, rate := range []int64{1, 3, 999, 1 << 20, 1_500_000, 1 << 30, message.LargestThrottle} {
		for _, micros := range []int64{1, 7, 1001, 333_333, 1_000_000} {
			owed := 2 * looks * rate // more than can be earned, so that no burst bounds it
			p := pace{rate: rate, tokens: -owed}
			now := message.Time(0)
			for range looks {
				now = now.Add(message.Duration(micros) * message.Microsecond)
				p.refill(now)
			}
			whole, part := looks*micros/1_000_000, looks*micros%1_000_000
			require.Equal(t, rate*whole+rate*part/1_000_000, p.tokens+owed, "%d bytes a second, looked at each %d microseconds", rate, micros)
		}
	}
}

// balance checks the throttle's account: it knows how many replicas are being added, and
// what those that copy have asked for. What stayed on it for good would be given to nobody.
func (n *node) balance() {
	var sharers, asked int64
	for _, r := range n.m.replicas {
		if r.beingAdded(n.m) {
			sharers++
		}
		if r.follow != nil {
			asked += int64(r.follow.asked) + int64(r.follow.askedBefore)
		}
	}
	require.Equal(n.w.t, [2]int64{sharers, asked}, [2]int64{n.m.pace.sharers, n.m.pace.asked}, "node %d: replicas being added, bytes asked for", n.id)
}

// Many replicas that come to a broker at once, or one after the other before the first
// has its answer, copy together what the throttle gives for a burst: not that much each.
func TestAllThatAskBeforeTheFirstAnswerShareTheBurst(t *testing.T) {
	const leaders, parts, batches, burst = 6, 12, 40, 20
	size := len(batch("0123456789", 1))
	rate := int64(4 * burst * size)
	for _, together := range []bool{true, false} {
		w := newWorld(t, leaders+1)
		added := w.node(leaders + 1)
		var ids []record.PartitionID
		for i := range int32(parts) {
			id, leader := record.PartitionID{Topic: 7, Index: i}, int(i)%leaders+1
			ids = append(ids, id)
			w.create(id, message.TopicConfig{}, message.NodeID(leader))
			for range batches {
				w.tokens++
				w.node(leader).do(func(m *Manager, now message.Now, out *Out) {
					m.Produce(now, w.tokens, &message.Produce{Acks: message.AcksLeader, Partitions: []message.ProducePartition{{ID: id, Records: batch("0123456789", 1)}}}, out)
				})
			}
		}
		w.pace(rate)
		w.pass(message.Second)
		copied := func() (all, most int) {
			for _, id := range ids {
				bytes := len(added.contents(id))
				all, most = all+bytes, max(most, bytes)
			}
			return all / size, most / size
		}

		w.held = func(x wire) bool { return x.to == added.id }
		var states []PartitionState
		for _, id := range ids {
			s := *w.parts[id]
			s.Replicas, s.Adding = append(slices.Clone(s.Replicas), added.id), []message.NodeID{added.id}
			s.PartitionEpoch++
			states = append(states, s)
		}
		if together {
			w.commit(states, nil)
		}
		for i := range states {
			if !together {
				w.commit(states[i:i+1], nil)
				w.run() // it has asked for this one
			}
		}
		w.run()
		w.held = nil
		w.run()
		all, most := copied()
		require.GreaterOrEqual(t, all, burst, "together: %v", together)
		require.LessOrEqual(t, all, burst+2*parts, "together: %v; a burst, and at most two batches each", together)
		if together {
			require.LessOrEqual(t, most, 4, "no one has it all")
		}

		// They get there as fast as the throttle lets them.
		w.pass(message.Duration(parts*batches*size) * message.Second / message.Duration(rate))
		all, _ = copied()
		require.Equal(t, parts*batches, all)
		w.pass(message.Second)
		require.Zero(t, added.m.HeldBack())
		for _, id := range ids {
			require.Contains(t, w.parts[id].ISR, added.id)
		}
	}
}

// A replica that states its position once more, while the fetch that stated it before is
// with the leader, may be given both answers: it must not ask for the same bytes twice.
func TestAPositionStatedOnceMoreSharesTheBurstWithTheOneBefore(t *testing.T) {
	const batches, burst = 100, 20
	size := len(batch("0123456789", 1))
	rate := int64(4 * burst * size)
	w := newWorld(t, 2)
	w.create(p0, message.TopicConfig{}, 1)
	for range batches {
		w.put(1, "0123456789")
	}
	w.pace(rate)
	w.pass(message.Second)
	added := w.node(2)
	added.look()
	w.held = func(x wire) bool { return x.to == added.id }
	w.add(p0, added.id)
	w.run()
	w.pass(message.Millisecond) // with all asked for, a moment brings leave for one batch more
	added.do(func(m *Manager, now message.Now, out *Out) {
		m.replicas[p0].follow.from.stale(m, m.replicas[p0], true)
		m.finish(now, out)
	})
	w.run()
	fetches := sent[*message.ReplicaFetch](added)
	require.Len(t, fetches, 2, "both are with the leader")
	var asked []int32
	for _, f := range fetches {
		require.Len(t, f.Partitions, 1)
		asked = append(asked, f.Partitions[0].MaxBytes)
	}
	require.Equal(t, []int32{int32(burst * size), 1}, asked)
	added.balance()

	w.held = nil
	w.run()
	require.LessOrEqual(t, len(added.contents(p0))/size, burst+2)
	w.pass(message.Duration(batches*size)*message.Second/message.Duration(rate) + message.Second)
	require.Len(t, added.contents(p0), batches*size)
	require.Contains(t, w.parts[p0].ISR, added.id)
	require.Empty(t, added.m.replicas[p0].follow.from.restated)
	require.Zero(t, added.m.pace.asked)
}

// With all that there is asked for by one replica, whose leader is slow to answer, another
// one copies a batch at a time: as fast as the rate allows, and no faster, or the answer
// that comes in the end would come on top of a burst that is spent.
func TestWhatIsAskedForAlreadyIsNotSpentByOthers(t *testing.T) {
	const batches, burst = 100, 20
	size := len(batch("0123456789", 1))
	rate := int64(4 * burst * size)
	w := newWorld(t, 3)
	slow, other := record.PartitionID{Topic: 7}, record.PartitionID{Topic: 7, Index: 1}
	for i, id := range []record.PartitionID{slow, other} {
		w.create(id, message.TopicConfig{}, message.NodeID(i+1))
		for range batches {
			w.tokens++
			w.node(i + 1).do(func(m *Manager, now message.Now, out *Out) {
				m.Produce(now, w.tokens, &message.Produce{Acks: message.AcksLeader, Partitions: []message.ProducePartition{{ID: id, Records: batch("0123456789", 1)}}}, out)
			})
		}
	}
	w.pace(rate)
	w.pass(message.Second)
	added := w.node(3)
	copied := func(id record.PartitionID) int { return len(added.contents(id)) / size }

	w.held = func(x wire) bool { return x.to == added.id && x.from == 1 }
	w.add(slow, added.id)
	w.run() // it has asked for a burst
	w.add(other, added.id)
	w.run()
	require.LessOrEqual(t, copied(other), 2, "the burst is asked for already")
	w.pass(message.Second / 4) // which brings as much as a burst
	require.GreaterOrEqual(t, copied(other), burst-2, "nobody waits for a leader that is slow")
	require.LessOrEqual(t, copied(other), burst+2)
	require.Zero(t, copied(slow))
	added.balance()

	w.held = nil
	w.run()
	require.LessOrEqual(t, copied(slow)+copied(other), 2*burst+4, "a burst, what time brought, and at most two batches each")
	w.pass(message.Duration(2*batches*size)*message.Second/message.Duration(rate) + message.Second)
	require.Equal(t, [2]int{batches, batches}, [2]int{copied(slow), copied(other)})
	require.Zero(t, added.m.HeldBack())
	added.balance()
}
