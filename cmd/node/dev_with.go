package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/tamarack-mq/tamarack/client"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/topology"
)

// withOptions say what runs on the cluster of node dev.
type withOptions struct {
	file     string
	rate     int
	duration time.Duration
	json     bool
}

// withHelp and withExample are what the help of node dev says about --with.
const (
	withHelp = `

With --with FILE it also makes the topic that the file describes, produces orders
and runs every member of the consumer groups as a client of its own, and shows
who reads what, how fast, and how far behind. It goes on when a node is killed.
With --for it ends by itself; the exit code is 0 only if every order was
acknowledged, every group has seen every one (at-most-once groups may skip, and
never repeat), and its members shared the partitions evenly.`
	withExample = `  node dev
  node dev --with docs/examples/order-events.yaml
  node dev --with docs/examples/order-events.yaml --for 30s --json`
)

func (o *withOptions) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.file, "with", "", "Run the topic, producer and consumer groups of this file on the cluster")
	f.IntVar(&o.rate, "rate", 200, "With --with: orders to produce in a second")
	f.DurationVar(&o.duration, "for", 0, "With --with: produce for this long, then end with a summary; 0: until Ctrl-C")
	f.BoolVar(&o.json, "json", false, "With --with: print JSON, one object a line")
}

// check reads the file and says what cannot be run, before anything is started.
// It raises the number of nodes to what the file asks for, unless that was
// chosen by hand.
func (o *withOptions) check(cmd *cobra.Command, d *devOptions) (*topology.Topology, error) {
	if o.file == "" {
		for _, name := range []string{"rate", "for", "json"} {
			if cmd.Flags().Changed(name) {
				return nil, usage("--%s goes with --with", name)
			}
		}
		return nil, nil
	}
	plan, err := topology.Load(o.file)
	if err != nil {
		return nil, &usageError{err}
	}
	if o.rate < 1 || o.rate > maxOrderRate {
		return nil, usage("--rate %d: it must be 1 to %d", o.rate, maxOrderRate)
	}
	if o.duration < 0 {
		return nil, usage("--for %s: it must be positive", o.duration)
	}
	if !cmd.Flags().Changed("nodes") {
		d.nodes = max(d.nodes, plan.ReplicationFactor)
	}
	if d.nodes > maxDevNodes {
		return nil, usage("%s: replicationFactor: %d: node dev runs %d nodes at most", o.file, plan.ReplicationFactor, maxDevNodes)
	}
	plan.ReplicationFactor = min(plan.ReplicationFactor, d.nodes)
	return plan, nil
}

const (
	maxOrderRate = 100_000
	maxDevNodes  = 9
)

// withRun is one run of dev --with.
type withRun struct {
	o       withOptions
	plan    *topology.Topology
	cluster *devCluster
	out     *display
	id      string // in the ids of this run's orders
	began   time.Time

	mu    sync.Mutex
	books *books
	last  clusterState
}

// update changes the books.
func (r *withRun) update(f func(*books)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f(r.books)
}

// learn changes what is known of the cluster. Lists and maps are replaced, not
// changed: views hold on to them.
func (r *withRun) learn(f func(*clusterState)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f(&r.last)
}

func (r *withRun) elapsed() time.Duration { return time.Since(r.began) }

func (r *withRun) now() moment {
	r.mu.Lock()
	defer r.mu.Unlock()
	return moment{r.elapsed(), r.books.tally(), r.last}
}

// startPatience is how long the topic and the members may take to be there,
// settlePatience how long the groups may take to be through with everything
// after the last order, and to be left.
const (
	startPatience   = 30 * time.Second
	settlePatience  = 20 * time.Second
	hurriedPatience = 5 * time.Second // after Ctrl-C
	leavePatience   = 5 * time.Second
)

// devWith runs a cluster with a topology on it.
func devWith(ctx context.Context, d devOptions, o withOptions, plan *topology.Topology, out io.Writer) error {
	c, err := startDev(d)
	if err != nil {
		return err
	}
	defer c.stop()
	r := &withRun{o: o, plan: plan, cluster: c, books: newBooks(plan), id: strconv.FormatInt(time.Now().UnixMilli(), 36),
		out: newDisplay(out, o.json, d.logs)}
	err = c.awaitReady(ctx, func(n *devNode) {
		r.out.say(map[string]any{"kind": "node", "node": n.number, "pid": n.cmd.Process.Pid, "address": n.address, "http": n.http, "data": n.data, "config": n.config},
			"node %d ready  pid %d  address %s  http %s  data %s", n.number, n.cmd.Process.Pid, n.address, n.http, n.data)
	})
	if err == nil {
		err = explain(r.run(ctx))
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil // Ctrl-C before anything was running
	}
	return err
}

