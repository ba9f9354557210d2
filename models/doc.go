// Package models judges histories: what clients did and saw, of a simulated
// cluster or of a real one. It never sees the core, so that a wrong idea in the
// core cannot hide in its own judge. One guarantee stands in one file.
//
// Linear-time checks look at every history; porcupine confirms them on objects
// that are short enough (see Judge). A request that timed out is unknown, never
// failed: it may have happened at any later time, or not at all.
package models

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"
	"unsafe"

	"github.com/tamarack-mq/tamarack/history"
)

// Violation is one broken guarantee.
type Violation struct {
	Invariant string // "INV-1"
	Anomaly   string // the field's word for it: "lost write", "duplicate", ...
	Text      string // one plain sentence
	Ops       []int64
	About     About
}

// String is the violation in one line.
func (v Violation) String() string {
	return fmt.Sprintf("%s (%s): %s", v.Invariant, v.Anomaly, v.Text)
}

// Log is what a partition held when everything had come to rest.
type Log struct {
	Topic     string // its name, by which producers know it; "": not known
	TopicID   uint64
	Partition int32
	Start     int64 // retention has removed what is below
	End       int64
	Records   []history.Record // from Start to End
}

// Case is everything that judges look at.
type Case struct {
	Operations []history.Operation
	// Final are the logs of all partitions of topics that still exist.
	Final []Log
	// Committed is of the same logs what readers of committed records found in them
	// at rest; nil: nobody looked.
	Committed []Log
	// Lossy are the partitions of which an operator's unclean election gave records
	// up, and which these are.
	Lossy map[Place]Loss
	// Gone are the partitions of topics that were deleted: no log of them is left,
	// and what groups knew of them went with them. All else is judged on.
	Gone map[Place]bool
	// Forgotten are the groups whose coordinator's log may have been given up, or
	// expired: members, epochs and positions may be gone.
	Forgotten map[string]bool
	// Unsettled are the transactional ids whose coordinator's log may have been given
	// up: what was decided about their transactions may be gone, in part, and what their
	// producers were told means little.
	Unsettled map[string]bool
	// Repeated is how many markers of transactions may stand in a partition once more:
	// its leader had forgotten an idle producer when it was asked for one again.
	Repeated map[Place]int64
	// Internal are the topics that the cluster writes by itself: what readers
	// see there was published by no client.
	Internal map[uint64]bool
}

// Loss says of a partition what may be gone of it.
type Loss struct {
	Kept  int64 // all below this offset must be there still
	From  int64 // when an operator first asked for it: nothing is excused that ended before
	Since int64 // a record that was sent after this time is not excused; Open: all are
	// Strays are offsets at which a leader that had not heard of its end acknowledged
	// records.
	Strays []Range
	// The log start may have fallen from Start, the highest that was shown, to Low: who
	// was let lead had not moved its own yet.
	Start, Low int64
	// Unknown: who was let lead did not know what producers had done before.
	Unknown bool
}

// Range is the offsets from From on and below To.
type Range struct{ From, To int64 }

// excuses says whether a publish that was acknowledged may be gone.
func (l *Loss) excuses(op *history.Operation) bool {
	if op.Offset < l.Kept {
		return false
	}
	return op.Invoke <= l.Since || slices.ContainsFunc(l.Strays, func(r Range) bool { return r.From <= op.Offset && op.Offset < r.To })
}

// Place is one partition of one topic, by the topic's id.
type Place struct {
	TopicID   uint64
	Partition int32
}

// String prints the place as topic/partition.
func (p Place) String() string { return fmt.Sprintf("%d/%d", p.TopicID, p.Partition) }

func comparePlaces(a, b Place) int {
	return cmp.Or(cmp.Compare(a.TopicID, b.TopicID), cmp.Compare(a.Partition, b.Partition))
}

// Judge runs every judge and returns what they found, the same for the same
// case. An empty result is an acquittal.
func Judge(c *Case) []Violation {
	d := index(c.doubted())
	var found []Violation
	for _, judge := range []func(*dossier) []Violation{
		durability, identity, uniqueness, truth, producerOrder, realTime,
		delivery, times, styles, commits, owners, sessions,
		atomicity, committedReads, markers, handovers, pipelines, linearizable,
	} {
		found = append(found, judge(d)...)
	}
	return found
}

