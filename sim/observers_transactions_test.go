package sim

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/group"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/metadata"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/core/replica"
	"github.com/tamarack-mq/tamarack/core/txn"
)

// The topic of part, and the internal ones, each with a partition that node 1 leads.
var (
	groupShard = record.PartitionID{Topic: 6}
	stateShard = record.PartitionID{Topic: 7}
)

// theatre is a stage on which transactions are played: producer 7 of "t", with the
// positions of group "g".
type theatre struct {
	*stage
	*transactionsBook
	first *oneDecision
	ends  map[record.PartitionID]record.Offset
}

func newTheatre(t *testing.T) *theatre {
	s := newStage(t)
	image := metadata.NewImage()
	require.NoError(t, image.Apply(1, &message.Change{Broker: &message.BrokerChange{Node: 1, Epoch: 1}}))
	for i, name := range []string{"t", offsetsTopic, statesTopic} {
		id := part.Topic + record.TopicID(i)
		require.NoError(t, image.Apply(message.Version(id), &message.Change{Topic: &message.TopicChange{ID: id, Name: name}}))
	}
	for i, id := range []record.PartitionID{part, groupShard, stateShard} {
		require.NoError(t, image.Apply(message.Version(8+i), &message.Change{Partition: &message.PartitionChange{
			ID: id, Replicas: []message.NodeID{1}, ISR: []message.NodeID{1}, Leader: 1, LeaderEpoch: 1,
		}}))
	}
	s.book.meta.image = image
	p := &theatre{s, &s.book.transactions, &oneDecision{}, map[record.PartitionID]record.Offset{}}
	p.known(s.World)
	return p
}

// commits has one batch of a partition committed, which the book takes in and an
// observer sees.
func (p *theatre) commits(o Observer, id record.PartitionID, says writtenBatch, b []byte) {
	p.t.Helper()
	h := header(b)
	if h.Attributes.Control() {
		h, _ = record.Validate(b)
	}
	r := p.book.replica(1, id)
	r.part.committed = append(r.part.committed, h)
	r.part.high = h.End()
	p.ends[id] = h.End()
	if id != part {
		s := p.shard(r.part)
		for i := range says.states {
			says.states[i].shard, says.states[i].at, says.states[i].epoch = s, h.BaseOffset, h.LeaderEpoch
		}
		for i := range says.positions {
			says.positions[i].shard, says.positions[i].at = s, h.BaseOffset
		}
		says.node, says.step = 1, p.stats.Steps+1
		s.written[link{h.LeaderEpoch, h.BaseOffset}] = says
	}
	p.stats.Steps++
	p.now += Millisecond
	p.step(p.first, 1, nil, nil, r)
	if o != nil && p.failure == nil {
		p.step(o, 1, nil, nil, r)
	}
}

// state is a coordinator's record about "t".
func (p *theatre) state(o Observer, t txn.Transaction) {
	p.t.Helper()
	if t.Turn.ID == 0 {
		t.Turn = t.Now
	}
	p.says(o, "t", t)
}

func (p *theatre) says(o Observer, name string, t txn.Transaction) {
	p.t.Helper()
	t.TransactionalID = name
	gone := t.Phase == 0
	p.commits(o, stateShard, writtenBatch{states: []stateRecord{{now: t, gone: gone}}}, batch(p.ends[stateShard], 2, "x"))
}

func (p *theatre) said(o Observer, records ...group.Record) {
	p.t.Helper()
	var says writtenBatch
	for _, r := range records {
		says.positions = append(says.positions, positionRecord{Record: r})
	}
	p.commits(o, groupShard, says, batch(p.ends[groupShard], 1, "x"))
}

// takes is a record of producer 7 in the epoch, in the partition part.
func (p *theatre) takes(o Observer, epoch record.ProducerEpoch) {
	p.t.Helper()
	b := batch(p.ends[part], 1, "x")
	record.SetTransactional(b, 7, epoch, 0)
	p.commits(o, part, writtenBatch{}, b)
}

