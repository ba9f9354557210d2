package sim

import (
	"cmp"
	"slices"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/core/replica"
	"github.com/tamarack-mq/tamarack/models"
)

// book is what the harness itself knows of every log, apart from anything that
// the core says: what each node was told to write, what its disk has carried
// out and made durable, and what has ever been committed. The observers judge
// by it.
type book struct {
	parts map[record.PartitionID]*partBook
	near  [64]*partBook // of parts, those that were asked for last, by slot
	list  []*partBook   // in the order in which they were first seen
	nodes []*nodeBook   // by node id
	// transactions are what is committed of them: observers keep it (see follow).
	transactions transactionsBook

	// touched are the replicas of the stepped node that the step at hand may
	// have changed.
	touched []*replicaBook
	// moved: of one of them, more has changed than its end, what is flushed and what
	// its followers have.
	moved bool
	meta  metaBook
}

// partBook is one partition as a whole.
type partBook struct {
	id record.PartitionID
	nr int // its place in the list of them all
	// committed are the headers of all batches below high, from the first that
	// was ever committed on: every record that a client may have been shown.
	committed  []record.Header
	high       record.Offset  // the true high watermark: it falls only when records are given up
	replicas   []*replicaBook // by node id; nil where there never was one
	links      links
	revived    map[link]bool // markers that may be repeats (see revives)
	repeats    int64         // those of them that are, and are committed
	leaders    map[record.LeaderEpoch]int32
	leftIn     map[message.NodeID]record.LeaderEpoch // who is no replica any more, or was not for a time, and since when
	state      *message.PartitionChange              // as committed last
	meant      [][]message.NodeID                    // replicas that it was committed to have, or to move to
	unsure     bool                                  // it has become something in between that nobody has seen
	shownStart record.Offset                         // the highest log start that a leader has shown to clients
	unclean    bool                                  // an operator has given records up
	// After an unclean election: the epoch that began with it; whether what is left is
	// not known yet; how far the log of its winner went that was committed at one time
	// or another; and the account of them all.
	era      record.LeaderEpoch
	open     bool
	asked    Span // when the first one was decided
	survived record.Offset
	// What unclean elections have given up of what was committed, in the order in which
	// they did: a later one may bring it back.
	givenUp []record.Header
	// How high a log start was shown before, and how low one may be since.
	topStart, lowStart record.Offset
	surrendered        []surrender
	let                []letLead      // in the order in which it was decided
	strays             []models.Range // what others acknowledged that had not heard of it
	unknown            bool           // its winner did not know what producers had done before
	deleted            bool
	loss               bool // the atlas allows that committed records are gone
}

// link names a batch by where it stands; one epoch has one leader, so no two
// batches share it.
type link struct {
	epoch record.LeaderEpoch
	base  record.Offset
}

// links are all batches that were ever written, by epoch and then by offset: most that
// are asked for were written lately.
type links struct {
	epochs []record.LeaderEpoch // in the order in which they were first met
	lists  [][]origin           // of each
}

func (l *links) list(epoch record.LeaderEpoch) *[]origin {
	for i := len(l.epochs) - 1; i >= 0; i-- {
		if l.epochs[i] == epoch {
			return &l.lists[i]
		}
	}
	return nil
}

// at is the batch at a link, or nil.
func (l *links) at(at link) *origin {
	list := l.list(at.epoch)
	if list == nil {
		return nil
	}
	for back := len(*list) - 1; back >= max(0, len(*list)-4); back-- {
		if o := &(*list)[back]; o.base == at.base {
			return o
		}
	}
	if i, ok := slices.BinarySearchFunc(*list, at.base, compareBase); ok {
		return &(*list)[i]
	}
	return nil
}

// put notes a batch that is not there yet.
func (l *links) put(epoch record.LeaderEpoch, o origin) {
	list := l.list(epoch)
	if list == nil {
		l.epochs, l.lists = append(l.epochs, epoch), append(l.lists, nil)
		list = &l.lists[len(l.lists)-1]
	}
	if n := len(*list); n == 0 || (*list)[n-1].base < o.base {
		*list = append(doubled(*list), o)
		return
	}
	i, _ := slices.BinarySearchFunc(*list, o.base, compareBase)
	*list = slices.Insert(*list, i, o)
}

