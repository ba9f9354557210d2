package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/tamarack-mq/tamarack/client"
	protocol "github.com/tamarack-mq/tamarack/core/client"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// pollOptions say what to read and how to print it.
type pollOptions struct {
	connection
	group     string
	topics    []string
	instance  string
	partition int32
	from      string
	max       int
	follow    bool
	noCommit  bool
	show      bool
	committed bool
}

func pollCommand() *cobra.Command {
	var o pollOptions
	cmd := &cobra.Command{
		Use:   "poll --topic TOPIC [--group GROUP]",
		Short: "Read records, one a line",
		Long: `Read records and print them, one a line: up to where the topic ends now, or with
--follow for as long as it goes on.

With --group, as a member of a group: it begins at the group's committed
positions, shares the partitions with the other members, and commits what was
printed. Without, all partitions are read from --from on, and nothing is stored.

Records of transactions are read as soon as they are stored, also those of
transactions that are open or were aborted. With --committed only committed ones
are, and nothing behind the first record of a transaction that is open.`,
		Example: `  node poll --topic orders --from earliest
  node poll --group billing --topic orders --follow
  node poll --topic orders --committed
  node poll --topic orders --partition 2 --from 1000 --max 10 --show`,
		Args: exactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return explain(poll(cmd.Context(), o, cmd.OutOrStdout()))
		},
	}
	o.connection.flags(cmd)
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVarP(&o.group, "group", "g", "", "Group to read as a member of")
	f.StringSliceVarP(&o.topics, "topic", "t", nil, "Topic to read; may be given several times")
	f.IntVarP(&o.max, "max", "n", 0, "End after so many records; 0: no limit")
	f.StringVar(&o.from, "from", "earliest", "Where to begin: earliest, latest, an offset or a time (RFC 3339); for a group, what holds when it has no position")
	f.BoolVarP(&o.follow, "follow", "f", false, "Go on and wait for new records")
	f.Int32Var(&o.partition, "partition", -1, "Read only this partition; -1: all")
	f.StringVar(&o.instance, "instance", "", "Name of a static member, which keeps its partitions over a restart")
	f.BoolVar(&o.committed, "committed", false, "Read only records of committed transactions, and of none")
	f.BoolVar(&o.noCommit, "no-commit", false, "Do not store what was read")
	f.BoolVarP(&o.show, "show", "s", false, "Print partition, offset and key before each value, separated by tabs")
	return cmd
}

// position reads what --from and --to mean.
func position(text string) (protocol.Position, error) {
	switch text {
	case "earliest":
		return protocol.Position{Kind: protocol.AtEarliest}, nil
	case "latest":
		return protocol.Position{Kind: protocol.AtLatest}, nil
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && n >= 0 {
		return protocol.Position{Kind: protocol.AtOffset, Offset: record.Offset(n)}, nil
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02"} {
		if t, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			return protocol.Position{Kind: protocol.AtTime, Timestamp: record.Timestamp(t.UnixMilli())}, nil
		}
	}
	return protocol.Position{}, usage("%q: write earliest, latest, an offset, or a time like 2026-01-31T12:00:00Z", text)
}

// isolation is which records are read.
func (o *pollOptions) isolation() message.Isolation {
	if o.committed {
		return message.ReadCommitted
	}
	return message.ReadUncommitted
}

func poll(ctx context.Context, o pollOptions, out io.Writer) error {
	if len(o.topics) == 0 {
		return usage("--topic is missing")
	}
	if o.max < 0 {
		return usage("--max %d: it is 0, for no limit, or above", o.max)
	}
	from, err := position(o.from)
	if err != nil {
		return err
	}
	var options []client.Option
	if o.committed {
		options = append(options, client.WithReadCommitted())
	}
	cl, err := o.dial(ctx, options...)
	if err != nil {
		return err
	}
	r := &polling{o: o, cl: cl, out: bufio.NewWriterSize(out, 64<<10)}
	err = r.begin(ctx, from)
	if err == nil {
		err = r.run(ctx)
	}
	end, stop := context.WithTimeout(context.Background(), 5*time.Second)
	defer stop()
	closed := cl.Close(end)
	if err == nil && !o.noCommit {
		err = closed
	}
	return err
}

// polling is one run of poll.
type polling struct {
	o       pollOptions
	cl      *client.Client
	out     *bufio.Writer
	ends    map[client.Place]int64 // where each partition ended at the beginning
	printed int
}

