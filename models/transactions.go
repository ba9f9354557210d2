package models

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/tamarack-mq/tamarack/history"
)

// transaction is what a history says about one transaction.
type transaction struct {
	number    int64
	op        *history.Operation // nil: only parts of it are in the history
	publishes []*history.Operation
	commits   []*history.Operation // of positions
	fate      fate
	// shown is where readers of committed records found a record of it, and hidden
	// where they did not find one that stands there.
	shown, hidden sighting
	known         int64 // who asks from then on must find it committed; Open: nobody must
	unsettled     bool  // nothing can be said about it
}

// fate is what became of a transaction. That of one whose outcome was not told is
// found by what it left.
type fate uint8

const (
	undecided fate = iota
	committed
	aborted
)

// sighting is a record of a transaction at its place.
type sighting struct {
	publish *history.Operation // nil: there is none
	at      Place
	offset  int64
	by      *history.Operation // the read; nil: it was at rest
}

func (s *sighting) String() string {
	return fmt.Sprintf("%s at %s@%d", name(s.publish.Value), s.at, s.offset)
}

// who names a transaction for people.
func (t *transaction) who() string {
	if t.op == nil {
		return fmt.Sprintf("transaction %d", t.number)
	}
	return fmt.Sprintf("transaction %d of client %d", t.number, t.op.Client)
}

// outcome is what the client was told.
func (t *transaction) outcome() history.Outcome {
	if t.op == nil {
		return history.Unknown
	}
	return t.op.Outcome
}

// part notes an operation that is, or belongs to, a transaction.
func (d *dossier) part(op *history.Operation) {
	n := op.Transaction
	if n <= 0 || n > int64(len(d.Operations)) {
		return
	}
	for int64(len(d.transactions)) < n {
		d.transactions = append(d.transactions, nil)
	}
	t := d.transactions[n-1]
	if t == nil {
		t = &transaction{number: n, known: history.Open}
		d.transactions[n-1] = t
	}
	switch op.Kind {
	case history.Transact:
		t.op = op
	case history.Publish:
		t.publishes = append(t.publishes, op)
	case history.Commit:
		t.commits = append(t.commits, op)
	}
}

// transactionOf is the transaction that an operation belongs to; nil: none.
func (d *dossier) transactionOf(op *history.Operation) *transaction {
	if op == nil || op.Transaction <= 0 || op.Transaction > int64(len(d.transactions)) {
		return nil
	}
	return d.transactions[op.Transaction-1]
}

// doubted is the case with what producers were told left out, of transactions whose
// coordinator may have lost its log: it may have given their identity out before, to
// a producer of which a batch was taken for theirs.
func (c *Case) doubted() *Case {
	if len(c.Unsettled) == 0 {
		return c
	}
	doubts := map[int64]bool{}
	for i := range c.Operations {
		if op := &c.Operations[i]; op.Kind == history.Transact && c.Unsettled[op.TransactionalID] {
			doubts[op.Transaction] = true
		}
	}
	d := *c
	d.Operations = slices.Clone(c.Operations)
	for i := range d.Operations {
		if op := &d.Operations[i]; op.Kind == history.Publish && op.Outcome == history.OK && doubts[op.Transaction] {
			op.Outcome, op.Offset = history.Unknown, history.None
		}
	}
	return &d
}

// settle finds out what became of each transaction, when everything is in its place.
func (d *dossier) settle() {
	if len(d.transactions) == 0 {
		return
	}
	for i, t := range d.transactions {
		if t == nil {
			d.transactions[i] = &transaction{number: int64(i) + 1, known: history.Open}
		}
	}
	for _, t := range d.transactions {
		t.unsettled = t.op != nil && d.Unsettled[t.op.TransactionalID]
	}
	d.writers()
	for _, at := range d.places {
		d.atRest(d.at[at])
	}
	for i := range d.Operations {
		if op := &d.Operations[i]; op.Committed && len(op.Records) > 0 {
			d.shown(op)
		}
	}
	for _, t := range d.transactions {
		t.decide()
	}
	for _, of := range d.offset {
		for _, h := range of {
			h.settle(d)
		}
	}
}