// dial makes a client that finds another way soon when a node is silent.
func (r *withRun) dial(ctx context.Context, name string, options ...client.Option) (*client.Client, error) {
	options = append([]client.Option{client.WithName(name), client.WithRequestTimeout(3 * time.Second)}, options...)
	return client.Dial(ctx, strings.Join(r.cluster.addresses(), ","), options...)
}

// run makes the topic, lets the members and the producer go, and ends them in
// good order.
func (r *withRun) run(ctx context.Context) error {
	start, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	admin, err := r.dial(start, "dev-watch", client.WithRequestTimeout(watchTimeout))
	if err != nil {
		return err
	}
	defer admin.Abort()
	topic, err := r.makeTopic(start, admin)
	if err != nil {
		return err
	}
	cl, err := r.dial(start, "dev-producer")
	if err != nil {
		return err
	}
	defer cl.Abort()
	var members []*member
	for i, g := range r.plan.ConsumerGroups {
		for j := range g.Instances {
			m, err := r.join(start, i, j)
			if err != nil {
				return err
			}
			defer m.cl.Abort()
			members = append(members, m)
		}
	}
	r.out.say(map[string]any{"kind": "start", "topic": r.plan.Topic, "run": r.id, "members": len(members), "rate": r.o.rate},
		"%d members join %d groups; %d orders a second; Ctrl-C ends all", len(members), len(r.plan.ConsumerGroups), r.o.rate)
	return r.conduct(ctx, &watcher{run: r, cl: admin, topic: topic}, newProducer(r, cl), members)
}

// makeTopic makes the topic, or finds it in the shape that the file asks for.
func (r *withRun) makeTopic(ctx context.Context, cl *client.Client) (record.TopicID, error) {
	err := cl.CreateTopic(ctx, message.CreateTopic{Name: r.plan.Topic, Partitions: int32(r.plan.Partitions), ReplicationFactor: int16(r.plan.ReplicationFactor)})
	there := errors.Is(err, message.TopicAlreadyExists)
	if err != nil && !there {
		return 0, err
	}
	info, err := awaitTopic(ctx, cl, r.plan.Topic)
	if err != nil {
		return 0, err
	}
	if err := sameShape(info, r.plan); err != nil {
		return 0, err
	}
	note := ""
	if there {
		note = " (it was there already)"
	}
	r.out.say(map[string]any{"kind": "topic", "topic": info.Name, "partitions": r.plan.Partitions, "replicas": r.plan.ReplicationFactor, "existed": there},
		"topic %s: %d partitions, %d replicas each%s", info.Name, r.plan.Partitions, r.plan.ReplicationFactor, note)
	return info.ID, nil
}

// sameShape refuses a topic that is not what the file describes.
func sameShape(info *message.TopicInfo, plan *topology.Topology) error {
	replicas := plan.ReplicationFactor
	for _, p := range info.Partitions {
		if len(p.Replicas) != replicas {
			replicas = len(p.Replicas)
			break
		}
	}
	if len(info.Partitions) == plan.Partitions && replicas == plan.ReplicationFactor {
		return nil
	}
	return &hintError{fmt.Errorf("topic %s is there already with %d partitions and %d replicas each, and the file asks for %d and %d",
		plan.Topic, len(info.Partitions), replicas, plan.Partitions, plan.ReplicationFactor),
		"choose another folder with --data, or run node dev alone and remove the topic with node topic delete"}
}

// conduct is the run itself: producing, the quiet at its end, the summary.
func (r *withRun) conduct(ctx context.Context, w *watcher, p *producer, members []*member) error {
	r.began = time.Now()
	base := context.WithoutCancel(ctx) // after Ctrl-C it still ends in good order
	watching, stopWatching := context.WithCancel(base)
	polling, stopPolling := context.WithCancel(base)
	committing, giveUp := context.WithCancel(base)
	producing, stopProducing := context.WithCancel(ctx)
	defer giveUp()
	defer stopProducing()
	if r.o.duration > 0 {
		stop := time.AfterFunc(r.o.duration, stopProducing)
		defer stop.Stop()
	}
	var watched, polled sync.WaitGroup
	watched.Go(func() { w.watch(watching) })
	for _, m := range members {
		polled.Go(func() { m.consume(polling, committing) })
	}
	failed := make(chan error, 1)
	go func() { failed <- p.produce(producing) }()

	s := &showing{run: r}
	ended := r.allEnded()
	s.until(func(moment) bool { return producing.Err() != nil || closed(ended) }, noLimit)
	took := r.elapsed()
	stopProducing()
	err := <-failed
	patience := settlePatience
	switch {
	case ctx.Err() != nil:
		patience = hurriedPatience
	case closed(ended):
		patience = 0
	}
	shared := s.until(r.settled(), patience)
	s.show(shared)
	stopWatching()
	watched.Wait()
	stopPolling()
	patience = min(patience, leavePatience)
	stop := time.AfterFunc(patience, giveUp)
	defer stop.Stop()
	polled.Wait()
	leave(members, patience)

	summary := summarizeRun(r.now().tally, shared.tally, r.plan.Partitions, took)
	r.out.summary(summary)
	switch {
	case err != nil:
		return err
	case closed(ended):
		return fmt.Errorf("all nodes have ended; their logs are beside %s", r.cluster.nodes[0].logFile)
	case !summary.OK:
		return fmt.Errorf("not every promise was kept: %s", strings.Join(summary.Problems, "; "))
	}
	return nil
}

