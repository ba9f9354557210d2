package log

import (
	"fmt"
	"slices"

	"github.com/tamarack-mq/tamarack/core/record"
)

// Digest is a hash of all that follows from the records: bounds, epochs,
// producers and transactions. Equal logs have equal digests, wherever their settled points are.
// It costs time in proportion to the number of epochs and producers.
func (l *Log) Digest() uint64 {
	d := digest(0).mix(uint64(l.start)).mix(uint64(l.end))
	for _, e := range l.epochs {
		d = d.mix(uint64(e.epoch)).mix(uint64(max(e.start, l.start)))
	}
	var all digest // a sum, so that the order of the list does not count
	for _, p := range l.producers.list {
		one := digest(p.id).mix(uint64(p.live.epoch))
		for _, b := range p.live.batches[:p.live.count] {
			one = one.mix(uint64(b.base)).mix(uint64(b.first)<<32 | uint64(uint32(b.delta)))
		}
		if p.live.transactional || p.live.marker.is() {
			one = one.mix(uint64(p.live.open)).mix(uint64(p.live.marker)).mix(uint64(p.live.coordinator))
		}
		all += one
	}
	d = d.mix(uint64(all))
	for _, a := range l.producers.transactions.aborted {
		d = d.mix(uint64(a.id)).mix(uint64(a.first)).mix(uint64(a.marker))
	}
	return uint64(d)
}

// digest is a hash in the making; mix is the finisher of SplitMix64 over what
// came before and one more number.
type digest uint64

func (d digest) mix(v uint64) digest {
	z := uint64(d)*0x9e3779b97f4a7c15 ^ v
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return digest(z ^ z>>31)
}

// Differs compares l with a log that was rebuilt from the headers of the
// batches from offset from on (INV-12), and names the first difference; "" is
// none. What happened before from is not compared, and neither is an epoch
// that was only begun. A producer that l does not know is no difference when l
// has ever let one expire, and neither is one of which it knows the last batches
// only: the leader may still have known it when it went on.
func (l *Log) Differs(rebuilt *Log, from record.Offset) string {
	from = max(from, 0)
	if max(l.start, from) != max(rebuilt.start, from) || l.end != rebuilt.end {
		return fmt.Sprintf("bounds: %v, rebuilt: %v", l, rebuilt)
	}
	if have, want := l.epochsFrom(from), rebuilt.epochsFrom(from); !slices.Equal(have, want) {
		return fmt.Sprintf("epochs: %v, rebuilt: %v", have, want)
	}
	for _, p := range l.producers.list {
		var want run
		if r := rebuilt.producers.get(p.id); r != nil {
			want = r.live.from(from)
		}
		have := p.live.from(from)
		if p.live.open.below(from) {
			want.open = 0 // the rebuilt log sees the rest of the transaction, or nothing
		}
		if l.producers.forgotten && !have.marker.is() {
			want.marker, want.coordinator = 0, 0
		}
		if have != want && !(l.producers.forgotten && have.endOf(want)) {
			return fmt.Sprintf("producer %d: %v, rebuilt: %v", p.id, have, want)
		}
	}
	for _, r := range rebuilt.producers.list {
		if l.producers.get(r.id) == nil && !l.producers.forgotten && r.live.from(from) != (run{}) {
			return fmt.Sprintf("producer %d is not known, rebuilt: %v", r.id, r.live)
		}
	}
	return l.abortedDiffers(rebuilt.producers.transactions.aborted, from)
}

// abortedDiffers compares the index of aborted transactions. Of one that began
// before from a rebuilt log has seen the rest, or nothing but the marker.
func (l *Log) abortedDiffers(rebuilt []span, from record.Offset) string {
	for _, have := range l.producers.transactions.aborted {
		early := have.first < from
		if len(rebuilt) == 0 || rebuilt[0].marker > have.marker {
			if !early {
				return fmt.Sprintf("an aborted transaction: %v, rebuilt: none", have)
			}
			continue
		}
		want := rebuilt[0]
		rebuilt = rebuilt[1:]
		if early {
			want.first = have.first
		}
		if have.id != want.id || have.first != want.first || have.marker != want.marker {
			return fmt.Sprintf("an aborted transaction: %v, rebuilt: %v", have, want)
		}
	}
	if len(rebuilt) > 0 {
		return fmt.Sprintf("an aborted transaction: none, rebuilt: %v", rebuilt[0])
	}
	return ""
}

// epochsFrom are the epochs of the records at or above from (or above Start).
func (l *Log) epochsFrom(from record.Offset) history {
	from = max(from, l.start)
	var part history
	for i, e := range l.epochs {
		end := l.end
		if i+1 < len(l.epochs) {
			end = l.epochs[i+1].start
		}
		if end > from {
			part = append(part, epochStart{e.epoch, max(e.start, from)})
		}
	}
	return part
}

// from is the part of a run that lies at or above an offset.
func (r *run) from(at record.Offset) run {
	var part run
	for _, b := range r.batches[:r.count] {
		if b.base >= at {
			part.epoch, part.transactional = r.epoch, r.transactional
			part.batches[part.count] = b
			part.count++
		}
	}
	if r.open.is() && !r.open.below(at) {
		part.open = r.open
	}
	if r.marker.is() && !r.marker.below(at) {
		part.epoch, part.transactional = r.epoch, r.transactional
		part.marker, part.coordinator = r.marker, r.coordinator
	}
	return part
}

// String prints a run for messages: its epoch, what is known of transactions, and
// sequence@offset of each batch.
func (r run) String() string {
	s := fmt.Sprintf("epoch %d", r.epoch)
	if r.transactional {
		s += " of transactions"
	}
	if r.open.is() {
		s += fmt.Sprintf(", open since %d", r.open.offset())
	}
	if r.marker.is() {
		s += fmt.Sprintf(", marker of coordinator epoch %d at %d", r.coordinator, r.marker.offset())
	}
	for _, b := range r.batches[:r.count] {
		s += fmt.Sprintf(" %d-%d@%d", b.first, b.last(), b.base)
	}
	return s
}

// String prints a transaction for messages.
func (s span) String() string {
	return fmt.Sprintf("producer %d from %d to %d", s.id, s.first, s.marker)
}

// endOf says that a run is another without its oldest batches.
func (r *run) endOf(whole run) bool {
	if r.count < 1 || r.count >= whole.count {
		return false
	}
	copy(whole.batches[:], whole.batches[whole.count-r.count:whole.count])
	clear(whole.batches[r.count:])
	whole.count = r.count
	return *r == whole
}
