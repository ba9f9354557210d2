package sim

import (
	"cmp"
	"strings"

	"github.com/tamarack-mq/tamarack/core"
	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/witness"
)

// clusterID is the name of every simulated cluster.
const clusterID = "simulated"

// death is how a process ends.
type death struct {
	lossy bool // the machine lost power: what was not flushed may be gone
	torn  bool // in the middle of a file operation, if one is under way
	told  bool // the kernel still closes its connections
}

// start recovers the disk and starts the core.
func (n *Node) start() {
	w := n.world
	n.run++
	n.diskFailed, n.settings = false, n.retuned
	if n.crashLoops > 0 {
		n.crashLoops--
		n.dieSoon()
	}
	found, ok := n.drive.open()
	if !ok {
		return
	}
	n.up, n.paused = true, false
	n.clock.reboot(w.now, message.Time(n.random.Below(int64(1000*Second))))
	n.tickAt = never
	w.hash.fold(uint64(n.id)<<32 ^ uint64(len(found.Logs)))
	if w.tracing {
		w.tell("node %d starts run %d with %d logs and %d journal frames", n.id, n.run, len(found.Logs), len(found.Journal))
	}
	if w.witness != nil {
		w.witness.started(n, &found)
	}
	n.core = w.newCore(n, found)
	for _, o := range w.observers {
		o.Started(w, n, &found)
	}
	w.book.started(n, &found)
	n.step(effect.Tick{})
}

// newCore builds the machine of a node; tests put a toy in its place.
func (w *World) newCore(n *Node, found effect.Recovered) machine {
	if w.options.machine != nil {
		return w.options.machine(n, found)
	}
	random := n.random.Split("run").Split(string(rune('a'+n.run%26)) + itoa(int(n.run)))
	n.incarnation = random.Uint64() | 1
	cfg, stream, now := w.coreConfig(n, n.incarnation), random.Split("core"), n.clock.now(w.now)
	if w.options.taping != nil {
		n.taper = w.options.taping(cfg, stream.State(), now, &found)
	}
	return core.New(cfg, found, stream, now)
}

func (w *World) coreConfig(n *Node, incarnation uint64) core.Config {
	c, t := w.plan.Cluster, n.settings.over(w.plan.Timing)
	c.Tidy = n.tidy()
	cfg := core.Config{
		ID: n.node(), ClusterID: clusterID, Address: address(n.id), Incarnation: incarnation,
		Timing: core.Timing{
			HeartbeatInterval: message.Duration(t.BrokerHeartbeat),
			SessionTimeout:    message.Duration(t.BrokerSession),
			ReplicaLag:        message.Duration(t.ReplicaLag),
			ElectionTimeout:   message.Duration(t.Election),
			QuorumHeartbeat:   message.Duration(t.QuorumHeartbeat),
			Silence:           -1, // the clusters of plans are new
			FetchWait:         message.Duration(t.FetchWait),
			RequestTimeout:    message.Duration(t.Request),
		},
		Groups: core.Groups{
			Partitions:        int32(c.Shards),
			SessionTimeout:    message.Duration(t.GroupSession),
			HeartbeatInterval: message.Duration(t.GroupHeartbeat),
			OffsetsRetention:  message.Duration(t.OffsetRetention),
		},
		Transactions: core.Transactions{
			Partitions: cmp.Or(int32(c.TransactionShards), 2), MaxTimeout: longestTransaction,
			Expiration: message.Duration(t.TransactionIdle),
		},
		Tidying: core.Tidying{
			CheckpointBatches: c.Tidy, QuorumEntries: c.Tidy, QuorumKept: c.Tidy / 4, QuorumParcel: c.Parcel,
			QuorumBytes: c.QuorumBytes, ShardBatch: c.GroupBatch, ReplayBytes: c.ReplayBytes,
			MetadataChanges: c.Tidy, ShardRecords: c.Tidy, ProducerIDs: (c.Tidy + 31) / 32,
			UnflushedBytes: c.Unflushed, ProducerEpochs: c.Epochs, ProducerIdle: message.Duration(t.ProducerIdle),
			EmptyGroups: message.Duration(t.OffsetRetention), // once its positions are over
		},
	}
	if c.Racks > 0 {
		cfg.Rack = "rack-" + itoa(int(n.id-1)%c.Racks)
	}
	for v := 1; v <= c.Voters; v++ {
		cfg.Voters = append(cfg.Voters, message.NodeID(v))
	}
	n.configure(&cfg)
	return cfg
}

// tidy is the node's own Tidy, or the one of all, as this run was started with it.
func (n *Node) tidy() int {
	if n.settings != nil {
		return cmp.Or(n.settings.Tidy, n.world.plan.Cluster.Tidy)
	}
	return n.world.plan.Cluster.Tidy
}

