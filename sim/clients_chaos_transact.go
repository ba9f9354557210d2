package sim

import (
	"slices"
	"strconv"
	"strings"

	"github.com/tamarack-mq/tamarack/core/client"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/metadata"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/history"
)

// acquaintance is what a client that does not behave has heard of one transactional
// id. What it was told is true at that time: epochs only rise.
type acquaintance struct {
	name  string
	id    record.ProducerID
	epoch record.ProducerEpoch
}

// ofItsOwn is how the transactional ids begin with which such clients may do what
// they like. With those of others they never send what could be granted and change
// something: nobody would know why a transaction has ended.
const ofItsOwn = "chaos-"

// ownTransactions is what a group of theirs is called, of which no one else reads.
const ownTransactions = "chaos-transactions"

// hears notes what it is told about transactional ids.
func (c *chaos) hears(op *openOp, result *client.Result) {
	ask, _ := op.ask.(client.Ask)
	switch reply := result.Reply.(type) {
	case *message.ListTransactionsReply:
		for _, t := range reply.Transactions {
			c.meets(acquaintance{t.TransactionalID, t.ID, t.Epoch})
		}
	case *message.DescribeTransactionReply:
		if reply.Code == message.None {
			c.meets(acquaintance{reply.TransactionalID, reply.ID, reply.Epoch})
		}
	case *message.InitProducerIDReply:
		if m, ok := ask.Request.(*message.InitProducerID); ok && reply.Code == message.None && m.TransactionalID != "" {
			c.meets(acquaintance{m.TransactionalID, reply.ID, reply.Epoch})
		}
	case *message.EndTransactionReply:
		if m, ok := ask.Request.(*message.EndTransaction); ok && reply.Code == message.None && strings.HasPrefix(m.TransactionalID, ofItsOwn) {
			c.meets(acquaintance{m.TransactionalID, reply.ID, reply.Epoch})
		}
	}
}

// undoes goes on from what it is told about its own transactional ids (see undoing).
// Only one node will do what it asks for, so all are asked. It draws nothing, so that
// what the client does else stays as it is.
func (c *chaos) undoes(u *user, op *openOp, result *client.Result) {
	ask, _ := op.ask.(client.Ask)
	image := u.world.newest()
	if u.world.phase > draining || image == nil {
		return
	}
	if next := undoing(image.TopicNamed(chaosTopic), ask.Request, result.Reply); next != nil {
		for node := range message.NodeID(u.world.plan.Cluster.Nodes) {
			c.send(u, node+1, 0, next, history.Operation{})
		}
	}
}

// undoing is what follows an answer: who may use a transactional id pends a position in
// the topic, and the position of what pends is to be deleted. Under every other epoch the
// transaction ends instead, and the next one begins at once, while the markers of the one
// before are still being written. nil: nothing.
func undoing(t *metadata.Topic, asked message.Request, reply message.Reply) message.Request {
	switch asked := asked.(type) {
	case *message.InitProducerID:
		m, ok := reply.(*message.InitProducerIDReply)
		if ok && t != nil && m.Code == message.None && strings.HasPrefix(asked.TransactionalID, ofItsOwn) {
			return pends(t, asked.TransactionalID, m.ID, m.Epoch)
		}
	case *message.EndTransaction:
		m, ok := reply.(*message.EndTransactionReply)
		if ok && t != nil && m.Code == message.None && strings.HasPrefix(asked.TransactionalID, ofItsOwn) {
			return pends(t, asked.TransactionalID, m.ID, m.Epoch)
		}
	case *message.CommitTransactionOffsets:
		m, ok := reply.(*message.CommitTransactionOffsetsReply)
		switch {
		case !ok || m.Code != message.None || asked.Group != ownTransactions:
		case asked.Epoch%2 == 1:
			return &message.EndTransaction{TransactionalID: asked.TransactionalID, ID: asked.ID, Epoch: asked.Epoch, Commit: asked.ID%2 == 0}
		default:
			return &message.DeleteOffsets{Group: asked.Group, IDs: []record.PartitionID{asked.Offsets[0].ID}}
		}
	}
	return nil
}

