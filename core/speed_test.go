package core

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/chance"
	"github.com/tamarack-mq/tamarack/core/client"
	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// How many flushes and round trips stand one behind the other: a cluster on which
// only the network and the disks take time, always the same.

// delays make a cluster take time.
type delays struct {
	network message.Duration // one way, also from and to clients
	flush   message.Duration // of one log; those of several run side by side
	agenda  []appointment
	lanes   map[string]*flushes
	flushed int // flushes that were begun
	apps    []*application
	asked   map[message.Token]asking
}

type appointment struct {
	at message.Time
	do func()
}

// flushes are those of one log: one at a time, of all that was there when it began.
type flushes struct{ busy, again bool }

type asking struct {
	app  *application
	call uint64
}

// later does something when d has passed.
func (c *cluster) later(d message.Duration, do func()) {
	at := c.now.Mono.Add(d)
	i, _ := slices.BinarySearchFunc(c.delays.agenda, at, func(a appointment, at message.Time) int {
		if a.at <= at {
			return -1
		}
		return 1
	})
	c.delays.agenda = slices.Insert(c.delays.agenda, i, appointment{at, do})
}

// slow carries out what takes time; false: the effect takes none.
func (c *cluster) slow(h *host, e effect.Effect) bool {
	if c.delays == nil {
		return false
	}
	switch e := e.(type) {
	case effect.Send:
		m := message.Detach(e.Msg)
		c.later(c.delays.network, func() {
			to := c.nodes[e.To-1]
			to.inbox = append(to.inbox, effect.Received{From: h.id, Msg: m})
		})
	case effect.Reply:
		a, ok := c.delays.asked[e.Token]
		if !ok {
			return false
		}
		delete(c.delays.asked, e.Token)
		c.later(c.delays.network, func() { a.app.step(client.Answered{Call: a.call, Reply: e.Msg}) })
	case effect.Flush:
		c.flush(h, e)
	default:
		return false
	}
	return true
}

func (c *cluster) flush(h *host, e effect.Flush) {
	key := fmt.Sprint(h.id, e.Log)
	lane := c.delays.lanes[key]
	if lane == nil {
		lane = &flushes{}
		c.delays.lanes[key] = lane
	}
	if lane.busy {
		lane.again = true
		return
	}
	lane.busy = true
	c.delays.flushed++
	end := h.logs[e.Log].end
	c.later(c.delays.flush, func() {
		h.inbox = append(h.inbox, effect.Flushed{Log: e.Log, Cut: e.Cut, End: end})
		if lane.busy = false; lane.again {
			lane.again = false
			c.flush(h, e)
		}
	})
}

// run goes from one moment at which something happens to the next, until done.
func (c *cluster) run(done func() bool) {
	c.t.Helper()
	for range 1_000_000 {
		c.drain()
		if done() {
			return
		}
		next := message.Never
		if len(c.delays.agenda) > 0 {
			next = c.delays.agenda[0].at
		}
		for _, h := range c.nodes {
			next = min(next, h.core.Wake())
		}
		for _, a := range c.delays.apps {
			next = min(next, a.core.Wake())
		}
		if next > c.now.Mono {
			c.now.Wall += record.Timestamp((next / 1_000_000) - c.now.Mono/1_000_000)
			c.now.Mono = next
		}
		for len(c.delays.agenda) > 0 && c.delays.agenda[0].at <= c.now.Mono {
			first := c.delays.agenda[0]
			c.delays.agenda = c.delays.agenda[1:]
			first.do()
		}
		for _, a := range c.delays.apps {
			if a.core.Wake() <= c.now.Mono {
				a.step(client.Tick{})
			}
		}
	}
	c.t.Fatal("this takes for ever")
}

// application is a client on that cluster.
type application struct {
	c    *cluster
	core *client.Client
	out  client.Out
	op   client.Op
	done map[client.Op]client.Result
}

func (c *cluster) application(change func(*client.Config)) *application {
	cfg := client.DefaultConfig("host:1")
	change(&cfg)
	a := &application{c: c, core: client.New(cfg, chance.New(uint64(100+len(c.delays.apps))), c.now), done: map[client.Op]client.Result{}}
	c.delays.apps = append(c.delays.apps, a)
	return a
}

func (a *application) step(in client.Input) {
	a.core.Step(a.c.now, in, &a.out)
	list := slices.Clone(a.out.List)
	a.out.Empty()
	for _, e := range list {
		switch e := e.(type) {
		case client.Call:
			to := int(e.Node)
			if e.Node == message.NoNode {
				_, err := fmt.Sscanf(e.Address, "host:%d", &to)
				require.NoError(a.c.t, err)
			}
			a.c.later(a.c.delays.network, func() {
				a.c.token++
				a.c.delays.asked[a.c.token] = asking{a, e.Call}
				h := a.c.nodes[to-1]
				h.inbox = append(h.inbox, effect.Requested{Token: a.c.token, Msg: e.Request})
			})
		case client.Done:
			a.done[e.Op] = e.Result
		}
	}
}

// do has operations done in one step.
func (a *application) do(build ...func(client.Op) client.Input) (ops []client.Op) {
	var inputs client.Inputs
	for _, f := range build {
		a.op++
		ops = append(ops, a.op)
		inputs = append(inputs, f(a.op))
	}
	a.step(inputs)
	return ops
}

