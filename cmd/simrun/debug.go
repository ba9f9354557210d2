package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tamarack-mq/tamarack/sim"
	"github.com/tamarack-mq/tamarack/witness"
)

const debugHelp = `moving
  step [N], back [N]         to the next or an earlier event in which something happens
  goto EVENT|TIME            to an event by number, or the last one before a time (18.3s)
  next WHAT, prev WHAT       to the next or an earlier event with something in it
  continue, reverse          on, or back, to the next breakpoint
  first, last                to the beginning; to the end, which is where it broke
WHAT is any of these, all of which must hold:
  node 2, client 7, partition orders/0, kind ReplicaFetch, what truncate,
  mark "a log was truncated", invariant, text WORD; other words are texts
breakpoints
  break WHAT, breaks, delete N
looking (at the moment after the event)
  where                      what happens in this event
  around [N]                 and in those next to it
  node N [WORD]              the whole state of a node; only lines with a word
  diff N FROM [TO]           how it differs between two events
  log N PARTITION [OFFSET]   the batches of a log, and how safe each is
  isr PARTITION              how all its replicas stand
  disk N                     files with what is not synced, and what is under way
  flight [WORD]              messages under way
  why [PARTITION@OFFSET]     the life of a record
  help, quit
An empty line does the last command again. Commands may be cut short: s, b, n.
`

func debugCommand() *cobra.Command {
	var file string
	c := &cobra.Command{
		Use:   "debug SEED|FILE",
		Short: "Steps through a run, forwards and backwards, and looks at any node.",
		Long:  "Steps through a run, forwards and backwards, and looks at any node.\n\n" + debugHelp,
		Args:  oneRun,
		RunE: func(c *cobra.Command, args []string) error {
			plan, err := planOf(args[0], scripted(c))
			if err != nil {
				return err
			}
			in, echo := io.Reader(os.Stdin), !isTerminal(os.Stdin)
			if file != "" {
				f, err := os.Open(file)
				if err != nil {
					return err
				}
				defer f.Close()
				in, echo = f, true
			}
			return newDebugger(sim.NewSession(plan), os.Stdout).loop(in, echo)
		},
	}
	c.Flags().StringVar(&file, "commands", "", "read commands from this file")
	return c
}

// debugger is one session of the debugger: where it stands, and what stops it.
type debugger struct {
	session *sim.Session
	run     *witness.Run
	out     io.Writer
	event   uint64
	breaks  []*filter
	last    string
}

func newDebugger(s *sim.Session, out io.Writer) *debugger {
	return &debugger{session: s, run: s.Witness(), out: out, event: 1}
}

func (d *debugger) say(format string, args ...any) { fmt.Fprintf(d.out, format+"\n", args...) }

// loop reads commands until quit or the end. echo repeats them, so that what
// comes out of a script can be read.
func (d *debugger) loop(in io.Reader, echo bool) error {
	d.say("%d events, %s; %s", d.run.Events, time.Duration(d.run.End), d.session.Result().Class)
	if f := d.run.Failure; f != nil {
		d.say("broken at event %d: %s %s", f.Event, f.Invariant, f.Sentence)
	}
	lines := bufio.NewScanner(in)
	for {
		if !echo {
			fmt.Fprintf(d.out, "%d> ", d.event)
		}
		if !lines.Scan() {
			return lines.Err()
		}
		line := strings.TrimSpace(lines.Text())
		if strings.HasPrefix(line, "#") {
			continue
		}
		if line == "" {
			line = d.last
		}
		if echo && line != "" {
			d.say("%d> %s", d.event, line)
		}
		d.last = line
		words := split(line)
		if len(words) == 0 {
			continue
		}
		if words[0] == "quit" || words[0] == "q" || words[0] == "exit" {
			return nil
		}
		if err := d.do(words[0], words[1:]); err != nil {
			d.say("%v", err)
		}
	}
}

// split cuts a line into words; what is in quotes is one.
func split(line string) []string {
	var words []string
	for i, piece := range strings.Split(line, `"`) {
		if i%2 == 1 {
			words = append(words, piece)
		} else {
			words = append(words, strings.Fields(piece)...)
		}
	}
	return words
}