func (p *theatre) marks(o Observer, epoch record.ProducerEpoch, outcome record.Outcome, coordinator record.LeaderEpoch) {
	p.t.Helper()
	b := record.BuildMarker(0, 7, epoch, record.Marker{Outcome: outcome, CoordinatorEpoch: coordinator})
	record.Stamp(b, p.ends[part], 1)
	p.commits(o, part, writtenBatch{}, b)
}

// answers has node 1 answer a request that came since ago.
func (p *theatre) answers(o Observer, r message.Request, since Span, reply message.Reply) {
	p.nodes[1].tokens[5] = caller{request: r, since: since}
	p.stats.Steps++
	p.step(o, 1, effect.Tick{}, []effect.Effect{effect.Reply{Token: 5, Msg: reply}})
}

func seven(epoch record.ProducerEpoch) txn.Identity { return txn.Identity{ID: 7, Epoch: epoch} }

var nobody = txn.Identity{ID: record.NoProducerID, Epoch: record.NoProducerEpoch}

// States of "t", by the epoch of the transaction.
func empty(e record.ProducerEpoch) txn.Transaction {
	return txn.Transaction{Phase: txn.Empty, Now: seven(e), Ended: nobody, Started: -1}
}

func ongoing(e record.ProducerEpoch, parts ...record.PartitionID) txn.Transaction {
	return txn.Transaction{Phase: txn.Ongoing, Now: seven(e), Ended: nobody, Partitions: parts}
}

func decided(phase txn.Phase, e record.ProducerEpoch, parts ...record.PartitionID) txn.Transaction {
	return txn.Transaction{Phase: phase, Now: seven(e + 1), Ended: seven(e), Partitions: parts}
}

func TestATransactionIsPlayedToItsEnd(t *testing.T) {
	p := newTheatre(t)
	all := []Observer{&betweenEnds{}, &oneOutcome{}, &pendingPositions{}, &lastingFences{}, &wholeTransactions{}}
	see := &several{all}
	pending := group.Record{Kind: group.Pends, Group: "g", Partition: part, ID: 7, Offset: 40}
	p.state(see, empty(0))
	p.state(see, ongoing(0, part))
	p.takes(see, 0)
	p.state(see, ongoing(0, part, groupShard))
	p.said(see, pending)
	p.state(see, decided(txn.PrepareCommit, 0, part, groupShard))
	p.answers(see, &message.EndTransaction{TransactionalID: "t", ID: 7, Commit: true}, p.now, &message.EndTransactionReply{ID: 7, Epoch: 1})
	p.marks(see, 1, record.Committed, 2)
	gone := pending
	gone.Gone = true
	stored := group.Record{Kind: group.Stored, Group: "g", Partition: part, Offset: 40}
	p.said(see, group.Record{Kind: group.Fences, ID: 7, Epoch: 1, Coordinator: 2}, stored, gone)
	p.state(see, decided(txn.CompleteCommit, 0))
	p.answers(see, &message.FetchOffsets{Group: "g", Stable: true}, p.now, &message.FetchOffsetsReply{Offsets: []message.GroupOffset{{ID: part, Offset: 40}}})
	p.state(see, ongoing(1, part))
	p.takes(see, 1)
	aborted := decided(txn.PrepareAbort, 1, part)
	aborted.Ended = nobody // its time was over
	p.state(see, aborted)
	p.marks(see, 2, record.Aborted, 2)
	aborted.Phase, aborted.Partitions = txn.CompleteAbort, nil
	p.state(see, aborted)
	p.state(see, empty(3))
	p.state(see, txn.Transaction{})
	p.passed()
	require.Equal(t, map[txn.Identity]*transactionBook{
		seven(0): {name: "t", named: []record.PartitionID{part, groupShard}, decided: true, complete: true, commits: true, asked: true, by: 2, turn: seven(1), over: 10 * Millisecond},
		seven(1): {name: "t", named: []record.PartitionID{part}, decided: true, complete: true, by: 2, turn: seven(2), over: -1},
	}, p.each)
	log := p.log(p.book.part(part))
	require.Equal(t, []message.AbortedTransaction{{ID: 7, First: 2}}, log.aborted(0, 4))
	require.Equal(t, []message.AbortedTransaction{{ID: 7, First: 2}}, log.aborted(3, 4))
	require.Empty(t, log.aborted(0, 2))
	require.Equal(t, []record.Offset{0, 0, 2, 2, 4}, []record.Offset{log.stable(0), log.stable(1), log.stable(2), log.stable(3), log.stable(4)})
}