func compareBase(o origin, base record.Offset) int { return cmp.Compare(o.base, base) }

// origin is the batch that stands at a link, and the one before it. Whether that is
// known is said apart: the link without an epoch or an offset is that of the first
// batch of most partitions.
type origin struct {
	base     record.Offset
	end      record.Offset
	crc      uint32
	previous link
	node     int32 // who wrote it first
	linked   bool  // previous is known: not in a log that begins with this batch
}

// replicaBook is one replica.
type replicaBook struct {
	part    *partBook
	node    int32
	exists  bool
	memory  logFacts      // as the core has it: everything it asked for
	disk    logFacts      // as the disk has carried it out
	aside   logFacts      // as it was when recovery set an end of it aside that is on the disk still
	durable record.Offset // of disk: survives a power cut
	told    record.Offset // how far the core was told, in this run, that it is durable
	cut     effect.Cut
	drops   []dropped // what the cuts of the step at hand take away
	// forgetful: recovery found damage, and nothing that tells what producers did in
	// records that were retired, or lost, up to where the log begins now.
	forgetful bool
	forgot    bool // it was when damage was found last, and leads all the same: see accepted
	// revived is the log start that a recovery knew nothing of any more: of the
	// retired records below it that came back with that, the core has forgotten much.
	revived record.Offset
	heard   heardOf
	stamp   uint64 // the step in which it was last touched
	shown   uint64 // the step in which the view was last looked at

	view     replica.View  // after the step at hand
	was      glance        // before it
	verified record.Offset // memory equals part.committed below this
	knew     record.Offset // how far it has known this log of it to be committed, at one time or another
	settled  settledBy     // the image by whose settings it was last seen to go
	appends  int           // since derived state was last compared with a rebuild
}

// glance is what is kept of a view from one step to the next.
type glance struct {
	role       replica.Role
	epoch      record.LeaderEpoch
	high       record.Offset
	stable     record.Offset
	start      record.Offset
	shownStart record.Offset
	shown      bool
	matched    bool
	knew       record.Offset // see replicaBook
}

// moves says whether the view is another one than at a glance before.
func (r *replicaBook) moves(g *glance) bool {
	v := &r.view
	return v.HighWatermark != g.high || v.LastStable != g.stable || v.Start != g.start || v.ShownStart != g.shownStart ||
		v.Role != g.role || v.LeaderEpoch != g.epoch || v.Shown != g.shown || v.Matched != g.matched || r.knew != g.knew
}

// glance takes down what is kept of the view.
func (r *replicaBook) glance() glance {
	v := &r.view
	return glance{v.Role, v.LeaderEpoch, v.HighWatermark, v.LastStable, v.Start, v.ShownStart, v.Shown, v.Matched, r.knew}
}

// dropped are the batches that one cut takes from a log: of all that the core had asked
// for before it, whether or not the disk has come that far.
type dropped struct {
	cut     effect.Cut
	batches []record.Header
}

// loses notes what a cut at to takes away, before memory is cut.
func (r *replicaBook) loses(cut effect.Cut, to record.Offset) {
	held := r.memory.from(max(to, r.memory.start)) // below the start all is gone already
	r.drops = append(r.drops, dropped{cut, slices.Clone(held)})
}

// lost are the batches that a cut of the step at hand takes away.
func (r *replicaBook) lost(cut effect.Cut) []record.Header {
	for i := range r.drops {
		if r.drops[i].cut == cut {
			return r.drops[i].batches
		}
	}
	return nil
}

// off says that not all can be said about a partition any more: it is deleted, or
// an operator gave records up at one time or another (see surrender). That the atlas
// allows records to be gone is no reason: whoever has lost them must say so, and may
// not serve what is left as if it were all (INV-37). nil is one
// of which nothing is known yet.
func (p *partBook) off() bool { return p != nil && (p.unclean || p.deleted) }

