package witness

import (
	"fmt"

	"github.com/tamarack-mq/tamarack/core/record"
)

// Weights of steps: what broke and what was lost must stay, who else has a copy
// may go.
const (
	minor = iota
	usual
	major
	vital
)

// life follows one record through the rows of a run.
type life struct {
	run    *Run
	story  *Story
	id     record.PartitionID
	offset int64

	has       map[Place]bool // in the log of the node's core
	safe      map[Place]bool // and flushed there
	leads     map[Place]int32
	leader    int32 // by the controller
	epoch     int32 // in which it was written
	heard     map[[2]Place]bool
	born      bool // somebody has appended it
	committed bool
	read      int
	retired   bool
	asks      map[int32]bool
	below     map[Place]int64 // up to where clients were given records, as long as that is not beyond it
}

// Record tells the life of one record: who sent it, who wrote and flushed it,
// when it was committed and acknowledged, who read it, and where it was lost.
func (r *Run) Record(id record.PartitionID, offset int64) *Story {
	l := &life{
		run: r, id: id, offset: offset,
		story: &Story{About: id, Title: fmt.Sprintf("record %d of partition %s", offset, r.name(id))},
		has:   map[Place]bool{}, safe: map[Place]bool{}, leads: map[Place]int32{}, heard: map[[2]Place]bool{}, asks: map[int32]bool{}, below: map[Place]int64{},
	}
	for i := range r.Rows {
		l.look(i)
	}
	if !l.born {
		l.story.Title += ": nobody ever wrote it"
		l.story.unwritten = true
	}
	l.story.short()
	return l.story
}

// look says what one row means for the record.
func (l *life) look(i int) {
	row := &l.run.Rows[i]
	switch row.What {
	case Down, Start, Found:
		l.process(i, row)
		return
	case Broken:
		l.story.add(i, vital, "broken: %s %s", row.Name, row.Text)
		return
	}
	for k := range row.Parts {
		if p := &row.Parts[k]; p.ID == l.id {
			l.told(i, row, p)
		}
	}
}

// told is a row about the record's partition.
func (l *life) told(i int, row *Row, p *Part) {
	switch row.What {
	case Append, Truncate, Reset, Delete, Trim, Flushed:
		l.log(i, row, p)
	case State:
		l.stands(i, row, p)
	case Meta:
		weight := minor
		if p.Leader != l.leader {
			weight = usual
		}
		l.leader = p.Leader
		if l.born {
			l.story.add(i, weight, "the controller on %s: %s", row.Place.Words(), row.Text)
		}
	case Recv:
		if (row.Name == "ReplicaFetch" || row.Name == "ReplicaProgress") && p.Flushed > l.offset && l.leading(row.Place) && l.has[row.Place] {
			if at := [2]Place{row.Place, row.Peer}; !l.heard[at] {
				l.heard[at] = true
				l.story.add(i, usual, "%s hears that %s has flushed up to %d", row.Place.Words(), row.Peer.Words(), p.Flushed)
			}
		}
	case Reply:
		if row.Name == "ProduceReply" && p.Code == "" && p.Covers(l.id, l.offset) {
			l.story.add(i, vital, "%s acknowledges it to %s, offsets [%d, %d)", row.Place.Words(), row.Peer.Words(), p.From, p.To)
		}
	case Done:
		l.client(i, row, p)
	}
}

func (l *life) leading(at Place) bool { _, ok := l.leads[at]; return ok }

// log is a change of a log that the record is in, or not any more.
func (l *life) log(i int, row *Row, p *Part) {
	at := row.Place
	switch row.What {
	case Append:
		if !p.Covers(l.id, l.offset) {
			return
		}
		l.appended(i, row, p)
	case Flushed:
		if p.Flushed > l.offset && l.has[at] && !l.safe[at] {
			l.safe[at] = true
			l.story.add(i, usual, "%s has flushed it: its log is durable up to %d", at.Words(), p.Flushed)
		}
	case Truncate:
		if p.From <= l.offset && l.has[at] {
			l.lose(at)
			l.story.add(i, vital, "%s cuts its log at %d and drops it", at.Words(), p.From)
		}
	case Reset, Delete:
		if l.has[at] {
			l.lose(at)
			l.story.add(i, vital, "%s empties its log and drops it", at.Words())
		}
	case Trim:
		if p.From > l.offset && l.has[at] {
			weight := minor
			if !l.retired {
				weight = major
			}
			l.retired = true
			l.story.add(i, weight, "%s moves its log start to %d: it is retired", at.Words(), p.From)
		}
	}
}

func (l *life) lose(at Place) { delete(l.has, at); delete(l.safe, at) }

// appended is the moment in which a core asks for the record to be written.
func (l *life) appended(i int, row *Row, p *Part) {
	at, from := row.Place, ""
	if c := row.Cause; c >= 0 {
		switch step := &l.run.Rows[c]; step.What {
		case Request:
			if !l.born || p.Epoch == l.epoch {
				l.request(int(c))
			}
			from = " for " + step.Peer.Words()
		case Recv:
			from = " as it came from " + step.Peer.Words()
			if step.Name != "ReplicaFetchReply" {
				from = fmt.Sprintf(" when %s comes from %s", step.Name, step.Peer.Words())
			}
		}
	}
	if l.born && p.Epoch != l.epoch {
		l.lose(at)
		l.story.add(i, major, "%s appends another record in its place%s: offsets [%d, %d), epoch %d", at.Words(), from, p.From, p.To, p.Epoch)
		return
	}
	l.born, l.epoch, l.has[at] = true, p.Epoch, true
	delete(l.safe, at)
	l.story.add(i, major, "%s appends it%s: offsets [%d, %d), epoch %d", at.Words(), from, p.From, p.To, p.Epoch)
}