// several is some observers as one.
type several struct{ all []Observer }

func (*several) Invariant() string                        { return "" }
func (*several) Started(*World, *Node, *effect.Recovered) {}
func (*several) Rested(*World)                            {}
func (s *several) Stepped(w *World, n *Node, in effect.Input, out []effect.Effect) {
	for _, o := range s.all {
		o.Stepped(w, n, in, out)
	}
}

func TestStatesThatCannotFollowAreRefused(t *testing.T) {
	of := func(t txn.Transaction, change func(*txn.Transaction)) txn.Transaction {
		change(&t)
		return t
	}
	called := func(name uint64, t txn.Transaction) txn.Transaction {
		return of(t, func(t *txn.Transaction) { t.Incarnation = name })
	}
	for name, c := range map[string]struct {
		states []txn.Transaction
		words  string
	}{
		"it begins open":                  {[]txn.Transaction{ongoing(0, part)}, "goes from Dead to Ongoing"},
		"it begins at a late epoch":       {[]txn.Transaction{empty(3)}, "to Empty of {7 3}"},
		"an epoch comes again":            {[]txn.Transaction{empty(0), empty(1), of(empty(1), func(t *txn.Transaction) { t.Updated = 9 })}, "from Empty of {7 1}, for {7 1} next, to Empty of {7 1}"},
		"an epoch is left out":            {[]txn.Transaction{empty(0), ongoing(1, part)}, "to Ongoing of {7 1}"},
		"an open one is given up":         {[]txn.Transaction{empty(0), ongoing(0, part), empty(1)}, "goes from Ongoing to Empty"},
		"an open one expires":             {[]txn.Transaction{empty(0), ongoing(0, part), {}}, "goes from Ongoing to Dead"},
		"a partition is lost":             {[]txn.Transaction{empty(0), ongoing(0, part, stateShard), ongoing(0, part)}, "from the partitions [5/0 7/0] to [5/0]"},
		"a partition is not marked":       {[]txn.Transaction{empty(0), ongoing(0, part), decided(txn.PrepareAbort, 0)}, "from the partitions [5/0] to []"},
		"the epoch is kept":               {[]txn.Transaction{empty(0), ongoing(0, part), of(decided(txn.PrepareAbort, 0, part), func(t *txn.Transaction) { t.Now = seven(0) })}, "to PrepareAbort of {7 0}"},
		"nobody asked for the commit":     {[]txn.Transaction{empty(0), ongoing(0, part), of(decided(txn.PrepareCommit, 0, part), func(t *txn.Transaction) { t.Ended = nobody })}, "its producer has not asked for it"},
		"it changes its mind":             {[]txn.Transaction{empty(0), ongoing(0, part), decided(txn.PrepareCommit, 0, part), decided(txn.PrepareAbort, 0, part)}, "goes from PrepareCommit to PrepareAbort"},
		"it ends otherwise":               {[]txn.Transaction{empty(0), ongoing(0, part), decided(txn.PrepareCommit, 0, part), decided(txn.CompleteAbort, 0)}, "goes from PrepareCommit to CompleteAbort"},
		"it is not completed":             {[]txn.Transaction{empty(0), ongoing(0, part), decided(txn.PrepareAbort, 0, part), ongoing(1, part)}, "goes from PrepareAbort to Ongoing"},
		"an abort of nothing is a repeat": {[]txn.Transaction{empty(0), of(decided(txn.CompleteAbort, 0), func(t *txn.Transaction) { t.Now = seven(0) })}, "to CompleteAbort of {7 0}"},
		"another producer id too early":   {[]txn.Transaction{empty(0), of(empty(0), func(t *txn.Transaction) { t.Now, t.Turn = txn.Identity{ID: 8}, txn.Identity{ID: 8} })}, "to Empty of {8 0}"},
		"... and with the decision":       {[]txn.Transaction{empty(0), ongoing(0, part), of(decided(txn.PrepareCommit, 0, part), func(t *txn.Transaction) { t.Turn = txn.Identity{ID: 8} })}, "to PrepareCommit of {7 1}, for {8 0} next"},
		"it is open since never":          {[]txn.Transaction{empty(0), of(ongoing(0, part), func(t *txn.Transaction) { t.Started = -1 })}, "nothing says since when"},
		"it fences itself":                {[]txn.Transaction{called(9, empty(0)), called(9, empty(1))}, "for the same incarnation 9"},
		"its name is forgotten":           {[]txn.Transaction{called(9, empty(0)), ongoing(0, part)}, "goes from incarnation 9 to 0 with Ongoing of {7 0}"},
		"commit of nothing":               {[]txn.Transaction{empty(0), decided(txn.CompleteCommit, 0)}, "goes from Empty to CompleteCommit"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newTheatre(t)
			for i, state := range c.states {
				p.passed()
				if i > 0 {
					p.state(nil, c.states[i-1]) // a snapshot
					p.passed()
				}
				p.state(nil, state)
			}
			p.refused("INV-32", c.words)
		})
	}
	p := newTheatre(t)
	last := seven(math.MaxInt16 - 1)
	p.state(nil, empty(0))
	p.ids["t"] = of(ongoing(0, part), func(t *txn.Transaction) { t.Now, t.Turn = last, last })
	p.state(nil, of(decided(txn.PrepareCommit, last.Epoch, part), func(t *txn.Transaction) { t.Turn = txn.Identity{ID: 8} }))
	p.passed()
}

