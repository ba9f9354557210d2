package main

import (
	"fmt"
	"strings"

	"github.com/tamarack-mq/tamarack/witness"
)

// filter says which rows a search or a breakpoint is about.
type filter struct {
	text  string
	tests []func(row *witness.Row) bool
	run   *witness.Run
}

func newFilter(run *witness.Run, words []string) (*filter, error) {
	f := &filter{run: run, text: strings.Join(words, " ")}
	if len(words) == 0 {
		return nil, fmt.Errorf("of what? see help")
	}
	add := func(test func(row *witness.Row) bool) { f.tests = append(f.tests, test) }
	for i := 0; i < len(words); i++ {
		value := ""
		if i+1 < len(words) {
			value = words[i+1]
		}
		switch words[i] {
		case "node", "client":
			n, err := number(words, i+1, 0)
			if err != nil {
				return nil, err
			}
			place := witness.NodeAt(n)
			if words[i] == "client" {
				place = witness.ClientAt(n)
			}
			add(func(r *witness.Row) bool { return r.Place == place })
			i++
		case "partition":
			id, offset, err := run.ParseRecord(value)
			if err != nil {
				return nil, err
			}
			add(func(r *witness.Row) bool {
				for k := range r.Parts {
					if p := &r.Parts[k]; p.ID == id && (offset < 0 || p.Covers(id, offset)) {
						return true
					}
				}
				return false
			})
			i++
		case "kind":
			add(func(r *witness.Row) bool { return r.Name == value })
			i++
		case "what":
			add(func(r *witness.Row) bool { return r.What.String() == value })
			i++
		case "mark":
			add(func(r *witness.Row) bool { return r.What == witness.Mark && strings.Contains(r.Name, value) })
			i++
		case "invariant":
			add(func(r *witness.Row) bool { return r.What == witness.Broken })
		default:
			word := words[i]
			if word == "text" && value != "" {
				word = value
				i++
			}
			add(func(r *witness.Row) bool {
				return strings.Contains(r.Text, word) || strings.Contains(r.Name, word) || strings.Contains(r.Code, word) || r.What.String() == word
			})
		}
	}
	return f, nil
}

func (f *filter) fits(i int) bool {
	for _, test := range f.tests {
		if !test(&f.run.Rows[i]) {
			return false
		}
	}
	return true
}

func (d *debugger) addBreak(args []string) error {
	f, err := newFilter(d.run, args)
	if err != nil {
		return err
	}
	d.breaks = append(d.breaks, f)
	d.say("breakpoint %d: %s", len(d.breaks), f.text)
	return nil
}

func (d *debugger) listBreaks([]string) error {
	if len(d.breaks) == 0 {
		d.say("no breakpoints")
	}
	for i, f := range d.breaks {
		d.say("%d: %s", i+1, f.text)
	}
	return nil
}

func (d *debugger) deleteBreak(args []string) error {
	n, err := number(args, 0, 0)
	if err != nil || n < 1 || n > len(d.breaks) {
		return fmt.Errorf("delete needs the number of a breakpoint: see breaks")
	}
	d.breaks = append(d.breaks[:n-1], d.breaks[n:]...)
	return nil
}

// proceed goes to the next breakpoint; without one to the end.
func (d *debugger) proceed(by int) error {
	var hit *filter
	event, ok := d.find(by, func(i int) bool {
		for _, f := range d.breaks {
			if f.fits(i) {
				hit = f
				return true
			}
		}
		return false
	})
	switch {
	case ok:
		d.say("breakpoint: %s", hit.text)
		return d.land(event)
	case by > 0:
		return d.land(d.run.Events)
	}
	return d.land(1)
}

func (d *debugger) around(args []string) error {
	n, err := number(args, 0, 3)
	if err != nil {
		return err
	}
	for e := d.event - min(uint64(n), d.event-1); e <= min(d.event+uint64(n), d.run.Events); e++ {
		d.tell(e)
	}
	return nil
}

// show prints lines, or those that hold a word.
func (d *debugger) show(lines []string, words ...string) error {
	for _, line := range lines {
		fits := true
		for _, w := range words {
			fits = fits && strings.Contains(line, w)
		}
		if fits {
			d.say("  %s", line)
		}
	}
	return nil
}

func (d *debugger) node(args []string) error {
	n, err := number(args, 0, 0)
	if err != nil {
		return err
	}
	lines, err := d.session.Dump(d.event, n)
	if err != nil {
		return err
	}
	return d.show(lines, args[min(1, len(args)):]...)
}

func (d *debugger) diff(args []string) error {
	n, err := number(args, 0, 0)
	if err != nil {
		return err
	}
	from, err := number(args, 1, int(d.event)-1)
	if err != nil {
		return err
	}
	to, err := number(args, 2, int(d.event))
	if err != nil {
		return err
	}
	lines, err := d.session.Diff(n, uint64(max(from, 1)), uint64(max(to, 1)))
	if err != nil {
		return err
	}
	d.say("  node %d from event %d to %d", n, from, to)
	return d.show(lines)
}

func (d *debugger) log(args []string) error {
	if len(args) < 2 {
		return fmt.Errorf("log needs a node and a partition: log 2 orders/0")
	}
	n, err := number(args, 0, 0)
	if err != nil {
		return err
	}
	id, _, err := d.run.ParseRecord(args[1])
	if err != nil {
		return err
	}
	from, err := number(args, 2, 0)
	if err != nil {
		return err
	}
	lines, err := d.session.Log(d.event, n, id, int64(from))
	if err != nil {
		return err
	}
	return d.show(lines)
}

func (d *debugger) isr(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("isr needs a partition: isr orders/0")
	}
	id, _, err := d.run.ParseRecord(args[0])
	if err != nil {
		return err
	}
	return d.show(d.session.Standings(d.event, id))
}

func (d *debugger) disk(args []string) error {
	n, err := number(args, 0, 0)
	if err != nil {
		return err
	}
	lines, err := d.session.Disk(d.event, n)
	if err != nil {
		return err
	}
	return d.show(lines)
}

func (d *debugger) flight(args []string) error { return d.show(d.session.Flight(d.event), args...) }

func (d *debugger) why(args []string) error {
	story := d.run.Why()
	if len(args) > 0 {
		id, offset, err := d.run.ParseRecord(args[0])
		if err != nil {
			return err
		}
		story = d.run.Partition(id)
		if offset >= 0 {
			story = d.run.Record(id, offset)
		}
	}
	if story == nil {
		return fmt.Errorf("nothing broke: name a record, as in why orders/0@22")
	}
	return d.run.WriteStory(d.out, story)
}
