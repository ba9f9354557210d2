// Package server drives one core.Node on a real machine: its clock, its disk
// and its connections. It decides nothing about the protocol.
//
// One goroutine at a time steps the core (driver). Connections (transport/tcp)
// and disk workers (disk, journal, reads) put what happened into its inbox; who
// finds nobody there steps the core itself, takes all that came in meanwhile,
// and lets go what that caused: the more there is to do, the more is done with
// one write and one flush.
package server

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/tamarack-mq/tamarack/core"
	"github.com/tamarack-mq/tamarack/core/chance"
	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/storage"
	"github.com/tamarack-mq/tamarack/storage/vfs"
	"github.com/tamarack-mq/tamarack/tape"
	"github.com/tamarack-mq/tamarack/transport/tcp"
)

// Node is a running node.
type Node struct {
	cfg      Config
	log      *slog.Logger
	driver   *driver
	core     *core.Node
	store    *storage.Store
	net      *tcp.Network
	web      *web
	book     addresses
	damage   *damage
	shutdown chan struct{}
	giveUp   chan struct{}
	stop     chan struct{}
	once     [3]sync.Once
	done     chan struct{}
	err      error
}

// Run runs a node until ctx is done, when a controlled shutdown is tried, or
// until the node halts. It returns nil after a clean end.
func Run(ctx context.Context, cfg Config) error {
	n, err := Start(cfg)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, n.Shutdown)()
	return n.Wait()
}

// Start opens the data folder, recovers what is in it and starts the node.
func Start(cfg Config) (*Node, error) {
	cfg = cfg.withDefaults()
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	listener, err := net.Listen("tcp", cfg.Listen)
	if err != nil {
		return nil, fmt.Errorf("server: cannot listen on %s (is another process there?): %w", cfg.Listen, err)
	}
	n := &Node{
		cfg: cfg, log: cfg.Logger.With("node", cfg.Node),
		shutdown: make(chan struct{}), giveUp: make(chan struct{}), stop: make(chan struct{}), done: make(chan struct{}),
	}
	if n.cfg.Advertise == "" {
		n.cfg.Advertise = listener.Addr().String()
	}
	if err := n.start(listener); err != nil {
		listener.Close()
		return nil, err
	}
	return n, nil
}

func (n *Node) start(listener net.Listener) error {
	cfg := n.cfg
	limit, err := descriptors()
	if err != nil {
		return fmt.Errorf("server: %w", err)
	}
	openFiles, err := cfg.share(limit, n.log)
	if err != nil {
		return fmt.Errorf("server: %w", err)
	}
	diskID, seed := draw(), draw()
	begin := time.Now()
	fs, err := vfs.OS(cfg.DataDir)
	if err != nil {
		return openError(cfg, err)
	}
	store, found, err := storage.Open(fs, storage.Options{
		ClusterID: cfg.ClusterID, NodeID: cfg.Node, SegmentBytes: cfg.SegmentBytes, CacheBytes: -1, OpenFiles: openFiles,
	}, diskID)
	if err != nil {
		return openError(cfg, err)
	}
	n.log.Info("opened the data folder", "folder", cfg.DataDir, "logs", len(found.Logs), "clean", found.Clean, "fresh", found.Fresh, "took", time.Since(begin))
	tally := newMetrics(cfg.Node)
	n.damage = newDamage(n.log, tally)
	n.warn(found)
	clock := clock{start: time.Now()}
	n.store = store
	recorder, err := n.makeCore(found, seed, clock)
	if err != nil {
		return errors.Join(err, store.Close(false))
	}
	n.driver = newDriver(n.core, store, found, tally, n.log, clock, cfg)
	n.driver.tape = recorder
	n.driver.shutdown, n.driver.giveUp, n.driver.stop = n.shutdown, n.giveUp, n.stop
	n.book.configure(cfg.Voters)
	n.driver.afterStep = both(n.book.follow(n.core), n.look)
	n.driver.reads.failed = func(log record.PartitionID, err error) {
		n.driver.inbox.peek(func() { n.damage.read(n.core, log, err) })
	}
	n.net = tcp.Listen(listener, tcp.Config{
		Node: cfg.Node, ClusterID: cfg.ClusterID, Advertise: cfg.Advertise, Software: cfg.Software,
		Resolve: n.book.resolve, Met: n.book.meet, Limits: cfg.Limits, Log: n.log, Count: tally.network(),
	}, n.driver.inbox)
	n.driver.net = n.net
	if cfg.HTTP != "" {
		if n.web, err = serveWeb(cfg.HTTP, n, tally); err != nil {
			n.driver.abandon()
			return errors.Join(err, store.Close(false))
		}
	}
	n.log.Info("listening", "address", cfg.Listen, "advertised", cfg.Advertise, "cluster", cfg.ClusterID, "http", n.HTTPAddress())
	go n.run()
	go n.watchWaiting()
	return nil
}

