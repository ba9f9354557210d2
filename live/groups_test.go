package live

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/history"
	"github.com/tamarack-mq/tamarack/models"
)

// A group that stands still while a record waits for it is no group that has caught
// up: neither one that was never heard of, nor one that stopped a record too early.
func TestAGroupThatStandsStillIsStuck(t *testing.T) {
	log := func(topic string, partition int32, offsets ...int64) models.Log {
		l := models.Log{Topic: topic, TopicID: idOf(topic), Partition: partition, End: 9}
		for _, o := range offsets {
			l.Records = append(l.Records, history.Record{Offset: o})
		}
		return l
	}
	committed := []models.Log{log(orders, 0, 3, 4), log(orders, 1), log(invoices, 0, 7), log(payments, 0, 1)}
	ends := func(group string, id, offset int64) history.Operation {
		return history.Operation{
			ID: id, Client: readerID, Kind: history.FetchCommitted, Group: group, Outcome: history.OK,
			Positions: []history.Position{{Topic: reads[group], Partition: 0, Offset: offset}},
		}
	}
	ops := []history.Operation{ends(billing, 1, 5), ends(invoicing, 2, 9), ends(paying, 3, 8)}
	require.Empty(t, stuck(ops, committed))

	ops[0], ops[2] = ends(billing, 1, 4), history.Operation{}
	var texts []string
	for _, v := range stuck(ops, committed) {
		texts = append(texts, v.String())
	}
	require.Equal(t, []string{
		"INV-34 (stuck group): group billing stands at 4 of orders-0 in the end, and has not got past the committed record 4",
		"INV-34 (stuck group): group paying stands at 0 of invoices-0 in the end, and has not got past the committed record 7",
	}, texts)
}
