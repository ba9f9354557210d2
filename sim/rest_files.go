package sim

import (
	"strconv"
	"strings"

	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/core/replica"
	"github.com/tamarack-mq/tamarack/storage/vfs/simdisk"
)

// diskUnrest is the part of INV-34 about disks: what is to go is gone from them, too.
// In the folder of a log no segment lies wholly below its start and no index is
// without its segment, and no folder is on its way in or out. A disk that has lost
// files by itself may not have been found out yet.
func (w *World) diskUnrest(add complain) {
	for _, n := range w.nodes[1:] {
		c := n.Core()
		if c == nil || n.forGood {
			continue
		}
		leftFiles(n.drive.disk.Files(), func(id record.PartitionID) (record.Offset, bool) {
			var v replica.View
			ok := c.Replicas().ViewInto(id, &v)
			return v.Start, ok && v.Damage == "" && w.atlas.sound(n.id, id)
		}, func(what, path string) { add(what, "node %d has %s on its disk", n.id, path) })
	}
}

// leftFiles goes over the files of a disk, which come by folder and name, and tells of
// those that should not be there any more. start says where a log begins; false: that
// is not certain. A segment that ends just there may have been the last one when the
// start moved; it goes with the next move.
func leftFiles(files []simdisk.File, start func(record.PartitionID) (record.Offset, bool), tell func(what, path string)) {
	segments := map[string]bool{}
	for i := range files {
		segments[files[i].Path] = true
	}
	before := ""
	for i := range files {
		path := files[i].Path
		folder, name, inFolder := strings.Cut(path, "/")
		switch {
		case !inFolder:
		case strings.HasSuffix(folder, ".deleted"), strings.HasSuffix(folder, ".new"):
			tell("a folder is left", path)
		case strings.HasSuffix(name, ".index"):
			if _, known := start(folderLog(folder)); known && !segments[strings.TrimSuffix(path, ".index")+".log"] {
				tell("an index is left without its segment", path)
			}
		case strings.HasSuffix(name, ".log"):
			last := before
			before = path
			if lastFolder, _, _ := strings.Cut(last, "/"); lastFolder != folder {
				continue
			}
			base, err := strconv.ParseInt(strings.TrimSuffix(name, ".log"), 10, 64)
			if at, known := start(folderLog(folder)); err == nil && known && record.Offset(base) < at {
				tell("a segment below the start of its log is left", last)
			}
		}
	}
}

// folderLog is the log whose folder has a name.
func folderLog(folder string) record.PartitionID {
	topic, index, _ := strings.Cut(folder, "-")
	t, _ := strconv.ParseUint(topic, 10, 64)
	i, _ := strconv.ParseInt(index, 10, 32)
	return record.PartitionID{Topic: record.TopicID(t), Index: int32(i)}
}
