package client

import (
	"fmt"
	"slices"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// producer takes records in and finds each its lane: the queue of its
// partition. It owns the buffer, the partitioner and the flushes.
type producer struct {
	c        *Client
	lanes    map[record.PartitionID]*lane
	order    []*lane // in the order in which they were first used
	homeless []*lane // they have something to send and no leader to send it to
	buffered int64   // bytes of records without a result
	identity identity
	era      uint64 // counts flushes: records of an earlier era are flushed first
	flushes  []*flushing
}

// pending is a record whose partition is not known yet.
type pending struct {
	in    Publish
	size  int64
	era   uint64
	born  message.Time
	until message.Time // its partition must be known by then
}

// flushing is a FlushAll, or the flush of a Close, that waits for records.
type flushing struct {
	op   Op
	done func() // in place of the Done, when it is set
	era  uint64
	left int // records of this era and earlier ones without a result
}

func (p *producer) init(c *Client) {
	p.c = c
	p.lanes = map[record.PartitionID]*lane{}
	p.identity.init(p)
}

// publish takes one record in.
func (p *producer) publish(in *Publish) {
	if p.c.transactor.on() {
		if no := p.c.transactor.refuses("publish"); no != nil {
			p.c.fail(in.Op, NotDone, no)
			return
		}
	}
	size := int64(record.SizeBound(in.Key, in.Value, in.Headers))
	switch {
	case in.Topic == "" || in.Partition < AnyPartition:
		p.refuse(in.Op, &Error{Problem: Misused, Detail: "publish: name a topic, and a partition of 0 or above or AnyPartition"})
		return
	case p.buffered+size > p.c.cfg.BufferBytes:
		p.refuse(in.Op, &Error{Problem: BufferFull, Detail: fmt.Sprintf(
			"publish: %d bytes of records wait for their result and this one does not fit into the %d that may: wait for results, or raise BufferBytes",
			p.buffered, p.c.cfg.BufferBytes)})
		return
	}
	if in.Timestamp == 0 {
		in.Timestamp = p.c.now.Wall
	}
	p.buffered += size
	t := p.c.cluster.topic(in.Topic)
	one := pending{in: *in, size: size, era: p.era, born: p.c.now.Mono}
	if p.place(t, &one) {
		return
	}
	one.until = one.born.Add(min(p.c.cfg.TopicTimeout, p.c.cfg.DeliveryTimeout))
	t.waiting = append(t.waiting, one)
	p.c.alarms.Sooner(&t.expiry, one.until)
	p.c.cluster.want()
}

// place puts a record into its partition's lane. It is false while the
// partition is not known.
func (p *producer) place(t *topic, one *pending) bool {
	if !t.known || len(t.parts) == 0 || int(one.in.Partition) >= len(t.parts) {
		return false
	}
	index := one.in.Partition
	switch {
	case index >= 0:
	case one.in.Key != nil:
		index = PartitionOf(one.in.Key, int32(len(t.parts)))
	default:
		index = p.sticky(t)
	}
	p.lane(t, index).add(one)
	return true
}

// sticky is the partition for a record without a key: the same one until its
// batch has left or is full, then the next that has a leader (KIP-480).
func (p *producer) sticky(t *topic) int32 {
	count := int32(len(t.parts))
	if t.sticky < 0 {
		t.sticky = int32(p.c.choice.Below(int64(count)))
	} else if l := p.lanes[record.PartitionID{Topic: t.id, Index: t.sticky}]; l != nil && l.filling() {
		return t.sticky
	}
	for i := range count {
		next := (t.sticky + 1 + i) % count
		if t.parts[next].leader != message.NoNode {
			t.sticky = next
			return next
		}
	}
	t.sticky = (t.sticky + 1) % count
	return t.sticky
}

func (p *producer) lane(t *topic, index int32) *lane {
	id := record.PartitionID{Topic: t.id, Index: index}
	l := p.lanes[id]
	if l == nil {
		l = newLane(p, t, id)
		p.lanes[id] = l
		p.order = append(p.order, l)
	}
	return l
}

// refreshed looks again at what waits for metadata.
func (p *producer) refreshed() {
	for _, t := range p.c.cluster.used {
		if len(t.waiting) > 0 {
			p.placeWaiting(t)
		}
	}
	homeless := p.homeless
	p.homeless = nil
	for _, l := range homeless {
		l.at = nowhere
		l.stir()
	}
}

func (p *producer) placeWaiting(t *topic) {
	left := t.waiting[:0]
	for i := range t.waiting {
		if !p.place(t, &t.waiting[i]) {
			left = append(left, t.waiting[i])
		}
	}
	clear(t.waiting[len(left):])
	t.waiting = left
	if len(left) == 0 {
		p.c.alarms.Stop(&t.expiry)
	} else {
		p.c.cluster.want()
	}
}

// expireWaiting gives up records whose topic or partition nobody knows.
func (p *producer) expireWaiting(t *topic) {
	i := 0
	for ; i < len(t.waiting) && t.waiting[i].until <= p.c.now.Mono; i++ {
		e := &Error{Problem: NoSuchTopic, Code: message.UnknownTopicOrPartition,
			Detail: fmt.Sprintf("publish: no broker knows topic %q partition %d: create it first", t.name, t.waiting[i].in.Partition)}
		if t.told < t.waiting[i].born {
			e = &Error{Problem: TimedOut, Detail: fmt.Sprintf("publish: no broker has said in time where topic %q is: is any of them running, and can it be reached?", t.name)}
		}
		p.neverSent(&t.waiting[i], e)
	}
	t.waiting = slices.Delete(t.waiting, 0, i)
	if len(t.waiting) > 0 {
		p.c.alarms.Set(&t.expiry, t.waiting[0].until)
	}
}

// refuse ends a record that is not taken in.
func (p *producer) refuse(op Op, e *Error) {
	p.c.transactor.failed(e)
	p.c.fail(op, NotDone, e)
}

// neverSent ends a record that did not get into a batch.
func (p *producer) neverSent(one *pending, e *Error) {
	p.refuse(one.in.Op, e)
	p.resolved(one.size, one.era, 1)
}

// topicGone ends everything that is on its way to a topic that was deleted.
func (p *producer) topicGone(id record.TopicID) {
	kept := p.order[:0]
	for _, l := range p.order {
		if l.id.Topic != id {
			kept = append(kept, l)
			continue
		}
		delete(p.lanes, l.id)
		l.close()
	}
	clear(p.order[len(kept):])
	p.order = kept
}

// flush begins a FlushAll; done is called in place of a Done when it is set.
func (p *producer) flush(op Op, done func()) {
	f := &flushing{op: op, done: done, era: p.era}
	p.era++
	for _, l := range p.order {
		f.left += l.seal()
	}
	for _, t := range p.c.cluster.used {
		f.left += len(t.waiting)
	}
	p.flushes = append(p.flushes, f)
	p.resolved(0, p.era, 0)
}

// resolved says that records have their result.
func (p *producer) resolved(size int64, era uint64, records int) {
	p.buffered -= size
	if len(p.flushes) == 0 {
		return
	}
	left := p.flushes[:0]
	var over []*flushing
	for _, f := range p.flushes {
		if era <= f.era {
			f.left -= records
		}
		if f.left <= 0 {
			over = append(over, f)
		} else {
			left = append(left, f)
		}
	}
	clear(p.flushes[len(left):])
	p.flushes = left
	for _, f := range over {
		if f.done != nil {
			f.done()
		} else {
			p.c.succeed(f.op, Result{})
		}
	}
}
