package sim

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/metadata"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/storage"
	"github.com/tamarack-mq/tamarack/storage/vfs/simdisk"
)

// atlas knows what was damaged, and so which records should have survived. In
// a bounded run it lets no damage come through that would leave a committed
// record without a clean in-sync copy. In a run beyond the promise it lets all
// come through, and notes which partitions may have lost records by that: these
// may be offline for good, and no others. None may serve less than all of what
// was committed, unless an operator has given records up.
type atlas struct {
	world *World
	ails  []ailment // by node id
}

// ailment is the damage that a node's disk carries.
type ailment struct {
	damaged bool // durable data was hit and may still be there
	failing bool // an operation was made to fail since the last start
	writes  bool // the last that was made to fail is a write
	// owed are the partitions of which the node's copy does not count; mended
	// are those of them that it has given up since, and whether the controller
	// has not counted on it at any time after that.
	owed, mended map[record.PartitionID]bool
	// hits are what was damaged of each log and not given up since.
	hits map[record.PartitionID][]wound
	// scars are logs that were hit and not written anew on the disk since: what was
	// found once is found again until then.
	scars map[record.PartitionID]bool
	// beside are copies that counted before something beside their records was
	// hit: see repairs.
	beside map[record.PartitionID]bool
	// blank are logs whose checkpoint was hit, with the cut that they were at then.
	blank map[record.PartitionID]effect.Cut
	// root: what the node keeps of itself was hit since its last start; unmarked:
	// logs that it has made since may have no mark.
	root, unmarked bool
	// markless: at its last start marks were missing, or may have been.
	markless bool
	journal  bool // the quorum journal is damaged, and will be found so
	// reserved: an operator is going to replace the disk, and the budget has that.
	reserved bool
	// named are the logs with damage that a run of the node has told of, by its
	// incarnation: a registration that comes late still tells of them.
	named map[uint64]map[record.PartitionID]bool
	// swapped: the disk is not the one that this run of the node had.
	swapped runOnDisk
}

// runOnDisk names the run of a node that was the last one on a disk that has been
// swapped since.
type runOnDisk struct {
	incarnation uint64
	set         bool
}

func (a *atlas) init(w *World) {
	a.world = w
	a.ails = make([]ailment, w.plan.Cluster.Nodes+1)
}

// excuses says whether an error of a node's storage is one that was planted.
func (a *atlas) excuses(n *Node, err error) bool {
	ail := &a.ails[n.id]
	var damage *storage.DamageError
	switch {
	case errors.As(err, &damage), errors.Is(err, storage.ErrIdentityLost):
		return ail.damaged
	case errors.Is(err, simdisk.ErrCrashed):
		return true
	}
	return ail.failing || ail.damaged
}

// clean says whether the copy that a node holds of a partition counts.
func (a *atlas) clean(node int32, id record.PartitionID) bool {
	ail := &a.ails[node]
	return len(ail.owed) == 0 || !ail.owed[id]
}

// sound says whether recovery must find all of a log that was flushed: the copy
// counts, and what once damaged it is no longer on the disk.
func (a *atlas) sound(node int32, id record.PartitionID) bool {
	return a.clean(node, id) && (len(a.ails[node].scars) == 0 || !a.ails[node].scars[id])
}

// names notes the damage, as far as there is any, that a registration tells of.
func (a *atlas) names(node int32, m *message.RegisterBroker) {
	ail := &a.ails[node]
	for _, id := range m.Damaged {
		if a.sound(node, id) {
			continue
		}
		if ail.named == nil {
			ail.named = map[uint64]map[record.PartitionID]bool{}
		}
		if ail.named[m.Incarnation] == nil {
			ail.named[m.Incarnation] = map[record.PartitionID]bool{}
		}
		ail.named[m.Incarnation][id] = true
	}
}

// hurt says whether anything was ever done to durable data of a node that it
// has not made good since.
func (a *atlas) hurt(node int32) bool { return len(a.ails[node].owed) > 0 || a.ails[node].damaged }

