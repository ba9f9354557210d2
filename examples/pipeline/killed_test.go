//go:build unix

package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/client"
	protocol "github.com/tamarack-mq/tamarack/core/client"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

var (
	length = flag.Duration("for", 10*time.Second, "how long the example and the nodes are killed")
	seed   = flag.Uint64("seed", 1, "of the moments at which they are killed")
)

const (
	partitions = 6
	customers  = 17  // keys of the inputs
	rate       = 200 // inputs in a second
	seats      = 2   // processes of the example that run at once
)

// The example does what it says, whatever line it is killed at: two processes of it
// run on a cluster of node dev. About once a second one of them is killed with SIGKILL
// and started again under its id; now and then it is asked to end with SIGTERM instead,
// or stopped with SIGSTOP and woken up when another one has its id. The nodes are killed, too, one at a time. In the end
// each input has its output exactly once, and those of each customer are in order.
//
//	go test ./examples/pipeline -run TestKilledAtAnyLine -for 2m -count 1 -v
func TestKilledAtAnyLine(t *testing.T) {
	if testing.Short() {
		t.Skip("starts real processes")
	}
	ctx, cancel := context.WithTimeout(t.Context(), *length+3*time.Minute)
	defer cancel()
	s := newStage(t)
	c := s.dial(ctx)
	defer c.Close(ctx)
	s.tellsWhatItWaitsFor()
	for _, topic := range []string{"orders", "invoices"} {
		require.NoError(t, c.CreateTopic(ctx, message.CreateTopic{Name: topic, Partitions: partitions, ReplicationFactor: 3}))
	}

	trouble, calm := context.WithTimeout(ctx, *length)
	defer calm()
	ends := make(chan error, 2)
	go func() { ends <- s.killNodes(trouble, rand.New(rand.NewPCG(*seed, 1))) }()
	go func() { ends <- s.killExample(trouble, rand.New(rand.NewPCG(*seed, 2))) }()
	inputs := publish(t, trouble, c) // until the trouble is over
	for range cap(ends) {
		require.NoError(t, <-ends, "what was killed is not started again")
	}

	calmed := time.Now()
	s.awaitLag(ctx, c, inputs)
	lagged := time.Since(calmed)
	committed := s.readAll(ctx, client.WithReadCommitted())
	stored := s.readAll(ctx)
	got := count(inputs, committed)
	f := &s.figures
	t.Logf("faults   %s: the example killed %d times, asked to end %d times, stopped and replaced %d times (%d of those ended by themselves when woken up, %d were killed); nodes killed %d times",
		*length, f.kills, f.ends, f.zombies, f.fenced, f.zombies-f.fenced, f.nodeKills)
	t.Logf("rest     the lag was 0 after %s, all was read after %s", lagged.Round(time.Millisecond), time.Since(calmed).Round(time.Millisecond))
	t.Logf("records  %d inputs, %d outputs: %d repeated, %d missing, %d of no input, %d out of order; readers of committed records skipped %d of aborted transactions",
		inputs, len(committed), len(got.repeated), len(got.missing), len(got.strange), got.disordered, len(stored)-len(committed))
	require.Equal(t, tally{}, got)
	require.Positive(t, f.kills)
	require.Positive(t, f.nodeKills)
}

// publish publishes numbered inputs until ctx ends, waits until all are stored, and
// returns how many they are.
func publish(t *testing.T, ctx context.Context, c *client.Client) int {
	var waiting sync.WaitGroup
	var failed sync.Map
	tick := time.NewTicker(time.Second / rate)
	defer tick.Stop()
	n := 0
	for ; ctx.Err() == nil; n++ {
		waiting.Add(1)
		c.PublishAsync(client.Message{
			Topic: "orders", Partition: client.AnyPartition,
			Key: fmt.Appendf(nil, "customer-%d", n%customers), Value: input(n),
		}, func(_ client.Receipt, err error) {
			if err != nil {
				failed.Store(n, err)
			}
			waiting.Done()
		})
		<-tick.C
	}
	waiting.Wait()
	failed.Range(func(n, err any) bool {
		t.Fatalf("input %d was not stored: %v", n, err)
		return false
	})
	return n
}

// killExample starts the processes of the example, and kills or stops one about once
// a second. All run when it returns.
func (s *stage) killExample(ctx context.Context, random *rand.Rand) error {
	for i := range s.seats {
		if err := s.seat(i); err != nil {
			return err
		}
	}
	var asleep sync.WaitGroup
	defer asleep.Wait()
	for s.sleep(ctx, time.Duration(400+random.IntN(1200))*time.Millisecond) {
		i := random.IntN(seats)
		p := s.seats[i]
		switch what := random.IntN(12); {
		case !p.running(): // it was fenced by one that was woken up, or found no node: see its log
		case what == 0:
			s.figures.ends++
			p.signal(syscall.SIGTERM)
			p.endsWithin(3 * time.Second)
		case what <= 2:
			s.figures.zombies++
			p.signal(syscall.SIGSTOP)
			nap := time.Duration(300+random.IntN(2500)) * time.Millisecond
			asleep.Go(func() { s.wake(p, nap) })
		default:
			s.figures.kills++
			p.kill()
		}
		if err := s.seat(i); err != nil {
			return err
		}
	}
	return nil
}