// makeCore makes the core, and begins its tape when one is wanted.
func (n *Node) makeCore(found effect.Recovered, seed uint64, clock clock) (*tape.Recorder, error) {
	cfg, now := n.cfg.core(draw()), clock.now()
	var recorder *tape.Recorder
	if n.cfg.Record != "" {
		var err error
		recorder, err = tape.Record(
			tape.Options{Dir: n.cfg.Record, Limit: n.cfg.RecordLimit, Log: n.log},
			&tape.Header{Code: tape.Code(), Started: clock.start, Config: cfg, Seed: seed, Now: now}, &found)
		if err != nil {
			return nil, fmt.Errorf("server: cannot record: %w", err)
		}
		n.log.Info("recording what goes into the core", "file", recorder.Path())
	}
	n.core = core.New(cfg, found, chance.New(seed), now)
	return recorder, nil
}

// look is called after the core was stepped.
func (n *Node) look() {
	n.damage.follow(n.core)
	select {
	case <-n.shutdown:
	default:
		return
	}
	// A node that is to leave and that no controller has answered for a session
	// has nothing left to hand over: others lead by now, or nobody can.
	if s := n.core.Status(n.driver.clock.now().Mono); s.ShuttingDown && s.ControllerSilent {
		n.driver.end("no controller answers: nothing is handed over")
	}
}

func both(f, g func()) func() { return func() { f(); g() } }

// warn says what recovery found that an operator should know.
func (n *Node) warn(found effect.Recovered) {
	for i := range found.Logs {
		if l := &found.Logs[i]; l.Damage != "" {
			n.damage.recovered(l)
		}
	}
	if found.JournalDamaged != "" {
		n.log.Error("the quorum journal is damaged: this node does not vote; move its whole data folder away and start it with an empty one to let it join anew", "damage", found.JournalDamaged)
	}
}

// openError says what to do about a data folder that cannot be used.
func openError(cfg Config, err error) error {
	hint := ""
	switch {
	case errors.Is(err, storage.ErrInUse):
		hint = "stop it, or give this one a folder of its own"
	case errors.Is(err, storage.ErrWrongNode):
		hint = fmt.Sprintf("this is node %d: give it its own folder", cfg.Node)
	case errors.Is(err, storage.ErrWrongCluster):
		hint = fmt.Sprintf("this node is configured for cluster %q: correct the cluster id, or use another folder", cfg.ClusterID)
	}
	if hint != "" {
		return fmt.Errorf("server: cannot use the data folder %s: %w; %s", cfg.DataDir, err, hint)
	}
	return fmt.Errorf("server: cannot use the data folder %s: %w", cfg.DataDir, err)
}

func newDriver(c Core, s store, found effect.Recovered, tally *metrics, log *slog.Logger, clock clock, cfg Config) *driver {
	b := newInbox()
	space := &space{store: s, inbox: b, tally: tally, log: log, reserve: max(cfg.ReserveBytes, 0)}
	d := &driver{core: c, inbox: b, tally: tally, log: log, clock: clock, limit: cfg.ShutdownLimit, space: space, halted: make(chan struct{})}
	d.disk = newDisk(s, found.Logs, b, tally, space.full)
	d.journal = newJournal(s, b, tally, space.full)
	d.tail = newTail(cfg.TailBytes)
	d.reads = newReads(s, d.disk, d.tail, b, tally)
	d.watching = make(chan struct{})
	d.watchers.Go(func() { space.watch(d.disk, d.watching) })
	return d
}