// logFacts are the bounds and the batches of one log.
type logFacts struct {
	start, end record.Offset
	batches    []record.Header
}

// nodeBook is what the harness knows of one node beyond its logs.
type nodeBook struct {
	journal []uint64 // digests of the durable frames of the quorum journal
	torn    effect.Effect
	// snapshot and grown are the bytes of its first frame and of those behind it.
	snapshot, grown int
}

func newBook() *book {
	return &book{parts: map[record.PartitionID]*partBook{}}
}

func (b *book) node(id int32) *nodeBook {
	for int(id) >= len(b.nodes) {
		b.nodes = append(b.nodes, &nodeBook{})
	}
	return b.nodes[id]
}

func (b *book) part(id record.PartitionID) *partBook {
	p := b.known(id)
	if p == nil {
		p = &partBook{id: id, nr: len(b.list), leaders: map[record.LeaderEpoch]int32{}}
		b.parts[id] = p
		b.list = append(b.list, p)
	}
	return p
}

// known is the partition if the book has it, and else nil. It is asked several times in
// each step, mostly for one of a few.
func (b *book) known(id record.PartitionID) *partBook {
	slot := &b.near[(uint64(id.Topic)*8+uint64(id.Index))%uint64(len(b.near))]
	if p := *slot; p != nil && p.id == id {
		return p
	}
	p := b.parts[id]
	if p != nil {
		*slot = p
	}
	return p
}

func (b *book) replica(node int32, id record.PartitionID) *replicaBook {
	return b.part(id).replica(node)
}

func (p *partBook) replica(node int32) *replicaBook {
	for int(node) >= len(p.replicas) {
		p.replicas = append(p.replicas, nil)
	}
	r := p.replicas[node]
	if r == nil {
		r = &replicaBook{part: p, node: node}
		p.replicas[node] = r
	}
	return r
}

// touch notes that a replica may have changed in step number stamp.
func (b *book) touch(r *replicaBook, stamp uint64) {
	if r.stamp != stamp {
		r.stamp, r.drops = stamp, r.drops[:0]
		b.touched = append(b.touched, r)
	}
}

// extend appends the batches of an Append. Batches below old, which is at most
// the start, are forgotten now and then, but only here.
func (l *logFacts) extend(batches []byte, old record.Offset) {
	if len(l.batches) > 64 && l.batches[64].End() <= old {
		k := 0
		for k < len(l.batches) && l.batches[k].End() <= old {
			k++
		}
		if k > 64 {
			l.batches = append(l.batches[:0], l.batches[k:]...)
		}
	}
	it := record.Batches(batches)
	for it.Next() {
		l.batches = append(doubled(l.batches), it.Header)
		l.end = it.Header.End()
	}
}

// fewest is what a list of batches that grows has room for at least.
const fewest = 64

// doubled gives a list that has no room for one more twice as much: those of batches grow
// to thousands, and what append gives them by itself is a quarter more each time, so that
// most of the memory that they use is of copies that are thrown away.
func doubled[T any](list []T) []T {
	if len(list) < cap(list) {
		return list
	}
	return slices.Grow(list, max(len(list), fewest))
}

// cut drops everything at and above to.
func (l *logFacts) cut(to record.Offset) {
	k := len(l.batches)
	for k > 0 && l.batches[k-1].End() > to {
		k--
	}
	l.batches = l.batches[:k]
	l.end = min(l.end, to)
}

// trim moves the start up.
func (l *logFacts) trim(start record.Offset) { l.start = max(l.start, start) }

// dropRetired forgets the batches below the start.
func (l *logFacts) dropRetired() {
	l.batches = append(l.batches[:0], l.from(l.start)...)
}

func (l *logFacts) reset(start record.Offset) {
	*l = logFacts{start: start, end: start, batches: l.batches[:0]}
}