// wake lets a stopped process go on. That it has lost its id is the first that it
// learns when it goes on with its transaction.
func (s *stage) wake(p *process, nap time.Duration) {
	time.Sleep(nap)
	p.signal(syscall.SIGCONT)
	if p.endsWithin(2 * time.Second) { // else it had nothing to do
		s.mu.Lock()
		s.figures.fenced++
		s.mu.Unlock()
	}
}

// killNodes kills one node about every three seconds, and starts it again. All run
// when it returns.
func (s *stage) killNodes(ctx context.Context, random *rand.Rand) error {
	for s.sleep(ctx, time.Duration(1000+random.IntN(2000))*time.Millisecond) {
		n := s.nodes[random.IntN(len(s.nodes))]
		s.figures.nodeKills++
		n.kill()
		s.sleep(ctx, time.Duration(300+random.IntN(1500))*time.Millisecond)
		if err := s.startNode(n); err != nil {
			return err
		}
	}
	return nil
}

// awaitLag waits until the group has committed all inputs. A process that has ended
// meanwhile, as one that was fenced does, is started again.
func (s *stage) awaitLag(ctx context.Context, c *client.Client, inputs int) {
	for lag := inputs; lag > 0; {
		for i, p := range s.seats {
			if !p.running() {
				require.NoError(s.t, s.seat(i))
			}
		}
		if !s.sleep(ctx, 200*time.Millisecond) {
			s.t.Fatalf("the lag of the group is still %d", lag)
		}
		g, err := c.DescribeGroup(ctx, "billing")
		if err != nil {
			continue
		}
		lag = inputs
		for _, at := range g.Offsets {
			lag -= int(at.Offset)
		}
	}
}

// readAll reads all invoices, once no transaction is open in any of their
// partitions.
func (s *stage) readAll(ctx context.Context, options ...client.Option) (values []string) {
	c := s.dial(ctx, options...)
	defer c.Close(ctx)
	end := map[client.Place]int64{}
	var starts []protocol.Start
	for p := range int32(partitions) {
		place := client.Place{Topic: "invoices", Partition: p}
		end[place] = s.settled(ctx, c, place)
		starts = append(starts, protocol.Start{Place: place})
	}
	require.NoError(s.t, c.Assign(ctx, protocol.Assign{Partitions: starts}))
	for len(end) > 0 {
		require.NoError(s.t, ctx.Err(), "these are not read to their ends: %v", end)
		brief, cancel := context.WithTimeout(ctx, time.Second)
		records, err := c.Poll(brief, 0)
		cancel()
		require.NoError(s.t, err)
		for _, r := range records {
			values = append(values, string(r.Value))
		}
		at, err := c.Positions(ctx)
		require.NoError(s.t, err)
		for _, p := range at {
			if p.Offset >= end[p.Place] {
				delete(end, p.Place)
			}
		}
	}
	return values
}

// settled waits until no transaction is open in a partition, and returns its end.
func (s *stage) settled(ctx context.Context, c *client.Client, place client.Place) int64 {
	stable, end := int64(-1), int64(-2)
	for stable != end {
		if !s.sleep(ctx, 50*time.Millisecond) {
			s.t.Fatalf("a transaction is open in %v at %d, before the end at %d", place, stable, end)
		}
		m, err := c.Metadata(ctx, place.Topic)
		if err != nil || len(m.Topics) != 1 || m.Topics[0].Code != message.None {
			continue
		}
		id := record.PartitionID{Topic: m.Topics[0].ID, Index: place.Partition}
		if stable, err = latest(ctx, c, id, message.ReadCommitted); err == nil {
			if end, err = latest(ctx, c, id, message.ReadUncommitted); err != nil {
				stable = -1
			}
		}
	}
	return end
}

func latest(ctx context.Context, c *client.Client, id record.PartitionID, isolation message.Isolation) (int64, error) {
	reply, err := c.Ask(ctx, &message.ListOffsets{Isolation: isolation, Partitions: []message.ListOffsetsPartition{{
		ID: id, LeaderEpoch: record.NoLeaderEpoch, Timestamp: message.Latest,
	}}}, protocol.Target{Kind: protocol.LeaderOf, Partition: id})
	if err != nil {
		return -1, err
	}
	m, ok := reply.(*message.ListOffsetsReply)
	if !ok || m.Partitions[0].Code != message.None {
		return -1, fmt.Errorf("no answer: %+v", reply)
	}
	return int64(m.Partitions[0].Offset), nil
}

func (s *stage) dial(ctx context.Context, options ...client.Option) *client.Client {
	c, err := client.Dial(ctx, strings.Join(s.addresses, ","), append(options, client.WithRequestTimeout(2*time.Second))...)
	require.NoError(s.t, err)
	return c
}