func TestMarkersThatNobodyDecidedAreRefused(t *testing.T) {
	begin := func() *theatre {
		p := newTheatre(t)
		p.state(nil, empty(0))
		p.state(nil, ongoing(0, part))
		p.takes(nil, 0)
		return p
	}
	p := begin()
	p.marks(nil, 1, record.Committed, 2)
	p.refused("INV-32", "no coordinator has decided the transaction before")
	p = begin()
	p.state(nil, decided(txn.PrepareCommit, 0, part))
	p.marks(nil, 1, record.Committed, 1)
	p.refused("INV-32", "by the coordinator of epoch 1, but that of epoch 2 decided")
	p = begin()
	p.state(nil, decided(txn.PrepareCommit, 0, part))
	p.said(nil, group.Record{Kind: group.Fences, ID: 7, Epoch: 1, Coordinator: 2})
	p.refused("INV-32", "the transaction of \"t\" is one of [5/0]")
	p = begin()
	p.state(nil, decided(txn.PrepareCommit, 0, part))
	p.marks(nil, 1, record.Committed, 3)
	p.passed()
}

func TestRecordsOutsideOfTheirTransactionAreRefused(t *testing.T) {
	p, o := newTheatre(t), &betweenEnds{}
	p.state(o, empty(0))
	b := batch(0, 1, "x")
	record.SetTransactional(b, 7, 0, 0)
	r := p.holds(1, b)
	r.view = replica.View{ID: part, Role: replica.Leading, LeaderEpoch: 1, End: 1}
	append := func() {
		p.stats.Steps++
		p.step(p.first, 1, nil, nil, r)
		p.step(o, 1, nil, []effect.Effect{appending(0, b)}, r)
	}
	r.view.Role = replica.Following
	append()
	p.passed()
	r.view.Role = replica.Leading
	append()
	p.refused("INV-31", "no coordinator has committed that the partition takes part in it")
	p.state(o, ongoing(0, groupShard))
	append()
	p.refused("INV-31", "no coordinator has committed that the partition takes part in it")
	p.state(o, ongoing(0, part, groupShard))
	append()
	p.passed()
	p.said(o, group.Record{Kind: group.Pends, Group: "g", Partition: part, ID: 7, Epoch: 0})
	p.passed()
	p.said(o, group.Record{Kind: group.Pends, Group: "g", Partition: part, ID: 7, Epoch: 1})
	p.refused("INV-31", "in a transaction of producer 7, epoch 1")
	p.takes(o, 0)
	p.state(o, decided(txn.PrepareCommit, 0, part, groupShard))
	p.marks(o, 1, record.Committed, 2)
	p.passed()
	p.takes(o, 0)
	p.refused("INV-31", "which has its marker at 1")
}

