package witness

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Owners tells who owned a partition within a group: who was given it, who said
// that it has it or has given it up, and who committed in it.
func (r *Run) Owners(s Subject) *Story {
	return r.inGroup(fmt.Sprintf("group %q: who owns partition %s", s.Group, r.name(s.Partition)), s)
}

// Positions tells how a group came on in a partition: what it has committed, in
// transactions or not, what it was told of that, what its members were given, and who
// owned the partition meanwhile.
func (r *Run) Positions(s Subject) *Story {
	return r.inGroup(fmt.Sprintf("group %q in partition %s: what it has committed, was told and was given", s.Group, r.name(s.Partition)), s)
}

func (r *Run) inGroup(title string, s Subject) *Story {
	g := grouping{run: r, about: s, story: &Story{About: s.Partition, Title: title}, said: map[Place]string{}, given: map[Place]bool{}, holds: map[Place]bool{}, at: None}
	g.owning, g.standing = usual, major
	if s.Member != "" {
		g.owning, g.standing = major, minor
	}
	in := r.clientsOf(s.Group)
	for i := range r.Rows {
		row := &r.Rows[i]
		switch {
		case in[row.Place] && row.lives():
			g.story.add(i, min(g.owning, usual), "%s", r.Say(i))
		case row.What == Broken:
			g.story.add(i, vital, "%s", r.Say(i))
		case row.What == Recv && row.Name == "WriteMarkers":
			g.marked(i, row)
		case row.What == Reply && row.Name == "EndTransactionReply" && slices.Contains(g.transactional, row.Transactional):
			g.story.add(i, usual, "%s answers %s, which wants the transaction of %q to %s: %s", row.Place.Words(), row.Peer.Words(), row.Transactional, ended(r.Rows[max(0, row.Begin)].Text), ok(row.Code))
		case row.Group != s.Group:
		case row.What == Reply && row.Name == "DeleteGroupReply":
			g.story.add(i, major, "%s answers %s, which wants the group to be deleted: %s", row.Place.Words(), row.Peer.Words(), ok(row.Code))
		default:
			before := len(g.story.Steps)
			g.owned(i, row)
			if s.Member != "" && row.What == Reply && row.Name == "GroupHeartbeatReply" {
				if now := r.beat(row, g.said); now != "" && before == len(g.story.Steps) {
					g.story.add(i, minor, "%s", now)
				}
			}
			if p := row.Part(s.Partition); p != nil {
				g.told(i, row, p)
			}
		}
	}
	r.keep(g.story, s)
	g.story.around(r, s.At)
	return g.story
}

// grouping follows one partition of a group through the rows of a run.
type grouping struct {
	run              *Run
	about            Subject
	story            *Story
	said             map[Place]string // what a member was told last
	given, holds     map[Place]bool   // who was assigned it, and who says that it has it
	owning, standing int              // how much it matters who owns it, and where the group stands
	at               int64            // the position that was committed last
	producers        []string         // who have committed positions in transactions
	transactional    []string         // and under which transactional ids
	refusals         refusals
}

// owned tells who is given the partition, and who says that it has it.
func (g *grouping) owned(i int, row *Row) {
	named := row.Part(g.about.Partition) != nil
	switch {
	case row.What == Request && row.Name == "GroupHeartbeat" && named != g.holds[row.Peer]:
		if named {
			g.story.add(i, g.owning, "%s tells %s, the coordinator, that it has it", row.Peer.Words(), row.Place.Words())
		} else if strings.Contains(row.Text, "Full:true") {
			g.story.add(i, g.owning, "%s tells %s, the coordinator, that it does not have it any more", row.Peer.Words(), row.Place.Words())
		} else {
			return
		}
		g.holds[row.Peer] = named
	case row.What == Reply && row.Name == "GroupHeartbeatReply" && strings.Contains(row.Text, "Assigned:true") && named != g.given[row.Peer]:
		g.given[row.Peer] = named
		if named {
			g.story.add(i, g.owning, "%s assigns it to %s", row.Place.Words(), row.Peer.Words())
		} else {
			g.story.add(i, g.owning, "%s takes it from %s", row.Place.Words(), row.Peer.Words())
		}
	case row.What == Told && named:
		g.story.add(i, min(g.owning, usual), "%s is told: %s", row.Place.Words(), row.Text)
	}
}

