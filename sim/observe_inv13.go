package sim

import (
	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/core/replica"
)

// damageSeen is INV-13 for what a node does: one that knows its copy to be
// damaged serves nothing of it, and is not elected with it once it has told so. A
// change from before may still make it the leader when a read has found the damage.
type damageSeen struct {
	blind
	mends mending
}

func (*damageSeen) Invariant() string { return "INV-13" }

func (*damageSeen) Looks() scope { return ofReads | ofFetched | ofMoves | ofCuts }

// Started judges that a recovery complains of a checkpoint that it cannot read, when
// nothing else tells what producers did in records that are retired. One that was
// written anew since it was hit is there; with a cut of the log others may do.
func (o *damageSeen) Started(w *World, n *Node, found *effect.Recovered) {
	o.mends.started(n, found)
	blank := w.atlas.ails[n.id].blank
	if len(blank) == 0 {
		return
	}
	for i := range found.Logs {
		f := &found.Logs[i]
		cut, hit := blank[f.ID]
		if hit && f.Damage == "" && f.Start > 0 && len(f.Checkpoint) == 0 && w.book.replica(n.id, f.ID).cut == cut {
			w.fail("INV-13", n.id, "a lost checkpoint is passed over", "node %d recovers partition %s, which begins at %d, without its checkpoint, which was damaged, and says nothing of it", n.id, f.ID, f.Start)
			return
		}
	}
	clear(blank)
}

func (o *damageSeen) Stepped(w *World, n *Node, in effect.Input, out []effect.Effect) {
	o.mends.stepped(w, n, out)
	for _, e := range out {
		if reply, ok := e.(effect.Reply); ok && len(w.atlas.ails[n.id].owed) > 0 {
			if m, ok := reply.Msg.(*message.FetchReply); ok {
				o.serves(w, n, m)
			}
		}
	}
	for _, r := range w.book.touched {
		if v := &r.view; v.Damage != "" && v.DamageTold && v.Role == replica.Leading && v.Shown && r.was.role != replica.Leading && !r.part.deleted && !r.let(n) {
			w.fail("INV-13", n.id, "a replica leads with a damaged log", "node %d begins to lead partition %s although its copy is damaged: %s", n.id, v.ID, v.Damage)
			return
		}
	}
	if done, ok := in.(effect.ReadDone); ok && w.atlas.hurt(n.id) {
		for i := range done.Results {
			it := record.Batches(done.Results[i].Batches)
			for it.Next() {
				if record.Checksum(it.Bytes) != it.Header.CRC {
					w.fail("INV-13", n.id, "storage returns a damaged batch", "storage of node %d, whose disk was hit, returns a batch at offset %d with a wrong checksum as if it were well", n.id, it.Header.BaseOffset)
					return
				}
			}
		}
	}
}

// serves judges that a copy which is known to be damaged is not read by clients,
// whoever has elected it.
func (o *damageSeen) serves(w *World, n *Node, m *message.FetchReply) {
	for i := range m.Partitions {
		f := &m.Partitions[i]
		if f.Code != message.None || len(f.Records) == 0 {
			continue // and the book need not know of a partition because a client has made one up
		}
		if r := w.book.replica(n.id, f.ID); r.view.Damage != "" {
			w.fail("INV-13", n.id, "a damaged copy is served", "node %d serves partition %s although its copy is damaged: %s", n.id, f.ID, r.view.Damage)
			return
		}
	}
}