// await waits for the results of operations.
func (a *application) await(ops []client.Op) (results []client.Result) {
	a.c.t.Helper()
	a.c.run(func() bool {
		return !slices.ContainsFunc(ops, func(op client.Op) bool { _, ok := a.done[op]; return !ok })
	})
	for _, op := range ops {
		require.Nil(a.c.t, a.done[op].Err, "%v", a.done[op].Err)
		results = append(results, a.done[op])
	}
	return results
}

func (a *application) does(build ...func(client.Op) client.Input) []client.Result {
	a.c.t.Helper()
	return a.await(a.do(build...))
}

// publishes are n records over the partitions of topic payments.
func publishes(n int) (list []func(client.Op) client.Input) {
	for i := range n {
		list = append(list, func(op client.Op) client.Input {
			return client.Publish{Op: op, Topic: "payments", Partition: int32(i % 3), Value: make([]byte, 1024)}
		})
	}
	return list
}

// took is the median time of some rounds with pauses between them, and the flushes
// of one.
func (c *cluster) took(pause message.Duration, round func()) (median message.Duration, flushed float64) {
	const rounds = 25
	var times []message.Duration
	round() // everybody gets to know one another
	before := c.delays.flushed
	for range rounds {
		over := pause == 0
		c.later(pause, func() { over = true })
		c.run(func() bool { return over })
		begin := c.now.Mono
		round()
		times = append(times, c.now.Mono.Sub(begin))
	}
	slices.Sort(times)
	return times[rounds/2], float64(c.delays.flushed-before) / rounds
}

// newSlow is a cluster with topics orders, to be read, and payments, to be written.
func newSlow(t *testing.T, d *delays) *cluster {
	c := newCluster(t, 3)
	created(c)
	reply := c.ask(2, &message.CreateTopic{Name: "payments", Partitions: 3, ReplicationFactor: 3}).(*message.CreateTopicReply)
	require.Equal(t, message.None, reply.Code)
	c.coordinator("readers")
	c.insist(func() message.NodeID { return 1 }, &message.FindCoordinator{TransactionalID: "pay"},
		func(r message.Reply) message.Code { return r.(*message.FindCoordinatorReply).Code })
	c.pass(20 * message.Second) // all is in sync
	d.lanes, d.asked = map[string]*flushes{}, map[message.Token]asking{}
	c.delays = d
	return c
}

// speed are the latencies and flushes of one kind of network and disk.
type speed struct{ one, plain, whole, apart message.Duration }

func measure(t *testing.T, d *delays, records int) (s speed, says string) {
	c := newSlow(t, d)
	plain := c.application(func(*client.Config) {})
	whole := c.application(func(cfg *client.Config) {
		cfg.TransactionalID, cfg.Isolation = "pay", message.ReadCommitted
	})
	whole.does(func(op client.Op) client.Input {
		return client.Subscribe{Op: op, Group: "readers", Topics: []string{"orders"}}
	})
	plain.does(func(op client.Op) client.Input {
		return client.Publish{Op: op, Topic: "orders", Value: []byte("read me")}
	})
	whole.does(func(op client.Op) client.Input { return client.Poll{Op: op, Wait: message.Minute} })
	transact := func() {
		whole.does(func(op client.Op) client.Input { return client.Begin{Op: op} })
		ops := whole.do(append(publishes(records), func(op client.Op) client.Input {
			return client.AddOffsets{Op: op, Offsets: []client.CommitOffset{{Place: client.Place{Topic: "orders"}, Offset: 1}}}
		})...)
		end := whole.do(func(op client.Op) client.Input { return client.End{Op: op, Commit: true} })
		whole.await(append(ops, end...))
	}
	var flushes [4]float64
	s.one, flushes[0] = c.took(0, func() { plain.does(publishes(1)...) })
	s.plain, flushes[1] = c.took(0, func() { plain.does(publishes(records)...) })
	s.whole, flushes[2] = c.took(0, transact)
	s.apart, flushes[3] = c.took(100*message.Millisecond, transact)
	var b strings.Builder
	for i, took := range []message.Duration{s.one, s.plain, s.whole, s.apart} {
		fmt.Fprintf(&b, "%s %.2f ms, %.1f flushes; ", []string{"one record", "plain", "transactions", "and with a pause"}[i], float64(took)/1e6, flushes[i])
	}
	fmt.Fprintf(&b, "over plain: %.2f and %.2f", s.over(s.whole), s.over(s.apart))
	return s, b.String()
}

// over is how much longer a transaction takes than its records alone, in latencies of
// one record.
func (s speed) over(took message.Duration) float64 {
	return float64(took-s.plain) / float64(s.one)
}

// The promise of speed, where nothing but the network and the disks takes time: a
// transaction of records in three partitions, with the position of a group, takes at
// most two and a half flush-and-round-trip latencies more than the same records.
func TestATransactionTakesFewFlushesAndRoundTrips(t *testing.T) {
	for name, d := range map[string]delays{
		"slow disks":   {network: 100 * message.Microsecond, flush: 2 * message.Millisecond},
		"alike":        {network: 500 * message.Microsecond, flush: message.Millisecond},
		"slow network": {network: 2 * message.Millisecond, flush: 200 * message.Microsecond},
	} {
		s, says := measure(t, &d, 100)
		t.Log(name+":", says)
		require.LessOrEqual(t, s.over(s.whole), 2.5, "%s: one after the other: %s", name, says)
		require.LessOrEqual(t, s.over(s.apart), 2.5, "%s: with pauses: %s", name, says)
	}
}
