package sim

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/group"
	"github.com/tamarack-mq/tamarack/core/message"
)

// stored is a record that coordinator 1 of group "g" has committed.
var stored = group.Record{Kind: group.Stored, Group: "g", Partition: part, Offset: 40}

// TestWhoAnswersWithoutWritingHasMadeSureThatItLeads: a record that the coordinator
// appended when the question had come is committed before it answers. Only answers that
// tell how things stand need that.
func TestWhoAnswersWithoutWritingHasMadeSureThatItLeads(t *testing.T) {
	end := &message.EndTransaction{TransactionalID: "t", ID: 7, Commit: true}
	begin := &message.InitProducerID{TransactionalID: "t"}
	ofGroup, ofTransaction := message.DescribeGroup{Group: "g"}, message.DescribeTransaction{TransactionalID: "t"}
	deleteGroup, deleteOffsets, fetch := &message.DeleteGroup{Group: "g"}, &message.DeleteOffsets{Group: "g"}, &message.FetchOffsets{Group: "g"}
	for name, c := range map[string]struct {
		asked  message.Request
		answer message.Reply
		sure   bool   // it must be
		shard  string // of what: "6/0" of groups, "7/0" of transactions
		about  string
	}{
		"positions":                      {fetch, &message.FetchOffsetsReply{}, true, "6/0", `"g"`},
		"positions refused to who left":  {fetch, message.Fail(fetch, message.StaleMemberEpoch, ""), true, "6/0", `"g"`},
		"positions, it is loading":       {fetch, message.Fail(fetch, message.CoordinatorLoadInProgress, ""), false, "", ""},
		"a group":                        {&ofGroup, &message.DescribeGroupReply{}, true, "6/0", `"g"`},
		"no group":                       {&ofGroup, message.Fail(&ofGroup, message.GroupIDNotFound, ""), true, "6/0", `"g"`},
		"a group, elsewhere":             {&ofGroup, message.Fail(&ofGroup, message.NotCoordinator, ""), false, "", ""},
		"nothing to delete":              {deleteGroup, message.Fail(deleteGroup, message.GroupIDNotFound, ""), true, "6/0", `"g"`},
		"no positions to delete":         {deleteOffsets, message.Fail(deleteOffsets, message.GroupIDNotFound, ""), true, "6/0", `"g"`},
		"a list with the group":          {&message.ListGroups{}, &message.ListGroupsReply{Groups: []message.GroupListing{{Group: "g"}}}, true, "6/0", `"g"`},
		"a list with nothing":            {&message.ListGroups{}, &message.ListGroupsReply{}, false, "", ""},
		"a heartbeat":                    {&message.GroupHeartbeat{Group: "g"}, &message.GroupHeartbeatReply{}, false, "", ""},
		"a transaction":                  {&ofTransaction, &message.DescribeTransactionReply{}, true, "7/0", `"t"`},
		"no transaction":                 {&ofTransaction, message.Fail(&ofTransaction, message.TransactionalIDNotFound, ""), true, "7/0", `"t"`},
		"a list with the transaction":    {&message.ListTransactions{}, &message.ListTransactionsReply{Transactions: []message.TransactionListing{{TransactionalID: "t"}}}, true, "7/0", `"t"`},
		"an end that was decided":        {end, &message.EndTransactionReply{}, false, "", ""},
		"an end refused to the fenced":   {end, message.Fail(end, message.ProducerFenced, ""), true, "7/0", `"t"`},
		"an end nobody knows of":         {end, message.Fail(end, message.RequestTimedOut, ""), false, "", ""},
		"an identity":                    {begin, &message.InitProducerIDReply{}, false, "", ""},
		"an identity that has to wait":   {begin, message.Fail(begin, message.ConcurrentTransactions, ""), true, "7/0", `"t"`},
		"an identity with a wrong limit": {begin, message.Fail(begin, message.InvalidTransactionTimeout, ""), false, "", ""},
		"an identity of no transaction":  {&message.InitProducerID{}, message.Fail(&message.InitProducerID{}, message.ProducerFenced, ""), false, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := newTheatre(t)
			p.said(nil, stored)
			p.state(nil, empty(0))
			asked := caller{request: c.asked, after: p.stats.Steps}
			answer := func() {
				p.nodes[1].tokens[5] = asked
				p.stats.Steps++
				p.step(&stillLeads{}, 1, effect.Tick{}, []effect.Effect{effect.Reply{Token: 5, Msg: c.answer}})
			}
			answer()
			if c.sure {
				p.refused("INV-46", "node 1 answers "+c.asked.Kind().String()+" about "+c.about+", and nothing that it has appended to partition "+c.shard+" since that came is committed")
			}
			p.said(nil, stored)
			p.state(nil, empty(0))
			answer()
			p.passed()
		})
	}
}

