package live

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tamarack-mq/tamarack/client"
	"github.com/tamarack-mq/tamarack/core/chance"
	"github.com/tamarack-mq/tamarack/history"
)

// transactionLimit is how long a transaction may be open: a pause outlives it now
// and then.
const transactionLimit = 5 * time.Second

// firstTransactor is the number of the first client that makes transactions. Each
// life of one has a number of its own.
const firstTransactor = 10_000

// transactors are all who make transactions.
type transactors struct {
	clients atomic.Int32 // so many there were
	numbers atomic.Int64 // of transactions
}

// seat is one transactional id. Whoever has it goes on until it crashes, is fenced,
// or somebody else takes its place while it is only paused: then there are two.
type seat struct {
	r      *run
	id     string
	random *chance.Stream
	work   func(*life, context.Context) error // once; an error ends the life
	topic  string                             // that it reads as a member of group; empty: none
	group  string
	into   string
	fan    int
}

// life is one client with a seat's transactional id.
type life struct {
	member // of the seat's group, if there is one; its id is this life's
	seat   *seat
	random *chance.Stream  // its own: it may outlive its seat
	wild   context.Context // as long as it may do what slows others down
	gate   gate
	values int  // that it has made up
	gone   bool // by a crash
}

// startWorkers lets the workers of both stages work until ctx ends.
func (r *run) startWorkers(ctx, wild context.Context, all *sync.WaitGroup) {
	for i := range r.cfg.Workers {
		for _, s := range []*seat{
			{id: fmt.Sprintf("%s-%d", invoicing, i), work: (*life).pipe, topic: orders, group: invoicing, into: invoices, fan: 1},
			{id: fmt.Sprintf("%s-%d", paying, i), work: (*life).pipe, topic: invoices, group: paying, into: payments, fan: 2},
		} {
			r.fill(ctx, wild, s, all)
		}
	}
}

// startTransactors lets those who only publish work until ctx ends.
func (r *run) startTransactors(ctx, wild context.Context, all *sync.WaitGroup) {
	for i := range r.cfg.Transactors {
		r.fill(ctx, wild, &seat{id: fmt.Sprintf("transactor-%d", i), work: (*life).transact}, all)
	}
}

func (r *run) fill(ctx, wild context.Context, s *seat, all *sync.WaitGroup) {
	s.r, s.random = r, r.random.Split("seat/"+s.id)
	all.Go(func() { s.hold(ctx, wild, all) })
}

// hold has somebody in the seat until ctx ends. While it is wild nobody stays for
// long.
func (s *seat) hold(ctx, wild context.Context, all *sync.WaitGroup) {
	for ctx.Err() == nil {
		l := &life{seat: s, wild: wild, member: member{
			r: s.r, id: firstTransactor + s.r.clients.Add(1), session: 1,
			topic: s.topic, group: s.group, style: history.ExactlyOnce, committed: true,
		}}
		l.random = s.random.Split(fmt.Sprint(l.id))
		ended := make(chan struct{})
		all.Go(func() {
			defer close(ended)
			l.live(ctx)
		})
		lasts := time.Duration(s.random.Between(4000, 15000)) * time.Millisecond
		if ends(wild, ended, lasts) {
			sleep(ctx, time.Duration(s.random.Below(1000))*time.Millisecond)
			continue
		}
		if wild.Err() != nil {
			<-ended
			continue
		}
		s.disturb(ctx, l, ended, lasts, all)
	}
}

// disturb ends a life, at once or after a pause. It returns when another one may
// begin, which is before the end of one that others take for dead.
func (s *seat) disturb(ctx context.Context, l *life, ended chan struct{}, lasts time.Duration, all *sync.WaitGroup) {
	pause := time.Duration(s.random.Between(500, 8000)) * time.Millisecond
	switch s.random.Below(4) {
	case 0: // a pause that the cluster may or may not notice
		s.r.count(func(t *Transactions) { t.Pauses++ })
		l.nap(ctx, pause)
		ends(ctx, ended, lasts)
	case 1: // a pause in which another one takes its place: from then on there are two
		s.r.count(func(t *Transactions) { t.Zombies++ })
		all.Go(func() {
			l.nap(ctx, pause)
			ends(ctx, ended, 5*time.Second)
			l.crash()
		})
		return
	default:
		s.r.count(func(t *Transactions) { t.Crashes++ })
	}
	l.crash()
	<-ended
}

// ends waits for the end of a life, at most for d, and says whether it has come.
func ends(ctx context.Context, ended chan struct{}, d time.Duration) bool {
	select {
	case <-ended:
		return true
	case <-time.After(d):
	case <-ctx.Done():
	}
	return false
}

func (r *run) count(what func(*Transactions)) {
	r.rec.mu.Lock()
	what(&r.report.Transactions)
	r.rec.mu.Unlock()
}

// nap stops the client for a while.
func (l *life) nap(ctx context.Context, d time.Duration) {
	l.gate.shut()
	sleep(ctx, d)
	l.gate.open()
}

// crash ends the client at once.
func (l *life) crash() {
	l.r.rec.mu.Lock()
	c := l.client
	l.gone = true
	l.r.rec.mu.Unlock()
	if c != nil {
		c.Abort()
	}
}

// crashed says that the client has ended by a crash.
func (l *life) crashed() bool {
	l.r.rec.mu.Lock()
	defer l.r.rec.mu.Unlock()
	return l.gone
}

// live works until ctx ends, or the client does.
func (l *life) live(ctx context.Context) {
	r := l.r
	c, err := r.dial(ctx, fmt.Sprintf("%s-%d", l.seat.id, l.id), client.WithTransactionalID(l.seat.id),
		client.WithTransactionTimeout(transactionLimit), client.WithDialer(l.gate.dial), client.WithEvents(l.event))
	if err != nil {
		return
	}
	r.rec.mu.Lock()
	l.client = c
	r.rec.mu.Unlock()
	defer c.Abort()
	if l.group != "" {
		if err := c.Subscribe(ctx, client.Subscription{Group: l.group, Topics: []string{l.topic}}); err != nil {
			return
		}
	}
	for ctx.Err() == nil && !l.crashed() {
		if err := l.seat.work(l, ctx); errors.Is(err, client.ErrFenced) {
			r.count(func(t *Transactions) { t.Fenced++ })
			break
		} else if errors.Is(err, client.ErrClosed) || errors.Is(err, client.ErrFatal) {
			return
		}
	}
	if !l.crashed() {
		closing, cancel := context.WithTimeout(context.Background(), 15*time.Second)
		defer cancel()
		_ = c.Close(closing) // it aborts what is open, and leaves; the final reading has the say
	}
}

// value makes up a value that no other record has.
func (l *life) value() []byte {
	l.values++
	return fmt.Appendf(nil, "c%d.1-%d", l.id, l.values)
}
