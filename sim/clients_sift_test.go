package sim

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/chance"
	"github.com/tamarack-mq/tamarack/core/client"
	"github.com/tamarack-mq/tamarack/core/record"
)

// A worker whose transaction came to nothing polls as much again, and takes the records
// of one partition after the other until nothing is left; not when it must come to the end.
func TestAWorkerThatWentBackWorksOnOnePartitionAlone(t *testing.T) {
	s := newStage(t)
	u := s.clients[0]
	plan := *u.plan
	plan.Sift = true
	u.plan = &plan
	s.phase, u.up = faulting, true
	polled := []client.Delivery{
		{PlacedID: client.PlacedID{ID: record.PartitionID{Topic: 5}}, Records: make([]client.Record, 4)},
		{PlacedID: client.PlacedID{ID: record.PartitionID{Topic: 5, Index: 1}}, Records: make([]client.Record, 3)},
	}
	k := &worker{}
	require.Zero(t, k.part(u, polled), "it has not gone back")
	k.looks(u, polled)
	require.Equal(t, 7, k.most(u))
	require.Equal(t, 4, k.part(u, polled))
	require.Zero(t, k.part(u, polled[1:]), "all that is left")
	require.EqualValues(t, 1, s.marks[markSifted])

	k.work = polled[1:]
	k.transacted(u, committed)
	require.Equal(t, 7, k.sifting.most, "some is left")
	k.work = nil
	k.transacted(u, committed)
	require.Zero(t, k.sifting.most, "it has found what it looked for, or all was committed")

	k.looks(u, polled)
	s.phase = draining
	require.Zero(t, k.part(u, polled))
	require.Equal(t, u.takes(), k.most(u))
	k.looks(u, polled)
	require.Zero(t, k.sifting.most)
}

// Only workers sift, in some plans, and those give transactions up.
func TestSomeWorkersSift(t *testing.T) {
	r := chance.New(1)
	sift := 0
	for range 300 {
		p := &Plan{Clients: []ClientPlan{{Role: Worker}, {Role: Transactor}}}
		if drawSift(r, p); p.Clients[0].Sift {
			require.Positive(t, p.Clients[0].Abort)
			sift++
		}
		require.Equal(t, ClientPlan{Role: Transactor}, p.Clients[1])
	}
	require.InDelta(t, 50, sift, 25)
}