func TestOutcomesThatDisagreeAreRefused(t *testing.T) {
	o := &oneOutcome{}
	begin := func(phase txn.Phase) *theatre {
		p := newTheatre(t)
		p.state(o, empty(0))
		p.state(o, ongoing(0, part, groupShard))
		p.takes(o, 0)
		p.said(o, group.Record{Kind: group.Pends, Group: "g", Partition: part, ID: 7})
		p.state(o, decided(phase, 0, part, groupShard))
		p.passed()
		return p
	}
	p := begin(txn.PrepareCommit)
	p.marks(o, 1, record.Aborted, 2)
	p.refused("INV-30", `says "abort", but the transaction of "t" was decided: commit`)
	p.state(o, decided(txn.CompleteCommit, 0))
	p.refused("INV-30", "shard 6/0 of groups has no fence of producer 7 at epoch 1")

	p = begin(txn.PrepareAbort)
	p.state(o, decided(txn.CompleteAbort, 0))
	p.refused("INV-30", "partition 5/0 has no marker of producer 7 that begins epoch 1")

	p = begin(txn.PrepareAbort)
	p.marks(o, 1, record.Aborted, 2)
	p.said(o, group.Record{Kind: group.Fences, ID: 7, Epoch: 1, Coordinator: 2})
	p.state(o, decided(txn.CompleteAbort, 0))
	p.refused("INV-30", `a position of group "g" in partition 5/0 is still pending`)

	p = begin(txn.PrepareAbort)
	p.marks(o, 1, record.Aborted, 2)
	p.said(o, group.Record{Kind: group.Fences, ID: 7, Epoch: 1, Coordinator: 2}, group.Record{Kind: group.Pends, Gone: true, Group: "g", Partition: part, ID: 7})
	p.said(o, group.Record{Kind: group.Fences, Gone: true, ID: 7}) // the producer was idle for long
	p.state(o, decided(txn.CompleteAbort, 0))
	p.passed()

	end := &message.EndTransaction{TransactionalID: "t", ID: 7, Commit: true}
	p = begin(txn.PrepareAbort)
	p.answers(o, end, 0, &message.EndTransactionReply{ID: 7, Epoch: 1})
	p.refused("INV-30", "was decided: abort, asked for by its producer: true")
	p = begin(txn.PrepareCommit)
	p.answers(o, end, 0, &message.EndTransactionReply{ID: 7, Epoch: 2})
	p.refused("INV-30", "but {7 1} was decided")
	p.answers(o, end, 0, &message.EndTransactionReply{Code: message.ProducerFenced})
	p.passed()
	end.Epoch = 1
	p.answers(o, end, 0, &message.EndTransactionReply{ID: 7, Epoch: 2})
	p.refused("INV-30", "no decision is committed")
}

