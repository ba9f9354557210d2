package witness

import (
	"fmt"
	"regexp"
	"strings"
)

// Members tells the life of a group: who joined and left it, what its members were
// told, and what was asked about it.
func (r *Run) Members(s Subject) *Story {
	story := &Story{Title: fmt.Sprintf("group %q", s.Group)}
	in := r.clientsOf(s.Group)
	said := map[Place]string{}
	for i := range r.Rows {
		row := &r.Rows[i]
		add := func(weight int, format string, args ...any) {
			story.add(i, weight, format, args...)
		}
		switch {
		case row.What == Broken:
			add(vital, "%s", r.Say(i))
		case in[row.Place] && row.lives():
			add(usual, "%s", r.Say(i))
		case row.Group != s.Group || row.What != Reply:
		case row.Name == "GroupHeartbeatReply":
			if now := r.beat(row, said); now != "" {
				add(major, "%s", now)
			}
		case row.Name != "FindCoordinatorReply" && row.Name != "FetchOffsetsReply":
			weight := usual
			if strings.HasPrefix(row.Name, "Delete") {
				weight = major
			} else if strings.HasPrefix(row.Name, "Commit") {
				weight = minor
			}
			add(weight, "%s answers %s: %s%s", row.Place.Words(), row.Peer.Words(), row.Name, r.parts(row))
		}
	}
	r.keep(story, s)
	story.around(r, s.At)
	return story
}

// clientsOf are the clients that are there to be members of a group.
func (r *Run) clientsOf(group string) map[Place]bool {
	in := map[Place]bool{}
	for i := range r.Clients {
		if c := &r.Clients[i]; c.Group == group {
			in[ClientAt(c.ID)] = true
		}
	}
	return in
}

// lives says that a row is about the life of a client.
func (r *Row) lives() bool {
	return r.What == ClientDown || r.What == ClientStart || r.What == ClientPause || r.What == ClientWake
}

// beat tells the answer to a heartbeat, unless the member has had that answer said last.
func (r *Run) beat(row *Row, said map[Place]string) string {
	now := fmt.Sprintf("%s tells %s, %s: %s", row.Place.Words(), row.Peer.Words(), memberEpoch(r.Rows[max(0, row.Begin)].Text), answered(row))
	if said[row.Peer] == now {
		return ""
	}
	said[row.Peer] = now
	return now
}

var epochInRow = regexp.MustCompile(`\bMemberEpoch:(-?\d+)`)

// memberEpoch is as what a member asks.
func memberEpoch(text string) string {
	m := epochInRow.FindStringSubmatch(text)
	switch {
	case m == nil:
		return "which asks"
	case m[1] == "0":
		return "which joins"
	case strings.HasPrefix(m[1], "-"):
		return "which leaves"
	}
	return "which is in epoch " + m[1]
}

// answered is what a heartbeat is told.
func answered(row *Row) string {
	if row.Code != "" {
		return row.Code
	}
	text := "ok"
	if m := epochInRow.FindStringSubmatch(row.Text); m != nil {
		text = "epoch " + m[1]
	}
	if !strings.Contains(row.Text, "Assigned:true") {
		return text
	}
	var ids []string
	for k := range row.Parts {
		ids = append(ids, row.Parts[k].ID.String())
	}
	return text + ", and to own [" + strings.Join(ids, " ") + "]"
}
