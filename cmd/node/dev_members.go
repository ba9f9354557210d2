package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tamarack-mq/tamarack/client"
	protocol "github.com/tamarack-mq/tamarack/core/client"
	"github.com/tamarack-mq/tamarack/topology"
)

// memberPause is how long a member takes over a batch of records that was not
// full. Without it members would commit after every single record.
const memberPause = 100 * time.Millisecond

// memberRetry is the pause after a poll that failed.
const memberRetry = time.Second

// member is one instance of a service: a client of its own.
type member struct {
	run           *withRun
	cl            *client.Client
	group, number int // as the books count them
	sub           client.Subscription
	batch         int
}

// join connects one member and subscribes it.
func (r *withRun) join(ctx context.Context, group, number int) (*member, error) {
	g := r.plan.ConsumerGroups[group]
	m := &member{run: r, group: group, number: number, batch: max(500, r.o.rate),
		sub: client.Subscription{Group: g.Name, Topics: []string{r.plan.Topic}, Reset: protocol.ResetEarliest}}
	if g.DeliverySemantics == topology.AtMostOnce {
		m.sub.Style = protocol.AtMostOnce
	}
	cl, err := r.dial(ctx, fmt.Sprintf("%s-%d", g.Name, number+1), client.WithEvents(m.event))
	if err != nil {
		return nil, err
	}
	m.cl = cl
	if err := cl.Subscribe(ctx, m.sub); err != nil {
		cl.Abort()
		return nil, fmt.Errorf("group %s: %w", g.Name, err)
	}
	return m, nil
}

// event keeps the books of what the member owns. It is called by the client
// and must not wait for it.
func (m *member) event(e protocol.Event) {
	m.run.update(func(b *books) {
		switch e.Kind {
		case protocol.Assigned, protocol.Revoked, protocol.Lost:
			for _, p := range e.Partitions {
				b.own(m.group, m.number, e.Kind == protocol.Assigned, p.Partition)
			}
		case protocol.Stuck, protocol.Expelled:
			b.groups[m.group].members[m.number].problem = e.Err.Error()
		}
	})
}

// consume polls and processes until ctx ends; commits are given up when hard
// ends.
func (m *member) consume(ctx, hard context.Context) {
	for ctx.Err() == nil {
		records, err := m.cl.Poll(ctx, m.batch)
		if errors.Is(err, client.ErrClosed) {
			return
		}
		if err != nil {
			m.note(err)
			pause(ctx, memberRetry)
			_ = m.cl.Subscribe(ctx, m.sub) // for one that was expelled; the next poll tells how it went
			continue
		}
		if len(records) == 0 {
			continue
		}
		m.process(records)
		// At-most-once has committed before.
		if m.sub.Style == protocol.AtLeastOnce {
			err = m.cl.Commit(hard)
		}
		m.note(err)
		if len(records) < m.batch {
			pause(ctx, memberPause)
		}
	}
}

// process is the work of the service: it keeps the books.
func (m *member) process(records []client.Record) {
	orders := make([]int, 0, len(records))
	others := 0
	for i := range records {
		if n, ok := orderNumber(m.run.id, records[i].Value); ok {
			orders = append(orders, n)
			continue
		}
		others++
	}
	m.run.update(func(b *books) { b.saw(m.group, m.number, orders, others) })
}

// note keeps the last problem to be shown, until things go well again. That
// partitions were taken away before they were committed is no problem: whoever
// has them now reads the records again.
func (m *member) note(err error) {
	text := ""
	var e *client.Error
	if err != nil && !(errors.As(err, &e) && e.Cause.Problem == protocol.NotOwned) {
		text, _, _ = strings.Cut(err.Error(), "\n")
	}
	m.run.update(func(b *books) { b.groups[m.group].members[m.number].problem = text })
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