// writers finds the transactions that may have written to each partition, which is
// where markers may stand: a record that has no place may have been on its way to
// any partition of its topic.
func (d *dossier) writers() {
	names := map[uint64]string{}
	for i := range d.Final { // whoever published to it may never have been told its id
		if l := &d.Final[i]; l.Topic != "" {
			names[l.TopicID] = l.Topic
		}
	}
	for i := range d.Operations {
		if op := &d.Operations[i]; op.TopicID != 0 && op.Topic != "" {
			names[op.TopicID] = op.Topic
		}
	}
	found := map[*history.Operation]bool{}
	for _, at := range d.places {
		p := d.at[at]
		for _, op := range p.publishes {
			if op.Transaction == 0 {
				continue
			}
			found[op.Operation] = true
			p.parts = append(p.parts, op)
			for _, offset := range op.in(p) {
				p.made.put(offset, op.Operation)
				if t := d.transactionOf(op.Operation); t != nil && t.unsettled {
					p.stuck = min(p.stuck, offset)
				}
			}
		}
	}
	lost := map[string]int64{}          // how many transactions have records of a topic without a place
	lostBy := map[string]*transaction{} // the last of them
	for _, t := range d.transactions {
		for _, op := range t.publishes {
			if !found[op] && lostBy[op.Topic] != t {
				lostBy[op.Topic] = t
				lost[op.Topic]++
			}
		}
	}
	for _, at := range d.places {
		p := d.at[at]
		of := map[int64]bool{}
		for _, op := range p.parts {
			of[op.Transaction] = true
		}
		p.writers = int64(len(of)) + lost[names[at.TopicID]] + d.Repeated[at]
	}
}

// atRest holds what stands in a partition against what readers of committed records
// found there in the end.
func (d *dossier) atRest(p *partition) {
	if p.committed == nil || d.unsure(p.place) {
		return
	}
	for _, op := range p.parts {
		t := d.transactionOf(op.Operation)
		for _, offset := range op.in(p) {
			if t == nil || offset < p.committed.Start {
				continue
			}
			saw := &t.hidden
			if r := p.committed.at(offset); r != nil && text(r.Value) == text(op.Value) {
				saw = &t.shown
			} else if offset > p.stuck {
				continue
			}
			if saw.publish == nil {
				*saw = sighting{op.Operation, p.place, offset, nil}
			}
		}
	}
}

// shown notes the transactions whose records a reader of committed ones was given.
func (d *dossier) shown(op *history.Operation) {
	for i := range op.Records {
		r := &op.Records[i]
		at := Place{r.TopicID, r.Partition}
		if d.Internal[at.TopicID] || d.lossy(at) {
			continue
		}
		p := d.partition(at)
		made := p.made.at(r.Offset)
		t := d.transactionOf(made)
		if t == nil || text(made.Value) != text(r.Value) {
			continue
		}
		if t.shown.by == nil || op.Return < t.shown.by.Return {
			t.shown = sighting{made, at, r.Offset, op}
		}
	}
}

// decide says what became of a transaction. A client asks for a commit only when all
// that belongs to it is stored.
func (t *transaction) decide() {
	switch o := t.outcome(); {
	case t.unsettled:
	case o == history.OK:
		t.fate, t.known = committed, t.op.Return
	case o == history.Failed:
		t.fate = aborted
	case t.shown.publish != nil:
		t.fate = committed
		if t.shown.by != nil {
			t.known = t.shown.by.Return
		}
	case t.hidden.publish != nil, t.op != nil && t.op.Verb != "commit", t.incomplete() != nil:
		t.fate = aborted
	}
}

// incomplete is a part of a transaction that was not stored, as far as its client
// knew when all was over; nil: there is none.
func (t *transaction) incomplete() *history.Operation {
	for _, list := range [][]*history.Operation{t.publishes, t.commits} {
		for _, op := range list {
			if op.Outcome != history.OK {
				return op
			}
		}
	}
	return nil
}

