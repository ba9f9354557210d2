package witness

import (
	"fmt"
	"regexp"
	"strings"
)

// Transaction tells the life of the transactions of one transactional id: who took its
// identity, what became part of them, how they were ended, and which markers were written.
func (r *Run) Transaction(s Subject) *Story {
	t := transacting{run: r, id: s.Transactional, story: &Story{About: s.Kept, Title: fmt.Sprintf("the transactions of %q", s.Transactional)}, producers: map[string]bool{}, users: map[Place]bool{}, marked: map[string]bool{}}
	for i := range r.Rows {
		t.look(i)
	}
	r.keep(t.story, s)
	t.story.around(r, s.At)
	return t.story
}

// transacting follows one transactional id through the rows of a run.
type transacting struct {
	run       *Run
	id        string
	story     *Story
	producers map[string]bool // the ids that it was given
	users     map[Place]bool  // clients that used it
	marked    map[string]bool // markers that were told of, by partition and producer
	refusals  refusals
}

func (t *transacting) look(i int) {
	row := &t.run.Rows[i]
	switch {
	case row.What == Broken:
		t.story.add(i, vital, "%s", t.run.Say(i))
	case (row.What == ClientDown || row.What == ClientPause || row.What == ClientWake) && t.users[row.Place]:
		t.story.add(i, usual, "%s", t.run.Say(i))
	case row.What == Append:
		t.appends(i, row)
	case row.What == Send && row.Name == "WriteMarkers":
		if who := producerIn(row.Text); t.has(who) {
			t.story.add(i, usual, "%s asks %s to write markers of producer %s: %s in%s", row.Place.Words(), row.Peer.Words(), who, ended(row.Text), t.run.parts(row))
		}
	case row.Transactional != t.id:
	case row.What == Ask:
		t.users[row.Place] = true
		t.story.add(i, usual, "%s: %s", row.Place.Words(), row.Text)
	case row.What == Done:
		t.story.add(i, usual, "%s is told: %s", row.Place.Words(), row.Text)
	case row.What == Request && row.Name == "EndTransaction":
		t.story.add(i, usual, "%s asks %s to %s that of producer %s", row.Peer.Words(), row.Place.Words(), ended(row.Text), producerIn(row.Text))
	case row.What == Recv && row.Name == "AddToTransaction":
		t.story.add(i, minor, "%s asks %s, the coordinator, to make it a part:%s", row.Peer.Words(), row.Place.Words(), t.run.parts(row))
	case row.What == Reply:
		t.answers(i, row)
	}
}

// refusals are what was refused since something was granted: who asks again and again is
// told of once.
type refusals struct{ said map[string]bool }

func (r *refusals) add(s *Story, step Step, refused bool) {
	switch {
	case !refused:
		r.said = nil
	case r.said[step.Text]:
		s.Left++
		return
	case r.said == nil:
		r.said = map[string]bool{step.Text: true}
	default:
		r.said[step.Text] = true
	}
	s.Steps = append(s.Steps, step)
}

// has says whether a producer, with or without its epoch, is one of the id's.
func (t *transacting) has(producer string) bool {
	return t.producers[idOf(producer)]
}

func (t *transacting) answers(i int, row *Row) {
	switch row.Name {
	case "InitProducerIDReply", "EndTransactionReply":
		who, weight := producerIn(row.Text), major
		if row.Code != "" {
			who, weight = row.Code, usual
		} else if who != "" {
			t.producers[idOf(who)] = true
			who = "it goes on as producer " + who
		}
		t.users[row.Peer] = true
		t.refusals.add(t.story, Step{i, fmt.Sprintf("%s, the coordinator, answers %s of %s: %s", row.Place.Words(), strings.TrimSuffix(row.Name, "Reply"), row.Peer.Words(), who), weight}, row.Code != "")
	case "CommitTransactionOffsetsReply":
		t.refusals.add(t.story, Step{i, fmt.Sprintf("%s takes positions of group %q from %s: %s%s", row.Place.Words(), row.Group, row.Peer.Words(), ok(row.Code), t.run.parts(row)), usual}, row.Code != "")
	case "ProduceReply":
		t.story.add(i, minor, "%s answers %s, which sent records:%s", row.Place.Words(), row.Peer.Words(), t.run.parts(row))
	}
}

// markerInRow is a marker as the batches of an append are told.
var markerInRow = regexp.MustCompile(`\[(\d+),\d+\)@-?\d+/p(\d+)\.(\d+)\.-?\d+/(commit|abort)`)

// appends tells of markers that are written first.
func (t *transacting) appends(i int, row *Row) {
	if !strings.Contains(row.Text, "/commit") && !strings.Contains(row.Text, "/abort") {
		return
	}
	for _, m := range markerInRow.FindAllStringSubmatch(row.Text, -1) {
		place := fmt.Sprintf("%s@%s", row.Parts[0].ID, m[1])
		if !t.producers[m[2]] || t.marked[place+m[3]] {
			continue
		}
		t.marked[place+m[3]] = true
		t.story.add(i, major, "%s writes the marker at %s: %s, and producer %s goes on with epoch %s", row.Place.Words(), place, m[4], m[2], m[3])
	}
}

// Node tells what became of a node, and what led to the row at which a run ended.
func (r *Run) Node(at Place, end int) *Story {
	s := &Story{Title: fmt.Sprintf("%s, and what led to event %d", at.Words(), r.Rows[end].Event)}
	led, number := map[int]bool{}, regexp.MustCompile(fmt.Sprintf(`\bNode:%d\b`, at))
	for i := end; i >= 0 && len(led) < Longest/2; i = r.before(i) {
		led[i] = true
		s.Steps = append(s.Steps, Step{i, r.Say(i), major})
	}
	for i := range r.Rows {
		row := &r.Rows[i]
		if row.What == Request && (row.Name == "DrainBroker" || row.Name == "UnregisterBroker") && number.MatchString(row.Text) {
			s.Steps = append(s.Steps, Step{i, fmt.Sprintf("%s asks %s: %s", row.Peer.Words(), row.Place.Words(), row.Text), usual})
		}
		if row.Place != at || led[i] {
			continue
		}
		switch row.What {
		case Start, Down, Pause, Wake, Halt, DiskFailed, Shutdown:
			s.Steps = append(s.Steps, Step{i, r.Say(i), usual})
		case Fault:
			s.Steps = append(s.Steps, Step{i, r.Say(i), usual})
		}
	}
	s.around(r, 0)
	return s
}