// from are the batches that end above offset.
func (l *logFacts) from(offset record.Offset) []record.Header {
	low, high := 0, len(l.batches)
	for step := 1; low < high; step *= 2 { // most of what is looked for is near the end
		at := max(low, high-step)
		if l.batches[at].End() <= offset {
			low = at + 1
			break
		}
		high = at
	}
	for low < high {
		if at := (low + high) / 2; l.batches[at].End() <= offset {
			low = at + 1
		} else {
			high = at
		}
	}
	return l.batches[low:]
}

// within are the batches of one append: those from base up to end. before is
// the number of batches below them.
func (l *logFacts) within(base, end record.Offset) (batches []record.Header, before int) {
	batches = l.from(base)
	before = len(l.batches) - len(batches)
	for i := range batches {
		if batches[i].BaseOffset >= end {
			return batches[:i], before
		}
	}
	return batches, before
}

// copyFrom makes l equal to other.
func (l *logFacts) copyFrom(other *logFacts) {
	l.start, l.end = other.start, other.end
	l.batches = append(l.batches[:0], other.batches...)
}

// apply makes a change of a log in l.
func (l *logFacts) apply(e effect.Effect) {
	switch e := e.(type) {
	case effect.CreateLog:
		l.reset(e.Start)
	case effect.Append:
		l.extend(e.Batches, l.start)
	case effect.Truncate:
		l.cut(e.To)
	case effect.Reset:
		l.reset(e.Start)
	case effect.TrimPrefix:
		l.trim(e.Start)
	case effect.DeleteLog:
		l.reset(0)
	}
}

// wrote, changed and flushed note what a disk has carried out.
func (b *book) wrote(n *Node, e effect.Append) {
	l := &b.replica(n.id, e.Log).disk
	l.extend(e.Batches, l.start)
}

func (b *book) changed(n *Node, e effect.Effect) {
	r := b.replica(n.id, logOf(e))
	r.disk.apply(e)
	n.world.atlas.rewritten(n.id, e)
	switch e := e.(type) {
	case effect.CreateLog:
		r.exists, r.durable = true, e.Start
		n.world.atlas.mends(n.id, e.Log)
	case effect.DeleteLog:
		r.exists, r.durable = false, 0
		n.world.atlas.mends(n.id, e.Log)
	case effect.Truncate:
		r.durable = min(r.durable, e.To)
	case effect.Reset:
		r.durable = e.Start
		n.world.atlas.mends(n.id, e.Log)
	}
	if rewrites(e) {
		r.aside.reset(0)
	}
	r.knew = min(r.knew, r.disk.end)
}

// rewrites says whether a change of a damaged log takes from the disk what recovery has
// set aside of it.
func rewrites(e effect.Effect) bool {
	switch e.(type) {
	case effect.CreateLog, effect.DeleteLog, effect.Truncate, effect.Reset:
		return true
	}
	return false
}

func (b *book) flushed(n *Node, id record.PartitionID, end record.Offset) {
	r := b.replica(n.id, id)
	r.durable = max(r.durable, end)
}

func (b *book) journalled(n *Node, frames []effect.Effect) {
	nb := b.node(n.id)
	for _, e := range frames {
		switch e := e.(type) {
		case effect.SaveQuorum:
			nb.journal = append(nb.journal, digestFrame(e.Frame))
			nb.grown += len(e.Frame)
		case effect.ReplaceQuorum:
			nb.journal, nb.snapshot, nb.grown = nb.journal[:0], len(e.Frames[0]), 0
			n.world.atlas.journalReplaced(n.id)
			for _, f := range e.Frames {
				nb.journal = append(nb.journal, digestFrame(f))
			}
		}
	}
}

func digestFrame(f []byte) uint64 {
	var r rolling
	for len(f) > 64 {
		r.bytes(f[:64])
		f = f[64:]
	}
	r.bytes(f)
	return uint64(r)
}

// closed notes a clean shutdown: everything is durable then.
func (b *book) closed(n *Node) {
	for _, p := range b.list {
		if r := p.at(n.id); r != nil && r.exists {
			r.durable = r.disk.end
		}
	}
}

// at is the replica of a node, or nil.
func (p *partBook) at(node int32) *replicaBook {
	if int(node) < len(p.replicas) {
		return p.replicas[node]
	}
	return nil
}