// atomicity is INV-30: of a transaction that was committed readers of committed
// records find everything, of one that was aborted nothing, and of one whose outcome
// nobody was told all or nothing.
func atomicity(d *dossier) []Violation {
	var found []Violation
	for _, t := range d.transactions {
		if t.unsettled {
			continue
		}
		switch shown, hidden := t.shown.publish != nil, t.hidden.publish != nil; {
		case shown && t.outcome() == history.Failed:
			found = append(found, Violation{"INV-30", "aborted read", fmt.Sprintf(
				"%s has failed (%s), but %s of it was read as committed", t.who(), t.op.Error, &t.shown), t.ops(), t.about(&t.shown)})
		case shown && hidden:
			found = append(found, Violation{"INV-30", "half a transaction", fmt.Sprintf(
				"of %s, %s is committed and %s is not", t.who(), &t.shown, &t.hidden), t.ops(), t.about(&t.shown)})
		case hidden && t.outcome() == history.OK:
			found = append(found, Violation{"INV-30", "lost transaction", fmt.Sprintf(
				"%s was committed, but %s of it is not", t.who(), &t.hidden), t.ops(), t.about(&t.hidden)})
		case shown && t.op != nil && t.op.Verb != "commit":
			found = append(found, Violation{"INV-30", "commit that nobody asked for", fmt.Sprintf(
				"%s never asked for a commit, but %s of it was read as committed", t.who(), &t.shown), t.ops(), t.about(&t.shown)})
		}
		found = append(found, t.early()...)
		if op := t.incomplete(); op != nil && t.fate == committed && t.outcome() != history.Failed {
			found = append(found, Violation{"INV-30", "commit without a part", fmt.Sprintf(
				"%s is committed, but for all that its client knew its %s %d was not stored (%s)", t.who(), op.Kind, op.ID, op.Error), t.ops(), t.about(&t.shown)})
		}
	}
	return found
}

// ops are the operations by which a transaction is judged.
func (t *transaction) ops() (list []int64) {
	if t.op != nil {
		list = append(list, t.op.ID)
	}
	for _, s := range []*sighting{&t.shown, &t.hidden} {
		if s.publish != nil {
			list = append(list, s.publish.ID)
		}
		if s.by != nil {
			list = append(list, s.by.ID)
		}
	}
	return list
}

// early is INV-8: no reader of committed records is given one whose transaction goes
// on. That it did is known of a part of it that was asked for, or answered, later:
// the end is asked for after that.
func (t *transaction) early() []Violation {
	if t.shown.by == nil {
		return nil
	}
	for _, list := range [][]*history.Operation{t.publishes, t.commits} {
		for _, op := range list {
			last := op.Invoke
			if op.Outcome == history.OK {
				last = op.Return
			}
			if t.shown.by.Return < last {
				return []Violation{{"INV-8", "uncommitted read", fmt.Sprintf(
					"%s of %s was read as committed while that still was to %s", &t.shown, t.who(), op.Kind), t.ops(), t.about(&t.shown)}}
			}
		}
	}
	return nil
}

// maySkip says that a reader goes over an offset rightly: there stands no record but
// the marker of a transaction, or one that is not for readers of committed records.
func (d *dossier) maySkip(p *partition, offset int64, readsCommitted bool) bool {
	switch {
	case p.writers == 0:
		return false
	case offset >= d.kept(p.place):
		return true // another marker may have stood there, or stands there now
	case readsCommitted && p.made.at(offset) != nil && d.lossy(p.place):
		return true // the marker that made it count may be gone
	case p.seen.at(offset) != nil:
		if !readsCommitted {
			return false
		}
		return d.mayHide(p.made.at(offset))
	case p.final != nil && offset >= p.final.End:
		return false
	case p.final != nil && offset >= p.final.Start:
		return true
	}
	// Nobody has read what stood there: it was a marker unless somebody knows better.
	return !slices.ContainsFunc(p.publishes, func(op publish) bool {
		return op.Outcome == history.OK && op.Acks == -1 && op.Offset == offset && op.TopicID != 0 &&
			!(readsCommitted && d.mayHide(op.Operation))
	})
}