// affords says whether the cluster can lose all that a node holds.
func (a *atlas) affords(node int32) bool {
	return a.each(node, func(part *partBook, state *message.PartitionChange) bool {
		return a.budgets(node, part, state) && a.covers(node, part, state)
	})
}

// covered says whether every partition of a node whose loss has been budgeted
// for has another copy now.
func (a *atlas) covered(node int32) bool {
	return a.each(node, func(part *partBook, state *message.PartitionChange) bool {
		return a.covers(node, part, state)
	})
}

// each says whether all partitions that a node has replicas of are fit; false
// also when nobody knows yet which these are.
func (a *atlas) each(node int32, fit func(*partBook, *message.PartitionChange) bool) bool {
	image := a.world.newest()
	if image == nil {
		return false
	}
	for _, part := range a.world.book.list {
		state := image.Partition(part.id)
		if state != nil && slices.Contains(state.Replicas, message.NodeID(node)) && !fit(part, state) {
			return false
		}
	}
	return true
}

// budgets says whether fewer nodes than min.insync would be hit in a partition
// with this one: else a record could be committed on damaged disks alone,
// without anybody being able to know.
func (a *atlas) budgets(node int32, part *partBook, state *message.PartitionChange) bool {
	hit := 1
	for _, m := range state.Replicas {
		if int32(m) != node && !a.counts(int32(m), part.id) {
			hit++
		}
	}
	return hit < a.leastInsync(a.world.newest().Topic(state.ID.Topic), metadata.Factor(state))
}

// covers says whether a partition has another clean copy that is in sync or
// eligible.
func (a *atlas) covers(node int32, part *partBook, state *message.PartitionChange) bool {
	for _, set := range outcomes(state) {
		if a.others(part, state, set, node) == 0 {
			return false
		}
	}
	return true
}

// counts says whether a copy is clean and not about to be given up.
func (a *atlas) counts(node int32, id record.PartitionID) bool {
	return a.clean(node, id) && !a.ails[node].reserved
}

// spares says whether the cluster can do without a node for ever: each
// partition keeps a clean copy that is in sync, or eligible, enough replicas for
// acks=all, and the voters a majority. Settings that take more come through later
// only by a request of before: the operator takes them back, see relief.
func (a *atlas) spares(node int32) bool {
	w := a.world
	image := w.newest()
	if image == nil || !a.votersSpare(node) {
		return false
	}
	for state := range image.Partitions() {
		if !slices.Contains(state.Replicas, message.NodeID(node)) {
			continue
		}
		// The others may be fenced for a moment, and before this one is. Then it is
		// the last one in sync, and nobody else is eligible where one is enough.
		topic := image.Topic(state.ID.Topic)
		if slices.Contains(state.ISR, message.NodeID(node)) && a.leastInsync(topic, metadata.Factor(state)) < 2 {
			return false
		}
		clean := false
		part := w.book.part(state.ID)
		for _, m := range state.ISR {
			r := part.at(int32(m))
			clean = clean || int32(m) != node && a.clean(int32(m), state.ID) && w.nodes[m].up &&
				a.registered(int32(m)) && r != nil && r.exists && r.durable >= part.high
		}
		if !clean {
			return false
		}
		for _, set := range outcomes(state) { // of a move that is under way, either end
			left := 0
			for _, m := range set {
				if int32(m) != node && !w.nodes[m].forGood {
					left++
				}
			}
			if left < topic.Config.LeastInsync(len(set)) {
				return false
			}
		}
	}
	return true
}

// lost notes that a node's copies of some partitions do not count any more.
func (a *atlas) lost(node int32, hit func(*partBook) bool) {
	ail := &a.ails[node]
	if ail.owed == nil {
		ail.owed, ail.mended = map[record.PartitionID]bool{}, map[record.PartitionID]bool{}
		ail.hits, ail.beside = map[record.PartitionID][]wound{}, map[record.PartitionID]bool{}
		ail.scars = map[record.PartitionID]bool{}
	}
	for _, part := range a.world.book.list {
		if a.placed(node, part) && hit(part) {
			ail.owed[part.id] = true
			delete(ail.mended, part.id)
		}
	}
}