// dossier is a case sorted by what it is about.
type dossier struct {
	*Case
	places  []Place // every partition that is spoken of
	at      map[Place]*partition
	last    *partition // that was looked up: what comes next mostly is of the same
	groups  []string
	offset  map[string]map[Place]*offsetHistory // by group
	manners map[string]*manner                  // by group
	// byValue finds the publish that a record came from: values are unique.
	byValue   map[string]*sent
	publishes int64 // how many were tried
	// differ: some offset was seen with two records.
	differ bool
	taken  []*history.Operation // see takings
	// transactions are in the order of their numbers, from 1 on.
	transactions []*transaction
}

// partition is what a history says about one partition.
type partition struct {
	place     Place
	final     *Log
	committed *Log
	publishes []publish // all that were sent to it, as far as known
	seen      byOffset[history.Record]
	standing  []*sent              // the values that were seen in it
	reads     []*history.Operation // of kind Read
	// parts are the publishes that belong to transactions, made is where they stand,
	// and writers is how many transactions may have written here.
	parts   []publish
	made    byOffset[history.Operation]
	writers int64
	// stuck is the first record of a transaction that may never end, as what was
	// decided about it may be gone: readers of committed records may get no further.
	stuck int64
}

// sent is one value: who published it last, and where it was seen. A history speaks
// of a value many times, and to look it up by its bytes is what costs.
type sent struct {
	value []byte
	op    *history.Operation // nil: nobody published it
	home  *partition         // the first in which it was seen; mostly the only one
	where []int64            // the offsets in it, rising
	once  [1]int64           // the memory of where, mostly
	other map[*partition][]int64
}

// publish is a publish and what is known of its value.
type publish struct {
	*history.Operation
	*sent
}

// in is where in a partition the value was seen, rising.
func (s *sent) in(p *partition) []int64 {
	if s.home == p {
		return s.where
	}
	return s.other[p]
}

// stands notes that the value was seen.
func (s *sent) stands(p *partition, offset int64) {
	switch {
	case s.home == nil:
		s.home, s.once[0] = p, offset
		s.where = s.once[:]
	case s.home == p:
		s.where = append(s.where, offset)
		return
	case s.other[p] != nil:
		s.other[p] = append(s.other[p], offset)
		return
	default:
		if s.other == nil {
			s.other = map[*partition][]int64{}
		}
		s.other[p] = []int64{offset}
	}
	p.standing = append(p.standing, s)
}

// settle brings the offsets in a partition into order.
func (s *sent) settle(p *partition) {
	where := s.in(p)
	if len(where) < 2 {
		return
	}
	slices.Sort(where)
	if where = slices.Compact(where); s.home == p {
		s.where = where
	} else {
		s.other[p] = where
	}
}

// offsetHistory is what was committed and fetched for one group and partition.
type offsetHistory struct {
	commits []positioned
	fetches []positioned
	given   int64 // the group was given records below this offset,
	first   int64 // from this one on
	// sought: a member went elsewhere by itself. Where it was given records after
	// that, and where those end, may be what it commits by itself then.
	sought bool
	turns  []positioned
}

// manner is how the members of a group poll.
type manner struct {
	early     bool // some commit before they hand over,
	exact     bool // some within transactions,
	other     bool // some otherwise
	committed bool // some are given committed records only
}

func (d *dossier) mannersOf(poll *history.Operation) {
	m := d.manners[poll.Group]
	if m == nil {
		m = &manner{}
		d.manners[poll.Group] = m
	}
	m.early = m.early || poll.Style == history.AtMostOnce
	m.exact = m.exact || poll.Style == history.ExactlyOnce
	m.other = m.other || poll.Style != history.ExactlyOnce
	m.committed = m.committed || poll.Committed
}

// manner is how a group polls; that of one which nobody saw polling is nothing.
func (d *dossier) manner(group string) manner {
	if m := d.manners[group]; m != nil {
		return *m
	}
	return manner{}
}