// mayHide says that a record is not for readers of committed records, as far as is
// known.
func (d *dossier) mayHide(publish *history.Operation) bool {
	t := d.transactionOf(publish)
	return t != nil && t.fate != committed
}

// maySkipAll says so of all offsets from one on and below another.
func (d *dossier) maySkipAll(p *partition, from, to int64, readsCommitted bool) bool {
	if to = d.standing(p, to, from); p.writers == 0 || to-from > d.atMost(p) {
		return from >= to
	}
	for ; from < to; from++ {
		if !d.maySkip(p, from, readsCommitted) {
			return false
		}
	}
	return true
}

// standing is an offset, or where what was given up begins below it, but none below a
// floor: markers may have stood at all offsets from there on, more than anybody has
// seen, if somebody makes transactions.
func (d *dossier) standing(p *partition, offset, floor int64) int64 {
	if p.writers == 0 {
		return offset
	}
	return min(offset, max(floor, d.kept(p.place)))
}

// atMost is more than the offsets of a partition that are taken, so that nobody walks
// farther: what was read there, the markers, and all that anybody ever published, as
// what was aborted may have been retired before anybody read it.
func (d *dossier) atMost(p *partition) int64 {
	return int64(len(p.seen.low)) + p.writers + d.publishes
}

// behind is the lowest offset, and none below a floor, from which a reader gets to an
// offset over nothing that is for it.
func (d *dossier) behind(p *partition, offset, floor int64, readsCommitted bool) int64 {
	offset = d.standing(p, offset, floor)
	floor = max(floor, offset-d.atMost(p))
	for offset > floor && d.maySkip(p, offset-1, readsCommitted) {
		offset--
	}
	return offset
}

// markers is INV-31 and INV-32 at rest: each transaction that has records in a
// partition has one marker behind them, and no transaction has two. A marker is an
// offset at which no record stands.
func markers(d *dossier) []Violation {
	if len(d.transactions) == 0 {
		return nil
	}
	var found []Violation
	for _, at := range d.places {
		p := d.at[at]
		if !d.certain(p) || d.Gone[at] {
			continue
		}
		holes := p.final.holes()
		if int64(len(holes)) > p.writers {
			found = append(found, Violation{"INV-32", "a marker too many", fmt.Sprintf(
				"at %d offsets of %s, %d the first, stands no record, but only %d transactions can have written there", len(holes), at, holes[0], p.writers), nil, ofRecord(at, holes[0])})
		}
		last := map[int64]int64{} // by transaction
		for _, op := range p.parts {
			if t := d.transactionOf(op.Operation); t == nil || t.unsettled {
				continue
			}
			for _, o := range op.in(p) {
				if o >= p.final.Start {
					last[op.Transaction] = max(last[op.Transaction], o)
				}
			}
		}
		found = append(found, unmarked(at, last, holes)...)
	}
	return found
}

// unmarked finds the latest transaction behind which there are too few markers.
func unmarked(at Place, last map[int64]int64, holes []int64) []Violation {
	type end struct{ number, offset int64 }
	ends := make([]end, 0, len(last))
	for n, o := range last {
		ends = append(ends, end{n, o})
	}
	slices.SortFunc(ends, func(a, b end) int { return cmp.Compare(b.offset, a.offset) })
	behind, next := 0, len(holes)-1
	for i, e := range ends {
		for ; next >= 0 && holes[next] > e.offset; next-- {
			behind++
		}
		if behind <= i {
			return []Violation{{"INV-31", "no marker", fmt.Sprintf(
				"%d transactions have their last record in %s at or behind %d, where transaction %d has its own, but only %d markers stand there",
				i+1, at, e.offset, e.number, behind), nil, ofRecord(at, e.offset)}}
		}
	}
	return nil
}

// holes are the offsets of a log at which no record stands.
func (l *Log) holes() (holes []int64) {
	next := l.Start
	for i := range l.Records {
		for o := l.Records[i].Offset; next < o; next++ {
			holes = append(holes, next)
		}
		next = max(next, l.Records[i].Offset+1)
	}
	for ; next < l.End; next++ {
		holes = append(holes, next)
	}
	return holes
}
