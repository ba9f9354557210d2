package sim

import (
	"slices"
	"time"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/transport/simnet"
)

// clientUnrest judges that every client has come to the end of its work, but for those
// that may never do.
func (w *World) clientUnrest(add complain) {
	for _, u := range w.clients {
		if w.transacted && !u.up && u.session > 0 && u.starts == u.run {
			add("a client has not come back", "client %d (%s) is to be started again", u.plan.ID, u.plan.Role)
		}
		if u.up && u.plan.Role != auditorRole && !w.hindered(u) {
			if t, ok := u.script.(*transactor); ok && t.stuck(u) {
				add("a transactor does not go on", "client %d has committed no transaction since the last fault", u.plan.ID)
			} else if waits, ok := u.script.idle(u); !ok {
				add("a client waits", "client %d (%s) has %s", u.plan.ID, u.plan.Role, waits)
			}
			if late := u.unseen(); late > 0 {
				add("a client goes by a picture of the cluster that is too old", "client %d has not asked for %v longer than it may", u.plan.ID, time.Duration(late))
			}
		}
	}
}

// wayUnrest judges that no records are under way to a broker any more. Nobody need wait
// for them: their producer asked for no answer, has given them up or is gone. But bytes
// may outlive their connection by seconds, and what is stored while the logs are read
// for good is found by readers and not by that reading.
func (w *World) wayUnrest(add complain) {
	if w.agenda.underway(carriesRecords) {
		add("records are under way", "a producer has sent some that no broker has got yet")
	}
}

func carriesRecords(p *simnet.Packet) bool {
	_, ok := p.Msg.(*message.Produce)
	return ok
}

// hindered says that a client may never end its transactions: what its coordinator
// had written was given up, or it publishes where nobody may lead any more, or
// nobody coordinates its group.
func (w *World) hindered(u *user) bool {
	if !u.plan.Role.transacts() {
		return false
	}
	for _, name := range u.plan.publishesTo() {
		if w.topicForsaken(name) {
			return true
		}
	}
	return w.transactionsGivenUp(u.plan.Transactional) || u.plan.Role == Worker && w.shardForsaken(u.plan.Group)
}

// publishesTo are the topics into which one that makes transactions publishes.
func (c *ClientPlan) publishesTo() []string {
	if c.Role == Worker {
		return c.Into
	}
	return c.Topics
}

// attempts says that a client of whom that is told is hindered and still runs. It may
// begin a transaction whenever it likes, and nobody can wait for a moment without one: it
// is not at rest that they all have ended before it is dismissed, but after that.
func (w *World) attempts(of func(*ClientPlan) bool) bool {
	return slices.ContainsFunc(w.clients, func(u *user) bool { return u.up && of(u.plan) && w.hindered(u) })
}

// goesOn says that a client has committed a transaction lately.
func (u *user) goesOn() bool { return u.committedAt > 0 && u.world.now-u.committedAt < lately }

// lately is longer than a transaction and the pause behind it take when nothing is in
// the way.
const lately = 5 * Second

// dismiss ends the processes that may never come to the end of their work, when all
// others have, and says whether there were any. Nobody can wait until they have nothing
// left to write, and what they wrote while the logs are read for good would be read by
// others and not be there.
func (w *World) dismiss() bool {
	var leaving []*user // all of them, before a group is another without one
	for _, u := range w.clients {
		if u.up && w.endless(u) {
			leaving = append(leaving, u)
		}
	}
	for _, u := range leaving {
		u.die()
	}
	return len(leaving) > 0
}

// endless says that a client may write whenever it comes to that: it is not known at
// rest whether it, or the group for which it writes, has come to an end. Who reads a
// partition that nobody may lead any more may have fetched more of it than it has worked
// on.
func (w *World) endless(u *user) bool {
	if w.hindered(u) {
		return true
	}
	return u.plan.Role.joins() && u.plan.Role.publishes() &&
		(w.shardForsaken(u.plan.Group) || w.stalled(u.plan.Group) || slices.ContainsFunc(u.plan.Topics, w.topicForsaken))
}

// readsOn says that a member of a group whose next position in a partition is next, -1:
// not known, has records to come when start to end is what stands there. One that writes
// has them below the log start as well, and where nothing is left: it may have fetched
// them before retention took them, and what follows from them is still to be written.
// It is told where it stands behind them when a poll gives nothing more.
func (u *user) readsOn(next, start, end record.Offset) bool {
	if u.plan.Role.publishes() {
		return next < end && end > 0
	}
	return (next >= start || next < 0) && next < end && start < end
}
