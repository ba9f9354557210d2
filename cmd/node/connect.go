package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/tamarack-mq/tamarack/client"
	protocol "github.com/tamarack-mq/tamarack/core/client"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// connection is how a command finds the cluster, and how it speaks.
type connection struct {
	bootstrap string
	cluster   string
	timeout   time.Duration
	json      bool
}

// devBootstrap are the nodes that node dev starts unless told otherwise.
const devBootstrap = "127.0.0.1:9092,127.0.0.1:9093,127.0.0.1:9094"

// flags adds the flags that all commands to a cluster have.
func (c *connection) flags(cmd *cobra.Command) {
	bootstrap := devBootstrap
	if b, ok := os.LookupEnv(envName("bootstrap")); ok {
		bootstrap = b
	}
	f := cmd.PersistentFlags()
	f.StringVarP(&c.bootstrap, "bootstrap", "b", bootstrap, "Addresses of some nodes, as host:port,... (variable "+envName("bootstrap")+")")
	f.StringVar(&c.cluster, "cluster", os.Getenv(envName("cluster")), "Refuse to talk to any other cluster than this one (variable "+envName("cluster")+")")
	f.DurationVar(&c.timeout, "timeout", 30*time.Second, "Time to get an answer in")
	f.BoolVar(&c.json, "json", false, "Print JSON, one object a line")
}

func (c *connection) dial(ctx context.Context, options ...client.Option) (*client.Client, error) {
	if err := c.checkBootstrap(); err != nil {
		return nil, err
	}
	options = append([]client.Option{client.WithName("node"), client.WithClusterID(c.cluster)}, options...)
	cl, err := dialPatiently(ctx, c.bootstrap, c.timeout, options)
	if err != nil {
		return nil, explain(fmt.Errorf("cannot reach a cluster at %s: %w", c.bootstrap, err))
	}
	return cl, nil
}

// checkBootstrap says which address is none: that would be tried for all of --timeout.
func (c *connection) checkBootstrap() error {
	some := false
	for address := range strings.SplitSeq(c.bootstrap, ",") {
		address = strings.TrimSpace(address)
		if address == "" {
			continue
		}
		some = true
		host, port, err := net.SplitHostPort(address)
		if number, bad := strconv.ParseUint(port, 10, 16); err != nil || host == "" || bad != nil || number == 0 {
			return usage("--bootstrap: %q is no address: write it as host:port, with a port of 1 to 65535", address)
		}
	}
	if !some {
		return usage("--bootstrap names no node: write some as host:port,...")
	}
	return nil
}

// refusedTime is how long nodes may refuse connections before it is taken for a
// sign that there are none: one that starts listens within that time.
const refusedTime = 3 * time.Second

// dialPatiently connects within a time, but gives up early when nobody listens, or
// whoever does will not change his mind.
func dialPatiently(ctx context.Context, bootstrap string, limit time.Duration, options []client.Option) (*client.Client, error) {
	end := time.Now().Add(limit)
	for first := min(refusedTime, limit); ; first = time.Until(end) {
		try, cancel := context.WithTimeout(ctx, first)
		cl, err := client.Dial(try, bootstrap, options...)
		cancel()
		if err == nil || ctx.Err() != nil || hopeless(err) || !time.Now().Before(end) {
			return cl, err
		}
	}
}

// hopeless says whether all that is wrong is that connections are refused: by the
// machine, where nobody listens, or by nodes of another cluster or release; or that
// there is no such machine.
func hopeless(err error) bool {
	joined, ok := err.(interface{ Unwrap() []error }) // of Dial itself: why, then one for each address
	if !ok {
		return false
	}
	refused := 0
	for _, e := range joined.Unwrap() {
		var unknown *net.DNSError
		switch {
		case errors.As(e, &unknown) && unknown.IsNotFound, errors.Is(e, syscall.ECONNREFUSED), errors.Is(e, message.ClusterIDMismatch), errors.Is(e, message.UnsupportedVersion):
			refused++
		case !errors.Is(e, context.DeadlineExceeded) && !timedOut(e):
			return false
		}
	}
	return refused > 0
}

// timedOut says whether the client itself gave up: its clock and the context's
// run out together, and either may be first to say so.
func timedOut(err error) bool {
	var e *client.Error
	return errors.As(err, &e) && e.Cause.Problem == protocol.TimedOut
}

