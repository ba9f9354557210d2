package sim

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/history"
)

// What counts is what is there at rest: a record of the input without an output was
// skipped, one with two was repeated. Second copies, outputs of others and what the
// workers saw themselves count for nothing.
func TestOutputsAreCountedByWhatTheyWereMadeOf(t *testing.T) {
	p := &Plan{Clients: []ClientPlan{
		{ID: 2, Role: Processor, Group: "billing", Topics: []string{"orders"}, Into: []string{"invoices"}},
	}}
	product := func(name string, copy int, of string) string {
		return string(history.AppendProduct(nil, name, copy, []byte(of)))
	}
	read := func(client int32, topic string, values ...string) history.Operation {
		op := history.Operation{Kind: history.Read, Client: client}
		for i, v := range values {
			op.Records = append(op.Records, history.Record{Topic: topic, Offset: int64(i), Value: []byte(v)})
		}
		return op
	}
	ops := []history.Operation{
		read(auditorID, "orders", "a", "b", "c"),
		read(auditorID, "invoices", product("c2.1-1", 0, "a"), product("c2.1-2", 0, "b"), product("c2.2-1", 0, "b"), product("c2.1-3", 1, "c"), "c"),
		read(auditorID, "others", product("c3.1-1", 0, "c")),
		read(2, "invoices", product("c2.1-9", 0, "c")),
	}
	got := OutputsOf(p, "billing", ops)
	require.Equal(t, Outputs{Inputs: 3, Skipped: 1, Repeated: 1, Exact: 1, Example: `"b" has 2`}, got)

	some := OutputExpect{Group: "billing", Repeated: "some", Skipped: "some"}
	require.Empty(t, some.unmet(p, ops))
	none := OutputExpect{Group: "billing", Repeated: "none", Skipped: "none"}
	require.Equal(t, []string{
		`group billing: of 3 inputs 1 were skipped, none was to be: "b" has 2 outputs`,
		`group billing: of 3 inputs 1 were repeated, none was to be: "b" has 2 outputs`,
	}, none.unmet(p, ops))
	require.Equal(t, []string{"group billing: of 3 inputs none was repeated, some were to be"},
		(&OutputExpect{Group: "billing", Repeated: "some"}).unmet(p, append(ops[:1:1], read(auditorID, "invoices", product("c2.1-1", 0, "a")))))
	require.Equal(t, []string{"there was nothing for group archive to work on"}, (&OutputExpect{Group: "archive"}).unmet(p, ops))
}
