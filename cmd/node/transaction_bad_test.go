package main

import (
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/client"
	protocol "github.com/tamarack-mq/tamarack/core/client"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// What producers of transactions do wrong, on real nodes: each has an error of its
// own or an outcome that is documented, and nothing of it is half done. A marker from
// a coordinator that was replaced cannot be made from outside: see package replica.
func TestWhatProducersOfTransactionsDoWrong(t *testing.T) {
	c := devForTest(t)
	s := &shell{t, strings.Join(c.addresses(), ",")}
	s.do("topic", "create", "orders", "--partitions=1")
	committed := func(want string) {
		t.Helper()
		require.Equal(t, want, s.do("poll", "--topic=orders", "--committed"))
	}
	one := func(cl *client.Client, value string) error {
		return cl.Transact(t.Context(), func(tx *client.Tx) error {
			return tx.PublishMessage(client.Message{Topic: "orders", Value: []byte(value)})
		})
	}
	admin := s.dial()
	ask := func(r message.Request, to protocol.Target) message.Code {
		t.Helper()
		_, err := admin.Ask(t.Context(), r, to)
		var code message.Code
		require.ErrorAs(t, err, &code)
		return code
	}

	// Two at once.
	older := s.dial(client.WithTransactionalID("two"))
	h := s.hang(older, "orders", "of the older")
	require.NoError(t, one(s.dial(client.WithTransactionalID("two")), "of the newer"))
	err := h.goOn()
	require.ErrorIs(t, err, client.ErrFenced)
	require.ErrorIs(t, err, message.ProducerFenced)
	require.ErrorContains(t, err, "another producer has taken the transactional id")
	require.NotContains(t, err.Error(), "took longer")
	require.ErrorIs(t, one(older, "again"), client.ErrFenced, "for good")
	committed("of the newer\n")

	// Beyond its time.
	slow := s.dial(client.WithTransactionalID("slow"), client.WithTransactionTimeout(300*time.Millisecond))
	h = s.hang(slow, "orders", "too late")
	require.Eventually(t, func() bool {
		d, err := admin.DescribeTransaction(t.Context(), "slow")
		return err == nil && d.State == "CompleteAbort"
	}, 20*time.Second, 20*time.Millisecond)
	err = h.goOn()
	require.ErrorIs(t, err, client.ErrFenced)
	require.ErrorIs(t, err, message.ProducerFenced)
	require.ErrorContains(t, err, "its transaction took longer than 300 ms, and was aborted")
	require.NotContains(t, err.Error(), "another")
	require.ErrorIs(t, one(slow, "again"), client.ErrFenced)
	committed("of the newer\n")

	// A commit that nothing was added to: the client has nothing to ask for, and a
	// coordinator refuses it.
	idle := s.dial(client.WithTransactionalID("idle"))
	require.NoError(t, idle.Transact(t.Context(), func(*client.Tx) error { return nil }))
	r, err := admin.Ask(t.Context(), &message.InitProducerID{TransactionalID: "raw"}, coordinator("raw"))
	require.NoError(t, err)
	raw := r.(*message.InitProducerIDReply)
	require.Equal(t, message.InvalidTxnState, ask(&message.EndTransaction{TransactionalID: "raw", ID: raw.ID, Epoch: raw.Epoch, Commit: true}, coordinator("raw")))

	// Of a producer that was never made.
	require.Equal(t, message.InvalidProducerIDMapping, ask(&message.EndTransaction{TransactionalID: "raw", ID: raw.ID + 1, Commit: true}, coordinator("raw")))
	require.Equal(t, message.InvalidProducerIDMapping, ask(&message.EndTransaction{TransactionalID: "none", ID: 1, Commit: true}, coordinator("none")))
	require.Equal(t, message.TransactionalIDNotFound, ask(&message.DescribeTransaction{TransactionalID: "none"}, coordinator("none")))

	// Positions of a group that it is no member of, and of a partition that it was not given.
	member := s.dial(client.WithTransactionalID("member"))
	require.NoError(t, member.Subscribe(t.Context(), client.Subscription{Group: "readers", Topics: []string{"orders"}}))
	read, err := member.Poll(t.Context(), 0)
	require.NoError(t, err)
	require.Len(t, read, 1)
	info, err := topic(t.Context(), admin, "orders")
	require.NoError(t, err)
	foreign := &message.CommitTransactionOffsets{
		TransactionalID: "raw", ID: raw.ID, Epoch: raw.Epoch, Group: "readers", Member: "somebody", MemberEpoch: 1,
		Offsets: []message.GroupOffset{{ID: record.PartitionID{Topic: info.ID}, Offset: 1, LeaderEpoch: record.NoLeaderEpoch}},
	}
	require.Equal(t, message.UnknownMemberID, ask(foreign, protocol.Target{Kind: protocol.Coordinator, Group: "readers"}))
	err = member.Transact(t.Context(), func(tx *client.Tx) error {
		_ = tx.PublishMessage(client.Message{Topic: "orders", Value: []byte("with a foreign position")})
		return tx.CommitPositions(client.Position{Place: client.Place{Topic: "others"}, Offset: 1})
	})
	require.ErrorIs(t, err, client.ErrAbortable)
	var e *client.Error
	require.True(t, errors.As(err, &e))
	require.Equal(t, protocol.NotOwned, e.Cause.Because)
	committed("of the newer\n")
	g, err := admin.DescribeGroup(t.Context(), "readers")
	require.NoError(t, err)
	require.Empty(t, g.Offsets)

	// Reading committed from within an aborted one: what is committed behind it.
	fickle := s.dial(client.WithTransactionalID("changes its mind"))
	err = fickle.Transact(t.Context(), func(tx *client.Tx) error {
		for _, v := range []string{"a", "b", "c"} {
			if err := tx.PublishMessage(client.Message{Topic: "orders", Value: []byte(v)}); err != nil {
				return err
			}
		}
		require.NoError(t, fickle.Flush(t.Context()))
		return errors.New("no")
	})
	require.EqualError(t, err, "no")
	require.NoError(t, one(fickle, "kept"))
	within := regexp.MustCompile(`0\t(\d+)\t\tb\n`).FindStringSubmatch(s.do("poll", "--topic=orders", "--show"))
	require.Len(t, within, 2, "it is stored, and read uncommitted")
	require.Equal(t, "kept\n", s.do("poll", "--topic=orders", "--partition=0", "--from="+within[1], "--committed"))
	committed("of the newer\nkept\n")

	// One that has expired.
	s.do("config", "set", "transactions-expiration=1s")
	require.NoError(t, one(idle, "before it rests"))
	require.Eventually(t, func() bool {
		_, err := admin.DescribeTransaction(t.Context(), "idle")
		return errors.Is(err, message.TransactionalIDNotFound)
	}, 20*time.Second, 50*time.Millisecond)
	err = one(idle, "after it was forgotten")
	require.ErrorIs(t, err, client.ErrFenced)
	require.ErrorIs(t, err, message.InvalidProducerIDMapping)
	committed("of the newer\nkept\nbefore it rests\n")
}

func coordinator(id string) protocol.Target {
	return protocol.Target{Kind: protocol.Coordinator, TransactionalID: id}
}
