package group

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/ledger"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// snapshotting says whether the log holds the begin of a snapshot, and no trim was
// asked for since.
func (b *bench) snapshotting() bool {
	begun := false
	for _, e := range b.log {
		h, err := record.DecodeHeader(e.batch)
		require.NoError(b.t, err)
		for it := record.Records(&h, record.Payload(e.batch)); it.Next(); {
			begun = begun || string(it.Record.Key) == "\x01\x01"
		}
	}
	return begun && len(b.trims) == 0
}

func TestALogThatGrowsIsReplacedByASnapshot(t *testing.T) {
	b := newBench(t, Config{Ledger: ledger.Config{SnapshotMinimum: 50, MaxBatchBytes: 600}})
	orders := b.topic("orders", 8)
	a := b.process("g", "a", "orders")
	a.beat()
	for i := range 1000 {
		a.commit(parts(orders, int32(i%8))[0], record.Offset(i))
		b.trim()
		b.sound()
		require.Less(t, len(b.log), 120, "the log stays in proportion to what is alive")
	}
	require.Greater(t, b.start, record.Offset(900))
	digest, _ := b.c.Digest(0)
	b.failover()
	after, _ := b.c.Digest(0)
	require.Equal(t, digest, after)
}

func TestASnapshotGoesOnBetweenRequests(t *testing.T) {
	b := newBench(t, Config{Ledger: ledger.Config{SnapshotMinimum: 150, SnapshotFactor: 2, MaxBatchBytes: 200}})
	orders := b.topic("orders", 50)
	names := func(i int) string { return fmt.Sprintf("group-%02d", i) }
	for i := range 50 {
		b.ask(outside(names(i), parts(orders, 0)[0], 1))
	}
	require.False(t, b.snapshotting())
	b.hold = true
	for i := range 70 {
		b.send(outside(names(i%50), parts(orders, 1)[0], record.Offset(i)))
	}
	b.commit(len(b.log))
	b.settle()
	step := 0
	for ; len(b.trims) == 0; step++ { // one request of each sort between every two parts
		require.Less(t, step, 1000)
		b.send(outside(names(step%50), parts(orders, 2)[0], record.Offset(step)))
		b.send(outside(fmt.Sprintf("new-%d", step), parts(orders, 3)[0], 1))
		b.send(&message.DeleteGroup{Group: names(49 - step%50)})
		b.commit(len(b.log))
		b.settle()
	}
	require.Greater(t, step, 5, "it took several parts")
	b.hold = false
	b.commit(len(b.log))
	b.settle()
	b.trim()
	require.Positive(t, b.start)
	b.sound()
}

func TestASnapshotWithoutItsEndIsNoSnapshot(t *testing.T) {
	b := newBench(t, Config{Ledger: ledger.Config{SnapshotMinimum: 20, SnapshotFactor: 2, MaxBatchBytes: 150}})
	orders := b.topic("orders", 8)
	for i := range 8 {
		b.ask(outside(fmt.Sprintf("g%d", i), parts(orders, int32(i))[0], 1))
	}
	b.hold = true
	for i := 0; !b.snapshotting(); i++ {
		b.send(outside("g0", parts(orders, 0)[0], record.Offset(i)))
	}
	b.commit(len(b.log)) // the begin marker is in, the first part is under way
	b.settle()
	require.True(t, b.snapshotting())
	b.takeOver()
	require.Empty(t, b.trims)
	b.sound()

	b.hold = false
	b.commit(len(b.log))
	b.settle() // the new leader wrote one of its own
	require.Len(t, b.trims, 1)
	lost := b.trims[0]
	b.trims = nil
	b.failover()
	require.Equal(t, []Trim{{Shard: 0, Epoch: b.epoch, Before: lost.Before}}, b.trims, "a trim that was lost is asked for again")
	b.trim()
	b.sound()
}

func TestBatchesStayBelowTheLimit(t *testing.T) {
	b := newBench(t, Config{})
	orders := b.topic("orders", 1000)
	note := make([]byte, 4096)
	m := &message.CommitOffsets{Group: "g", MemberEpoch: -1}
	for i := range int32(1000) {
		m.Offsets = append(m.Offsets, message.GroupOffset{ID: parts(orders, i)[0], Offset: 1, Note: string(note)})
	}
	reply := b.ask(m).(*message.CommitOffsetsReply) // the bench holds every batch to 1 MiB
	require.Equal(t, message.None, reply.Offsets[999].Code)
	require.Greater(t, len(b.log), 7)
	b.sound()
}

// A decision of several batches may be cut by a crash after any of them.
func TestADecisionThatWasCutIsMended(t *testing.T) {
	for cut := 0; ; cut++ {
		b := newBench(t, Config{Ledger: ledger.Config{MaxBatchBytes: 1}})
		orders := b.topic("orders", 4)
		members := []*process{b.process("g", "a", "orders"), b.process("g", "b", "orders"), b.process("g", "c", "orders")}
		for range 3 {
			for _, p := range members {
				p.beat()
			}
		}
		b.hold = true
		members[0].instance = ""
		b.send(&message.GroupHeartbeat{Group: "g", Member: "a", MemberEpoch: message.LeaveEpoch})
		b.send(&message.GroupHeartbeat{Group: "g", Member: "b", MemberEpoch: message.LeaveEpoch})
		b.send(&message.GroupHeartbeat{Group: "g", Member: "c", MemberEpoch: message.LeaveEpoch})
		done := 0
		for _, e := range b.log {
			if e.committed {
				done++
			}
		}
		if done+cut > len(b.log) {
			break
		}
		b.hold = false
		b.log = b.log[:done+cut]
		b.takeOver()
		b.sound()
		for range 4 {
			for _, p := range members {
				p.beat()
			}
		}
		require.Equal(t, "Stable", b.state("g"), "cut %d", cut)
		owned := 0
		for _, p := range members {
			owned += len(p.owned)
		}
		require.Equal(t, 4, owned, "cut %d: %v", cut, orders)
	}
}

// So is one by which a static member that is away loses a part of its place, after
// whichever batch it is cut: nobody else could give that part up.
func TestAPlaceThatShrankIsMended(t *testing.T) {
	for cut := 0; ; cut++ {
		b := newBench(t, Config{Ledger: ledger.Config{MaxBatchBytes: 1}})
		orders := b.topic("orders", 2)
		a, z := b.process("g", "a", "orders"), b.process("g", "z", "orders")
		a.instance = "i"
		a.beat()
		leave := a.request()
		leave.MemberEpoch, leave.Owned = message.LeaveStaticEpoch, nil
		b.ask(leave)
		done := len(b.log)
		b.hold = true
		b.send(z.request())
		if done+cut > len(b.log) {
			require.Greater(t, cut, 3)
			break
		}
		b.hold = false
		b.log = b.log[:done+cut]
		b.takeOver()
		b.sound()
		z.beat() // and joins, or learns that it has
		z.beat()
		require.Equal(t, parts(orders, 1), z.owned, "cut %d", cut)
	}
}
