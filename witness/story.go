package witness

import (
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/tamarack-mq/tamarack/core/record"
)

// Step is one line of a story: a row, and what it means there.
type Step struct {
	Row  int
	Text string

	weight int // what may be left out first when a story gets long: the lowest
}

// Story is the answer to "why": a few rows out of very many, in their order.
type Story struct {
	Title string
	About record.PartitionID // whose log it is about; zero: none
	Steps []Step
	Left  int // steps that were left out to keep it short

	unwritten bool // it is about a record that never was
}

// add tells what a row means.
func (s *Story) add(row, weight int, format string, args ...any) {
	s.Steps = append(s.Steps, Step{row, fmt.Sprintf(format, args...), weight})
}

// Longest is how many lines a story has at most.
const Longest = 24

// WriteStory prints a story, a line for each step: event, time, sentence.
func (r *Run) WriteStory(w io.Writer, s *Story) error {
	if _, err := fmt.Fprintln(w, s.Title); err != nil {
		return err
	}
	for _, step := range s.Steps {
		row := &r.Rows[step.Row]
		if _, err := fmt.Fprintf(w, "%8d %12s  %s\n", row.Event, time.Duration(row.Time), step.Text); err != nil {
			return err
		}
	}
	if s.Left > 0 {
		_, err := fmt.Fprintf(w, "  (%d lesser steps left out)\n", s.Left)
		return err
	}
	return nil
}

// short keeps the weightiest steps, in order.
func (s *Story) short() {
	slices.SortStableFunc(s.Steps, func(a, b Step) int { return a.Row - b.Row })
	for len(s.Steps) > Longest {
		// Of the least weight the one in the middle goes: beginnings and ends tell
		// more.
		least := s.Steps[0].weight
		for _, step := range s.Steps {
			least = min(least, step.weight)
		}
		var light []int
		for i, step := range s.Steps {
			if step.weight == least {
				light = append(light, i)
			}
		}
		at := light[len(light)/2]
		s.Steps = slices.Delete(s.Steps, at, at+1)
		s.Left++
	}
}

// around keeps what is near a moment (0: the end), and of that the weightiest steps, the
// nearest of those of one weight.
func (s *Story) around(r *Run, at int64) {
	slices.SortStableFunc(s.Steps, func(a, b Step) int { return a.Row - b.Row })
	if at == 0 {
		at = r.End
	}
	far := func(step Step) int64 {
		if d := at - r.Rows[step.Row].Time; d >= 0 {
			return d
		}
		return 4 * (r.Rows[step.Row].Time - at) // what came before tells more
	}
	for len(s.Steps) > Longest {
		drop, near := 0, len(s.Steps) <= 2*Longest
		for i, step := range s.Steps {
			w, heavy := s.Steps[drop], step.weight
			lighter, same := heavy < w.weight, heavy == w.weight
			if !near { // what is far off goes before anything is weighed
				lighter, same = heavy < vital && w.weight == vital, (heavy == vital) == (w.weight == vital)
			}
			if lighter || same && far(step) > far(w) {
				drop = i
			}
		}
		s.Steps = slices.Delete(s.Steps, drop, drop+1)
		s.Left++
	}
}

// keep adds how the record came about by which a coordinator keeps what a story is
// about.
func (r *Run) keep(s *Story, of Subject) {
	if of.Kept.Topic == 0 {
		return
	}
	kept := r.Record(of.Kept, of.KeptAt)
	if kept.unwritten {
		return
	}
	s.Title += fmt.Sprintf("; and record %d of partition %s", of.KeptAt, r.name(of.Kept))
	if s.About.Topic == 0 {
		s.About = of.Kept
	}
	for _, step := range kept.Steps {
		if r.Rows[step.Row].What == Broken {
			continue
		}
		if step.weight == major || step.weight == vital {
			step.weight = major
		}
		step.Text = fmt.Sprintf("[%s@%d] %s", of.Kept, of.KeptAt, step.Text)
		s.Steps = append(s.Steps, step)
	}
	s.Left += kept.Left
}