// pends makes a position in a topic part of the transaction of an identity.
func pends(t *metadata.Topic, name string, id record.ProducerID, epoch record.ProducerEpoch) *message.CommitTransactionOffsets {
	return &message.CommitTransactionOffsets{
		TransactionalID: name, ID: id, Epoch: epoch, Group: ownTransactions, MemberEpoch: -1,
		Offsets: []message.GroupOffset{{ID: record.PartitionID{Topic: t.ID}, Offset: record.Offset(epoch), LeaderEpoch: -1}},
	}
}

// mayBeAsked judges what is said of transactions of those who do what they like (INV-10,
// INV-31): any time limit from a millisecond up to the longest is one, and nobody writes
// a record of a transaction that its leader alone is to keep: it could be lost after
// the commit.
func (u *user) mayBeAsked(op *openOp, result *client.Result) {
	ask, _ := op.ask.(client.Ask)
	switch asked := ask.Request.(type) {
	case *message.InitProducerID:
		m, ok := result.Reply.(*message.InitProducerIDReply)
		if ok && m.Code == message.InvalidTransactionTimeout && asked.Timeout >= message.Millisecond && asked.Timeout <= longestTransaction {
			u.world.fail("INV-10", 0, "a time limit is refused that is one", "client %d asks for transactions of %d ms at most and is told that this cannot be: %s", u.plan.ID, asked.Timeout/message.Millisecond, m.Detail)
		}
	case *message.Produce:
		if asked.TransactionalID != "" && asked.Acks == message.AcksLeader && result.Outcome == client.OK {
			u.world.fail("INV-31", 0, "a record of a transaction is kept by its leader alone", "client %d sends a record of a transaction of %q with acks=1 and is told that it is stored", u.plan.ID, asked.TransactionalID)
		}
	}
}

// toldNothing judges that a refusal to describe a transaction tells of none (INV-10).
func (u *user) toldNothing(result *client.Result) {
	m, ok := result.Reply.(*message.DescribeTransactionReply)
	if !ok || m.Code == message.None {
		return
	}
	if m.ID != record.NoProducerID || m.Epoch != record.NoProducerEpoch || m.Started != -1 || m.State != "" || m.Timeout != 0 || len(m.Partitions) > 0 {
		u.world.fail("INV-10", 0, "a refusal tells of a transaction", "client %d asks for the transaction of %q, is refused (%v), and is told of one all the same, begun at %d", u.plan.ID, m.TransactionalID, m.Code, m.Started)
	}
}

func (c *chaos) meets(a acquaintance) {
	if i := slices.IndexFunc(c.known, func(b acquaintance) bool { return b.name == a.name }); i >= 0 {
		c.known[i] = a
	} else if len(c.known) < 32 {
		c.known = append(c.known, a)
	}
}

// somebody draws a transactional id of which it has heard, as it may use it: its own
// as they are, those of others as they were before.
func (c *chaos) somebody(u *user) acquaintance {
	r := u.random
	if len(c.known) == 0 || r.OneIn(5) {
		return acquaintance{ofItsOwn + strconv.Itoa(int(r.Below(3))), record.ProducerID(r.Between(-1, 30)), record.ProducerEpoch(r.Between(-1, 8))}
	}
	a := c.known[r.Below(int64(len(c.known)))]
	switch {
	case !strings.HasPrefix(a.name, ofItsOwn) && r.OneIn(3):
		a.id += 1_000_000 // it is nobody's
	case !strings.HasPrefix(a.name, ofItsOwn):
		a.epoch -= record.ProducerEpoch(r.Between(1, 3))
	case r.OneIn(4):
		a.epoch += record.ProducerEpoch(r.Between(-2, 2))
	}
	return a
}