// request tells of the request that brought the record.
func (l *life) request(i int) {
	call := l.run.Rows[i].Cause
	if call < 0 || l.asks[call] {
		return
	}
	l.asks[call] = true
	c := &l.run.Rows[call]
	l.story.add(int(call), usual, "%s sends it to %s", c.Place.Words(), c.Peer.Words())
}

// stands is how a replica stands after a step.
func (l *life) stands(i int, row *Row, p *Part) {
	at := row.Place
	before, led := l.leads[at]
	if row.Name != "leading" {
		delete(l.leads, at)
		return
	}
	l.leads[at] = p.Epoch
	if l.born && (!led || before != p.Epoch) {
		with, weight := "with it", usual
		switch {
		case p.Start > l.offset:
			with = "its log begins behind it"
		case p.End <= l.offset:
			with, weight = "without it", vital
		case !l.has[at]:
			with, weight = "with another record there", vital
		}
		for pair := range l.heard { // what was said under an earlier leadership
			if pair[0] == at {
				delete(l.heard, pair)
			}
		}
		l.story.add(i, weight, "%s leads in epoch %d, %s: log [%d, %d), high watermark %d", at.Words(), p.Epoch, with, p.Start, p.End, p.High)
	}
	if p.High > l.offset && !l.committed && l.has[at] {
		l.committed = true
		l.story.add(i, vital, "%s moves the high watermark to %d: it is committed (in sync: %v)", at.Words(), p.High, p.Nodes)
	}
}

// client is what a client got.
func (l *life) client(i int, row *Row, p *Part) {
	if !p.Covers(l.id, l.offset) {
		if row.Name == "poll" {
			l.passes(i, row, p)
		}
		return
	}
	delete(l.below, row.Place)
	switch row.Name {
	case "publish":
		if row.Begin >= 0 {
			ask := &l.run.Rows[row.Begin]
			l.story.add(int(row.Begin), major, "%s publishes it: %s", ask.Place.Words(), ask.Text)
		}
		l.story.add(i, major, "%s is told: %s", row.Place.Words(), row.Code)
	case "poll", "request":
		l.read++
		weight := usual
		if l.read > 2 {
			weight = minor
		}
		l.story.add(i, weight, "%s is given it", row.Place.Words())
	}
}

// passes tells of a client that is given what stands behind the record, after it was
// given what stands before it.
func (l *life) passes(i int, row *Row, p *Part) {
	if p.To <= l.offset {
		l.below[row.Place] = p.To
		return
	}
	if to, ok := l.below[row.Place]; ok && l.born {
		l.story.add(i, major, "%s is given the records [%d, %d), and was given those below %d before: it passes over it", row.Place.Words(), p.From, p.To, to)
	}
	delete(l.below, row.Place)
}

// process is the end or the beginning of a process that had the record.
func (l *life) process(i int, row *Row) {
	at := row.Place
	switch row.What {
	case Down:
		delete(l.leads, at)
		switch {
		case l.has[at] && !l.safe[at]:
			l.story.add(i, major, "%s ends (%s) before it has flushed it", at.Words(), row.Name)
		case l.has[at]:
			l.story.add(i, usual, "%s ends (%s); it is durable there", at.Words(), row.Name)
		}
	case Found:
		p := row.Part(l.id)
		if p == nil || !l.has[at] {
			return
		}
		switch {
		case p.Start > l.offset:
			return
		case p.End <= l.offset:
			l.lose(at)
			l.story.add(i, vital, "%s recovers without it: its log ends at %d%s", at.Words(), p.End, damaged(row))
		default:
			l.safe[at] = true
			l.story.add(i, usual, "%s recovers with it: log [%d, %d)%s", at.Words(), p.Start, p.End, damaged(row))
		}
	case Start:
		if l.has[at] && !l.recovers(i) {
			l.lose(at)
			l.story.add(i, vital, "%s comes back without its log", at.Words())
		}
	}
}

// recovers says whether the start at a row finds a log of the partition.
func (l *life) recovers(i int) bool {
	for k := i + 1; k < len(l.run.Rows) && l.run.Rows[k].What == Found && int(l.run.Rows[k].Cause) == i; k++ {
		if l.run.Rows[k].Part(l.id) != nil {
			return true
		}
	}
	return false
}

func damaged(row *Row) string {
	if row.Text == "" {
		return ""
	}
	return ", damaged: " + row.Text
}

// Partition tells how one partition was led and what its logs went through, up
// to the end of the run.
func (r *Run) Partition(id record.PartitionID) *Story {
	s := &Story{About: id, Title: "partition " + r.name(id)}
	roles := map[Place]string{}
	for i := range r.Rows {
		row := &r.Rows[i]
		add := func(weight int) { s.Steps = append(s.Steps, Step{i, r.Say(i), weight}) }
		switch row.What {
		case Down, Start:
			if roles[row.Place] != "" {
				add(usual)
			}
		case Broken:
			add(vital)
		case Meta, Truncate, Reset, Delete, Create:
			if row.Part(id) != nil {
				add(major)
			}
		case State:
			p := row.Part(id)
			if p == nil {
				continue
			}
			now := fmt.Sprint(row.Name, p.Epoch)
			if roles[row.Place] != now {
				add(usual)
			}
			roles[row.Place] = now
		}
	}
	s.last()
	return s
}

// last keeps the end of a story: for one without a single record in the middle
// of it, the end is what matters.
func (s *Story) last() {
	if n := len(s.Steps) - Longest; n > 0 {
		s.Left += n
		s.Steps = s.Steps[n:]
	}
}
