package witness

import (
	"fmt"

	"github.com/tamarack-mq/tamarack/core/record"
)

// Commit tells the life of one commit of a group: who asked for it, where it was
// appended, flushed, committed and acknowledged, and what the group was told
// afterwards. It is the last commit of offset for the partition that was
// acknowledged; with a zero partition or offset None, of any.
func (r *Run) Commit(group string, id record.PartitionID, offset int64) *Story {
	request, reply := r.lastCommit(group, id, offset)
	if request < 0 {
		s := &Story{Title: fmt.Sprintf("group %q: no such commit was acknowledged", group)}
		r.positions(s, group, id, 0)
		s.last()
		return s
	}
	row := &r.Rows[request]
	what := "commit"
	for _, p := range row.Parts {
		if id.Topic == 0 || p.ID == id {
			what, id, offset = fmt.Sprintf("commit of %d in partition %s", p.From, r.name(p.ID)), p.ID, p.From
			break
		}
	}
	s := &Story{}
	if at := r.appendFor(request); at >= 0 {
		p := &r.Rows[at].Parts[0]
		kept := r.Record(p.ID, p.From)
		for _, step := range kept.Steps {
			if step.Row > request || r.Rows[step.Row].What == Broken {
				s.Steps = append(s.Steps, step)
			}
		}
		s.About, s.Left = p.ID, kept.Left
		what += fmt.Sprintf(", kept as record %d of partition %s", p.From, r.name(p.ID))
	}
	s.Title = fmt.Sprintf("group %q: %s", group, what)
	if call := row.Cause; call >= 0 {
		c := &r.Rows[call]
		if ask := r.origin(int(call)); ask >= 0 && r.Rows[ask].Name == "commit" {
			s.Steps = append(s.Steps, Step{ask, fmt.Sprintf("%s commits", c.Place.Words()), major})
		}
		r.given(s, c.Place, id, int(call))
		s.Steps = append(s.Steps, Step{int(call), fmt.Sprintf("%s sends it to %s", c.Place.Words(), c.Peer.Words()), usual})
	}
	s.Steps = append(s.Steps,
		Step{request, fmt.Sprintf("%s, the coordinator, takes it", row.Place.Words()), major},
		Step{reply, fmt.Sprintf("%s acknowledges it to %s", row.Place.Words(), row.Peer.Words()), vital})
	if at := len(r.Rows) - 1; at >= 0 && r.Rows[at].What == Broken && !holds(s.Steps, at) {
		s.Steps = append(s.Steps, Step{at, r.Say(at), vital})
	}
	r.positions(s, group, id, reply)
	s.short()
	return s
}

// given adds what a client was given last of a partition before a row.
func (r *Run) given(s *Story, client Place, id record.PartitionID, before int) {
	for i, found := before-1, 0; i >= 0 && found < 2; i-- {
		row := &r.Rows[i]
		if row.Place != client || row.What != Done || row.Name != "poll" {
			continue
		}
		if p := row.Part(id); p != nil {
			s.Steps = append(s.Steps, Step{i, fmt.Sprintf("%s is given the records [%d, %d)", client.Words(), p.From, p.To), major})
			found++
		}
	}
}

func holds(steps []Step, row int) bool {
	for _, s := range steps {
		if s.Row == row {
			return true
		}
	}
	return false
}

// lastCommit finds the last acknowledged request to commit, and its answer.
func (r *Run) lastCommit(group string, id record.PartitionID, offset int64) (request, reply int) {
	for i := len(r.Rows) - 1; i >= 0; i-- {
		row := &r.Rows[i]
		if row.What != Reply || row.Name != "CommitOffsetsReply" && row.Name != "CommitTransactionOffsetsReply" || row.Group != group || row.Begin < 0 || row.Code != "" {
			continue
		}
		for _, p := range row.Parts {
			if p.Code == "" && (id.Topic == 0 || p.ID == id) && (offset < 0 || p.From == offset) {
				return int(row.Begin), i
			}
		}
	}
	return None, None
}

// appendFor finds the append to the coordinator's log that keeps what a request
// asked for: the first of that node since, in the same step or, while another
// append is under way, in a later one. It may never come.
func (r *Run) appendFor(request int) int {
	at := r.Rows[request].Place
	for i := request + 1; i < len(r.Rows); i++ {
		row := &r.Rows[i]
		if row.Place != at {
			continue
		}
		if row.What == Down {
			break
		}
		if row.What == Append && r.Topic(row.Parts[0].ID.Topic) == r.Offsets {
			return i
		}
	}
	return None
}

// origin goes back to the row where it began.
func (r *Run) origin(at int) int {
	for r.before(at) >= 0 {
		at = r.before(at)
		if r.Rows[at].What == Ask {
			return at
		}
	}
	return None
}

// positions adds what the group was told of a partition after a row.
func (r *Run) positions(s *Story, group string, id record.PartitionID, after int) {
	for i := after + 1; i < len(r.Rows); i++ {
		row := &r.Rows[i]
		if row.Group != group || row.What != Reply {
			continue
		}
		for _, p := range row.Parts {
			if p.ID != id {
				continue
			}
			switch {
			case row.Name == "FetchOffsetsReply" && row.Code == "":
				s.Steps = append(s.Steps, Step{i, fmt.Sprintf("%s tells %s the position %d", row.Place.Words(), row.Peer.Words(), p.From), major})
			case row.Name == "CommitOffsetsReply" && row.Code == "" && p.Code == "":
				s.Steps = append(s.Steps, Step{i, fmt.Sprintf("%s acknowledges a later commit of %d to %s", row.Place.Words(), p.From, row.Peer.Words()), minor})
			}
		}
	}
}