func TestPendingPositionsThatAreTakenForStableOnesAreRefused(t *testing.T) {
	o := &pendingPositions{}
	pending := group.Record{Kind: group.Pends, Group: "g", Partition: part, ID: 7, Offset: 40, Member: "m", Number: 3}
	gone, stored := pending, group.Record{Kind: group.Stored, Group: "g", Partition: part, Offset: 40, Member: "m", Number: 3}
	gone = group.Record{Kind: group.Pends, Gone: true, Group: "g", Partition: part, ID: 7}
	fence := group.Record{Kind: group.Fences, ID: 7, Epoch: 1, Coordinator: 2}
	begin := func(phase txn.Phase) *theatre {
		p := newTheatre(t)
		p.state(o, empty(0))
		p.state(o, ongoing(0, groupShard))
		p.said(o, pending)
		if phase != txn.Ongoing {
			p.state(o, decided(phase, 0, groupShard))
		}
		p.passed()
		return p
	}
	ask := func(p *theatre, stable bool, since Span, offset record.Offset) {
		p.answers(o, &message.FetchOffsets{Group: "g", Stable: stable}, since, &message.FetchOffsetsReply{Offsets: []message.GroupOffset{{ID: part, Offset: offset}}})
	}
	p := begin(txn.Ongoing)
	ask(p, true, p.now, message.NoOffset) // it became pending as the question came
	ask(p, false, p.now+1, message.NoOffset)
	p.passed()
	ask(p, true, p.now+1, message.NoOffset)
	p.refused("INV-25", "while one of producer 7, epoch 0, is pending")
	ask(p, false, p.now, 40)
	p.refused("INV-25", "the position 40 for partition 5/0, which was not stored")
	p.said(o, gone)
	p.refused("INV-25", "that transaction has not ended there")

	p = begin(txn.PrepareCommit)
	p.said(o, gone)
	p.refused("INV-25", "that transaction has not ended there")
	p = begin(txn.PrepareCommit)
	p.said(o, fence, gone)
	p.refused("INV-25", "drops at offset 1 the position 40")
	p = begin(txn.PrepareCommit)
	later := group.Record{Kind: group.Stored, Group: "g", Partition: part, Offset: 45, Member: "m", Number: 4}
	p.said(o, later, fence, gone)
	p.passed()
	p = begin(txn.PrepareCommit)
	p.said(o, fence, stored, gone)
	ask(p, true, p.now, 40)
	p.passed()
	p.said(o, later)
	ask(p, true, p.now, 40)
	p.passed() // as the question came
	ask(p, true, p.now+1, 40)
	p.refused("INV-25", "which was not stored at any time since it was asked")
	p = begin(txn.PrepareAbort)
	p.said(o, fence, gone)
	p.passed()
	p = begin(txn.PrepareAbort)
	p.said(o, fence, stored, gone)
	p.refused("INV-25", "was aborted")
	p = begin(txn.PrepareAbort)
	next := pending
	next.Epoch = 1
	p.said(o, next)
	p.refused("INV-25", "in the place of one of epoch 0 that was not resolved")

	p = begin(txn.Ongoing)
	request := &message.CommitTransactionOffsets{Group: "g", ID: 7, Offsets: []message.GroupOffset{{ID: part, Offset: 40}}}
	p.answers(o, request, 0, &message.CommitTransactionOffsetsReply{Offsets: []message.CommittedOffset{{ID: part}}})
	p.passed()
	request.Offsets[0].Offset = 41
	p.answers(o, request, 0, &message.CommitTransactionOffsetsReply{Offsets: []message.CommittedOffset{{ID: part}}})
	p.refused("INV-25", "but its shard has not committed that")
	request.Offsets = append(request.Offsets, message.GroupOffset{ID: groupShard, Offset: 1})
	half := []message.CommittedOffset{{ID: part}, {ID: groupShard, Code: message.StaleMemberEpoch}}
	p.answers(o, request, 0, &message.CommitTransactionOffsetsReply{Offsets: half})
	p.refused("INV-25", "but not the one of the same request in partition 6/0: STALE_MEMBER_EPOCH")
	half[0].Code = message.OperationNotAttempted
	p.answers(o, request, 0, &message.CommitTransactionOffsetsReply{Offsets: half})
	p.passed()
}

