package client

import (
	"fmt"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// committer sends the commits of a group one after the other. An earlier one
// is answered or given up before a later one is sent, so a retry never moves a
// position back; and they are counted, so that the coordinator refuses an
// attempt that was given up and arrives behind a later one.
type committer struct {
	k        *consumer
	queue    []*commit
	flying   bool
	failures int
	last     uint64 // number of the newest commit of the queue
	again    alarm
	idle     []func() // told when nothing is left
}

// commit is some positions to be stored.
type commit struct {
	entries []entry
	group   string
	member  *member // nil: from outside
	number  uint64  // rises; every attempt has the same
	until   message.Time
	alone   bool // not sent a second time once its outcome is unknown (AtMostOnce)
	own     bool // the client's own, not the application's
	maybe   bool
	code    message.Code
	finish  func(Outcome, *Error)
	// transaction is the turn of the one that it is a part of; 0: of none.
	transaction uint64
}

// entry is one position of a commit.
type entry struct {
	flow   *flow // nil: committed from outside a group, and not being read
	turn   uint64
	id     PlacedID
	offset record.Offset
	epoch  record.LeaderEpoch
	note   string
	code   message.Code
}

// autoCommit is when the client commits by itself.
type autoCommit struct {
	on    bool
	alarm alarm
}

func entryAt(f *flow, offset record.Offset, epoch record.LeaderEpoch) entry {
	return entry{flow: f, turn: f.turn, id: PlacedID{f.place, f.id}, offset: offset, epoch: epoch}
}

func (k *consumer) newCommit(wait message.Duration) *commit {
	return &commit{group: k.group, member: k.member, until: k.c.now.Mono.Add(wait)}
}

func (q *committer) init(k *consumer) {
	q.k = k
	q.again.Due = q.run
}

// commit begins a Commit.
func (k *consumer) commit(in Commit) {
	if k.group == "" || len(k.ending) > 0 {
		k.misused(in.Op, "commit: the client reads for no group")
		return
	}
	if k.c.transactor.holds() {
		k.misused(in.Op, "commit: a transaction is open, or was not committed: positions that are committed outside of it would skip records: AddOffsets to it, or Rewind first")
		return
	}
	entries, wrong := k.entriesFor(in.Offsets)
	if wrong != nil {
		k.c.fail(in.Op, NotDone, wrong)
		return
	}
	one := k.newCommit(k.c.cfg.AskTimeout)
	one.entries = entries
	one.finish = func(o Outcome, e *Error) {
		k.c.succeed(in.Op, Result{Outcome: o, Err: e, Offsets: one.result()})
	}
	if len(one.entries) == 0 {
		one.finish(OK, nil)
		return
	}
	k.commits.add(one)
}

// result is what became of each position.
func (one *commit) result() []PartitionOffset {
	offsets := make([]PartitionOffset, len(one.entries))
	for i, e := range one.entries {
		offsets[i] = PartitionOffset{PlacedID: e.id, Offset: e.offset, LeaderEpoch: e.epoch, Note: e.note, Code: e.code}
	}
	return offsets
}

// entriesFor are the positions that the application names; nil: of everything that
// polls have returned and that is not stored.
func (k *consumer) entriesFor(offsets []CommitOffset) (entries []entry, wrong *Error) {
	if offsets == nil {
		for _, f := range k.list {
			if f.used && f.given != f.committed {
				entries = append(entries, entryAt(f, f.given, f.givenEpoch))
			}
		}
	}
	for _, o := range offsets {
		e, wrong := k.entryOf(o)
		if wrong != nil {
			return nil, wrong
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// entryOf checks a position that the application wants to store.
func (k *consumer) entryOf(o CommitOffset) (entry, *Error) {
	f := k.find(o.Place)
	switch {
	case o.Offset < 0:
		return entry{}, &Error{Problem: Misused, Detail: "commit: an offset is 0 or above"}
	case f != nil && k.mode == grouped && (f.stage == wantCommitted || f.stage == wantOffset || o.Offset > f.given):
		return entry{}, &Error{Problem: Misused, Detail: fmt.Sprintf(
			"commit: %s/%d was handed over up to offset %d: what lies beyond cannot have been processed; to skip it, Seek", o.Topic, o.Partition, f.given)}
	case f != nil && o.Stretch != 0 && o.Stretch != f.stretch:
		return entry{}, &Error{Problem: NotOwned, Detail: fmt.Sprintf(
			"commit: the records of %s/%d before offset %d were handed over before the partition was taken away or its position moved: others may have processed them", o.Topic, o.Partition, o.Offset)}
	case f != nil:
		e := entryAt(f, o.Offset, o.LeaderEpoch)
		e.note = o.Note
		if e.epoch == record.NoLeaderEpoch {
			e.epoch = f.epochAt(o.Offset)
		}
		return e, nil
	case k.mode == grouped:
		return entry{}, &Error{Problem: NotOwned, Detail: fmt.Sprintf("commit: %s/%d does not belong to this member", o.Topic, o.Partition)}
	}
	t := k.c.cluster.topic(o.Topic)
	if !t.known || o.Partition < 0 || int(o.Partition) >= len(t.parts) {
		return entry{}, &Error{Problem: NoSuchTopic, Detail: fmt.Sprintf("commit: %s/%d is not known", o.Topic, o.Partition)}
	}
	id := PlacedID{o.Place, record.PartitionID{Topic: t.id, Index: o.Partition}}
	return entry{id: id, offset: o.Offset, epoch: o.LeaderEpoch, note: o.Note}, nil
}

// epochAt is the epoch of the record before an offset, where that is known: by
// it the next reader sees whether the record was truncated (KIP-320).
func (f *flow) epochAt(offset record.Offset) record.LeaderEpoch {
	switch offset {
	case f.given:
		return f.givenEpoch
	case f.processed:
		return f.processedEpoch
	}
	return record.NoLeaderEpoch
}

// autoSoon sets the alarm for the next automatic commit, if there is something
// for it.
func (k *consumer) autoSoon() {
	if k.auto.on && !k.auto.alarm.IsSet() && len(k.unstored(k.list)) > 0 {
		k.c.alarms.Set(&k.auto.alarm, k.c.now.Mono.Add(k.c.cfg.AutoCommitInterval))
	}
}

func (k *consumer) autoDue() { k.store(k.list) }

// unstored are the positions up to which the application has processed and
// which are not committed.
func (k *consumer) unstored(flows []*flow) (list []entry) {
	for _, f := range flows {
		if f.used && f.processed != f.committed {
			list = append(list, entryAt(f, f.processed, f.processedEpoch))
		}
	}
	return list
}

// store commits by itself what the application has come back from, but not while that
// may have gone into a transaction that can still be aborted: it would be skipped then.
// Partitions that are given up meanwhile are read again from what is committed.
func (k *consumer) store(flows []*flow) {
	if k.c.transactor.holds() {
		k.autoSoon()
		return
	}
	entries := k.unstored(flows)
	if len(entries) == 0 || k.commits.storing() {
		return
	}
	one := k.newCommit(min(k.c.cfg.AskTimeout, k.c.cfg.RebalanceTimeout/2))
	one.entries, one.own = entries, true
	one.finish = func(Outcome, *Error) { k.autoSoon() }
	k.commits.add(one)
}

// storing says that a commit of the client's own is under way.
func (q *committer) storing() bool {
	for _, one := range q.queue {
		if one.own {
			return true
		}
	}
	return false
}

// concerns says that a commit under way holds one of the flows.
func (q *committer) concerns(flows []*flow) bool {
	for _, one := range q.queue {
		for _, e := range one.entries {
			for _, f := range flows {
				if e.flow == f {
					return true
				}
			}
		}
	}
	return false
}

// whenIdle tells when no commit is under way.
func (q *committer) whenIdle(done func()) {
	if len(q.queue) == 0 {
		done()
		return
	}
	q.idle = append(q.idle, done)
}

func (q *committer) add(one *commit) {
	q.last++
	one.number = q.last
	q.queue = append(q.queue, one)
	q.run()
}

// run sends the first commit of the queue.
func (q *committer) run() {
	if q.flying || q.again.IsSet() || len(q.queue) == 0 {
		return
	}
	one := q.queue[0]
	if one.stale() {
		q.finish(one, message.UnknownMemberID, NotOwned, "commit: the partitions were taken away from this member")
		return
	}
	if one.transaction != 0 && !q.k.c.transactor.takes(one.transaction) {
		q.finish(one, message.None, Abortable, "add offsets: the transaction has failed or ended")
		return
	}
	if q.k.c.now.Mono >= one.until {
		q.finish(one, one.code, TimedOut, "commit: the coordinator did not store it in time")
		return
	}
	q.flying = true
	q.k.c.coordinate(office{group: one.group}, func(n *node, code message.Code) {
		q.flying = false
		switch {
		case len(q.queue) == 0 || q.queue[0] != one:
			q.run()
		case n == nil:
			q.refused(one, code, false)
		default:
			q.send(one, n)
		}
	})
}

// stale says that all partitions of a commit were taken away meanwhile.
func (one *commit) stale() bool {
	for i := range one.entries {
		if !one.gone(i) {
			return false
		}
	}
	return true
}

// gone says that a partition of a commit was taken away from the member.
func (one *commit) gone(i int) bool {
	f := one.entries[i].flow
	return one.member != nil && f != nil && f.dead
}

func (q *committer) send(one *commit, n *node) {
	m := &message.CommitOffsets{Group: one.group, MemberEpoch: -1}
	if one.member != nil {
		m.Member, m.MemberEpoch, m.Number = one.member.id, one.member.epoch, one.number
	}
	var sent []int
	for i, e := range one.entries {
		if one.gone(i) {
			one.entries[i].code = message.UnknownMemberID
			continue
		}
		sent = append(sent, i)
		m.Offsets = append(m.Offsets, message.GroupOffset{ID: e.id.ID, Offset: e.offset, LeaderEpoch: e.epoch, Note: e.note})
	}
	if len(sent) == 0 || one.member != nil && (m.MemberEpoch <= 0 || one.member.over) {
		q.refused(one, message.UnknownMemberID, false)
		return
	}
	q.flying = true
	wait := min(q.k.c.cfg.RequestTimeout, max(one.until.Sub(q.k.c.now.Mono), message.Millisecond))
	q.k.c.send(n.target(), q.inTransaction(one, m), wait, func(reply message.Reply, how ending) {
		q.flying = false
		q.answered(one, n, sent, reply, how)
	})
}

func (q *committer) answered(one *commit, n *node, sent []int, reply message.Reply, how ending) {
	if m, ok := reply.(*message.CommitTransactionOffsetsReply); ok && m != nil && one.transaction != 0 {
		reply = &message.CommitOffsetsReply{Code: m.Code, Offsets: m.Offsets}
	}
	m, code, ok := read[*message.CommitOffsetsReply](reply, how)
	if !ok {
		if how != replied {
			q.k.c.uncoordinate(office{group: one.group}, n)
		}
		q.refused(one, code, how == broken)
		return
	}
	if lostCoordinator(m.Code) {
		q.k.c.uncoordinate(office{group: one.group}, n)
	}
	if m.Code != message.None {
		q.refused(one, m.Code, m.Code.Unknown())
		return
	}
	first := message.None
	for at, i := range sent {
		c := message.UnknownServerError
		if at < len(m.Offsets) && m.Offsets[at].ID == one.entries[i].id.ID {
			c = m.Offsets[at].Code
		}
		one.entries[i].code = c
		if first == message.None || c.Retriable() && !first.Retriable() {
			first = c
		}
	}
	if first != message.None {
		q.refused(one, first, first.Unknown())
		return
	}
	q.stored(one)
}

// inTransaction is the request for a commit, which may be part of a transaction.
func (q *committer) inTransaction(one *commit, m *message.CommitOffsets) message.Request {
	if one.transaction == 0 {
		return m
	}
	t := &q.k.c.transactor
	t.touched = true
	return &message.CommitTransactionOffsets{TransactionalID: q.k.c.cfg.TransactionalID, ID: t.id, Epoch: t.epoch,
		Group: m.Group, Member: m.Member, MemberEpoch: m.MemberEpoch, Offsets: m.Offsets, Number: m.Number}
}

// stored ends a commit that is in the group's log. What is part of a transaction
// holds only once that is committed.
func (q *committer) stored(one *commit) {
	lost := false
	for i, e := range one.entries {
		lost = lost || one.gone(i) && e.code != message.None
	}
	if one.transaction == 0 {
		one.keep()
	} else if !q.k.c.transactor.takes(one.transaction) {
		q.finish(one, message.None, Abortable, "add offsets: the transaction has failed or ended")
		return
	}
	if lost {
		q.finish(one, message.UnknownMemberID, NotOwned, "commit: some of the partitions were taken away from this member")
		return
	}
	q.finish(one, message.None, 0, "")
}

// keep takes in that the positions are committed.
func (one *commit) keep() {
	for i, e := range one.entries {
		f := e.flow
		if f == nil || one.gone(i) {
			continue
		}
		f.committed = e.offset
		if f.turn == e.turn && f.processed < e.offset {
			f.processed, f.processedEpoch = e.offset, e.epoch
		}
	}
}

// refused tries a commit again or gives it up.
func (q *committer) refused(one *commit, code message.Code, maybe bool) {
	one.maybe = one.maybe || maybe
	one.code = code
	member := one.member
	switch {
	case maybe && one.alone:
		q.finish(one, code, Refused, "commit: it is not known whether the coordinator stored it")
		return
	case code == message.StaleMemberEpoch && member != nil:
		member.beatNow() // it brings the epoch that the coordinator knows
	case code == message.FencedMemberEpoch || code == message.UnknownMemberID:
		if member != nil {
			member.beatNow() // it tells whether the member is still one
		}
		q.finish(one, code, NotOwned, "commit: the coordinator does not take it from this member: its partitions may belong to another one now")
		return
	case !code.Retriable() && code != message.UnknownServerError:
		q.finish(one, code, Refused, "commit: the coordinator does not take it")
		return
	}
	q.failures++
	q.k.c.alarms.Set(&q.again, q.k.c.now.Mono.Add(q.k.c.backoff(q.failures)))
}

// finish ends the first commit of the queue and goes on with the next.
func (q *committer) finish(one *commit, code message.Code, why Problem, detail string) {
	q.queue = q.queue[1:]
	q.failures = 0
	q.k.c.alarms.Stop(&q.again)
	outcome, e := OK, (*Error)(nil)
	if why != 0 {
		outcome, e = NotDone, &Error{Problem: why, Code: code, Detail: detail}
		if one.maybe {
			outcome = Unknown
		}
	}
	one.finish(outcome, e)
	if q.k.mode == grouped && q.k.member != nil {
		q.k.member.continueGiving()
	}
	q.run()
	if len(q.queue) == 0 && len(q.idle) > 0 {
		idle := q.idle
		q.idle = nil
		for _, done := range idle {
			done()
		}
	}
}
