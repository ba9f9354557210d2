package sim

import (
	"slices"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/log"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/core/replica"
)

// keptByLimits is INV-15 for what the limits of a topic keep: a record that nobody asks
// to be deleted goes only when it is older than the age, or when what is behind it is
// as much as the size. Retention works by the chunk, so that it keeps more than that,
// and never less.
//
// It may have been decided some time ago, by a leader whose clock was ahead and whose
// log has been cut since. So all that was ever written behind a record counts as being
// there, and as far as wall clocks have been apart a record may be younger.
type keptByLimits struct {
	blind
	parts   []*limitedLog               // by number of the partition in the book
	deleted map[record.PartitionID]bool // somebody has asked for records to be deleted
}

// limitedLog is one partition of a topic with limits.
type limitedLog struct {
	kept    record.Offset  // all below may go, or is gone
	written []writtenBytes // by leaders
}

type writtenBytes struct {
	end   record.Offset
	bytes int
}

func (*keptByLimits) Invariant() string { return "INV-15" }

func (*keptByLimits) Looks() scope { return ofCuts | ofAppends | ofDeletions }

func (o *keptByLimits) at(part *partBook) *limitedLog {
	for part.nr >= len(o.parts) {
		o.parts = append(o.parts, nil)
	}
	if o.parts[part.nr] == nil {
		o.parts[part.nr] = &limitedLog{}
	}
	return o.parts[part.nr]
}

func (o *keptByLimits) Stepped(w *World, n *Node, in effect.Input, out []effect.Effect) {
	if w.isAbout(ofDeletions) {
		o.asked(in)
	}
	for _, e := range out {
		switch e := e.(type) {
		case effect.Append:
			if r := w.book.replica(n.id, e.Log); r.view.Role == replica.Leading {
				p := o.at(r.part)
				p.written = append(doubled(p.written), writtenBytes{e.End, len(e.Batches)})
			}
		case effect.TrimPrefix:
			o.trimmed(w, n, e)
		}
	}
}

// asked notes that somebody asks for records to be deleted, of whatever partition.
func (o *keptByLimits) asked(in effect.Input) {
	r, ok := in.(effect.Requested)
	if !ok {
		return
	}
	if m, ok := r.Msg.(*message.DeleteRecords); ok {
		if o.deleted == nil {
			o.deleted = map[record.PartitionID]bool{}
		}
		for i := range m.Partitions {
			o.deleted[m.Partitions[i].ID] = true
		}
	}
}

// trimmed judges a log start that is higher than any before.
func (o *keptByLimits) trimmed(w *World, n *Node, e effect.TrimPrefix) {
	r := w.book.replica(n.id, e.Log)
	p := o.at(r.part)
	if e.Start <= p.kept {
		return
	}
	from := p.kept
	p.kept = e.Start
	image := w.newest()
	if o.deleted[e.Log] || image == nil || r.adrift() || r.part.off() {
		return
	}
	t := image.Topic(e.Log.Topic)
	if t == nil || t.Config.Internal || w.altersTopic(t.Name) {
		return
	}
	limits := log.RetentionOf(t.Config)
	latest := n.clock.now(w.now).Wall + record.Timestamp(w.clocksApart()/Millisecond)
	gone := (&logFacts{batches: r.part.committed}).from(from)
	for i := range gone {
		h := &gone[i]
		if h.End() > e.Start {
			return
		}
		if behind := p.behind(h.End()); !mayGo(limits, h.MaxTimestamp, latest, behind) {
			w.fail("INV-15", n.id, "records are retired that the limits keep", "node %d moves the start of partition %s to %d, and the batch at %d goes, which is from %d, at most %d ms ago, with %d bytes behind it; the limits are %d bytes and %d ms", n.id, e.Log, e.Start, h.BaseOffset, h.MaxTimestamp, latest-h.MaxTimestamp, behind, limits.Bytes, limits.Age/message.Millisecond)
			w.aboutRecord(e.Log, h.BaseOffset)
			return
		}
	}
}

// mayGo says whether a batch of a time, with so many bytes behind it, may go.
func mayGo(limits log.Retention, of, now record.Timestamp, behind int64) bool {
	aged := limits.Age >= 0 && of < now-record.Timestamp(limits.Age/message.Millisecond)
	return aged || limits.Bytes > 0 && behind >= limits.Bytes
}

// behind is how much was ever written behind an offset.
func (p *limitedLog) behind(at record.Offset) (bytes int64) {
	for i := range p.written {
		if p.written[i].end > at {
			bytes += int64(p.written[i].bytes)
		}
	}
	return bytes
}

// altersTopic says whether somebody sets other limits for a topic while it is there.
func (w *World) altersTopic(name string) bool {
	return name == chaosTopic || slices.ContainsFunc(w.plan.Faults, func(f Fault) bool { return f.Kind == AlterTopic && f.Topic == name })
}
