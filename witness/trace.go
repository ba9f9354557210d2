package witness

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// TraceHeader names the columns of a trace; it is the only line that begins with
// a number sign. Every line has all of them,
// separated by spaces, "-" where there is nothing to say; only the last may
// hold spaces. docs/debugging.md explains them.
const TraceHeader = "  #event           time row      cause    place peer  what        name                      partition  epoch    from      to   start     end flushed    high code                 text"

// WriteTrace writes the rows of the events from and to, both included, as
// lines: one for each row, and for each partition that it is about.
func (r *Run) WriteTrace(w io.Writer, from, to uint64) error {
	b := bufio.NewWriter(w)
	fmt.Fprintln(b, TraceHeader)
	for i := r.At(from); i < len(r.Rows) && r.Rows[i].Event <= to; i++ {
		r.writeRow(b, i)
	}
	return b.Flush()
}

func (r *Run) writeRow(w *bufio.Writer, i int) {
	row := &r.Rows[i]
	text := row.Text
	if text == "" {
		text = "-"
	}
	if len(row.Parts) == 0 {
		empty := Part{Epoch: None, From: None, To: None, Start: None, End: None, Flushed: None, High: None}
		writeLine(w, i, row, "-", &empty, text)
		return
	}
	for k := range row.Parts {
		p := &row.Parts[k]
		writeLine(w, i, row, p.ID.String(), p, text)
		text = `"` // the same again: said above
	}
}

func writeLine(w *bufio.Writer, i int, row *Row, partition string, p *Part, text string) {
	fmt.Fprintf(w, "%8d %14d %-8d %-8s %-5s %-5s %-11s %-25s %-10s %5s %7s %7s %7s %7s %7s %7s %-20s %s\n",
		row.Event, row.Time, i, number(int64(row.Cause)), row.Place, row.Peer, row.What, word(row.Name),
		partition, number(int64(p.Epoch)), number(p.From), number(p.To), number(p.Start), number(p.End),
		number(p.Flushed), number(p.High), word(first(p.Code, row.Code)), text)
}

func number(n int64) string {
	if n == None {
		return "-"
	}
	return strconv.FormatInt(n, 10)
}

// word makes one column of a text.
func word(s string) string {
	if s == "" {
		return "-"
	}
	return strings.ReplaceAll(s, " ", "_")
}

func first(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
