package txn

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/ledger"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

func TestWhatCannotBeAskedForIsRefused(t *testing.T) {
	b := newBench(t, Config{MaxPartitions: 2})
	who := b.identify("orders")
	long := string(make([]byte, 250))
	for _, c := range []struct {
		ask    message.Request
		code   message.Code
		detail string
	}{
		{&message.InitProducerID{}, message.InvalidRequest, "a transactional id has 1 to 249 bytes; this one has 0"},
		{&message.InitProducerID{TransactionalID: long}, message.InvalidRequest, "a transactional id has 1 to 249 bytes; this one has 250"},
		{&message.InitProducerID{TransactionalID: "x", Timeout: 16 * message.Minute}, message.InvalidTransactionTimeout, "a transaction may be open for 1 ms to 900000 ms; 960000 ms are asked for"},
		{&message.InitProducerID{TransactionalID: "x", Timeout: -1}, message.InvalidTransactionTimeout, "a transaction may be open for 1 ms to 900000 ms; -1 ns are asked for"},
	} {
		require.Equal(t, message.Fail(c.ask, c.code, c.detail), b.ask(c.ask))
	}
	for _, c := range []struct {
		name   string
		who    Identity
		code   message.Code
		detail string
	}{
		{"orders", Identity{101, 1}, message.InvalidProducerEpoch, "producer 101 is at epoch 0; nobody was given 1"},
		{"orders", Identity{7, 0}, message.InvalidProducerIDMapping, "the transactional id belongs to producer 101, not to 7"},
		{"orders", nobody, message.InvalidRequest, "producer -1 with epoch -1: a transaction needs the id and the epoch that its coordinator gave out"},
		{"orders", Identity{101, -1}, message.InvalidRequest, "producer 101 with epoch -1: a transaction needs the id and the epoch that its coordinator gave out"},
		{"payments", nobody, message.InvalidRequest, "producer -1 with epoch -1: a transaction needs the id and the epoch that its coordinator gave out"},
		{"payments", who, message.InvalidProducerIDMapping, "the transactional id is not known, or was not used for so long that it expired: ask for a producer id again"},
	} {
		for _, commit := range []bool{true, false} {
			ask := endRequest(c.name, c.who, commit)
			require.Equal(t, message.Fail(ask, c.code, c.detail), b.ask(ask))
		}
		require.Equal(t, c.code, b.add(c.name, c.who, one))
	}
	require.Equal(t, message.InvalidRequest, b.add("", who, one))
	require.Equal(t, message.InvalidRequest, b.add("orders", who))
	require.Equal(t, message.InvalidRequest, b.add("orders", who, record.PartitionID{Topic: 5, Index: -1}))
	require.Equal(t, message.None, b.add("orders", who, one, two, one))
	require.Equal(t, message.TransactionAbortable, b.add("orders", who, three))
	other := &message.FetchOffsets{Group: "g"}
	require.Equal(t, message.Fail(other, message.InvalidRequest, "a transaction coordinator does not answer FetchOffsets"), b.ask(other))
	b.sound()
}

func TestACoordinatorThatIsNotReadySaysSo(t *testing.T) {
	b := newBench(t, Config{Ledger: ledger.Config{MaxWaiting: 1}})
	who := b.identify("orders")
	b.hold = true
	b.send(endRequest("orders", who, false))
	require.Equal(t, message.CoordinatorLoadInProgress, b.finish("orders", who, false).Code, "the log is far behind")
	b.release()
	b.c.Lead(b.now, 0, b.epoch+1, &b.out)
	require.Equal(t, message.CoordinatorLoadInProgress, b.askRaw(endRequest("orders", who, false)))
	require.Equal(t, message.CoordinatorLoadInProgress, b.askRaw(&message.ListTransactions{}))
	b.c.Resign(b.now, 0, b.epoch+1, &b.out)
	require.Equal(t, message.NotCoordinator, b.askRaw(endRequest("orders", who, false)))
	fresh := New(Config{}, b)
	fresh.Add(b.now, 1, &message.AddToTransaction{TransactionalID: "orders"}, &b.out)
	require.Equal(t, message.CoordinatorNotAvailable, b.out.Sends[len(b.out.Sends)-1].Msg.(*message.AddedToTransaction).Code)
}

// askRaw asks without carrying out what the coordinator wants.
func (b *bench) askRaw(m message.Request) message.Code {
	b.c.Request(b.now, 999, m, &b.out)
	switch r := b.out.Replies[len(b.out.Replies)-1].Msg.(type) {
	case *message.EndTransactionReply:
		return r.Code
	case *message.ListTransactionsReply:
		return r.Code
	}
	return message.UnknownServerError
}

// A decision that breaks the protocol never gets into the log.
func TestADecisionThatBreaksTheProtocolStopsTheNode(t *testing.T) {
	open := value{phase: Ongoing, now: Identity{101, 4}, next: -1, ended: nobody, partitions: []record.PartitionID{one}}
	for _, c := range []struct {
		name   string
		change func(v *value)
		want   string
	}{
		{"orders", func(v *value) { v.phase = Empty }, `"orders" goes from Ongoing to Empty (INV-32)`},
		{"orders", func(v *value) { v.now.Epoch = 3 }, `"orders" goes from epoch 4 back to 3`},
		{"orders", func(v *value) { v.phase = PrepareCommit }, `the markers of "orders", which is at {101 4}, would carry {101 4}`},
		{"orders", func(v *value) { v.partitions = nil }, `"orders" loses a partition while a transaction is open`},
		{"new", func(*value) {}, "a transactional id that is not there becomes Ongoing"},
	} {
		b := newBench(t, Config{})
		s := b.c.shards.Books()[0]
		s.Decide(change{name: "orders", value: open})
		s.Flush(b.now, &b.out.Out)
		b.settle()
		next := open
		c.change(&next)
		s.write(b.now, c.name, next)
		s.write(b.now, "other", open)
		s.Answer(b.now, 99, endRequest("orders", nobody, true), granted(&next), ledger.Written, &b.out.Out)
		s.Flush(b.now, &b.out.Out)
		require.Equal(t, "shard 0 of __transaction_state: "+c.want, b.out.Halt, "the first of them is told")
		require.Empty(t, b.out.Appends)
		require.Len(t, s.state.entries, 1)
		require.Equal(t, open, s.state.entries["orders"].value)
	}
	for before, next := range map[Phase]Phase{PrepareCommit: PrepareAbort, PrepareAbort: CompleteCommit, CompleteCommit: PrepareCommit, Empty: PrepareAbort} {
		require.False(t, follows(before, next), "%v after %v", next, before)
	}
}

func TestTheShortestTimeIsTaken(t *testing.T) {
	b := newBench(t, Config{})
	got := b.ask(&message.InitProducerID{TransactionalID: "x", Timeout: message.Millisecond}).(*message.InitProducerIDReply)
	require.Equal(t, message.None, got.Code, got.Detail)
}