// placed says whether a node has, or is to have, a replica of a partition. One
// that it has not made yet may be in the in-sync set all the same: a partition
// begins with all its replicas in sync.
func (a *atlas) placed(node int32, part *partBook) bool {
	if r := part.at(node); r != nil && r.exists {
		return true
	}
	image := a.world.newest()
	if image == nil {
		return false
	}
	state := image.Partition(part.id)
	return state != nil && slices.Contains(state.Replicas, message.NodeID(node))
}

// mends notes that a node gave up what it had of a partition, so that it can
// only hold good records of it from now on: it found the damage, or began anew.
func (a *atlas) mends(node int32, id record.PartitionID) {
	ail := &a.ails[node]
	if len(ail.owed) == 0 || !ail.owed[id] {
		return
	}
	delete(ail.hits, id)
	ail.mended[id] = false
	if state := a.world.book.part(id).state; state != nil && !counted(state, node) {
		ail.mended[id] = true
	}
}

// counted says whether the controller counts on a node's copy.
func counted(state *message.PartitionChange, node int32) bool {
	return slices.Contains(state.ISR, message.NodeID(node)) || slices.Contains(state.ELR, message.NodeID(node))
}

// swap says whether a node's disk may be swapped for an empty one now. Voters
// keep theirs in most plans: what they voted is on it, and consensus allows fewer
// than half of them to forget, also beyond the promise.
func (a *atlas) swap(n *Node) bool {
	w := a.world
	if !w.plan.Cluster.SwapVoters && n.votes() || !a.mayForget(n) {
		return false
	}
	if !w.plan.Beyond && !a.affords(n.id) {
		return false
	}
	a.concede(n.id, func(*partBook) bool { return true })
	return true
}

// mayForget says whether a node may lose what it has voted and acknowledged: in
// every set of voters that it knows, or that is known to be in force, fewer than
// half may have forgotten at once.
func (a *atlas) mayForget(n *Node) bool {
	sets := [][]message.NodeID{a.world.votersNow()}
	if c := n.Core(); c != nil && c.Controller() != nil {
		sets = append(sets, c.Controller().Sets()...)
	}
	for _, voters := range sets {
		if !slices.Contains(voters, n.node()) {
			continue
		}
		hit := 1
		for _, v := range voters {
			if v != n.node() && a.forgetful(a.world.nodes[v]) {
				hit++
			}
		}
		if hit > (len(voters)-1)/2 {
			return false
		}
	}
	return true
}

// swapped notes that a node's disk is an empty one now.
func (a *atlas) swapped(n *Node) {
	a.lost(n.id, func(*partBook) bool { return true })
	n.forgot = true
	ail := &a.ails[n.id]
	ail.swapped = runOnDisk{n.incarnation, true}
	ail.damaged, ail.failing, ail.journal, ail.reserved, ail.root, ail.unmarked, ail.markless = false, false, false, false, false, false, false
	clear(ail.hits)
	clear(ail.scars)
	clear(ail.beside)
	clear(ail.blank)
	a.world.mark(markDiskSwapped)
}

// concede notes that records may be gone for good: of every partition of which a
// node is about to lose the last copy that counts, or of which too many copies
// would be hit at once.
func (a *atlas) concede(node int32, hit func(*partBook) bool) {
	a.each(node, func(part *partBook, state *message.PartitionChange) bool {
		if hit(part) && !(a.budgets(node, part, state) && a.covers(node, part, state)) {
			part.loss = true
			a.world.mark(markConceded)
		}
		return true
	})
}

// mayDamage says whether durable data of a node may be hit now.
func (a *atlas) mayDamage(n *Node) bool {
	return a.world.plan.Beyond || a.affords(n.id)
}

