package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tamarack-mq/tamarack/client"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// transactionStates are those that a transactional id may be in.
var transactionStates = []string{"Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort"}

func transactionCommand() *cobra.Command {
	var c connection
	cmd := &cobra.Command{
		Use:   "transaction",
		Short: "Show transactions, and end those that hang",
		Long: `Show transactional ids and the transactions that are open, and end those that hang.

Ongoing is a transaction that is open; PrepareCommit and PrepareAbort one that is
decided and of which not every partition has heard; CompleteCommit and CompleteAbort
tell how the last one ended; Empty is an id without any yet.`,
	}
	c.flags(cmd)
	cmd.AddCommand(transactionList(&c), transactionDescribe(&c), transactionAbort(&c))
	return cmd
}

func transactionList(c *connection) *cobra.Command {
	var states []string
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the transactional ids",
		Example: "  node transaction list --state Ongoing",
		Args:    exactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, s := range states {
				if !slices.Contains(transactionStates, s) {
					return usage("%q is no state of transactions; they are: %s", s, strings.Join(transactionStates, ", "))
				}
			}
			return c.with(cmd, func(ctx context.Context, cl *client.Client) error {
				list, err := cl.ListTransactions(ctx)
				slices.SortFunc(list, func(a, b client.TransactionListing) int {
					return cmp.Compare(a.TransactionalID, b.TransactionalID)
				})
				p := c.printer(cmd.OutOrStdout(), "transaction", "state", "producer", "epoch", "coordinator")
				for _, t := range list {
					if len(states) == 0 || slices.Contains(states, t.State) {
						p.row(t.TransactionalID, t.State, t.ID, t.Epoch, t.Coordinator)
					}
				}
				p.end()
				return err
			})
		},
	}
	cmd.Flags().StringSliceVar(&states, "state", nil, "Only ids in these states: "+strings.Join(transactionStates, ", "))
	return cmd
}

func transactionDescribe(c *connection) *cobra.Command {
	return &cobra.Command{
		Use:   "describe ID",
		Short: "Show a transactional id, and the partitions of its open transaction",
		Long: `Show a transactional id, its producer, and since when a transaction is open.

The partitions are those of a transaction that is open or whose end is being
written; those of ` + offsetsTopic + ` hold the positions of groups. One without a leader
cannot be told of the end: the transaction stays decided, and readers of committed
records wait there, until it has one.`,
		Args: exactArgs("the transactional id"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.with(cmd, func(ctx context.Context, cl *client.Client) error {
				t, err := cl.DescribeTransaction(ctx, args[0])
				if err != nil {
					return err
				}
				m, err := cl.Metadata(ctx)
				if err != nil {
					return err
				}
				return c.transaction(cmd.OutOrStdout(), t, m)
			})
		},
	}
}

// offsetsTopic holds the positions of groups.
const offsetsTopic = "__consumer_offsets"

// takingPart is a partition of a transaction.
type takingPart struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Leader    int32  `json:"leader"` // 0: none
}

func partsOf(t *message.DescribeTransactionReply, m *message.MetadataReply) []takingPart {
	parts := []takingPart{}
	for _, id := range t.Partitions {
		part := takingPart{Topic: fmt.Sprintf("(deleted: %d)", id.Topic), Partition: id.Index}
		for i := range m.Topics {
			if topic := &m.Topics[i]; topic.ID == id.Topic && int(id.Index) < len(topic.Partitions) {
				part.Topic, part.Leader = topic.Name, int32(max(topic.Partitions[id.Index].Leader, 0))
			}
		}
		parts = append(parts, part)
	}
	return parts
}

func (c *connection) transaction(w io.Writer, t *message.DescribeTransactionReply, m *message.MetadataReply) error {
	parts := partsOf(t, m)
	if c.json {
		return json.NewEncoder(w).Encode(struct {
			Transaction string               `json:"transaction"`
			State       string               `json:"state"`
			Producer    record.ProducerID    `json:"producer"`
			Epoch       record.ProducerEpoch `json:"epoch"`
			Timeout     int64                `json:"timeout_ms"`
			Started     record.Timestamp     `json:"started"` // -1: none is open
			Partitions  []takingPart         `json:"partitions"`
		}{t.TransactionalID, t.State, t.ID, t.Epoch, int64(t.Timeout / message.Millisecond), t.Started, parts})
	}
	fmt.Fprintf(w, "transactional id %s: %s, producer %d, epoch %d, time limit %s\n", t.TransactionalID, t.State, t.ID, t.Epoch, time.Duration(t.Timeout))
	if len(parts) == 0 {
		return nil
	}
	fmt.Fprintf(w, "open since %s\n", time.UnixMilli(int64(t.Started)).UTC().Format(time.RFC3339))
	p := c.printer(w, "topic", "partition", "leader")
	for _, part := range parts {
		leader := any(part.Leader)
		if part.Leader == 0 {
			leader = "none"
		}
		p.row(part.Topic, part.Partition, leader)
	}
	p.end()
	return nil
}

func transactionAbort(c *connection) *cobra.Command {
	var fence bool
	cmd := &cobra.Command{
		Use:   "abort ID",
		Short: "End a transaction that hangs, and fence its producer",
		Long: `End a transaction that hangs before its time limit does, so that readers of committed
records go on.

It takes the transactional id as a new producer of it would. What the producer has
open is aborted, with the positions of groups in it, in all partitions by the time
that the command ends. The producer is fenced, whether it lives or not: whatever it
tries next fails, and its program has to begin anew. A transaction that the producer
ends at the same moment ends as the producer says.

A transaction that is decided (PrepareCommit, PrepareAbort) cannot be ended in
another way: it waits for partitions that have no leader, which describe shows.`,
		Args: exactArgs("the transactional id"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.with(cmd, func(ctx context.Context, cl *client.Client) error {
				t, err := cl.DescribeTransaction(ctx, args[0])
				if err != nil {
					return err
				}
				switch {
				case strings.HasPrefix(t.State, "Prepare"):
					return &hintError{fmt.Errorf("transactional id %s is %s: that is decided, and goes on by itself", t.TransactionalID, t.State),
						"node transaction describe " + t.TransactionalID + " shows partitions without a leader, for which it waits"}
				case t.State != "Ongoing" && !fence:
					return &hintError{fmt.Errorf("transactional id %s is %s: no transaction is open", t.TransactionalID, t.State),
						"--fence fences its producer all the same"}
				}
				now, err := cl.FenceProducer(ctx, args[0])
				if err != nil {
					return err
				}
				c.say(cmd.OutOrStdout(), map[string]any{"transaction": t.TransactionalID, "was": t.State, "producer": t.ID, "fenced_epoch": t.Epoch, "epoch": now.Epoch},
					"transactional id %s: it was %s; producer %d with epoch %d is fenced, and nothing of it is open", t.TransactionalID, t.State, t.ID, t.Epoch)
				return nil
			})
		},
	}
	cmd.Flags().BoolVar(&fence, "fence", false, "Fence the producer, too, when no transaction is open")
	return cmd
}
