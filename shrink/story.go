package shrink

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/tamarack-mq/tamarack/sim"
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
			lines = append(lines, line{op.At, fmt.Sprintf("client %d: %s", c.ID, deed(op, n))})
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