// anyOfTransactions draws a legal request about transactions.
func (c *chaos) anyOfTransactions(u *user) (message.Request, history.Operation) {
	r, a := u.random, c.somebody(u)
	mine := strings.HasPrefix(a.name, ofItsOwn)
	switch r.Below(10) {
	case 0:
		return &message.FindCoordinator{TransactionalID: a.name}, history.Operation{}
	case 1:
		return &message.ListTransactions{}, history.Operation{}
	case 2:
		return &message.DescribeTransaction{TransactionalID: a.name}, history.Operation{}
	case 3, 4:
		m := &message.InitProducerID{TransactionalID: ofItsOwn + strconv.Itoa(int(r.Below(3))), Timeout: message.Duration(r.Between(1, 10_000)) * message.Millisecond}
		if m.Timeout%(8*message.Millisecond) == 0 {
			m.Timeout = message.Millisecond // the shortest that there is
		}
		if r.OneIn(2) {
			m.Incarnation = uint64(r.Between(1, 4))
		}
		return m, history.Operation{}
	case 5, 6:
		m := &message.CommitTransactionOffsets{
			TransactionalID: a.name, ID: a.id, Epoch: a.epoch, Group: ownTransactions, MemberEpoch: -1,
			Offsets: []message.GroupOffset{{ID: c.partition(u, true), Offset: record.Offset(r.Below(100)), LeaderEpoch: -1}},
		}
		if real := c.realGroup(u); real != nil && !mine && r.OneIn(2) {
			m.Group, m.Member, m.MemberEpoch = real.Group, "stranger", message.MemberEpoch(r.Between(0, 6))
		}
		return m, history.Operation{}
	case 7: // what nobody has been given the right to write, or what only its leader is to keep
		acks := message.AcksAll
		if mine && a.id >= 0 && a.epoch >= 0 {
			acks = message.AcksLeader
		} else {
			a.id += 2_000_000
		}
		batch, value := c.batch(u)
		record.SetTransactional(batch, a.id, max(a.epoch, 0), 0)
		id := c.partition(u, true)
		return &message.Produce{
				Acks: acks, Timeout: message.Duration(r.Below(int64(3 * Second))), TransactionalID: a.name,
				Partitions: []message.ProducePartition{{ID: id, Records: batch}},
			}, history.Operation{
				Session: u.session<<20 + int32(c.n), Kind: history.Publish, Topic: chaosTopic, TopicID: uint64(id.Topic),
				Partition: id.Index, Value: value, Acks: int8(acks), Timestamp: int64(u.clock.now(u.world.now).Wall),
			}
	}
	return &message.EndTransaction{TransactionalID: a.name, ID: a.id, Epoch: a.epoch, Commit: r.OneIn(2)}, history.Operation{}
}

// nobodysID is a producer id that no broker gives out in a run. One that somebody has
// would make a batch that looks like a repeat of his.
const nobodysID = 3_000_000

// wrongOfTransactions draws a request about transactions that no broker may accept.
func (c *chaos) wrongOfTransactions(u *user) message.Request {
	r := u.random
	batch, _ := c.batch(u)
	m := &message.Produce{Acks: message.AcksAll, Timeout: message.Second}
	m.Partitions = []message.ProducePartition{{ID: c.partition(u, true), Records: batch}}
	long := strings.Repeat("long", 100)
	switch r.Below(11) {
	case 0:
		return &message.InitProducerID{TransactionalID: "malformed", Timeout: longestTransaction + 1 + message.Duration(r.Below(int64(Second)))}
	case 1:
		return &message.InitProducerID{TransactionalID: "malformed", Timeout: -message.Millisecond}
	case 2:
		return &message.InitProducerID{TransactionalID: long, Timeout: message.Second}
	case 3:
		return &message.EndTransaction{ID: record.ProducerID(r.Below(10)), Commit: r.OneIn(2)}
	case 4:
		return &message.EndTransaction{TransactionalID: "nobody's", ID: record.ProducerID(r.Below(10)), Commit: r.OneIn(2)}
	case 5:
		return &message.DescribeTransaction{}
	case 6:
		return &message.DescribeTransaction{TransactionalID: "nobody's"}
	case 7:
		return &message.CommitTransactionOffsets{
			ID: 3, Group: "malformed", MemberEpoch: -1,
			Offsets: []message.GroupOffset{{ID: c.partition(u, true), LeaderEpoch: -1}},
		}
	case 8: // a batch of a transaction, in the name of nobody
		record.SetTransactional(batch, nobodysID, 0, 0)
	case 9: // a marker
		m.TransactionalID = "nobody's"
		m.Partitions[0].Records = record.BuildMarker(u.clock.now(u.world.now).Wall, 3, 1, record.Marker{Outcome: record.Committed})
	default: // a batch of a transaction that nobody has begun
		m.TransactionalID = "nobody's"
		record.SetTransactional(batch, nobodysID, 0, 0)
	}
	return m
}
