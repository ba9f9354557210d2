package sim

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/client"
	"github.com/tamarack-mq/tamarack/core/message"
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
		require.Equal(t, gone, k.over(u, x, history.Failed, fenced, undone))
		require.Equal(t, c.most, k.most(u), "%+v", c)
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