// TestOnlyARecordOfItsOwnMakesACoordinatorSure: that of another node says that this one
// may have been deposed, and one from before the question that it was not yet then. Of a
// shard of which an operator has given records up nothing can be said.
func TestOnlyARecordOfItsOwnMakesACoordinatorSure(t *testing.T) {
	p := newTheatre(t)
	answers := func(after uint64) {
		p.nodes[1].tokens[5] = caller{request: &message.FetchOffsets{Group: "g"}, after: after}
		p.step(&stillLeads{}, 1, effect.Tick{}, []effect.Effect{effect.Reply{Token: 5, Msg: &message.FetchOffsetsReply{}}})
	}
	answers(0) // of a shard that nobody has seen nothing can be said either
	p.passed()
	p.said(nil, stored) // in step 1
	answers(0)
	p.passed()
	answers(1)
	p.refused("INV-46", "another node may lead it by now")
	s := p.shardAt(p.book.part(groupShard))
	s.proves(2, 2)
	answers(1)
	p.refused("INV-46", "another node may lead it by now")
	s.proves(1, 2)
	answers(1)
	p.passed()
	s.part.unclean = true
	answers(2)
	p.passed()
	require.Equal(t, []uint64{0, 2, 2, 0}, []uint64{s.proved(0), s.proved(1), s.proved(2), s.proved(3)})
}

// TestWhyATransactionMayNotEnterAPartitionIsSure: its leader is a node that asks, and
// the answers to several questions come in one message.
func TestWhyATransactionMayNotEnterAPartitionIsSure(t *testing.T) {
	p := newTheatre(t)
	o := &stillLeads{}
	p.state(nil, empty(0))
	asks := func(nr uint64) {
		p.stats.Steps++
		p.step(o, 1, effect.Received{From: 2, Msg: &message.AddToTransaction{BrokerEpoch: 9, Request: nr, TransactionalID: "t"}}, nil)
	}
	answers := func(code, other message.Code) {
		p.stats.Steps++
		p.step(o, 1, effect.Tick{}, []effect.Effect{effect.Send{To: 2, Msg: &message.AddedToTransaction{
			BrokerEpoch: 9, Request: 1, Code: code, Others: []message.OtherAddition{{Request: 2, Code: other}},
		}}})
		require.Empty(t, o.asks)
	}
	for _, code := range []message.Code{message.None, message.NotCoordinator, message.ConcurrentTransactions} {
		asks(1)
		asks(2)
		answers(code, code)
		p.passed()
	}
	asks(1)
	answers(message.ProducerFenced, message.ProducerFenced) // who asked 2 has its answer: it is a message of before
	p.refused("INV-46", `node 1 answers AddToTransaction about "t", and nothing that it has appended to partition 7/0 since that came is committed`)
	asks(2)
	answers(message.None, message.InvalidProducerEpoch)
	p.refused("INV-46", "node 1 answers AddToTransaction")
	asks(2)
	p.state(nil, empty(0))
	asks(1)
	answers(message.None, message.ProducerFenced)
	p.passed()
	asks(1)
	o.Started(p.World, p.nodes[2], nil)
	require.Len(t, o.asks, 1, "another node's start answers nothing")
	o.Started(p.World, p.nodes[1], nil)
	require.Empty(t, o.asks)
}

// TestAnAnswerMayBeToTheSameQuestionAsItCameBefore: the answer to the first of three is on
// its way when the third comes, and what is said then may answer the second.
func TestAnAnswerMayBeToTheSameQuestionAsItCameBefore(t *testing.T) {
	p := newTheatre(t)
	o := &stillLeads{}
	asks := func() {
		p.stats.Steps++
		p.step(o, 1, effect.Received{From: 2, Msg: &message.AddToTransaction{Request: 1, TransactionalID: "t"}}, nil)
	}
	answers := func(code message.Code) {
		p.step(o, 1, effect.Tick{}, []effect.Effect{effect.Send{To: 2, Msg: &message.AddedToTransaction{Request: 1, Code: code}}})
	}
	p.state(nil, empty(0))
	asks()
	asks()
	answers(message.None)
	p.state(nil, empty(0))
	asks()
	answers(message.ProducerFenced)
	p.passed()
	answers(message.ProducerFenced)
	p.passed()
	require.Empty(t, o.asks, "all three have their answers")
	asks()
	answers(message.ProducerFenced)
	p.refused("INV-46", "node 1 answers AddToTransaction")
}

// TestAControllerAnswersBehindWhatNobodyHadCommitted: to have applied all that was
// committed when it was asked is not enough, since another may lead that commits more.
func TestAControllerAnswersBehindWhatNobodyHadCommitted(t *testing.T) {
	s := newStage(t)
	o := &stillLeads{}
	answers := func(applied message.Version, code message.Code) {
		s.book.meta.version = 20
		s.step(o, 1, effect.Received{From: 2, Msg: &message.Forward{Request: 4, Body: &message.DeleteTopic{}}}, nil)
		s.book.meta.version = 23 // others have gone on meanwhile
		m := &message.Forwarded{Request: 4, Code: code, Body: &message.DeleteTopicReply{}}
		o.forwarded(s.World, s.nodes[1], otherAsks{node: 1, from: 2, nr: 4}, m, applied)
		require.Empty(t, o.asks)
	}
	answers(21, message.None)
	s.passed()
	answers(20, message.None)
	s.refused("INV-46", "the controller on node 1 answers with DeleteTopicReply, and has had nothing committed since it was asked: it knows version 20, and somebody had committed version 20 by then")
	answers(12, message.NotController)
	s.passed()
	s.step(o, 1, effect.Tick{}, []effect.Effect{effect.Send{To: 2, Msg: &message.Forwarded{Request: 4, Body: &message.DeleteTopicReply{}}}})
	s.passed() // nobody has asked that
}
