package sim

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/storage/vfs/simdisk"
)

// wound is one damage to a file of a log, or to what a node keeps of its logs.
type wound struct {
	path string
	// from is where the records begin that it spoils, by what stands in the file; of a
	// file that is read by the name of a segment, and holds no records, where that
	// begins; and elsewhere noRecords.
	from record.Offset
}

// noRecords lies behind all records.
const noRecords record.Offset = math.MaxInt64

// wound is what a damage that was just done does to a log. One segment may be hit more
// than once, so it is not enough to know which: what recovery cuts off at one damage
// leaves what was hit below.
func (d *drive) wound(by simdisk.Damage) wound {
	name := by.Path[strings.LastIndexByte(by.Path, '/')+1:]
	digits, _, _ := strings.Cut(name, ".")
	base, err := strconv.ParseInt(digits, 10, 64)
	switch {
	case err != nil:
		return wound{by.Path, noRecords}
	case isLogFile(by.Path):
		return wound{by.Path, spoilt(d.disk.Content(by.Path), record.Offset(base), by.Offset)}
	}
	return wound{by.Path, record.Offset(base)}
}

// spoilt is where the batch begins in which a byte of a segment lies, or the first one
// before it that is none any more: nothing tells what follows that. Of a segment that
// ends there, or is gone, it is the end of what is left.
func spoilt(segment []byte, base record.Offset, at int64) record.Offset {
	pos := int64(0)
	for it := record.Batches(segment); it.Next(); {
		pos += int64(len(it.Bytes))
		if at < pos || it.Header.BaseOffset != base || record.Checksum(it.Bytes) != it.Header.CRC {
			break
		}
		base = it.Header.End()
	}
	return base
}

// hitBelow says whether a log was hit below an offset, and not given up since.
func (a *atlas) hitBelow(node int32, id record.PartitionID, to record.Offset) bool {
	return slices.ContainsFunc(a.ails[node].hits[id], func(w wound) bool { return w.from < to })
}

// cutOff notes that a disk has cut a log at an offset, and what was hit behind it.
func (a *ailment) cutOff(id record.PartitionID, to record.Offset) {
	if hits, ok := a.hits[id]; ok {
		a.hits[id] = slices.DeleteFunc(hits, func(w wound) bool { return w.from >= to && w.from != noRecords })
	}
}