// exact says that all members of a group commit within transactions only.
func (d *dossier) exact(group string) bool {
	m := d.manners[group]
	return m != nil && m.exact && !m.other
}

// positioned is a position that was committed, or told.
type positioned struct {
	op     *history.Operation
	offset int64
	// Of a commit: whether it took effect, since when it may have, and by when it has.
	// One in a transaction goes by what became of that.
	outcome     history.Outcome
	from, until int64
}

func (d *dossier) partition(p Place) *partition {
	if d.last != nil && d.last.place == p {
		return d.last
	}
	if d.at[p] == nil {
		d.at[p] = &partition{place: p, stuck: math.MaxInt64}
		d.places = append(d.places, p)
	}
	d.last = d.at[p]
	return d.last
}

func index(c *Case) *dossier {
	publishes := 0
	for i := range c.Operations {
		if c.Operations[i].Kind == history.Publish {
			publishes++
		}
	}
	d := &dossier{
		Case: c, at: map[Place]*partition{}, byValue: make(map[string]*sent, publishes),
		offset: map[string]map[Place]*offsetHistory{}, manners: map[string]*manner{},
	}
	d.publishes = int64(publishes)
	d.published(publishes)
	for i := range c.Final {
		log := &c.Final[i]
		p := d.partition(Place{log.TopicID, log.Partition})
		p.final = log
		for j := range log.Records {
			d.see(p, &log.Records[j])
		}
	}
	for i := range c.Committed {
		log := &c.Committed[i]
		p := d.partition(Place{log.TopicID, log.Partition})
		p.committed = log
		for j := range log.Records {
			d.see(p, &log.Records[j])
		}
	}
	for i := range c.Operations {
		d.addSeek(&c.Operations[i]) // before the polls that were open then
	}
	for i := range c.Operations {
		d.add(&c.Operations[i])
	}
	slices.SortFunc(d.places, comparePlaces)
	slices.Sort(d.groups)
	d.groups = slices.DeleteFunc(d.groups, func(group string) bool { return c.Forgotten[group] })
	for _, at := range d.places {
		p := d.at[at]
		for _, s := range p.standing {
			s.settle(p)
			// A publish whose answer was lost is found by what it left.
			if s.op != nil && s.op.TopicID == 0 {
				p.publishes = append(p.publishes, publish{s.op, s})
			}
		}
		slices.SortFunc(p.publishes, func(a, b publish) int { return cmp.Compare(a.ID, b.ID) })
	}
	d.settle()
	return d
}

// published takes up all publishes, of which there are so many.
func (d *dossier) published(count int) {
	values := make([]sent, 0, count)
	for i := range d.Operations {
		op := &d.Operations[i]
		if op.Kind != history.Publish {
			continue
		}
		s := d.byValue[text(op.Value)]
		if s == nil {
			values = append(values, sent{value: op.Value})
			s = &values[len(values)-1]
			d.byValue[text(op.Value)] = s
		}
		s.op = op
		if op.TopicID != 0 {
			p := d.partition(Place{op.TopicID, op.Partition})
			p.publishes = append(p.publishes, publish{op, s})
		}
	}
}