func TestFencesThatDoNotLastAreRefused(t *testing.T) {
	o := &lastingFences{}
	begin := func() *theatre {
		p := newTheatre(t)
		p.state(o, empty(0))
		p.state(o, ongoing(0, part, groupShard))
		p.takes(o, 0)
		p.state(o, decided(txn.PrepareCommit, 0, part, groupShard))
		p.marks(o, 1, record.Committed, 4)
		p.said(o, group.Record{Kind: group.Fences, ID: 7, Epoch: 1, Coordinator: 4})
		p.state(o, decided(txn.CompleteCommit, 0))
		p.state(o, ongoing(1, part, groupShard))
		p.passed()
		return p
	}
	p := begin()
	p.said(o, group.Record{Kind: group.Pends, Group: "g", Partition: part, ID: 7, Epoch: 0})
	p.refused("INV-29", "behind a marker that begins epoch 1")
	p.state(o, decided(txn.PrepareAbort, 1, part, groupShard))
	p.marks(o, 2, record.Aborted, 3)
	p.refused("INV-29", "by the coordinator of epoch 3, behind one of epoch 4")
	p.said(o, group.Record{Kind: group.Fences, ID: 7, Epoch: 2, Coordinator: 3})
	p.refused("INV-29", "from epoch 1 of coordinator epoch 4 back to 2 of 3")

	p = begin()
	end := &message.EndTransaction{TransactionalID: "t", ID: 7, Commit: true}
	p.answers(o, end, p.now-Millisecond, &message.EndTransactionReply{ID: 7, Epoch: 1})
	p.passed()
	p.answers(o, end, p.now+1, &message.EndTransactionReply{ID: 7, Epoch: 1})
	p.refused("INV-29", "but the transactional id had gone on before it was asked")

	p = begin()
	init := &message.InitProducerID{TransactionalID: "t"}
	ask := func() { p.step(o, 1, effect.Requested{Token: 5, Msg: init}, nil) }
	ask()
	p.answers(o, init, 0, &message.InitProducerIDReply{ID: 7, Epoch: 2})
	p.refused("INV-29", "no coordinator has committed that")
	p = newTheatre(t)
	p.state(o, empty(0))
	ask()
	p.answers(o, init, 0, &message.InitProducerIDReply{ID: 7, Epoch: 0})
	p.refused("INV-29", "it was at epoch 0 before it was asked")
	init.Incarnation = 9 // it asks again
	ask()
	p.answers(o, init, 0, &message.InitProducerIDReply{ID: 7, Epoch: 0})
	p.passed()

	p = begin()
	produce := func(epoch record.ProducerEpoch) {
		b := batch(0, 1, "x")
		record.SetTransactional(b, 7, epoch, 0)
		asked := &message.Produce{TransactionalID: "t", Partitions: []message.ProducePartition{{ID: part, Records: b}}}
		p.book.replica(1, part).view.HighWatermark = p.book.part(part).high
		p.step(o, 1, effect.Requested{Token: 5, Msg: asked}, []effect.Effect{effect.Reply{Token: 5, Msg: &message.ProduceReply{Partitions: []message.ProducedPartition{{ID: part}}}}})
	}
	produce(1)
	p.passed()
	produce(0)
	p.refused("INV-29", "but the producer is at epoch 1 there")
}

// The first producer id of a cluster is 0, with epoch 0, as what is not known has.
func TestTheFirstProducerOfAClusterIsOneLikeOthers(t *testing.T) {
	o, first := &lastingFences{}, txn.Identity{}
	p := newTheatre(t)
	init := &message.InitProducerID{TransactionalID: "t"}
	p.step(o, 1, effect.Requested{Token: 5, Msg: init}, nil)
	p.state(o, txn.Transaction{Phase: txn.Empty, Now: first, Turn: first, Ended: nobody})
	p.answers(o, init, 0, &message.InitProducerIDReply{})
	p.passed()
	p.state(o, txn.Transaction{Phase: txn.Ongoing, Now: first, Turn: first, Ended: nobody, Partitions: []record.PartitionID{part}})
	next := txn.Identity{Epoch: 1}
	p.state(o, txn.Transaction{Phase: txn.PrepareCommit, Now: next, Turn: next, Ended: first, Partitions: []record.PartitionID{part}})
	p.says(o, "another", txn.Transaction{Phase: txn.Empty, Now: seven(0), Turn: seven(0), Ended: nobody})
	p.answers(o, &message.EndTransaction{TransactionalID: "t", Commit: true}, p.now+1, &message.EndTransactionReply{Epoch: 1})
	p.passed()
}

