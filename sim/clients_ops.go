package sim

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/tamarack-mq/tamarack/core/chance"
	"github.com/tamarack-mq/tamarack/core/client"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/history"
)

// ClientOp is one thing that a client does at a time of its own, in place of the
// endless loop of its role. A plan lists them when it is to show a story in
// few steps; Options.Record notes those of a run.
//
// A producer sends what it publishes at one time as one burst. Members and
// readers do one thing after the other: what comes due while an earlier one is
// open follows at its end; but a seek comes with the poll before it. What comes due while the process is down is left
// out. When the run comes to rest members poll on, so that they may reach the
// end of their partitions, a transaction that is still open is committed, and a
// transactor commits once more.
type ClientOp struct {
	At Span `json:"at"`
	// Do is "publish"; "poll", "commit", "seek", "pause", "resume", "close" of members;
	// "poll", "committed", "groups", "assign", "seek", "pause", "resume" of readers; "create", "delete", "add-partitions" of admins; "send"
	// of clients that misbehave; "begin", "publish", "commit", "abort" of transactors;
	// "begin", "poll", "work", "commit", "abort", "close" of workers.
	Do        string   `json:"do"`
	Topic     string   `json:"topic,omitempty"`
	Key       string   `json:"key,omitempty"`
	Partition *int     `json:"partition,omitempty"` // of a publish; none: what the key or the client says
	Size      int      `json:"size,omitempty"`      // bytes of a published value; 0: as the client's plan says
	Headers   bool     `json:"headers,omitempty"`
	Count     int      `json:"count,omitempty"` // most records of a poll or to work on; partitions of create and add-partitions
	From      []string `json:"from,omitempty"`  // of assign and seek: "t0/1 offset 12", "latest", "earliest", "ago 3s"; of seek "committed", too; of pause and resume the places, none: all
	Draw      uint64   `json:"draw,omitempty"`  // of send: the chance that the request follows from
}

// doings are the operations that a role knows.
var doings = map[Role][]string{
	Producer: {"publish"}, MemberOf: {"poll", "commit", "seek", "pause", "resume", "close"},
	Reader:     {"poll", "committed", "groups", "assign", "seek", "pause", "resume"},
	Transactor: {"begin", "publish", "commit", "abort"}, Worker: {"begin", "poll", "work", "commit", "abort", "close"},
	Admin: {"create", "delete", "add-partitions"}, Chaos: {"send"}, Malformed: {"send"},
}

// listed says that a client does what its plan lists and nothing else.
func (u *user) listed() bool {
	return u.plan.Ops != nil && (!u.plan.Role.goesOnAtRest() || u.world.phase < resting)
}

// goesOnAtRest says that a client of a role does not stop when the run comes to rest:
// it comes to the end of its work, or proves that it could.
func (r Role) goesOnAtRest() bool { return r.joins() || r == Transactor }

// note records what a client does, when somebody wants to know.
func (u *user) note(op ClientOp) {
	w := u.world
	if w.phase >= resting || u.plan.ID >= operatorID {
		return
	}
	op.At = w.now
	w.recorded.note(u.plan.ID, op)
}

// beginList asks for the first operation of the list that is still to come.
func (u *user) beginList() {
	for u.listAt < len(u.plan.Ops) && u.plan.Ops[u.listAt].At < u.world.now {
		u.listAt++
	}
	u.awaitList()
}

// awaitList asks for the next operation when its time comes.
func (u *user) awaitList() {
	if u.listAt < len(u.plan.Ops) && !u.listAsked {
		u.listAsked = true
		u.next(u.plan.Ops[u.listAt].At - u.world.now)
	}
}

// takeList is the next operation if it is due; nil: none is.
func (u *user) takeList() *ClientOp {
	u.listAsked = false
	if u.listAt >= len(u.plan.Ops) || u.plan.Ops[u.listAt].At > u.world.now {
		return nil
	}
	u.listAt++
	return &u.plan.Ops[u.listAt-1]
}

// restList lets those go on who have followed a list, when the run comes to rest. A
// transaction that the list has left open ends.
func (w *World) restList() {
	for _, u := range w.clients {
		if !u.up || u.plan.Ops == nil || !u.plan.Role.goesOnAtRest() {
			continue
		}
		u.next(Millisecond)
		if t, ok := u.script.(interface{ endsSoon(*user) }); ok {
			t.endsSoon(u)
		}
	}
}

// actListed sends what is due as one burst.
func (p *producer) actListed(u *user) {
	var batch client.Inputs
	for op := u.takeList(); op != nil; op = u.takeList() {
		batch = append(batch, p.publish(u, op))
	}
	if batch != nil {
		u.step(batch)
	}
	u.awaitList()
}

// actListed does what is due of a member.
func (m *member) actListed(u *user) {
	if u.closing || m.polling || m.committing {
		u.listAsked = false
		return
	}
	op := u.takeList()
	if op == nil {
		u.awaitList()
		return
	}
	switch op.Do {
	case "close":
		m.close(u)
	case "commit":
		m.committing = true
		m.commit(u)
	case "seek":
		u.seekListed(op)
		u.awaitList()
	case "pause", "resume":
		u.holdListed(op)
		u.awaitList()
	default:
		m.poll(u, op.Count)
		u.seeksDue()
	}
}

