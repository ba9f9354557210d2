package sim

import (
	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/group"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/txn"
)

// stillLeads is INV-46: who tells something that it does not write has made sure,
// after the question came, that it still leads. A coordinator does so by a record that
// it appended since, and which is committed; a controller by an entry that nobody had
// committed when the question came, and that it has applied. In the log of a shard, or
// of the controllers, such a record stands behind all that was committed by then: had
// another one led, it could never have got there.
//
// An answer without that is mostly true all the same, and where it is not nobody may
// ever see that: the one who was deposed must be asked in the moment before it hears
// of it. So what is judged is that the answer waited, and not what it says.
//
// What a node says to itself is not seen here.
type stillLeads struct {
	blind
	asks map[otherAsks]askedSince // what nodes ask each other
}

// otherAsks is a question of one node to another.
type otherAsks struct {
	node int32 // that is asked
	from message.NodeID
	run  message.BrokerEpoch // of who asks; 0 where the number says it
	nr   uint64
}

// question is what somebody asks, and how many steps there had been before it came.
type question struct {
	request message.Message
	after   uint64
}

// askedSince is a question of a leader to a coordinator, or a request that a broker hands
// to a controller, that has come once or more often.
type askedSince struct {
	question
	committed message.Version // by anybody, when it came first
	answers   int             // that may be under way
}

func (*stillLeads) Invariant() string { return "INV-46" }

func (*stillLeads) Looks() scope { return ofGroupsTold | ofTurns | ofSure }

// Started: what a run before was asked is not answered any more.
func (o *stillLeads) Started(_ *World, n *Node, _ *effect.Recovered) {
	for at := range o.asks {
		if at.node == n.id {
			delete(o.asks, at)
		}
	}
}

func (o *stillLeads) Stepped(w *World, n *Node, in effect.Input, out []effect.Effect) {
	if r, ok := in.(effect.Received); ok {
		o.asked(w, n, r)
	}
	for _, e := range out {
		switch e := e.(type) {
		case effect.Reply:
			by := n.asker(e.Token)
			o.replies(w, n, question{by.request, by.after}, e.Msg)
		case effect.Send:
			switch m := e.Msg.(type) {
			case *message.AddedToTransaction:
				o.added(w, n, otherAsks{n.id, e.To, m.BrokerEpoch, m.Request}, m.Code)
				for _, other := range m.Others {
					o.added(w, n, otherAsks{n.id, e.To, m.BrokerEpoch, other.Request}, other.Code)
				}
			case *message.Forwarded:
				o.forwarded(w, n, otherAsks{node: n.id, from: e.To, nr: m.Request}, m, applied(n))
			}
		}
	}
}

// asked notes a question of another node. The same one may come several times, and each
// may have an answer of its own, or not: as long as one may be under way, the first
// counts.
func (o *stillLeads) asked(w *World, n *Node, r effect.Received) {
	var at otherAsks
	switch m := r.Msg.(type) {
	case *message.AddToTransaction:
		at = otherAsks{n.id, r.From, m.BrokerEpoch, m.Request}
	case *message.Forward:
		at = otherAsks{node: n.id, from: r.From, nr: m.Request}
	default:
		return
	}
	if o.asks == nil {
		o.asks = map[otherAsks]askedSince{}
	}
	q, again := o.asks[at]
	if !again {
		q.question, q.committed = question{r.Msg, w.stats.Steps - 1}, w.book.meta.version
	}
	q.answers++
	o.asks[at] = q
}

// answered is the question that a node answers; known: it was seen to come.
func (o *stillLeads) answered(at otherAsks) (q askedSince, known bool) {
	q, known = o.asks[at]
	if q.answers--; q.answers > 0 {
		o.asks[at] = q
	} else {
		delete(o.asks, at)
	}
	return q, known
}