// longestTransaction is what nobody may ask for more than.
const longestTransaction = 5 * message.Minute

// die ends the process of a node at this moment.
func (n *Node) die(d death) {
	w := n.world
	if !n.up {
		return
	}
	if w.tracing {
		w.tell("node %d dies%s%s", n.id, when(d.torn, " inside a file operation"), when(d.lossy, " and loses power"))
	}
	if w.witness != nil {
		w.witness.life(n.place(), witness.Down, how(d))
	}
	n.markCrossed()
	n.down()
	n.drive.crash(d)
	w.net.Gone(message.Time(w.now), n.endpoint(), d.told)
	w.mark(markCrashed)
}

// fall is a death after which the supervisor starts the process again.
func (n *Node) fall(d death) {
	n.die(d)
	n.startIn(n.restartIn)
}

// dieSoon lets a process that is about to start die again: while it recovers,
// or shortly after.
func (n *Node) dieSoon() {
	d := death{lossy: n.drive.chaos.OneIn(2), told: true}
	if n.drive.chaos.OneIn(2) {
		n.drive.armRecovery(d)
		return
	}
	n.world.in(Span(n.drive.chaos.Below(int64(500*Millisecond))),
		event{kind: evNodeDies, place: n.id, run: n.run, arg: d.bits() | ofAFault})
}

// ofAFault marks a death that a fault has scheduled: it does not come after the
// heal.
const ofAFault = 4

// bits packs what an event can carry.
func (d death) bits() (b uint64) {
	if d.lossy {
		b |= 1
	}
	if d.told {
		b |= 2
	}
	return b
}

// down takes the process out of the world.
func (n *Node) down() {
	n.up, n.paused = false, false
	n.run++
	n.core = nil
	n.out.Empty()
	clear(n.tokens)
	for i := range n.inbox {
		n.drop(&n.inbox[i])
	}
	n.inbox = n.inbox[:0]
	n.tickAt = never
}

// startIn puts the next start of the process on the agenda.
func (n *Node) startIn(d Span) {
	n.world.in(d, event{kind: evNodeStarts, place: n.id, run: n.run})
}

// halted carries out a Halt. The core may halt in good order, because the disk
// failed, or because its journal is damaged; every other halt is a state that
// it found impossible, and a bug.
func (n *Node) halted(h effect.Halt) {
	w := n.world
	if h.Clean {
		all := n.drive.finish()
		if w.witness != nil {
			w.witness.life(n.place(), witness.Down, "clean")
		}
		n.down()
		n.drive.close(all) // as the real driver, which leaves no mark when something was not written
		w.net.Gone(message.Time(w.now), n.endpoint(), true)
		w.mark(markCleanShutdown)
		n.startIn(n.restartIn)
		return
	}
	if !n.diskFailed && !w.atlas.ails[n.id].journal {
		w.fail("INV-37", n.id, "halt: "+withoutNumbers(h.Reason), "node %d halts although its disk is well: %s", n.id, h.Reason)
		return
	}
	w.mark(markHaltedOnDisk)
	n.die(death{told: true})
	n.startIn(n.restartIn)
}

// pause stops a process without ending it.
func (n *Node) pause(d Span) {
	if !n.up || n.paused {
		return
	}
	n.paused = true
	if n.world.witness != nil {
		n.world.witness.life(n.place(), witness.Pause, "")
	}
	n.world.in(d, event{kind: evNodeWakes, place: n.id, run: n.run})
}

// wake lets a paused process go on with all that came meanwhile.
func (n *Node) wake() {
	if !n.paused {
		return
	}
	n.paused, n.woke = false, n.world.now
	if n.world.witness != nil {
		n.world.witness.life(n.place(), witness.Wake, "")
	}
	run := n.run
	waiting := n.inbox
	n.inbox = nil
	for i := range waiting {
		if n.run != run || n.paused {
			n.happen(&waiting[i])
			continue
		}
		if waiting[i].kind == evTick {
			n.tickAt = n.world.now // a tick that came while it slept is due now
		}
		n.happen(&waiting[i])
	}
	if n.up && n.run == run {
		n.arm()
	}
}

func when(b bool, s string) string {
	if b {
		return s
	}
	return ""
}

// withoutNumbers makes one cause of messages that differ only in numbers.
func withoutNumbers(s string) string {
	var b strings.Builder
	digit := false
	for _, r := range s {
		if r >= '0' && r <= '9' {
			if !digit {
				b.WriteByte('#')
			}
			digit = true
			continue
		}
		digit = false
		b.WriteRune(r)
	}
	return b.String()
}
