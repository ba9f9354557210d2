package witness

import (
	"fmt"
	"strings"

	"github.com/tamarack-mq/tamarack/core/record"
)

// Owners tells who owned a partition within a group: who was given it, who said
// that it has it or has given it up, and who committed in it.
func (r *Run) Owners(group string, id record.PartitionID) *Story {
	s := &Story{About: id, Title: fmt.Sprintf("group %q: who owns partition %s", group, r.name(id))}
	given, holds := map[Place]bool{}, map[Place]bool{}
	for i := range r.Rows {
		row := &r.Rows[i]
		if row.What == Broken {
			s.Steps = append(s.Steps, Step{i, r.Say(i), vital})
		}
		if row.Group != group {
			continue
		}
		named := row.Part(id) != nil
		add := func(weight int, format string, args ...any) {
			s.Steps = append(s.Steps, Step{i, fmt.Sprintf(format, args...), weight})
		}
		switch {
		case row.What == Request && row.Name == "GroupHeartbeat" && named != holds[row.Peer]:
			if named {
				add(major, "%s tells %s, the coordinator, that it has it", row.Peer.Words(), row.Place.Words())
			} else if strings.Contains(row.Text, "Full:true") {
				add(major, "%s tells %s, the coordinator, that it does not have it any more", row.Peer.Words(), row.Place.Words())
			} else {
				continue
			}
			holds[row.Peer] = named
		case row.What == Reply && row.Name == "GroupHeartbeatReply" && strings.Contains(row.Text, "Assigned:true") && named != given[row.Peer]:
			given[row.Peer] = named
			if named {
				add(major, "%s assigns it to %s", row.Place.Words(), row.Peer.Words())
			} else {
				add(major, "%s takes it from %s", row.Place.Words(), row.Peer.Words())
			}
		case row.What == Told && named:
			add(usual, "%s is told: %s", row.Place.Words(), row.Text)
		case row.What == Reply && row.Name == "CommitOffsetsReply" && named:
			p := row.Part(id)
			add(minor, "%s answers the commit of %d by %s: %s", row.Place.Words(), p.From, row.Peer.Words(), ok(first(p.Code, row.Code)))
		}
	}
	s.last()
	return s
}

func ok(code string) string {
	if code == "" {
		return "ok"
	}
	return code
}