// replies judges what a coordinator tells a client without writing it.
func (o *stillLeads) replies(w *World, n *Node, q question, reply message.Message) {
	switch m := reply.(type) {
	case *message.FetchOffsetsReply:
		if r, ok := q.request.(*message.FetchOffsets); ok && tells(m.Code) {
			o.ofGroup(w, n, q, r.Group)
		}
	case *message.DescribeGroupReply:
		if r, ok := q.request.(*message.DescribeGroup); ok && tells(m.Code) {
			o.ofGroup(w, n, q, r.Group)
		}
	case *message.DeleteGroupReply:
		if r, ok := q.request.(*message.DeleteGroup); ok && tells(m.Code) {
			o.ofGroup(w, n, q, r.Group)
		}
	case *message.DeleteOffsetsReply:
		if r, ok := q.request.(*message.DeleteOffsets); ok && tells(m.Code) {
			o.ofGroup(w, n, q, r.Group)
		}
	case *message.ListGroupsReply:
		for i := range m.Groups {
			o.ofGroup(w, n, q, m.Groups[i].Group)
		}
	case *message.ListTransactionsReply:
		for i := range m.Transactions {
			o.ofTransaction(w, n, q, m.Transactions[i].TransactionalID)
		}
	case *message.DescribeTransactionReply:
		if r, ok := q.request.(*message.DescribeTransaction); ok && tells(m.Code) {
			o.ofTransaction(w, n, q, r.TransactionalID)
		}
	case *message.InitProducerIDReply: // one that is given is written, or was
		if r, ok := q.request.(*message.InitProducerID); ok && r.TransactionalID != "" && refuses(m.Code) {
			o.ofTransaction(w, n, q, r.TransactionalID)
		}
	case *message.EndTransactionReply: // so is an end
		if r, ok := q.request.(*message.EndTransaction); ok && refuses(m.Code) {
			o.ofTransaction(w, n, q, r.TransactionalID)
		}
	}
}

// tells says whether an answer with a code tells how things stand, and not only that
// they are not told, or that what is asked makes no sense.
func tells(code message.Code) bool {
	switch code {
	case message.NotCoordinator, message.CoordinatorNotAvailable, message.CoordinatorLoadInProgress, message.RequestTimedOut,
		message.ShuttingDown, message.InvalidRequest, message.InvalidGroupID, message.InvalidTransactionTimeout:
		return false
	}
	return true
}

// refuses says whether a code refuses something because of how things stand.
func refuses(code message.Code) bool { return code != message.None && tells(code) }

// added judges why a leader is told that a transaction may not enter its partition. That
// it is to try again may also be said because it has waited for long.
func (o *stillLeads) added(w *World, n *Node, at otherAsks, code message.Code) {
	q, known := o.answered(at)
	if known && refuses(code) && code != message.ConcurrentTransactions {
		o.ofTransaction(w, n, q.question, q.request.(*message.AddToTransaction).TransactionalID)
	}
}

func (o *stillLeads) ofGroup(w *World, n *Node, q question, name string) {
	if t := w.shards(offsetsTopic); t != nil {
		o.sure(w, n, w.shard(t, group.Shard(name, int32(len(t.Partitions)))), q, name)
	}
}

func (o *stillLeads) ofTransaction(w *World, n *Node, q question, name string) {
	if t := w.shards(statesTopic); t != nil {
		o.sure(w, n, w.shard(t, txn.Shard(name, int32(len(t.Partitions)))), q, name)
	}
}

// sure judges that a coordinator has had a record committed in a shard that it appended
// after a question about a name in it came.
func (*stillLeads) sure(w *World, n *Node, p *partBook, q question, name string) {
	s := w.book.transactions.shardAt(p)
	if s != nil && !s.lost() && s.proved(n.id) <= q.after {
		w.fail("INV-46", n.id, "a coordinator answers before it is sure that it leads", "node %d answers %s about %q, and nothing that it has appended to partition %s since that came is committed: another node may lead it by now", n.id, q.request.Kind(), name, p.id)
	}
}

// forwarded judges what a controller answers when it has applied its log up to a version.
func (o *stillLeads) forwarded(w *World, n *Node, at otherAsks, m *message.Forwarded, applied message.Version) {
	q, known := o.answered(at)
	if known && m.Code == message.None && m.Body != nil && applied <= q.committed {
		w.fail("INV-46", n.id, "a controller answers before it is sure that it leads", "the controller on node %d answers with %s, and has had nothing committed since it was asked: it knows version %d, and somebody had committed version %d by then", n.id, m.Body.Kind(), applied, q.committed)
	}
}

// applied is the version up to which a node's controller has applied its log; 0: it is
// none.
func applied(n *Node) message.Version {
	if c := n.Core(); c != nil && c.Controller() != nil {
		return c.Controller().Image().Version()
	}
	return 0
}
