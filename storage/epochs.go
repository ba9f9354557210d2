package storage

import (
	"encoding/binary"
	"slices"

	"github.com/tamarack-mq/tamarack/core/record"
)

// epochTable tells where in a log each leader epoch begins. A batch names its
// epoch outside its checksum, so that a leader can stamp it; on disk a flipped
// bit there would go unnoticed, and a wrong epoch makes replicas disagree. So
// the epochs are kept a second time: in a file that is durable before the first
// batch of the epoch is, of frames that carry a checksum. That file has a copy, so
// that what is damaged in it does not leave the batches as the only witness.
//
//	frame: epoch i32 | start i64 | CRC-32C u32
type epochTable struct {
	list []epochStart
	// open says that entries may be missing at the end: neither file is whole there.
	// A crash leaves it so, of epochs that begin behind all that was durable (from
	// believed on). What they would have said is taken from the batches. Below that
	// it is damage, and a batch alone is not believed: see agrees.
	open     bool
	believed record.Offset
}

type epochStart struct {
	epoch record.LeaderEpoch
	start record.Offset
}

const epochFrame = 4 + 8 + 4

func (e epochStart) appendTo(b []byte) []byte {
	at := len(b)
	b = binary.BigEndian.AppendUint32(b, uint32(e.epoch))
	b = binary.BigEndian.AppendUint64(b, uint64(e.start))
	return binary.BigEndian.AppendUint32(b, checksum(b[at:]))
}

// decodeEpochs reads the file. nil bytes stand for a file that is missing.
func decodeEpochs(b []byte) (t epochTable) {
	if b == nil {
		return epochTable{open: true}
	}
	for ; len(b) >= epochFrame; b = b[epochFrame:] {
		if binary.BigEndian.Uint32(b[12:]) != checksum(b[:12]) {
			break
		}
		e := epochStart{
			epoch: record.LeaderEpoch(binary.BigEndian.Uint32(b)),
			start: record.Offset(binary.BigEndian.Uint64(b[4:])),
		}
		if n := len(t.list); n > 0 && (e.epoch <= t.list[n-1].epoch || e.start <= t.list[n-1].start) {
			break
		}
		t.list = append(t.list, e)
	}
	t.open = len(b) > 0
	return t
}

func (t *epochTable) encode() []byte {
	var b []byte
	for _, e := range t.list {
		b = e.appendTo(b)
	}
	return b
}

// add takes in the next epoch. It changes nothing in place: readers may hold
// the list.
func (t *epochTable) add(e epochStart) { t.list = append(t.list, e) }

// cut forgets epochs that begin at or behind an offset, and tells whether there
// were any.
func (t *epochTable) cut(at record.Offset) bool {
	n := len(t.list)
	for n > 0 && t.list[n-1].start >= at {
		n--
	}
	if n == len(t.list) {
		return false
	}
	t.list = slices.Clip(t.list[:n])
	return true
}

func (t *epochTable) last() record.LeaderEpoch {
	if len(t.list) == 0 {
		return record.NoLeaderEpoch
	}
	return t.list[len(t.list)-1].epoch
}

// agrees tells whether a batch names the epoch that the table has for its place.
func (t epochTable) agrees(h *record.Header) bool {
	for i := len(t.list) - 1; i >= 0; i-- {
		e := t.list[i]
		if e.start > h.BaseOffset {
			continue
		}
		return e.epoch == h.LeaderEpoch ||
			t.open && h.BaseOffset >= t.believed && i == len(t.list)-1 && h.LeaderEpoch > e.epoch
	}
	return t.open && h.BaseOffset >= t.believed
}