// debugVerbs are the commands; the first of those that begin with what was typed
// is meant.
var debugVerbs = []struct {
	name string
	do   func(d *debugger, args []string) error
}{
	{"step", func(d *debugger, args []string) error { return d.step(args, 1) }},
	{"back", func(d *debugger, args []string) error { return d.step(args, -1) }},
	{"next", func(d *debugger, args []string) error { return d.seek(args, 1) }},
	{"prev", func(d *debugger, args []string) error { return d.seek(args, -1) }},
	{"continue", func(d *debugger, _ []string) error { return d.proceed(1) }},
	{"reverse", func(d *debugger, _ []string) error { return d.proceed(-1) }},
	{"goto", (*debugger).goTo},
	{"first", func(d *debugger, _ []string) error { return d.land(1) }},
	{"last", func(d *debugger, _ []string) error { return d.land(d.run.Events) }},
	{"where", func(d *debugger, _ []string) error { return d.land(d.event) }},
	{"around", (*debugger).around},
	{"node", (*debugger).node},
	{"diff", (*debugger).diff},
	{"log", (*debugger).log},
	{"isr", (*debugger).isr},
	{"disk", (*debugger).disk},
	{"flight", (*debugger).flight},
	{"why", (*debugger).why},
	{"breaks", (*debugger).listBreaks},
	{"break", (*debugger).addBreak},
	{"delete", (*debugger).deleteBreak},
	{"help", func(d *debugger, _ []string) error { fmt.Fprint(d.out, debugHelp); return nil }},
}

func (d *debugger) do(name string, args []string) error {
	for _, exact := range []bool{true, false} {
		for _, v := range debugVerbs {
			if v.name == name || !exact && strings.HasPrefix(v.name, name) {
				return v.do(d, args)
			}
		}
	}
	return fmt.Errorf("%q is no command: see help", name)
}

// number reads the argument at i; without it, the default.
func number(args []string, i int, byDefault int) (int, error) {
	if i >= len(args) {
		return byDefault, nil
	}
	n, err := strconv.Atoi(args[i])
	if err != nil {
		return 0, fmt.Errorf("%q is no number", args[i])
	}
	return n, nil
}

// land goes to an event and tells what happens there.
func (d *debugger) land(event uint64) error {
	d.event = min(max(event, 1), d.run.Events)
	d.tell(d.event)
	return nil
}

// tell prints the rows of an event.
func (d *debugger) tell(event uint64) {
	at := d.run.At(event)
	if at == len(d.run.Rows) || d.run.Rows[at].Event != event {
		d.say("event %d: nothing that matters", event)
		return
	}
	d.say("event %d, %s", event, time.Duration(d.run.Rows[at].Time))
	for i := at; i < len(d.run.Rows) && d.run.Rows[i].Event == event; i++ {
		cause := ""
		if c := d.run.Rows[i].Cause; c >= 0 && d.run.Rows[c].Event != event {
			cause = fmt.Sprintf("  (from event %d)", d.run.Rows[c].Event)
		}
		d.say("  %s%s", d.run.Say(i), cause)
	}
}

// step goes on, or back, by so many events in which something happens.
func (d *debugger) step(args []string, by int) error {
	n, err := number(args, 0, 1)
	if err != nil {
		return err
	}
	for range n {
		event, ok := d.find(by, func(int) bool { return true })
		if !ok {
			return d.edge(by)
		}
		d.event = event
	}
	return d.land(d.event)
}

func (d *debugger) edge(by int) error {
	if by > 0 {
		return fmt.Errorf("nothing follows after event %d", d.event)
	}
	return fmt.Errorf("nothing comes before event %d", d.event)
}

// find looks for the next event, or the one before, with a row that fits.
func (d *debugger) find(by int, fits func(row int) bool) (uint64, bool) {
	i := d.run.At(d.event+1) - 1
	if by > 0 {
		i = d.run.At(d.event + 1)
	} else {
		i = d.run.At(d.event) - 1
	}
	for ; i >= 0 && i < len(d.run.Rows); i += by {
		if fits(i) {
			return d.run.Rows[i].Event, true
		}
	}
	return 0, false
}

func (d *debugger) seek(args []string, by int) error {
	f, err := newFilter(d.run, args)
	if err != nil {
		return err
	}
	event, ok := d.find(by, f.fits)
	if !ok {
		return fmt.Errorf("there is no such event from here on")
	}
	return d.land(event)
}

func (d *debugger) goTo(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("goto needs an event, or a time like 18.3s")
	}
	if event, err := strconv.ParseUint(args[0], 10, 64); err == nil {
		return d.land(event)
	}
	t, err := time.ParseDuration(args[0])
	if err != nil {
		return fmt.Errorf("%q is neither an event nor a time like 18.3s", args[0])
	}
	i, _ := slices.BinarySearchFunc(d.run.Rows, int64(t)+1, func(r witness.Row, t int64) int {
		if r.Time < t {
			return -1
		}
		return 1
	})
	return d.land(d.run.Rows[max(i-1, 0)].Event)
}
