package sim

import (
	"cmp"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/storage"
)

// defaultSegment is how many bytes a segment has of a log that names no size, where the
// plan names none either: storage/store.go.
const defaultSegment = 256 << 20

// segmentBytes is how large the segments of a log are to be.
func (d *drive) segmentBytes(c effect.LogConfig) int64 {
	return cmp.Or(int64(max(0, c.SegmentBytes)), int64(d.node.world.plan.Disk.Segment), defaultSegment)
}

// rolled is INV-40 for the segments of a log: an append begins one where the last would
// grow beyond the size that is set, and nowhere else. Smaller ones are files without
// number; larger ones keep what retention is to take. An append to a log that is damaged
// is not looked at: it gives up what cannot be trusted, first.
func (d *drive) rolled(e effect.Append, l *openLog, before storage.Shape) {
	if before.Damaged || before.Segments == 0 {
		return
	}
	begun := d.store.Shape(e.Log).Segments - before.Segments
	size, more := before.Last, int64(len(e.Batches))
	switch due := size > 0 && size+more > l.segment; {
	case begun > 0 && !due:
		d.node.world.fail("INV-40", d.node.id, "a segment is begun before its time", "node %d begins a segment of partition %s behind one of %d bytes for %d more, and segments are to have %d", d.node.id, e.Log, size, more, l.segment)
	case begun == 0 && due:
		d.node.world.fail("INV-40", d.node.id, "a segment outgrows its size", "node %d adds %d bytes to a segment of partition %s that has %d, and segments are to have %d", d.node.id, more, e.Log, size, l.segment)
	}
}
