package main

import (
	"context"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/client"
	"github.com/tamarack-mq/tamarack/core/message"
)

// shell runs commands against a cluster.
type shell struct {
	t         *testing.T
	bootstrap string
}

func (s *shell) in(stdin string, args ...string) string {
	s.t.Helper()
	out, err := cli(s.t, stdin, append(args, "--bootstrap="+s.bootstrap)...)
	require.NoError(s.t, err, "%v", args)
	return out
}

func (s *shell) do(args ...string) string { s.t.Helper(); return s.in("", args...) }

func (s *shell) fails(args ...string) error {
	s.t.Helper()
	_, err := cli(s.t, "", append(args, "--bootstrap="+s.bootstrap)...)
	require.Error(s.t, err, "%v", args)
	return err
}

func (s *shell) eventually(want string, args ...string) {
	s.t.Helper()
	require.Eventually(s.t, func() bool { return s.do(args...) == want }, 20*time.Second, 20*time.Millisecond, "%v", args)
}

// dial connects as an application does.
func (s *shell) dial(options ...client.Option) *client.Client {
	s.t.Helper()
	cl, err := client.Dial(s.t.Context(), s.bootstrap, append([]client.Option{client.WithRequestTimeout(2 * time.Second)}, options...)...)
	require.NoError(s.t, err)
	s.t.Cleanup(func() {
		end, stop := context.WithTimeout(context.Background(), time.Second)
		defer stop()
		_ = cl.Close(end)
	})
	return cl
}

// hanging is a transaction whose program does not go on.
type hanging struct {
	proceed chan struct{}
	ended   chan error
}

// hang opens a transaction, has a record of it stored, and then does nothing.
func (s *shell) hang(cl *client.Client, topic, value string) *hanging {
	s.t.Helper()
	h := &hanging{proceed: make(chan struct{}), ended: make(chan error, 1)}
	stored := make(chan error, 1)
	go func() {
		h.ended <- cl.Transact(s.t.Context(), func(tx *client.Tx) error {
			if err := tx.PublishMessage(client.Message{Topic: topic, Partition: 0, Value: []byte(value)}); err != nil {
				return err
			}
			select {
			case stored <- cl.Flush(s.t.Context()):
			default: // it is tried again
			}
			<-h.proceed
			return nil
		})
	}()
	require.NoError(s.t, <-stored)
	return h
}

func (h *hanging) goOn() error {
	close(h.proceed)
	return <-h.ended
}

// digits stand for numbers that differ from run to run.
var digits = regexp.MustCompile(`(coordinator|leader)":[1-3]|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ|"started":\d+`)

