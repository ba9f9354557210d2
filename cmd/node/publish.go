package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/semaphore"

	"github.com/tamarack-mq/tamarack/client"
	"github.com/tamarack-mq/tamarack/core/message"
)

// publishOptions say what lines are and where they go.
type publishOptions struct {
	connection
	topic       string
	separator   string
	field       string
	headers     []string
	partition   int32
	acks        string
	quiet       bool
	transaction string
}

func publishCommand() *cobra.Command {
	var o publishOptions
	cmd := &cobra.Command{
		Use:   "publish TOPIC [FILE]",
		Short: "Publish each line of a file, or of stdin, as a record",
		Long: `Publish each line of FILE, or of stdin, as a record. The line is the value; with
--key-separator the part before the separator is the key, with --key-field the
line is a JSON object and one of its fields is the key. Records with the same key
keep their order.

With --transaction all lines take effect together, or none: they are read to the
end, and published as one transaction of that transactional id. Who else uses the
id is fenced.

The exit code is 0 only if every record was acknowledged.`,
		Example: `  echo hello | node publish orders
  node publish orders events.jsonl --key-field customer --json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 1 {
				return usage("missing the topic's name")
			}
			if len(args) > 2 {
				return usage("%q is one argument too many", args[2])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			o.topic = args[0]
			in := cmd.InOrStdin()
			if len(args) == 2 && args[1] != "-" {
				f, err := os.Open(args[1])
				if err != nil {
					return err
				}
				defer f.Close()
				in = f
			}
			return explain(publish(cmd.Context(), o, in, cmd.OutOrStdout(), cmd.ErrOrStderr()))
		},
	}
	o.connection.flags(cmd)
	f := cmd.Flags()
	f.StringVar(&o.separator, "key-separator", "", "What stands between key and value; lines without it have no key")
	f.StringVar(&o.field, "key-field", "", "Field of the JSON object on each line that is the key")
	f.StringArrayVar(&o.headers, "header", nil, "A header of every record, as name=value")
	f.Int32Var(&o.partition, "partition", client.AnyPartition, "Send all records to this partition; -1: by key")
	f.StringVar(&o.acks, "acks", "all", "What to wait for: all (in-sync replicas), 1 (the leader) or 0 (nothing)")
	f.StringVar(&o.transaction, "transaction", "", "Publish all lines as one transaction, under this transactional id")
	f.BoolVarP(&o.quiet, "quiet", "q", false, "No progress and no summary")
	return cmd
}

func parseAcks(text string) (message.Acks, error) {
	switch text {
	case "all", "-1":
		return message.AcksAll, nil
	case "1":
		return message.AcksLeader, nil
	case "0":
		return message.AcksNone, nil
	}
	return 0, usage("acks %q: it is all, 1 or 0", text)
}

// publishWindow is how many bytes of records may wait for their result.
const publishWindow = 8 << 20

// publishing is one run of publish.
type publishing struct {
	o       publishOptions
	headers []client.Header
	out     *bufio.Writer
	window  *semaphore.Weighted
	begin   time.Time

	mu            sync.Mutex
	sent, acked   int
	bytes         int64
	failed, maybe int
	first         error // first failure
}

func publish(ctx context.Context, o publishOptions, in io.Reader, out, errs io.Writer) error {
	acks, err := parseAcks(o.acks)
	if err != nil {
		return err
	}
	p := &publishing{o: o, out: bufio.NewWriterSize(out, 64<<10), window: semaphore.NewWeighted(publishWindow), begin: time.Now()}
	if o.separator != "" && o.field != "" {
		return usage("--key-separator and --key-field exclude one another")
	}
	for _, h := range o.headers {
		name, value, ok := bytes.Cut([]byte(h), []byte("="))
		if !ok {
			return usage("--header %q: write it as name=value", h)
		}
		p.headers = append(p.headers, client.Header{Key: name, Value: value})
	}
	if o.transaction != "" {
		return p.wholly(ctx, acks, in, out, errs)
	}
	cl, err := o.dial(ctx, client.WithAcks(acks), client.WithDeliveryTimeout(o.timeout))
	if err != nil {
		return err
	}
	if err := await(ctx, cl, o.topic, o.partition, o.timeout); err != nil {
		cl.Abort()
		return err
	}
	done := make(chan struct{})
	if !o.quiet && isTerminal(errs) {
		go p.progress(errs, done)
	}
	readErr := p.read(ctx, in, func(m client.Message) { p.send(cl, m) })
	// The last records are waited for even after Ctrl-C; a second one ends it.
	_ = p.window.Acquire(context.Background(), publishWindow)
	close(done)
	end, stop := context.WithTimeout(context.Background(), time.Second)
	defer stop()
	_ = cl.Close(end)
	return p.summary(errs, errors.Join(readErr, p.out.Flush()))
}

// read takes line by line, until the end or the first failure.
func (p *publishing) read(ctx context.Context, in io.Reader, take func(client.Message)) error {
	lines := bufio.NewReaderSize(in, 256<<10)
	stop := context.AfterFunc(ctx, func() {
		if c, ok := in.(io.Closer); ok {
			_ = c.Close() // lets a blocked read go
		}
	})
	defer stop()
	for number := 1; ; number++ {
		line, err := lines.ReadBytes('\n')
		if ctx.Err() != nil || p.failure() != nil {
			return nil
		}
		if len(line) > 0 {
			m, bad := p.message(bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r")))
			if bad != nil {
				return fmt.Errorf("line %d: %w", number, bad)
			}
			take(m)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("cannot read line %d: %w", number, err)
		}
	}
}

// message makes a record of a line.
func (p *publishing) message(line []byte) (client.Message, error) {
	m := client.Message{Topic: p.o.topic, Partition: p.o.partition, Value: line, Headers: p.headers}
	if p.o.separator != "" {
		if key, value, ok := bytes.Cut(line, []byte(p.o.separator)); ok {
			m.Key, m.Value = key, value
		}
	}
	if p.o.field != "" {
		var object map[string]json.RawMessage
		if err := json.Unmarshal(line, &object); err != nil {
			return m, fmt.Errorf("not a JSON object: %w", err)
		}
		raw, ok := object[p.o.field]
		if !ok {
			return m, fmt.Errorf("the object has no field %q", p.o.field)
		}
		m.Key = raw
		var text string
		if json.Unmarshal(raw, &text) == nil {
			m.Key = []byte(text)
		}
	}
	return m, nil
}

func (p *publishing) send(cl *client.Client, m client.Message) {
	size := min(int64(len(m.Key)+len(m.Value)+64), publishWindow)
	_ = p.window.Acquire(context.Background(), size)
	p.mu.Lock()
	p.sent++
	p.mu.Unlock()
	cl.PublishAsync(m, func(r client.Receipt, err error) {
		p.resulted(m, r, err)
		p.window.Release(size)
	})
}

func (p *publishing) resulted(m client.Message, r client.Receipt, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		p.failed++
		var e *client.Error
		if errors.As(err, &e) && e.Unknown {
			p.maybe++
		}
		if p.first == nil {
			p.first = err
		}
		return
	}
	p.acked++
	p.bytes += int64(len(m.Key) + len(m.Value))
	if p.o.json {
		line, _ := json.Marshal(map[string]any{"topic": m.Topic, "partition": r.Partition, "offset": r.Offset, "timestamp": r.Timestamp})
		_, _ = p.out.Write(append(line, '\n'))
	}
}

func (p *publishing) failure() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.first
}

func (p *publishing) progress(w io.Writer, done <-chan struct{}) {
	ticker := time.NewTicker(200 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case <-done:
			fmt.Fprint(w, "\r\x1b[K")
			return
		case <-ticker.C:
			p.mu.Lock()
			sent, acked := p.sent, p.acked
			p.mu.Unlock()
			fmt.Fprintf(w, "\r\x1b[K%d sent, %d acknowledged, %.0f/s", sent, acked, float64(acked)/time.Since(p.begin).Seconds())
		}
	}
}

// summary says how it went and what to return.
func (p *publishing) summary(w io.Writer, readErr error) error {
	took := time.Since(p.begin)
	if !p.o.quiet {
		fmt.Fprintf(w, "%s acknowledged, %s in %s (%.0f records/s)\n",
			counted(p.acked, "record"), amount(p.bytes), took.Round(time.Millisecond), float64(p.acked)/took.Seconds())
	}
	if p.first != nil {
		return fmt.Errorf("not acknowledged: %s, of which %d may be in the log all the same: %w", counted(p.failed, "record"), p.maybe, p.first)
	}
	return readErr
}

// amount is a number of bytes in the unit that suits it, as disks are sold.
func amount(n int64) string {
	switch {
	case n < 1e3:
		return counted(int(n), "byte")
	case n < 1e6:
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	case n < 1e9:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	}
	return fmt.Sprintf("%.1f GB", float64(n)/1e9)
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
