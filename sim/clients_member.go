package sim

import (
	"github.com/tamarack-mq/tamarack/core/client"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/history"
)

// scriptCommits is the argument of a script's action that ends the processing
// of a poll.
const scriptCommits = 1

// member polls and commits as a member of a group. It handles one poll at a
// time: poll, process for a while, commit, poll again.
type member struct {
	polling    bool
	committing bool
	polls      int64
	since      Span                                 // when it polled last
	owned      map[record.PartitionID]record.Offset // next position to be given; -1: not known
	high       map[record.PartitionID]record.Offset
	expelled   bool
	misused    bool  // what it may not do has been refused
	epoch      int64 // as last told; it names what this process may own
}

func (m *member) begin(u *user) {
	m.owned = map[record.PartitionID]record.Offset{}
	m.high = map[record.PartitionID]record.Offset{}
	m.subscribe(u)
	u.misuses("a second reading", &m.misused, u.elsewhere)
	if u.listed() {
		u.beginList()
		return
	}
	u.next(u.some(u.plan.Every))
}

func (m *member) subscribe(u *user) {
	m.expelled = false
	in := client.Subscribe{
		Group: u.plan.Group, Instance: u.plan.Instance, Topics: u.plan.Topics,
		AutoCommit: u.plan.Style == "auto",
	}
	if u.plan.Style == "at-most-once" {
		in.Style = client.AtMostOnce
	}
	if u.plan.Reset == "latest" {
		in.Reset = client.ResetLatest
	}
	u.ask(opPlumbing, 0, history.Operation{}, func(op client.Op) client.Input { in.Op = op; return in })
}

func (m *member) act(u *user, arg uint64) {
	if u.listed() {
		m.actListed(u)
		return
	}
	if arg == scriptCommits {
		m.commit(u)
		return
	}
	if u.closing || m.polling || m.committing {
		return
	}
	if u.plan.Stop > 0 && u.world.now >= u.plan.Stop {
		m.close(u)
		return
	}
	m.poll(u, 0)
	u.wander()
	u.holdOn()
}

// close leaves the group in good order.
func (m *member) close(u *user) {
	if u.world.options.Record {
		u.note(ClientOp{Do: "close"})
	}
	u.closing = true
	u.ask(opPlumbing, 0, history.Operation{}, func(op client.Op) client.Input { return client.Close{Op: op} })
}

// poll asks for records, most of them at once; 0: it draws how many.
func (m *member) poll(u *user, most int) {
	if m.expelled {
		m.subscribe(u)
	}
	m.polling, m.since = true, u.world.now
	m.polls++
	u.ask(opPoll, 0, history.Operation{
		Kind: history.Poll, Group: u.plan.Group, Style: u.style(), Committed: u.committed(),
	}, func(op client.Op) client.Input {
		if most == 0 {
			most = int(u.random.Between(1, 50))
			if u.world.phase >= draining {
				most = 500 // it must come to the end now
			}
		}
		if u.world.options.Record {
			u.note(ClientOp{Do: "poll", Count: most})
		}
		return client.Poll{Op: op, Max: most, Wait: 500 * message.Millisecond}
	})
}

func (m *member) done(u *user, op *openOp, result *client.Result) {
	switch op.what {
	case opPoll:
		m.polling = false
		got := m.polled(u, result)
		if u.listed() {
			u.awaitList()
			return
		}
		pause := u.some(u.plan.Every)
		if got > 0 && u.world.phase < draining {
			pause += u.some(u.plan.Slow) + u.slow
		}
		if got > 0 && m.commits(u) {
			// Processing takes its time, and the commit follows.
			m.committing = true
			u.world.in(pause, event{kind: evScript, place: u.index, run: u.run, arg: scriptCommits})
			return
		}
		u.next(pause)
	case opCommit:
		m.committing = false
		if u.listed() {
			u.awaitList()
			return
		}
		u.next(u.some(u.plan.Every))
	case opMisuse:
		m.misused = misused(result)
	case opPositions:
		m.stands(result)
	case opPlumbing:
		if u.closing {
			u.up = false
			u.run++
		}
	}
}

// polled takes in what a poll gave. What is no record for the application is not
// in it: at rest the member asks where it stands behind that.
func (m *member) polled(u *user, result *client.Result) (got int) {
	for i := range result.Polled {
		d := &result.Polled[i]
		got += len(d.Records)
		m.owned[d.ID] = d.Next
		m.high[d.ID] = d.HighWatermark
	}
	if result.Err != nil && result.Err.Problem == client.Refused {
		m.expelled = true
	}
	if got == 0 && (u.world.transacted || u.plan.Role.publishes()) && u.world.phase >= resting {
		u.ask(opPositions, 0, history.Operation{}, func(op client.Op) client.Input { return client.Positions{Op: op} })
	}
	return got
}

// stands takes in where the member is.
func (m *member) stands(result *client.Result) {
	for i := range result.Offsets {
		if p := &result.Offsets[i]; p.Offset >= 0 {
			if _, mine := m.owned[p.ID]; mine {
				m.owned[p.ID] = p.Offset
			}
		}
	}
}

// name is what the history calls this process.
func (*member) name(u *user) string { return "client " + itoa(u.plan.ID) + "." + itoa(int(u.session)) }

// holdings is what the member owns, and the next position in each partition; -1:
// not known.
func (m *member) holdings() map[record.PartitionID]record.Offset { return m.owned }

// commits says whether this poll is to be followed by a commit.
func (m *member) commits(u *user) bool {
	switch u.plan.Style {
	case "at-most-once", "auto":
		return false
	case "manual":
		return u.random.OneIn(3)
	}
	return true
}

// commit stores what was polled.
func (m *member) commit(u *user) {
	if u.world.options.Record {
		u.note(ClientOp{Do: "commit"})
	}
	u.ask(opCommit, 0, history.Operation{
		Kind: history.Commit, Group: u.plan.Group, Style: u.style(), Member: m.name(u), Epoch: m.epoch,
	}, func(op client.Op) client.Input { return client.Commit{Op: op} })
}

func (m *member) event(u *user, e *client.Event) {
	if e.MemberEpoch > 0 {
		m.epoch = int64(e.MemberEpoch)
	}
	switch e.Kind {
	case client.Assigned:
		for _, p := range e.Partitions {
			m.owned[p.ID] = -1
		}
	case client.Revoked, client.Lost:
		for _, p := range e.Partitions {
			delete(m.owned, p.ID)
		}
	case client.Expelled:
		m.expelled = true
	}
}

// longestPoll is how long a poll may take at rest: it waits for half a second, and
// whoever asked to be given nothing twice for a commit.
const longestPoll = 10 * Second

// idle: a member is at rest when it polls and gets nothing more, or has left.
// Whether its group owns everything is for the observer of INV-34 to say.
func (m *member) idle(u *user) (string, bool) {
	if u.closing {
		return "a close that does not end", false
	}
	if m.polling && u.world.now-m.since > longestPoll {
		return "a poll that does not end", false
	}
	return "", true
}