// Why tells the story that a failure is about: of the transactions, of the commit, of
// the group, of the record or of the partition that is its subject; of the node that
// it was seen on when there is none; without that, what led to it. A run that passed
// has none.
func (r *Run) Why() *Story {
	f := r.Failure
	if f == nil {
		return nil
	}
	switch s := r.Subject(); {
	case s.Transactional != "":
		return r.Transaction(s)
	case s.Group != "" && s.Partition.Topic == 0:
		return r.Members(s)
	case s.Group != "" && s.Member != "":
		return r.Owners(s)
	case s.Group != "":
		if request, _ := r.lastCommit(s.Group, s.Partition, s.Offset); request >= 0 && s.Offset >= 0 && s.Kept.Topic == 0 {
			return r.Commit(s.Group, s.Partition, s.Offset)
		}
		return r.Positions(s)
	case s.Partition.Topic == 0 && s.Node > 0:
		return r.Node(s.Node, len(r.Rows)-1)
	case s.Partition.Topic == 0:
		return r.Led(len(r.Rows) - 1)
	case s.Offset >= 0:
		return r.orBefore(s.Partition, s.Offset, r.Copies(s.Partition, s.Offset, s.Copies))
	default:
		return r.Partition(s.Partition)
	}
}

// orBefore is the story of a record or, when it was never written, that of the one
// before: a judge whose sentence tells only where the records in doubt end names the
// offset behind them.
func (r *Run) orBefore(id record.PartitionID, offset int64, s *Story) *Story {
	if !s.unwritten || offset == 0 {
		return s
	}
	before := r.Record(id, offset-1)
	if before.unwritten {
		return s
	}
	before.Title = fmt.Sprintf("%s; so the one before it, record %d", s.Title, offset-1)
	return before
}

// Copies tells the life of a record that stands more than once, of all places where
// it does: how it came to the first, and why again to the next.
func (r *Run) Copies(id record.PartitionID, offset int64, copies []int64) *Story {
	s := r.Record(id, offset)
	if len(copies) == 0 {
		return s
	}
	for i := range s.Steps {
		s.tag(i, offset, r)
	}
	for _, at := range copies {
		other := r.Record(id, at)
		s.Title += fmt.Sprintf(", which is also record %d", at)
		s.Left += other.Left
		for _, step := range other.Steps {
			if r.Rows[step.Row].What == Broken {
				continue
			}
			both := slices.IndexFunc(s.Steps, func(own Step) bool {
				return own.Row == step.Row && own.Text == fmt.Sprintf("[%d] %s", offset, step.Text)
			})
			if both >= 0 { // it is about the partition
				s.Steps[both].Text = step.Text
				continue
			}
			s.Steps = append(s.Steps, step)
			s.tag(len(s.Steps)-1, at, r)
		}
	}
	s.short()
	return s
}

// tag says which of several copies a step is about.
func (s *Story) tag(i int, offset int64, r *Run) {
	if step := &s.Steps[i]; r.Rows[step.Row].What != Broken {
		step.Text = fmt.Sprintf("[%d] %s", offset, step.Text)
	}
}

// Led tells what led to a row: what it follows from, and so on, backwards.
func (r *Run) Led(row int) *Story {
	s := &Story{Title: fmt.Sprintf("what led to event %d", r.Rows[row].Event)}
	for at := row; at >= 0 && len(s.Steps) < Longest; {
		s.Steps = append(s.Steps, Step{Row: at, Text: r.Say(at), weight: 1})
		at = r.before(at)
	}
	slices.Reverse(s.Steps)
	return s
}

// before is the row that a row follows from; the answer to a question follows
// from the question when nothing nearer is known.
func (r *Run) before(at int) int {
	if c := r.Rows[at].Cause; c >= 0 {
		return int(c)
	}
	return int(r.Rows[at].Begin)
}

// name is a partition in a title.
func (r *Run) name(id record.PartitionID) string {
	return fmt.Sprintf("%s (%s/%d)", id, r.Topic(id.Topic), id.Index)
}
