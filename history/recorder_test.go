package history

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWhatIsUnknownOrAmendedStaysOpen(t *testing.T) {
	var r Recorder
	first, second := r.Begin(Operation{Kind: Transact, Invoke: 5}), r.Begin(Operation{Kind: Publish, Invoke: 6})
	r.Amend(first, func(op *Operation) { op.Verb = "commit" })
	r.End(second, 9, Unknown, nil)
	for _, op := range r.Operations() {
		require.Equal(t, Unknown, op.Outcome)
		require.Equal(t, Open, op.Return)
	}
	r.End(first, 11, OK, func(op *Operation) { op.Error = "none" })
	require.Equal(t, Operation{ID: first, Kind: Transact, Outcome: OK, Invoke: 5, Return: 11, Error: "none", Verb: "commit"}, r.Operations()[first])
	r.Moment(Operation{Kind: Assigned, Invoke: 12})
	require.Equal(t, int64(12), r.Operations()[2].Return)
	require.Equal(t, 3, r.Len())
}