// What an operator sees of transactions: those that are there, one that hangs and
// keeps readers of committed records waiting, and how it ends.
func TestAnOperatorEndsATransactionThatHangs(t *testing.T) {
	c := devForTest(t)
	s := &shell{t, strings.Join(c.addresses(), ",")}
	require.Equal(t, "transaction  state  producer  epoch  coordinator\n", s.do("transaction", "list"))
	require.EqualError(t, s.fails("transaction", "describe", "none"),
		"DescribeTransaction: the transactional id is not known, or was not used for so long that it expired (TRANSACTIONAL_ID_NOT_FOUND)")
	require.EqualError(t, s.fails("transaction", "list", "--state=Open"),
		`"Open" is no state of transactions; they are: Empty, Ongoing, PrepareCommit, PrepareAbort, CompleteCommit, CompleteAbort`)

	s.do("topic", "create", "orders", "--partitions=1")
	require.Equal(t, `{"records":2,"topic":"orders","transaction":"pay"}`+"\n", s.in("one\ntwo\n", "publish", "orders", "--transaction=pay", "--json"))
	require.Equal(t, "one\ntwo\n", s.do("poll", "--topic=orders", "--committed"), "acknowledged, so there for all")
	list := func(state string) string {
		return digits.ReplaceAllString(s.do("transaction", "list", "--json", "--state="+state), `$1":N`)
	}
	require.Equal(t, `{"coordinator":N,"epoch":1,"producer":0,"state":"CompleteCommit","transaction":"pay"}`+"\n", list("CompleteCommit"))
	require.Equal(t, "transactional id pay: CompleteCommit, producer 0, epoch 1, time limit 1m0s\n", s.do("transaction", "describe", "pay"))

	h := s.hang(s.dial(client.WithTransactionalID("hang")), "orders", "three")
	s.in("four\n", "publish", "orders")
	require.Equal(t, "one\ntwo\nthree\nfour\n", s.do("poll", "--topic=orders"), "uncommitted is the default")
	require.Equal(t, "one\ntwo\n", s.do("poll", "--topic=orders", "--committed"), "and ends there, although more is behind it")
	open := s.do("transaction", "describe", "hang")
	producer := regexp.MustCompile(`producer (\d+)`).FindStringSubmatch(open)[1]
	require.Equal(t, `{"coordinator":N,"epoch":0,"producer":`+producer+`,"state":"Ongoing","transaction":"hang"}`+"\n", list("Ongoing"))
	require.Regexp(t, `^transactional id hang: Ongoing, producer \d+, epoch 0, time limit 1m0s
open since \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ
topic   partition  leader
orders  0          [1-3]
$`, open)
	require.Regexp(t, `^\{"transaction":"hang","state":"Ongoing","producer":\d+,"epoch":0,"timeout_ms":60000,"started":\d+,"partitions":\[\{"topic":"orders","partition":0,"leader":[1-3]\}\]\}
$`, s.do("transaction", "describe", "hang", "--json"))

	require.EqualError(t, s.fails("transaction", "abort", "pay"), "transactional id pay is CompleteCommit: no transaction is open")
	require.ErrorIs(t, s.fails("transaction", "abort", "none"), message.TransactionalIDNotFound)
	require.Equal(t, "", list("Empty"), "asking for one makes none")
	require.Equal(t, "transactional id hang: it was Ongoing; producer "+producer+" with epoch 0 is fenced, and nothing of it is open\n", s.do("transaction", "abort", "hang"))
	require.Equal(t, "one\ntwo\nfour\n", s.do("poll", "--topic=orders", "--committed"), "at once")
	require.Equal(t, "transactional id hang: Empty, producer "+producer+", epoch 2, time limit 1m0s\n", s.do("transaction", "describe", "hang"))
	err := h.goOn()
	require.ErrorIs(t, err, client.ErrFenced)
	require.ErrorIs(t, err, message.ProducerFenced)
	require.Equal(t, "one\ntwo\nfour\n", s.do("poll", "--topic=orders", "--committed"), "and for ever")
	require.Equal(t, "transactional id pay: it was CompleteCommit; producer 0 with epoch 1 is fenced, and nothing of it is open\n", s.do("transaction", "abort", "pay", "--fence"))

	// What programs may ask for changes while the nodes run.
	s.do("config", "set", "transactions-max-timeout=20s")
	s.eventually("20s\n", "config", "get", "transactions-max-timeout", "--node=1")
	s.eventually("20s\n", "config", "get", "transactions-max-timeout", "--node=2")
	s.eventually("20s\n", "config", "get", "transactions-max-timeout", "--node=3")
	slow := s.dial(client.WithTransactionalID("slow"), client.WithTransactionTimeout(30*time.Second))
	err = slow.Transact(t.Context(), func(*client.Tx) error { return nil })
	require.ErrorIs(t, err, message.InvalidTransactionTimeout)
	require.ErrorContains(t, err, "a transaction may be open for 1 ms to 20000 ms; 30000 ms are asked for")
	require.EqualError(t, s.fails("config", "set", "transactions-expiration=1ms"),
		`AlterConfig: setting "transactions-expiration" cannot be "1ms": it may be 1s to 87600h (INVALID_CONFIG)`)
}
