package shrink

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/tamarack-mq/tamarack/sim"
	"github.com/tamarack-mq/tamarack/witness"
)

// Story tells a plan and its failure in a few lines: the cluster, then what
// happens to it by time, then what breaks.
func Story(w io.Writer, p *sim.Plan, r *sim.Result) {
	fmt.Fprintf(w, "%s, %d voting\n", plural(p.Cluster.Nodes, "node"), p.Cluster.Voters)
	for i := range p.Topics {
		t := &p.Topics[i]
		fmt.Fprintf(w, "topic %s: %s, %s, %d in sync for acks=all\n", t.Name, plural(t.Partitions, "partition"), plural(t.Replication, "replica"), max(1, t.MinInsync))
	}
	type line struct {
		at   sim.Span
		text string
	}
	var lines []line
	sends := sending(p)
	for i := range p.Faults {
		lines = append(lines, line{p.Faults[i].At, p.Faults[i].String()})
	}
	for i := range p.Clients {
		c := &p.Clients[i]
		fmt.Fprintf(w, "client %d: %s%s\n", c.ID, c.Role, manner(c))
		for o := 0; o < len(c.Ops); o++ {
			op, n := &c.Ops[o], 1
			for o+1 < len(c.Ops) && c.Ops[o+1].At == op.At && c.Ops[o+1].Do == op.Do && c.Ops[o+1].Topic == op.Topic {
				o, n = o+1, n+1
			}
			text := deed(op, n)
			if sent := sends[c.ID]; op.Do == "send" {
				until := sim.Span(math.MaxInt64)
				if o+1 < len(c.Ops) {
					until = c.Ops[o+1].At
				}
				text = sent.between(op.At, until)
			}
			lines = append(lines, line{op.At, fmt.Sprintf("client %d: %s", c.ID, text)})
		}
	}
	if p.Script != nil && len(p.Script.Decisions) == 0 {
		fmt.Fprintln(w, "chance: all takes its plain course")
	}
	if p.Script != nil {
		for i := range p.Script.Decisions {
			fmt.Fprintf(w, "chance: %s\n", p.Script.Decisions[i].String())
		}
	}
	slices.SortStableFunc(lines, func(a, b line) int { return cmp.Compare(a.at, b.at) })
	for _, l := range lines {
		fmt.Fprintf(w, "%12s  %s\n", l.at, l.text)
	}
	if f := r.Failure; f != nil {
		fmt.Fprintf(w, "%12s  broken: %s, %s\n", f.Time, f.Invariant, f.Sentence)
	}
}

// manner is how a client goes about its work.
func manner(c *sim.ClientPlan) string {
	var words []string
	switch c.Role {
	case sim.Producer:
		words = append(words, "acks "+[]string{"all", "0", "1"}[c.Acks+1])
		if c.Idempotent {
			words = append(words, "idempotent")
		}
	case sim.MemberOf:
		words = append(words, "group "+c.Group, c.Style)
	}
	if c.Role == sim.Worker {
		words = append(words, "group "+c.Group, "into "+strings.Join(c.Into, " and "))
	}
	if c.Transactional != "" {
		words = append(words, "as "+c.Transactional)
	}
	if c.Committed {
		words = append(words, "committed records")
	}
	if c.Ops == nil {
		words = append(words, "goes on and on")
	}
	if len(words) == 0 {
		return ""
	}
	return " (" + strings.Join(words, ", ") + ")"
}

// sent are the requests of a client, by time.
type sent []struct {
	at   sim.Span
	what string
}

// sending plays a plan to see what those clients send of which the plan says no more
// than the chance that it follows from. Nil when it has none.
func sending(p *sim.Plan) map[int]sent {
	if !slices.ContainsFunc(p.Clients, func(c sim.ClientPlan) bool {
		return slices.ContainsFunc(c.Ops, func(op sim.ClientOp) bool { return op.Do == "send" })
	}) {
		return nil
	}
	run := &witness.Run{}
	sim.Run(p, sim.Options{Witness: run})
	all := map[int]sent{}
	for i := range run.Rows {
		row := &run.Rows[i]
		if row.What != witness.Call || row.Place >= 0 || row.Name == "Metadata" || row.Name == "FindCoordinator" {
			continue
		}
		c := int(-row.Place)
		all[c] = append(all[c], struct {
			at   sim.Span
			what string
		}{sim.Span(row.Time), row.Name})
	}
	return all
}

// between tells what was sent from a time on, before another.
func (s sent) between(from, to sim.Span) string {
	var kinds []string
	for _, r := range s {
		if r.at >= from && r.at < to && !slices.Contains(kinds, r.what) {
			kinds = append(kinds, r.what)
		}
	}
	if len(kinds) == 0 {
		return "send"
	}
	return "sends " + strings.Join(kinds, ", ")
}

// deed tells an operation that was done n times at once.
func deed(op *sim.ClientOp, n int) string {
	switch op.Do {
	case "publish":
		return fmt.Sprintf("publishes %s to %s", plural(n, "record"), op.Topic)
	case "poll":
		return fmt.Sprintf("polls for %d records at most", op.Count)
	case "assign":
		return "reads " + strings.Join(op.From, ", ")
	}
	return strings.TrimSpace(op.Do + " " + op.Topic)
}

func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}