// run drives the node to its end and puts everything away.
func (n *Node) run() {
	defer close(n.done)
	err := n.driver.run()
	clean := err == nil && n.driver.settle(n.cfg.ShutdownLimit)
	if err == nil && !clean {
		err = errors.New("server: the disk did not take all that was to be written before the end; the node recovers when it is started again")
	}
	n.driver.abandon()
	if r := n.driver.tape; r != nil {
		if failed := r.Close(); failed != nil {
			n.log.Warn("the recording is not complete", "error", failed)
		}
	}
	if n.web != nil {
		n.web.close()
	}
	if closeErr := n.store.Close(clean); closeErr != nil && err == nil {
		err = fmt.Errorf("server: closing the data folder: %w", closeErr)
	}
	if err != nil {
		n.log.Error("stopped", "error", err)
	} else {
		n.log.Info("stopped")
	}
	n.err = err
}

// abandon ends everything that works for the driver. Nothing is sent any more.
func (d *driver) abandon() {
	d.inbox.close()
	if d.net != nil {
		if err := d.net.Close(); err != nil {
			d.log.Warn("closing the network", "error", err)
		}
	}
	close(d.watching)
	d.watchers.Wait()
	d.reads.close()
	d.disk.close()
	d.journal.close()
}

// Shutdown begins a controlled shutdown: the node hands its leaderships over,
// flushes and ends. It does not wait.
func (n *Node) Shutdown() { n.once[0].Do(func() { close(n.shutdown) }) }

// GiveUpHandover ends a controlled shutdown, begun before or later, without
// handing anything over: for the last nodes of a cluster, which have nobody to
// hand over to. All that was written is flushed. It does not wait.
func (n *Node) GiveUpHandover() { n.once[2].Do(func() { close(n.giveUp) }) }

// Stop ends the node at once, as a crash would, but for what is in memory
// being dropped in an orderly way. It does not wait.
func (n *Node) Stop() { n.once[1].Do(func() { close(n.stop) }) }

// Wait waits for the end of the node and tells why it ended: nil after a clean
// shutdown, a *HaltError, or another failure.
func (n *Node) Wait() error {
	<-n.done
	return n.err
}

// Address is where others reach the node.
func (n *Node) Address() string { return n.cfg.Advertise }

// HTTPAddress is where metrics and health checks are, or "".
func (n *Node) HTTPAddress() string {
	if n.web == nil {
		return ""
	}
	return n.web.address
}

// ask has f called between two steps of the core, and waits for it.
func (n *Node) ask(ctx context.Context, f func(*core.Node)) error {
	asked := make(chan struct{})
	n.driver.inbox.peek(func() { f(n.core); close(asked) })
	select {
	case <-asked:
		return nil
	case <-n.done:
		return errStopped
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Ready says whether the cluster knows this run of the node and lets it serve.
func (n *Node) Ready(ctx context.Context) (ready bool, why string) {
	err := n.ask(ctx, func(c *core.Node) {
		switch s := c.Status(n.driver.clock.now().Mono); {
		case s.Taken:
			why = "not registered: this number is that of a run on another disk, whose session is not over. If this lasts, another process has it"
		case !s.Registered:
			why = "not yet registered with the controller: is a majority of the voters up? The log says more."
		case s.ShuttingDown:
			why = "shutting down"
		case s.ControllerSilent:
			why = "no controller has answered for longer than a session: is a majority of the voters up, and can this node reach them?"
		case s.Fenced:
			why = "registered, and not yet let in by the controller"
		default:
			ready = true
		}
	})
	if err != nil {
		return false, "the core does not answer: " + err.Error()
	}
	return ready, why
}

// draw is a number that nobody can guess and that is not 0.
func draw() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return binary.BigEndian.Uint64(b[:]) | 1
}

var _ Core = (*core.Node)(nil)
var _ network = (*tcp.Network)(nil)
