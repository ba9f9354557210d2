package live

import (
	"context"
	"fmt"
	"time"

	"github.com/tamarack-mq/tamarack/client"
	"github.com/tamarack-mq/tamarack/core/chance"
	protocol "github.com/tamarack-mq/tamarack/core/client"
	"github.com/tamarack-mq/tamarack/history"
)

// member is one run of one group member. It commits after processing.
type member struct {
	r         *run
	id        int32
	session   int32
	topic     string
	group     string
	style     history.Style
	committed bool // it is shown committed records only
	client    *client.Client
	epoch     int64
	next      map[int32]int64
}

// consume polls and commits as a member of the group. While it is wild it crashes now
// and then, in the middle of whatever it is doing, and comes back as another member.
func (r *run) consume(ctx, wild context.Context, id int32, random *chance.Stream) {
	for session := int32(1); ctx.Err() == nil; session++ {
		life := time.Duration(random.Between(4000, 15000)) * time.Millisecond
		r.memberLife(ctx, wild, id, session, life)
		r.rec.moment(history.Operation{Client: id, Session: session + 1, Kind: history.Restarted})
		sleep(ctx, time.Duration(random.Between(200, 1500))*time.Millisecond)
	}
}

func (r *run) memberLife(ctx, wild context.Context, id, session int32, life time.Duration) {
	m := &member{
		r: r, id: id, session: session, topic: orders, group: billing, style: history.AtLeastOnce,
		committed: id%2 == 1, next: map[int32]int64{},
	}
	options := []client.Option{client.WithEvents(m.event)}
	if m.committed {
		options = append(options, client.WithReadCommitted())
	}
	c, err := r.dial(ctx, fmt.Sprintf("member-%d", id), options...)
	if err != nil {
		return
	}
	m.client = c
	if err := c.Subscribe(ctx, client.Subscription{Group: m.group, Topics: []string{m.topic}}); err != nil {
		r.say("member %d cannot subscribe: %v", id, err)
		c.Abort()
		return
	}
	end := time.Now().Add(life)
	for ctx.Err() == nil && (wild.Err() != nil || time.Now().Before(end)) {
		if m.poll(ctx) {
			m.commit(ctx)
		}
	}
	if ctx.Err() == nil {
		r.rec.mu.Lock()
		r.report.MemberCrashes++
		r.rec.mu.Unlock()
		c.Abort()
		return
	}
	closing, cancel := context.WithTimeout(context.Background(), 15*time.Second)
	defer cancel()
	_ = c.Close(closing) // nothing depends on it: the final reading has the say
}

// event notes what the member owns. It runs on the client's goroutine, before
// records that follow from it are given out.
func (m *member) event(e protocol.Event) {
	op := history.Operation{Client: m.id, Session: m.session, Group: m.group, Style: m.style}
	for _, p := range e.Partitions {
		at := history.Position{Topic: m.topic, TopicID: idOf(m.topic), Partition: p.Partition, Offset: history.None}
		if e.Kind == protocol.Repositioned || e.Kind == protocol.Truncated {
			at.Offset = int64(e.To)
		}
		op.Positions = append(op.Positions, at)
	}
	m.r.rec.mu.Lock()
	defer m.r.rec.mu.Unlock()
	if e.MemberEpoch > 0 {
		m.epoch = int64(e.MemberEpoch)
	}
	op.Invoke, op.Epoch = m.r.rec.now(), m.epoch
	switch e.Kind {
	case protocol.Assigned, protocol.Repositioned, protocol.Truncated:
		op.Kind = history.Assigned
	case protocol.Revoked, protocol.Lost:
		op.Kind = history.Revoked
	default:
		return
	}
	m.r.rec.inner.Moment(op)
}

// poll notes what came; it is false when nothing did.
func (m *member) poll(ctx context.Context) bool {
	records, _ := m.take(ctx, 200)
	for i := range records {
		m.next[records[i].Partition] = records[i].Offset + 1
	}
	return len(records) > 0
}

// take polls and notes what came.
func (m *member) take(ctx context.Context, most int) ([]client.Record, error) {
	waiting, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
	defer cancel()
	op := m.r.rec.begin(history.Operation{
		Client: m.id, Session: m.session, Kind: history.Poll, Group: m.group, Style: m.style, Committed: m.committed,
	})
	records, err := m.client.Poll(waiting, most)
	m.r.rec.end(op, outcomeOf(err), func(o *history.Operation) {
		for i := range records {
			o.Records = append(o.Records, recordOf(&records[i]))
		}
	})
	return records, err
}

// commit stores what was polled.
func (m *member) commit(ctx context.Context) {
	epoch := m.memberEpoch()
	var positions []history.Position
	for p := range int32(m.r.cfg.Partitions) {
		if next, ok := m.next[p]; ok {
			positions = append(positions, history.Position{Topic: m.topic, TopicID: idOf(m.topic), Partition: p, Offset: next})
		}
	}
	clear(m.next)
	op := m.r.rec.begin(history.Operation{
		Client: m.id, Session: m.session, Kind: history.Commit, Group: m.group, Style: m.style,
		Member: m.name(), Epoch: epoch, Positions: positions,
	})
	waiting, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	err := m.client.Commit(waiting)
	m.r.rec.end(op, outcomeOf(err), func(o *history.Operation) {
		if err != nil {
			o.Error = err.Error()
			o.Outcome = history.Unknown // some of the partitions may have been stored
			o.Return = history.Open
		}
	})
}

func (m *member) memberEpoch() int64 {
	m.r.rec.mu.Lock()
	defer m.r.rec.mu.Unlock()
	return m.epoch
}

func (m *member) name() string { return fmt.Sprintf("%d.%d", m.id, m.session) }

func recordOf(r *client.Record) history.Record {
	return history.Record{
		Topic: r.Topic, TopicID: idOf(r.Topic), Partition: r.Partition, Offset: r.Offset, Timestamp: r.Timestamp,
		Key: r.Key, Value: r.Value, Headers: headersOf(r.Headers),
	}
}