// with runs f with a client and a time limit, and explains what went wrong.
func (c *connection) with(cmd *cobra.Command, f func(ctx context.Context, cl *client.Client) error) error {
	cl, err := c.dial(cmd.Context())
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), c.timeout)
	defer cancel()
	err = f(ctx, cl)
	end, stop := context.WithTimeout(context.Background(), time.Second)
	defer stop()
	_ = cl.Close(end)
	return explain(err)
}

// hintError is an error with advice.
type hintError struct {
	err  error
	hint string
}

func (h *hintError) Error() string { return h.err.Error() }
func (h *hintError) Unwrap() error { return h.err }

// advice says what to do about what a cluster or the network answers.
var advice = []struct {
	err  error
	hint string
}{
	{message.ClusterIDMismatch, "the address belongs to another cluster: correct --bootstrap or --cluster"},
	{message.UnsupportedVersion, "this program and the cluster are of different releases"},
	{syscall.ECONNREFUSED, "is a cluster running there? node dev starts one on this machine; --bootstrap names another"},
	{message.UnknownTopicOrPartition, "node topic list shows the topics; node topic create makes one"},
	{message.TopicAlreadyExists, "node topic describe shows it; node topic add-partitions enlarges it"},
	{message.InvalidReplicationFactor, "there are not so many nodes: see node status, or lower --replicas"},
	{message.NotEnoughReplicas, "too few replicas are in sync: see node status"},
	{message.NotEnoughReplicasAfterAppend, "too few replicas are in sync: see node status; the records may still be committed"},
	{message.DiskFull, "the leader's disk is full: free some space there, or lower the topic's retention"},
	{message.NonEmptyGroup, "the group has members: stop them first"},
	{message.TransactionalIDNotFound, "node transaction list shows the transactional ids"},
	{message.InvalidTransactionTimeout, "transactions-max-timeout is the most: node config list shows it"},
	{client.ErrFenced, "another producer uses the transactional id, or it took too long: node transaction describe shows it"},
	{message.GroupIDNotFound, "node group list shows the groups"},
	{message.UnknownMemberID, "the group has members, so positions cannot be set from outside: stop them first"},
	{message.FencedMemberEpoch, "the group has members, so positions cannot be set from outside: stop them first"},
	{message.EligibleLeadersNotAvailable, "no replica that is in sync is up: start one, or give up records with --unclean"},
	{context.DeadlineExceeded, lateHint},
}

const lateHint = "see node status for nodes that are down, or allow more with --timeout"

// explain adds advice to an error.
func explain(err error) error {
	if err == nil {
		return nil
	}
	var known *hintError
	var usage *usageError
	if errors.As(err, &known) || errors.As(err, &usage) {
		return err
	}
	var problem *protocol.Error
	if errors.As(err, &problem) && problem.Problem == protocol.NoSuchTopic {
		return &hintError{err, "node topic list shows the topics; node topic create makes one"}
	}
	var name *net.DNSError
	if errors.As(err, &name) && name.IsNotFound {
		return &hintError{err, "there is no machine called " + name.Name + ": correct --bootstrap"}
	}
	for _, a := range advice {
		if errors.Is(err, a.err) {
			return &hintError{err, a.hint}
		}
	}
	if problem != nil && problem.Problem == protocol.TimedOut {
		return &hintError{err, lateHint}
	}
	return err
}

// printer writes rows as a table, or as JSON objects, one a line.
type printer struct {
	columns []string
	json    *json.Encoder
	table   *tabwriter.Writer
}

func (c *connection) printer(w io.Writer, columns ...string) *printer {
	p := &printer{columns: columns}
	if c.json {
		p.json = json.NewEncoder(w)
		return p
	}
	p.table = tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	for i, name := range columns {
		p.cell(i, name)
	}
	return p
}

func (p *printer) cell(i int, v any) {
	end := "\t"
	if i == len(p.columns)-1 {
		end = "\n"
	}
	fmt.Fprint(p.table, v, end)
}

// row writes one value for each column.
func (p *printer) row(values ...any) {
	if p.json != nil {
		object := make(map[string]any, len(values))
		for i, v := range values {
			object[p.columns[i]] = v
		}
		_ = p.json.Encode(object)
		return
	}
	for i, v := range values {
		p.cell(i, v)
	}
}