// actListed does what is due of a reader.
func (r *reader) actListed(u *user) {
	if r.polling {
		u.listAsked = false
		return
	}
	op := u.takeList()
	if op != nil {
		switch op.Do {
		case "assign":
			r.assign(u, startsFrom(u, op.From))
		case "committed":
			r.committed(u)
		case "groups":
			r.groups(u)
		case "seek":
			u.seekListed(op)
		case "pause", "resume":
			u.holdListed(op)
		default:
			r.poll(u, op.Count)
			u.seeksDue()
			return
		}
	}
	u.awaitList()
}

// actListed does what is due of an admin.
func (a *admin) actListed(u *user) {
	for op := u.takeList(); op != nil; op = u.takeList() {
		a.do(u, op.Do, op.Topic, op.Count)
	}
	u.awaitList()
}

// actListed sends what is due of a client that misbehaves. What it sends follows
// from the number that the list holds.
func (c *chaos) actListed(u *user) {
	for op := u.takeList(); op != nil; op = u.takeList() {
		own := u.random
		u.random = chance.New(op.Draw)
		c.one(u)
		u.random = own
	}
	u.awaitList()
}

// do asks for one administrative change and notes it.
func (a *admin) do(u *user, verb, topic string, count int) {
	if u.world.options.Record {
		u.note(ClientOp{Do: verb, Topic: topic, Count: count})
	}
	switch verb {
	case "create":
		a.send(u, verb, topic, count, &message.CreateTopic{
			Name: topic, Partitions: int32(count), ReplicationFactor: int16(min(3, u.world.plan.Cluster.Nodes)),
		})
	case "delete":
		a.send(u, verb, topic, 0, &message.DeleteTopic{Name: topic})
	case "add-partitions":
		a.send(u, verb, topic, count, &message.AddPartitions{Name: topic, Count: int32(count)})
	}
}

// tellStart is a start of a reader in the words of ClientOp.From.
func tellStart(u *user, s *client.Start) string {
	place := s.Place.Topic + "/" + itoa(int(s.Place.Partition)) + " "
	switch s.From.Kind {
	case client.AtOffset:
		return place + "offset " + strconv.FormatInt(int64(s.From.Offset), 10)
	case client.AtTime:
		ago := u.clock.now(u.world.now).Wall - s.From.Timestamp
		return place + "ago " + (time.Duration(ago) * time.Millisecond).String()
	case client.AtLatest:
		return place + "latest"
	case client.AtCommitted:
		return place + "committed"
	}
	return place + "earliest"
}

// startsFrom reads starts. What it cannot read starts at the earliest record;
// Validate has refused it.
func startsFrom(u *user, list []string) (starts []client.Start) {
	for _, text := range list {
		s, err := parseStart(text)
		if err == nil {
			if s.From.Kind == client.AtTime {
				s.From.Timestamp = u.clock.now(u.world.now).Wall - s.From.Timestamp
			}
			starts = append(starts, s)
		}
	}
	return starts
}

// parseStart reads one start; a time is left as what it is before now.
func parseStart(text string) (s client.Start, err error) {
	bad := fmt.Errorf("%q is no start: say it as \"t0/1 offset 12\", \"t0/1 latest\", \"t0/1 earliest\" or \"t0/1 ago 3s\"", text)
	words := strings.Fields(text)
	if len(words) < 2 {
		return s, bad
	}
	topic, index, ok := strings.Cut(words[0], "/")
	partition, err := strconv.Atoi(index)
	if !ok || err != nil {
		return s, bad
	}
	s.Place = client.Place{Topic: topic, Partition: int32(partition)}
	switch {
	case words[1] == "earliest" && len(words) == 2:
	case words[1] == "latest" && len(words) == 2:
		s.From.Kind = client.AtLatest
	case words[1] == "committed" && len(words) == 2:
		s.From.Kind = client.AtCommitted
	case words[1] == "offset" && len(words) == 3:
		n, err := strconv.ParseInt(words[2], 10, 64)
		if err != nil {
			return s, bad
		}
		s.From = client.Position{Kind: client.AtOffset, Offset: record.Offset(n)}
	case words[1] == "ago" && len(words) == 3:
		d, err := time.ParseDuration(words[2])
		if err != nil {
			return s, bad
		}
		s.From = client.Position{Kind: client.AtTime, Timestamp: record.Timestamp(d.Milliseconds())}
	default:
		return s, bad
	}
	return s, nil
}

// committed asks what the group has committed.
func (r *reader) committed(u *user) {
	if u.world.options.Record {
		u.note(ClientOp{Do: "committed"})
	}
	r.asking = true
	u.ask(opCommitted, 0, history.Operation{Kind: history.FetchCommitted, Group: u.plan.Group, Committed: u.committed()},
		func(op client.Op) client.Input { return client.Committed{Op: op} })
	// And whoever else takes himself for the coordinator: one that was deposed and
	// has not heard of it may tell nothing old.
	for node := range message.NodeID(u.world.plan.Cluster.Nodes) {
		u.ask(opPlumbing, 0, history.Operation{}, func(op client.Op) client.Input {
			return client.Ask{Op: op, Request: &message.FetchOffsets{Group: u.plan.Group, MemberEpoch: -1},
				Target: client.Target{Kind: client.TheNode, Node: node + 1}, Timeout: 5 * message.Second, Once: true}
		})
	}
}
