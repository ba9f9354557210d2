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
