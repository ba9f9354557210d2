package group

import (
	"cmp"
	"strings"

	"github.com/tamarack-mq/tamarack/core/deadline"
	"github.com/tamarack-mq/tamarack/core/ledger"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/order"
	"github.com/tamarack-mq/tamarack/core/record"
)

// Verify asks the coordinator of a transactional id to make a shard's partition a
// part of the transaction of exactly this producer and epoch. Coordinator.Verified
// answers it. It comes again with the same ticket as long as no answer has come.
type Verify struct {
	Ticket          uint64
	TransactionalID string
	ID              record.ProducerID
	Epoch           record.ProducerEpoch
	Shard           int32
}

// asked tells questions apart.
type asked struct {
	name  string // the transactional id
	id    record.ProducerID
	epoch record.ProducerEpoch
}

// question is a Verify on its way, and the requests that wait for the answer, by
// their time limits.
type question struct {
	shard   *shard
	who     asked
	ask     Verify
	pause   message.Duration // after the next answer that tells nothing
	retry   message.Time     // when it is asked again
	timer   deadline.Deadline[*question]
	waiting []heldCommit
}

type questionTimers = deadline.Heap[*question]

type heldCommit struct {
	token   message.Token
	request *message.CommitTransactionOffsets
	due     message.Time
}

// enlist takes a CommitTransactionOffsets. It waits unless what is pending shows
// already that the partition is a part of the transaction: it is until the marker
// comes, which takes away what is pending.
func (s *shard) enlist(now message.Now, token message.Token, r *message.CommitTransactionOffsets, out *Out) {
	_, no := s.mayPend(s.state.groups[r.Group], r)
	epoch, open := s.state.openEpoch(r.ID)
	if no != nil && no.code == message.ConcurrentTransactions && epoch < r.Epoch {
		no = nil // that of the one before has no marker here yet: the coordinator has it wait for that
	}
	switch {
	case no != nil || open && epoch == r.Epoch:
		s.answerCommit(now, token, r, out)
	case s.held >= heldMost:
		s.home.refuse(token, r, *refused(message.CoordinatorLoadInProgress, "%d requests wait for coordinators of transactions; try again later", s.held), out)
	default:
		s.hold(now, heldCommit{token, r, now.Mono.Add(s.home.cfg.VerifyTimeout)})
	}
}

// heldMost is how many requests of one shard may wait for the coordinators of
// their transactions.
const heldMost = 10000

func (s *shard) hold(now message.Now, h heldCommit) {
	who := asked{h.request.TransactionalID, h.request.ID, h.request.Epoch}
	q := s.questions[who]
	if q == nil {
		c := s.home
		c.ticket++
		q = &question{shard: s, who: who, pause: c.cfg.VerifyPause, ask: Verify{
			Ticket: c.ticket, TransactionalID: who.name, ID: who.id, Epoch: who.epoch, Shard: s.Index(),
		}}
		q.timer.Due = q
		s.questions[who], c.asking[c.ticket] = q, q
		q.send(now)
	}
	q.waiting = append(q.waiting, h)
	s.held++
	q.arm()
}

// send asks, for the first time or again.
func (q *question) send(now message.Now) {
	c := q.shard.home
	c.verify = append(c.verify, q.ask)
	q.retry = now.Mono.Add(c.cfg.VerifyRetry)
}

func (q *question) arm() {
	q.shard.impatient.Set(&q.timer, min(q.retry, q.waiting[0].due))
}

// Verified takes the answer to a Verify: None when the transaction's coordinator
// has committed that the partition is a part of it. After a code that is Retriable
// it is asked again until the time of those who wait is over; any other is the
// answer to them.
func (c *Coordinator) Verified(now message.Now, ticket uint64, code message.Code, out *Out) {
	q := c.asking[ticket]
	if q == nil {
		return
	}
	s := q.shard
	if code.Retriable() {
		q.retry = now.Mono.Add(q.pause)
		q.pause = min(2*q.pause, message.Second)
		q.arm()
	} else {
		s.dropQuestion(q)
		for _, h := range q.waiting {
			if code == message.None {
				s.answerCommit(now, h.token, h.request, out)
			} else {
				c.refuse(h.token, h.request, refusal{code, "the coordinator of the transaction does not let the group take part in it"}, out)
			}
		}
	}
	s.Flush(now, &out.Out)
	c.collect(out)
}

// askAgain acts on the questions whose time has come.
func (s *shard) askAgain(now message.Now) {
	for s.impatient.Next() <= now.Mono {
		q := s.impatient.First().Due
		for len(q.waiting) > 0 && q.waiting[0].due <= now.Mono {
			h := q.waiting[0]
			q.waiting = q.waiting[1:]
			s.held--
			s.home.late(h, message.RequestTimedOut, "the coordinator of the transaction has not answered in time; nothing was stored")
		}
		switch {
		case len(q.waiting) == 0:
			s.dropQuestion(q)
			continue
		case q.retry <= now.Mono:
			q.send(now)
		}
		q.arm()
	}
}

// late answers in a call that has no Out for it.
func (c *Coordinator) late(h heldCommit, code message.Code, detail string) {
	c.replies = append(c.replies, Reply{Token: h.token, Msg: message.Fail(h.request, code, detail)})
}

// dropQuestion takes a question off all lists. Who waits for it stays with it.
func (s *shard) dropQuestion(q *question) {
	s.impatient.Stop(&q.timer)
	delete(s.questions, q.who)
	delete(s.home.asking, q.ask.Ticket)
	s.held -= len(q.waiting)
}

// dropQuestions sends away all who wait.
func (s *shard) dropQuestions() {
	for _, who := range order.KeysBy(s.questions, asked.compare) {
		q := s.questions[who]
		s.dropQuestion(q)
		for _, h := range q.waiting {
			s.home.late(h, message.NotCoordinator, "the coordinator of the group changes; nothing was stored")
		}
	}
}

func (a asked) compare(b asked) int {
	return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.epoch, b.epoch), strings.Compare(a.name, b.name))
}

// answerCommit decides a request whose transaction is known to go on.
func (s *shard) answerCommit(now message.Now, token message.Token, r *message.CommitTransactionOffsets, out *Out) {
	s.Answer(now, token, r, s.pend(now, r), ledger.Written, &out.Out)
}