func (d *dossier) add(op *history.Operation) {
	if op.Transaction != 0 {
		d.part(op)
	}
	switch op.Kind {
	case history.Poll, history.Read:
		if op.Group != "" {
			d.mannersOf(op)
		}
		internal := false
		for i := range op.Records {
			r := &op.Records[i]
			if i == 0 || r.TopicID != op.Records[i-1].TopicID {
				internal = d.Internal[r.TopicID]
			}
			if internal {
				continue
			}
			at := Place{r.TopicID, r.Partition}
			d.see(d.partition(at), r)
			if op.Group != "" && (i+1 == len(op.Records) || op.Records[i+1].Offset != r.Offset+1 ||
				op.Records[i+1].TopicID != r.TopicID || op.Records[i+1].Partition != r.Partition) { // of a run the last one counts
				h := d.offsets(op.Group, at)
				h.given = max(h.given, r.Offset+1)
				if h.sought {
					h.turns = append(h.turns, positioned{op: op, offset: r.Offset + 1})
				}
			}
			if op.Group != "" && (i == 0 || op.Records[i-1].Offset != r.Offset-1 || op.Records[i-1].TopicID != r.TopicID || op.Records[i-1].Partition != r.Partition) {
				h := d.offsets(op.Group, at)
				h.first = min(h.first, r.Offset)
				if h.sought {
					h.turns = append(h.turns, positioned{op: op, offset: r.Offset})
				}
			}
		}
		if op.Kind == history.Read && op.TopicID != 0 && !d.Internal[op.TopicID] {
			p := d.partition(Place{op.TopicID, op.Partition})
			p.reads = append(p.reads, op)
		}
	case history.Commit, history.FetchCommitted:
		for _, at := range op.Positions {
			h := d.offsets(op.Group, Place{at.TopicID, at.Partition})
			if op.Kind == history.Commit {
				h.commits = append(h.commits, positioned{op, at.Offset, op.Outcome, op.Invoke, op.Return})
			} else if op.Outcome == history.OK {
				h.fetches = append(h.fetches, positioned{op: op, offset: at.Offset})
			}
		}
	}
}

func (d *dossier) offsets(group string, p Place) *offsetHistory {
	if d.offset[group] == nil {
		d.offset[group] = map[Place]*offsetHistory{}
		d.groups = append(d.groups, group)
	}
	if d.offset[group][p] == nil {
		d.offset[group][p] = &offsetHistory{first: math.MaxInt64}
	}
	d.partition(p)
	return d.offset[group][p]
}

func (d *dossier) see(p *partition, r *history.Record) {
	switch first := p.seen.at(r.Offset); {
	case first == nil:
		p.seen.put(r.Offset, r)
	case bytes.Equal(first.Value, r.Value):
		return // most records are read many times, at one place
	default:
		d.differ = true
	}
	s := d.byValue[text(r.Value)]
	if s == nil {
		s = &sent{value: r.Value}
		d.byValue[text(r.Value)] = s
	}
	s.stands(p, r.Offset)
}

// text is a value as the key of a map. It shares the bytes: a history is never
// changed while it is judged.
func text(value []byte) string { return unsafe.String(unsafe.SliceData(value), len(value)) }

// unsure says that what groups do at a partition may be without a reason that shows.
func (d *dossier) unsure(at Place) bool { return d.lossy(at) || d.Gone[at] }

// shaken says that what a group commits for a partition may be without a reason that
// shows: it has come to where records were given up, and its members may have been sent
// back from there; or nobody knows whether it has.
func (d *dossier) shaken(group string, at Place, h *offsetHistory) bool {
	if d.Gone[at] || !d.lossy(at) {
		return d.Gone[at]
	}
	kept := d.kept(at)
	beyond := func(p positioned) bool { return p.offset > kept }
	how := d.manner(group)
	return how.early || how.committed || d.exact(group) || h.given > kept ||
		slices.ContainsFunc(h.commits, beyond) || slices.ContainsFunc(h.fetches, beyond)
}

// standsAt are those of the places of a value that the log at rest has: what stood
// elsewhere was given up, or is retired.
func (p *partition) standsAt(where []int64, value []byte) []int64 {
	return slices.DeleteFunc(slices.Clone(where), func(offset int64) bool {
		r := p.final.at(offset)
		return r == nil || !bytes.Equal(r.Value, value)
	})
}

// certain says that the log at rest is known and nothing of it may be missing.
func (d *dossier) certain(p *partition) bool { return p.final != nil && !d.lossy(p.place) }

// lossy says that records of a partition were given up.
func (d *dossier) lossy(at Place) bool {
	if len(d.Lossy) == 0 {
		return false
	}
	_, ok := d.Lossy[at]
	return ok
}

// kept is the offset below which nothing of a partition was given up.
func (d *dossier) kept(at Place) int64 {
	if l, ok := d.Lossy[at]; ok {
		return l.Kept
	}
	return math.MaxInt64
}