// damage notes that durable data of one log was hit.
func (a *atlas) damage(n *Node, by simdisk.Damage) {
	hit := func(p *partBook) bool { return holdsLog(by.Path, p.id) }
	a.concede(n.id, hit)
	a.lost(n.id, hit)
	it := n.drive.wound(by)
	ail := &a.ails[n.id]
	for _, part := range a.world.book.list {
		if ail.owed[part.id] && holdsLog(by.Path, part.id) {
			ail.scars[part.id] = true
			ail.hits[part.id] = append(ail.hits[part.id], it)
		}
	}
	ail.damaged = true
	a.world.mark(markDamaged)
}

// found notes what recovery says of a damaged log. It cuts at the first damage
// that it sees; damage further down, in records that a checkpoint spares it the
// reading of, stays until a read meets it.
//
// A copy that was elected uncleanly counts as soon as it leads, while its disk has the
// repair still to carry out. When the power goes before that, the damage is there after
// the next start as it was before, and the copy does not count once more.
func (a *atlas) found(node int32, log *effect.RecoveredLog) {
	if ail := &a.ails[node]; ail.scars[log.ID] {
		ail.owed[log.ID] = true
	}
	if !a.hitBelow(node, log.ID, log.End) {
		a.mends(node, log.ID)
	}
}

// holdsLog says whether a file belongs to the log of a partition.
func holdsLog(path string, id record.PartitionID) bool {
	folder, _, _ := strings.Cut(path, "/")
	topic, index, _ := strings.Cut(folder, "-")
	index, _, _ = strings.Cut(index, ".")
	return topic == strconv.FormatUint(uint64(id.Topic), 10) && index == strconv.Itoa(int(id.Index))
}

// follow watches the in-sync sets: a copy that was hit counts again once its
// node has given it up, the controller knows, and it is back in the set with
// what it fetched since. A change that was under way when the node died still
// names its earlier run, which the controller takes out when it hears of this one.
func (a *atlas) follow(state *message.PartitionChange) {
	for node := 1; node < len(a.ails); node++ {
		ail := &a.ails[node]
		outside, ok := ail.mended[state.ID]
		if !ok {
			continue
		}
		if !counted(state, int32(node)) {
			ail.mended[state.ID] = true
			continue
		}
		if !outside || !slices.Contains(state.ISR, message.NodeID(node)) || !a.registered(int32(node)) {
			continue
		}
		delete(ail.owed, state.ID)
		delete(ail.mended, state.ID)
		if len(ail.owed) == 0 {
			ail.damaged = false
		}
	}
}

// registered says whether the controllers know the run of a node that is, or was
// last, there. They may still count on one from before it went down, or before
// its disk was swapped; the registration of this one takes it out of all sets.
func (a *atlas) registered(node int32) bool {
	image := a.world.newest()
	if image == nil {
		return false
	}
	b := image.Broker(message.NodeID(node))
	return b != nil && b.Incarnation == a.world.nodes[node].incarnation
}

// begins notes the copies of a new partition that do not count from the start. It
// begins with all those in sync whose brokers are not fenced, also those of a node
// whose disk has been swapped while nobody could hear of it: they go when the node
// registers, as if they had been lost.
func (a *atlas) begins(part *partBook, state *message.PartitionChange) {
	for _, m := range state.Replicas {
		if node := int32(m); a.unheard(node) {
			other := func(o message.NodeID) bool { return o != m && a.counts(int32(o), part.id) }
			if !a.budgets(node, part, state) || !slices.ContainsFunc(state.ISR, other) { // nobody may be left in sync
				part.loss = true
				a.world.mark(markConceded)
			}
			a.lost(node, func(p *partBook) bool { return p == part })
		}
	}
}

// unheard says whether a node's disk was swapped and the controllers do not know
// it yet.
func (a *atlas) unheard(node int32) bool {
	was := a.ails[node].swapped
	return was.set && (a.world.nodes[node].incarnation == was.incarnation || !a.registered(node))
}

// gone drops what is owed for partitions that no longer exist.
func (a *atlas) gone(id record.PartitionID) {
	for node := range a.ails {
		delete(a.ails[node].owed, id)
		delete(a.ails[node].mended, id)
	}
}