func TestReadersOfCommittedRecordsThatSeeMoreAreRefused(t *testing.T) {
	p, o := newTheatre(t), &wholeTransactions{}
	p.state(o, empty(0))
	p.state(o, ongoing(0, part))
	p.takes(o, 0)
	r := p.holds(1, batch(0, 1, "x"))
	r.view = replica.View{ID: part, Role: replica.Leading, LeaderEpoch: 1, HighWatermark: 1, LastStable: 0}
	p.step(o, 1, nil, nil, r)
	p.passed()
	r.view.LastStable = 1
	p.step(o, 1, nil, nil, r)
	p.refused("INV-8", "at 1 under the high watermark 1; by what is committed it is 0")

	r.view.LastStable = 0
	read := func(f message.FetchedPartition) {
		f.ID = part
		asked := &message.Fetch{Isolation: message.ReadCommitted, Partitions: []message.FetchPartition{{ID: part}}}
		p.answers(o, asked, 0, &message.FetchReply{Partitions: []message.FetchedPartition{f}})
	}
	read(message.FetchedPartition{HighWatermark: 1, LastStable: 1})
	p.refused("INV-8", "with the last stable offset 1 under the high watermark 1; by what is committed it is 0")
	read(message.FetchedPartition{HighWatermark: 1, LastStable: 0, Records: batch(0, 1, "x")})
	p.refused("INV-8", "what stands below 1, but the last stable offset is 0")
	listed := func(isolation message.Isolation, offset record.Offset, at record.Timestamp) {
		asked := &message.ListOffsets{Isolation: isolation, Partitions: []message.ListOffsetsPartition{{ID: part, Timestamp: message.Latest}}}
		p.answers(o, asked, 0, &message.ListOffsetsReply{Partitions: []message.ListedOffset{{ID: part, Offset: offset, Timestamp: at}}})
	}
	listed(message.ReadCommitted, 0, -1)
	listed(message.ReadUncommitted, 1, -1)
	p.passed()
	listed(message.ReadCommitted, 1, -1)
	p.refused("INV-8", "tells a reader of committed records the offset 1 of partition 5/0 for time -1, but the last stable offset is 0")
	listed(message.ReadCommitted, 0, 1000) // that of a record
	p.refused("INV-8", "but the last stable offset is 0")
	p.state(o, decided(txn.PrepareAbort, 0, part))
	p.marks(o, 1, record.Aborted, 2)
	aborted := []message.AbortedTransaction{{ID: 7, First: 0}}
	read(message.FetchedPartition{HighWatermark: 2, LastStable: 2, Records: batch(0, 1, "x"), Aborted: aborted})
	p.passed()
	read(message.FetchedPartition{HighWatermark: 2, LastStable: 2, Records: batch(0, 1, "x")})
	p.refused("INV-8", "of which [{7 0}] are of aborted transactions, and says []")
	read(message.FetchedPartition{HighWatermark: 2, LastStable: 2, Aborted: aborted})
	p.refused("INV-8", "of which [] are of aborted transactions, and says [{7 0}]")
}

func TestRetiredRecordsOfAnOpenTransactionAreRefused(t *testing.T) {
	p, o := newTheatre(t), &openKept{}
	p.state(nil, empty(0))
	p.state(nil, ongoing(0, part))
	p.takes(nil, 0)
	trim := func(start record.Offset) {
		p.step(o, 1, nil, []effect.Effect{effect.TrimPrefix{Log: part, Start: start}})
	}
	trim(0)
	p.passed()
	trim(1)
	p.refused("INV-15", "moves the start of partition 5/0 to 1, but a transaction that begins at 0 has not ended")
	p.state(nil, decided(txn.PrepareCommit, 0, part))
	p.marks(nil, 1, record.Committed, 2)
	trim(2)
	p.passed()
}