// settled is true of a moment in which nothing more is to come. That a group's
// positions are at the ends counts only when it was asked after the last order
// had its result.
func (r *withRun) settled() func(moment) bool {
	quiet := time.Duration(-1)
	return func(m moment) bool {
		if m.tally.waiting > 0 {
			return false
		}
		if quiet < 0 {
			quiet = m.at
		}
		return m.tally.settled(r.plan.Partitions, func(group string) bool {
			return m.cluster.asked > quiet && m.cluster.drained(group)
		})
	}
}

// allEnded is closed when no node is left of those that were started here.
func (r *withRun) allEnded() <-chan struct{} {
	all := make(chan struct{})
	go func() {
		for _, n := range r.cluster.nodes {
			<-n.ended
		}
		close(all)
	}()
	return all
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// leave closes all members at the same time.
func leave(members []*member, patience time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var all sync.WaitGroup
	for _, m := range members {
		all.Go(func() { _ = m.cl.Close(ctx) })
	}
	all.Wait()
}

// showing shows a run from time to time.
type showing struct {
	run    *withRun
	before moment
}

// showStep is how often it is looked whether something is over.
const showStep = 50 * time.Millisecond

// noLimit lets until go on for ever.
const noLimit = time.Duration(math.MaxInt64)

// until shows the run until something is over, or for at most a time. It
// returns the moment in which it was.
func (s *showing) until(over func(moment) bool, limit time.Duration) moment {
	begun := time.Now()
	for {
		m := s.run.now()
		if over(m) || time.Since(begun) >= limit {
			return m
		}
		if m.at-s.before.at >= s.run.out.interval {
			s.show(m)
		}
		time.Sleep(showStep)
	}
}

func (s *showing) show(m moment) {
	v := newView(s.before, m)
	v.Topic, v.Partitions, v.Replicas, v.Until = s.run.plan.Topic, s.run.plan.Partitions, s.run.plan.ReplicationFactor, seconds(s.run.o.duration)
	s.before = m
	s.run.out.view(v)
}

// display writes what there is to see: over and over on the same screen, one
// block after the other, or as JSON.
type display struct {
	out      io.Writer
	json     *json.Encoder
	screen   *os.File // nil: no terminal
	painted  bool
	interval time.Duration // between two views
}

func newDisplay(out io.Writer, asJSON, logs bool) *display {
	d := &display{out: out, interval: time.Second}
	f, isFile := out.(*os.File)
	switch {
	case asJSON:
		d.json = json.NewEncoder(out)
	case !logs && isFile && term.IsTerminal(int(f.Fd())):
		d.screen = f
	default:
		d.interval = 5 * time.Second
	}
	return d
}

func (d *display) say(object map[string]any, format string, args ...any) {
	if d.json != nil {
		_ = d.json.Encode(object)
		return
	}
	fmt.Fprintf(d.out, format+"\n", args...)
}

func (d *display) view(v *devView) {
	switch {
	case d.json != nil:
		_ = d.json.Encode(v)
	case d.screen != nil:
		d.paint(v.text())
	default:
		fmt.Fprintln(d.out)
		fmt.Fprint(d.out, v.text())
	}
}

func (d *display) summary(s *devSummary) {
	if d.json != nil {
		_ = d.json.Encode(s)
		return
	}
	fmt.Fprintln(d.out)
	fmt.Fprint(d.out, s.text())
}

// paint replaces what is on the screen, in one write so that it does not
// flicker.
func (d *display) paint(text string) {
	width, height, err := term.GetSize(int(d.screen.Fd()))
	if err != nil {
		width, height = 0, 0
	}
	var b strings.Builder
	if !d.painted {
		b.WriteString("\x1b[2J") // clear
		d.painted = true
	}
	b.WriteString("\x1b[H") // home
	for _, line := range crop(text, width, max(height-1, 0)) {
		b.WriteString(line + "\x1b[K\n") // clear the rest of the line
	}
	b.WriteString("\x1b[J") // and of the screen
	_, _ = io.WriteString(d.out, b.String())
}
