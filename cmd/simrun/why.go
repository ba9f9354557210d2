package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/tamarack-mq/tamarack/witness"
)

func whyCommand() *cobra.Command {
	var of, group, transactional string
	c := &cobra.Command{
		Use:   "why SEED|FILE",
		Short: "Tells what became of the thing that a failure is about, and nothing else.",
		Long: `Tells what became of one thing, and nothing else. Of a record: who sent it, who
wrote and flushed it, when it was counted as committed and acknowledged, who read
it, and where it was lost. Of a commit, or of a group in a partition: what it has
committed, was told and was given, and who owned the partition. Of a transactional
id: who took it, and how its transactions ended. Of a node: when it was down.
Without a flag it is what the failure names.`,
		Args: oneRun,
		RunE: func(c *cobra.Command, args []string) error {
			plan, err := planOf(args[0], scripted(c))
			if err != nil {
				return err
			}
			run, r := watch(plan)
			story := run.Why()
			switch {
			case of != "":
				id, offset, err := run.ParseRecord(of)
				if err != nil {
					return err
				}
				story = run.Partition(id)
				if offset >= 0 {
					story = run.Record(id, offset)
				}
			case group != "":
				if err := run.KnowsGroup(group); err != nil {
					return err
				}
				s := run.Subject()
				if s.Group != group {
					s = witness.Subject{Offset: witness.None}
				}
				story = run.Commit(group, s.Partition, s.Offset)
			case transactional != "":
				if err := run.KnowsTransactional(transactional); err != nil {
					return err
				}
				story = run.Transaction(witness.Subject{Offset: witness.None, Transactional: transactional})
			case story == nil:
				return fmt.Errorf("nothing broke in this run: name a record (--record orders/0@22), a group (--commit billing) or a transactional id (--transaction ID)%s", otherBug(plan))
			}
			if r.Failure != nil {
				fmt.Fprintf(c.OutOrStdout(), "broken    %s\nwhat      %s\n\n", r.Failure.Invariant, r.Failure.Sentence)
			}
			return run.WriteStory(c.OutOrStdout(), story)
		},
	}
	c.Flags().StringVar(&of, "record", "", "the record TOPIC/PARTITION@OFFSET, the topic by name or number; without @OFFSET the partition")
	c.Flags().StringVar(&transactional, "transaction", "", "the transactions of this transactional id")
	c.Flags().StringVar(&group, "commit", "", "the last acknowledged commit of this group")
	return c
}