// told tells of the group's positions, and of what its members were given.
func (g *grouping) told(i int, row *Row, p *Part) {
	code := ok(first(p.Code, row.Code))
	switch {
	case row.What == Done && row.Name == "poll":
		weight := minor
		if g.about.Offset >= 0 && p.From <= g.about.Offset && g.about.Offset < p.To {
			weight = vital
		}
		g.story.add(i, weight, "%s is given the records [%d, %d)", row.Place.Words(), p.From, p.To)
	case row.What != Reply:
	case row.Name == "CommitOffsetsReply":
		g.refusals.add(g.story, Step{i, fmt.Sprintf("%s answers the commit of %d by %s: %s", row.Place.Words(), p.From, row.Peer.Words(), code), g.passes(p, code)}, code != "ok")
	case row.Name == "CommitTransactionOffsetsReply":
		who := producerIn(g.run.Rows[max(0, row.Begin)].Text)
		if who != "" {
			g.producers, g.transactional = append(g.producers, who), append(g.transactional, row.Transactional)
		}
		text := fmt.Sprintf("%s answers %s, which wants the position %d in the transaction of %q%s: %s",
			row.Place.Words(), row.Peer.Words(), p.From, row.Transactional, titled(who), code)
		g.refusals.add(g.story, Step{i, text, g.passes(p, code)}, code != "ok")
	case row.Name == "FetchOffsetsReply":
		g.story.add(i, g.standing, "%s tells %s the position %d: %s", row.Place.Words(), row.Peer.Words(), p.From, code)
	case row.Name == "DeleteOffsetsReply":
		g.story.add(i, major, "%s answers %s, which wants the position to be deleted: %s", row.Place.Words(), row.Peer.Words(), code)
	}
}

// passes says how much a commit matters: most the one by which the group comes to, or
// beyond, the record in doubt.
func (g *grouping) passes(p *Part, code string) (weight int) {
	doubt := g.about.Offset
	weight = g.standing
	if code != "ok" {
		return min(weight, usual)
	}
	if doubt >= 0 && (p.From == doubt || g.at <= doubt && doubt < p.From) {
		weight = vital
	}
	g.at = p.From
	return weight
}

// marked tells that the coordinator of transactions has the shard told how one ended
// that has committed a position here.
func (g *grouping) marked(i int, row *Row) {
	who := producerIn(row.Text)
	if who == "" {
		return
	}
	for _, known := range g.producers {
		if idOf(known) != idOf(who) {
			continue
		}
		for k := range row.Parts {
			if g.run.Topic(row.Parts[k].ID.Topic) == g.run.Offsets {
				g.story.add(i, major, "%s hears from %s how the transaction of producer %s has ended: %s", row.Place.Words(), row.Peer.Words(), idOf(who), ended(row.Text))
				return
			}
		}
	}
}

var producerInRow = regexp.MustCompile(`\bID:(-?\d+) Epoch:(-?\d+)`)

// producerIn is the producer that a message names: "10, epoch 0"; empty: none.
func producerIn(text string) string {
	m := producerInRow.FindStringSubmatch(text)
	if m == nil || m[1] == "-1" {
		return ""
	}
	return m[1] + ", epoch " + m[2]
}

// idOf is a producer without its epoch: each transaction has one of its own, and a
// marker names the next.
func idOf(producer string) string {
	id, _, _ := strings.Cut(producer, ",")
	return id
}

func titled(producer string) string {
	if producer == "" {
		return ""
	}
	return ", producer " + producer
}

// ended is the outcome that a message asks for.
func ended(text string) string {
	if strings.Contains(text, "Commit:true") {
		return "commit"
	}
	return "abort"
}

func ok(code string) string {
	if code == "" {
		return "ok"
	}
	return code
}
