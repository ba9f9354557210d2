package sim

import (
	"strings"

	"github.com/tamarack-mq/tamarack/core/chance"
	"github.com/tamarack-mq/tamarack/core/client"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/history"
)

// misnamed is the name of a group that no coordinator takes: it is too long.
var misnamed = strings.Repeat("misnamed", 40)

// drawMisnamed gives some readers at first the name of a group that cannot be.
func drawMisnamed(r *chance.Stream, p *Plan) {
	for i := range p.Clients {
		if c := &p.Clients[i]; c.Role == Reader && c.Group == "" {
			c.Misnamed = r.OneIn(5)
		}
	}
}

// misname has a reader begin where a group stands of which nobody can be told. It polls
// for nothing then, until it begins anew by itself.
func (r *reader) misname(u *user) {
	w := u.world
	var starts []client.Start
	for _, name := range u.plan.Topics {
		for p := range w.partitionsOf(name) {
			starts = append(starts, client.Start{Place: client.Place{Topic: name, Partition: int32(p)}, From: client.Position{Kind: client.AtCommitted}})
		}
	}
	w.history.Moment(history.Operation{
		Client: int32(u.plan.ID), Session: u.session, Kind: history.Assigned, Invoke: int64(w.now),
	})
	u.ask(opPlumbing, 0, history.Operation{}, func(op client.Op) client.Input {
		return client.Assign{Op: op, Partitions: starts, Reset: client.ResetEarliest, Group: misnamed}
	})
	u.stuck = map[record.PartitionID]bool{}
}

// cannotRead are the partitions of which an answer says that the group's positions cannot
// be read, ever: those that a client asked for that goes by a name that cannot be, and
// still waits for the answer.
func (u *user) cannotRead(c *openCall, reply message.Reply) []record.PartitionID {
	m, ok := reply.(*message.FetchOffsetsReply)
	asked, _ := c.asked.(*message.FetchOffsets)
	if !ok || asked == nil || asked.Group != misnamed || m.Code != message.InvalidGroupID || u.stuck == nil {
		return nil
	}
	if u.world.now-c.since >= u.world.plan.Timing.ClientRequest {
		return nil // it has given the question up
	}
	return asked.IDs
}

// toldStuck is INV-10 for positions that cannot be read: the application is told so, of
// each partition, as soon as the client is.
func (u *user) toldStuck(ids []record.PartitionID) {
	for _, id := range ids {
		if !u.stuck[id] {
			u.world.fail("INV-10", 0, "a position that cannot be read is not told of", "client %d was answered that the position of its group in partition %s cannot be read, as the name of the group cannot be, and does not tell its application", u.plan.ID, id)
			return
		}
	}
}

// isStuck notes what the application is told of.
func (u *user) isStuck(e *client.Event) {
	if e.Kind == client.Stuck && u.stuck != nil {
		for _, p := range e.Partitions {
			u.stuck[p.ID] = true
		}
	}
}