func (p *printer) end() {
	if p.table != nil {
		_ = p.table.Flush()
	}
}

// say prints a sentence for people, or an object for programs.
func (c *connection) say(w io.Writer, object map[string]any, format string, args ...any) {
	if c.json {
		_ = json.NewEncoder(w).Encode(object)
		return
	}
	fmt.Fprintf(w, format+"\n", args...)
}

// warn prints what people should know, beside the output.
func (c *connection) warn(w io.Writer, format string, args ...any) {
	fmt.Fprintf(w, "warning: "+format+"\n", args...)
}

// topic finds one topic by name.
func topic(ctx context.Context, cl *client.Client, name string) (*message.TopicInfo, error) {
	m, err := cl.Metadata(ctx, name)
	if err != nil {
		return nil, err
	}
	if len(m.Topics) == 0 {
		return nil, fmt.Errorf("topic %s: %w", name, message.UnknownTopicOrPartition)
	}
	if t := &m.Topics[0]; t.Code == message.None {
		return t, nil
	}
	return nil, fmt.Errorf("topic %s: %w", name, m.Topics[0].Code)
}

// unknownTime is how long a topic may be unknown to the nodes that are asked
// before there is none: one that was just made is known everywhere by then.
const unknownTime = 3 * time.Second

// await waits until a topic is known, and has a partition unless index is
// client.AnyPartition.
func await(ctx context.Context, cl *client.Client, name string, index int32, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for end := time.Now().Add(unknownTime); ; {
		t, err := topic(ctx, cl, name)
		if err == nil && index != client.AnyPartition {
			_, err = partition(t, index)
		}
		if err == nil || !errors.Is(err, message.UnknownTopicOrPartition) || time.Now().After(end) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// isNode says whether there is a node; message.NoNode: any will do.
func isNode(ctx context.Context, cl *client.Client, id message.NodeID) error {
	if id == message.NoNode {
		return nil
	}
	m, err := cl.Metadata(ctx)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(m.Brokers, func(b message.BrokerInfo) bool { return b.ID == id }) {
		return nil
	}
	return &hintError{fmt.Errorf("there is no node %d", id), "node status shows the nodes"}
}

// partition finds one partition of a topic by its number.
func partition(t *message.TopicInfo, index int32) (record.PartitionID, error) {
	if index < 0 || int(index) >= len(t.Partitions) {
		return record.PartitionID{}, &hintError{
			fmt.Errorf("topic %s has %s, and number %d is none of them: %w", t.Name, counted(len(t.Partitions), "partition"), index, message.UnknownTopicOrPartition), "node topic describe " + t.Name + " shows them"}
	}
	return record.PartitionID{Topic: t.ID, Index: index}, nil
}

// offsetAt asks the leader of a partition of a topic for an offset: at a time,
// message.Earliest or message.Latest.
func offsetAt(ctx context.Context, cl *client.Client, topic string, id record.PartitionID, at record.Timestamp) (record.Offset, error) {
	return offsetFor(ctx, cl, topic, id, at, message.ReadUncommitted)
}

// offsetFor is offsetAt for a reader of committed records or of all.
func offsetFor(ctx context.Context, cl *client.Client, topic string, id record.PartitionID, at record.Timestamp, isolation message.Isolation) (record.Offset, error) {
	r, err := cl.Ask(ctx, &message.ListOffsets{Isolation: isolation, Partitions: []message.ListOffsetsPartition{{ID: id, LeaderEpoch: record.NoLeaderEpoch, Timestamp: at}}},
		protocol.Target{Kind: protocol.LeaderOf, Partition: id})
	if err != nil {
		return 0, fmt.Errorf("partition %s/%d: %w", topic, id.Index, err)
	}
	m, ok := r.(*message.ListOffsetsReply)
	if !ok || len(m.Partitions) != 1 {
		return 0, fmt.Errorf("partition %s/%d: unexpected answer %T", topic, id.Index, r)
	}
	if code := m.Partitions[0].Code; code != message.None {
		return 0, fmt.Errorf("partition %s/%d: %w", topic, id.Index, code)
	}
	return m.Partitions[0].Offset, nil
}
