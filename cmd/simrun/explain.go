package main

import (
	"bufio"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/tamarack-mq/tamarack/witness"
	"github.com/tamarack-mq/tamarack/witness/report"
)

func explainCommand() *cobra.Command {
	var out, of string
	c := &cobra.Command{
		Use:   "explain SEED|FILE",
		Short: "Draws a run as one page that a browser shows without a network.",
		Long: `Draws a run as one page that a browser shows without a network: a lane for each
node and client, messages as arrows, faults as bands, how the logs of a partition
stood, and what led to the failure, where it opens.`,
		Args: oneRun,
		RunE: func(c *cobra.Command, args []string) error {
			if err := writable(out); err != nil {
				return err
			}
			plan, err := planOf(args[0], scripted(c))
			if err != nil {
				return err
			}
			run, r := watch(plan)
			var story *witness.Story
			if of != "" {
				id, offset, err := run.ParseRecord(of)
				if err != nil {
					return err
				}
				story = run.Partition(id)
				if offset >= 0 {
					story = run.Record(id, offset)
				}
			}
			if err := writePage(out, run, story); err != nil {
				return err
			}
			hint := ""
			if r.Failure == nil {
				hint = otherBug(plan)
			}
			fmt.Fprintf(c.OutOrStdout(), "wrote %s: %d events in %d rows, %s%s\n", out, run.Events, len(run.Rows), r.Class, hint)
			return nil
		},
	}
	c.Flags().StringVarP(&out, "output", "o", "report.html", "the file to write")
	c.Flags().StringVar(&of, "record", "", "highlight the life of this record TOPIC/PARTITION@OFFSET")
	return c
}

func writePage(path string, run *witness.Run, story *witness.Story) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	if err := report.Write(w, run, story); err != nil {
		f.Close()
		return err
	}
	if err := w.Flush(); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}