// begin subscribes, or assigns all partitions.
func (r *polling) begin(ctx context.Context, from protocol.Position) error {
	ctx, cancel := context.WithTimeout(ctx, r.o.timeout)
	defer cancel()
	r.ends = map[client.Place]int64{}
	var starts []protocol.Start
	for _, name := range r.o.topics {
		t, err := topic(ctx, r.cl, name)
		if err != nil {
			return err
		}
		for _, p := range t.Partitions {
			if r.o.partition >= 0 && r.o.partition != p.Index {
				continue
			}
			place := client.Place{Topic: name, Partition: p.Index}
			starts = append(starts, protocol.Start{Place: place, From: from})
			if r.o.follow {
				continue
			}
			end, err := offsetFor(ctx, r.cl, name, record.PartitionID{Topic: t.ID, Index: p.Index}, message.Latest, r.o.isolation())
			if err != nil {
				return err
			}
			r.ends[place] = int64(end)
		}
	}
	if len(starts) == 0 {
		return usage("there is no partition %d", r.o.partition)
	}
	if r.o.group == "" {
		return r.cl.Assign(ctx, protocol.Assign{Partitions: starts})
	}
	s := client.Subscription{Group: r.o.group, Topics: r.o.topics, Instance: r.o.instance}
	switch {
	case r.o.partition >= 0:
		return usage("--partition goes without --group: a group decides who reads what")
	case from.Kind == protocol.AtLatest:
		s.Reset = protocol.ResetLatest
	case from.Kind != protocol.AtEarliest:
		return usage("--from %s goes without --group: a group begins at its positions; node group reset-offsets moves them", r.o.from)
	}
	return r.cl.Subscribe(ctx, s)
}

// pollStep is how long one poll waits before it looks whether all is read.
const pollStep = 200 * time.Millisecond

// run prints until everything is read, or enough, or ctx ends.
func (r *polling) run(ctx context.Context) error {
	waiting := time.Now() // for partitions
	for ctx.Err() == nil && (r.o.max == 0 || r.printed < r.o.max) {
		limit := 0
		if r.o.max > 0 {
			limit = r.o.max - r.printed
		}
		step, cancel := context.WithTimeout(ctx, pollStep)
		records, err := r.cl.Poll(step, limit)
		cancel()
		if err != nil {
			return err
		}
		if len(records) > 0 {
			if err := r.print(records); err != nil {
				return err
			}
			if err := r.commit(); err != nil {
				return err
			}
		}
		if r.o.follow {
			continue
		}
		done, any, err := r.atEnd()
		if err != nil || done {
			return err
		}
		if any {
			waiting = time.Now()
		} else if time.Since(waiting) > r.o.timeout {
			return fmt.Errorf("group %s gave this member no partition within %s: it has as many members as the topic has partitions, or cannot be reached", r.o.group, r.o.timeout)
		}
	}
	return nil
}

// atEnd says whether every partition that is read has come to where it ended at
// the beginning, and whether there is any.
func (r *polling) atEnd() (done, any bool, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), r.o.timeout)
	defer cancel()
	positions, err := r.cl.Positions(ctx)
	if err != nil {
		return false, false, err
	}
	for _, p := range positions {
		if p.Offset < 0 || p.Offset < r.ends[p.Place] {
			return false, true, nil
		}
	}
	return len(positions) > 0, len(positions) > 0, nil
}

// commit stores what was printed.
func (r *polling) commit() error {
	if r.o.group == "" || r.o.noCommit {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), r.o.timeout)
	defer cancel()
	return r.cl.Commit(ctx)
}

// polledRecord is a record as JSON.
type polledRecord struct {
	Topic       string            `json:"topic"`
	Partition   int32             `json:"partition"`
	Offset      int64             `json:"offset"`
	Timestamp   int64             `json:"timestamp"`
	Key         *string           `json:"key"`
	KeyBase64   []byte            `json:"key_base64,omitempty"`
	Value       *string           `json:"value"`
	ValueBase64 []byte            `json:"value_base64,omitempty"`
	Headers     map[string]string `json:"headers,omitempty"`
}

func (r *polling) print(records []client.Record) error {
	for i := range records {
		rec := &records[i]
		switch {
		case r.o.json:
			line, err := json.Marshal(asJSON(rec))
			if err != nil {
				return err
			}
			_, _ = r.out.Write(line)
		case r.o.show:
			fmt.Fprintf(r.out, "%d\t%d\t%s\t", rec.Partition, rec.Offset, rec.Key)
			fallthrough
		default:
			_, _ = r.out.Write(rec.Value)
		}
		_ = r.out.WriteByte('\n')
		r.printed++
	}
	return r.out.Flush() // keeps the first error
}

func asJSON(r *client.Record) polledRecord {
	p := polledRecord{Topic: r.Topic, Partition: r.Partition, Offset: r.Offset, Timestamp: r.Timestamp}
	p.Key, p.KeyBase64 = textOrBytes(r.Key)
	p.Value, p.ValueBase64 = textOrBytes(r.Value)
	for _, h := range r.Headers {
		if p.Headers == nil {
			p.Headers = map[string]string{}
		}
		p.Headers[string(h.Key)] = string(h.Value)
	}
	return p
}

// textOrBytes gives text when the bytes are UTF-8; nil stays nil.
func textOrBytes(b []byte) (*string, []byte) {
	if b == nil {
		return nil, nil
	}
	if !utf8.Valid(b) {
		return nil, b
	}
	s := string(b)
	return &s, nil
}
