package storage

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/tamarack-mq/tamarack/core/record"
)

// The names in a data folder:
//
//	lock                   held while a process uses the folder
//	identity, identity.copy   whose folder this is
//	clean                  the last run ended in good order
//	marks                  what is known durable of each log, and its start
//	quorum                 the journal of the metadata quorum
//	quorum.damaged         a journal found damaged, until it is replaced
//	<topic>-<index>/       a log
//	<topic>-<index>.new/      an empty log that is about to replace one
//	<topic>-<index>.deleted/  a log that is being deleted
//
// and in the folder of a log:
//
//	<base offset>.log      a segment: batches and nothing else
//	<base offset>.index    where in the segment some offsets and times are
//	epochs, epochs.copy    where each leader epoch begins
//	checkpoint             the core's derived state
const (
	lockName       = "lock"
	identityName   = "identity"
	identityCopy   = "identity.copy"
	cleanName      = "clean"
	marksName      = "marks"
	quorumName     = "quorum"
	quorumDamaged  = "quorum.damaged"
	epochsName     = "epochs"
	epochsCopy     = "epochs.copy"
	checkpointName = "checkpoint"

	logSuffix     = ".log"
	indexSuffix   = ".index"
	tmpSuffix     = ".tmp"
	newSuffix     = ".new"
	deletedSuffix = ".deleted"
)

func join(folder, name string) string {
	if folder == "" {
		return name
	}
	return folder + "/" + name
}

func folderOf(id record.PartitionID) string {
	return strconv.FormatUint(uint64(id.Topic), 10) + "-" + strconv.FormatInt(int64(id.Index), 10)
}

// parseFolder is the inverse of folderOf, and strict: no two names mean one log.
func parseFolder(name string) (record.PartitionID, bool) {
	topic, index, ok := strings.Cut(name, "-")
	if !ok {
		return record.PartitionID{}, false
	}
	t, err1 := strconv.ParseUint(topic, 10, 64)
	i, err2 := strconv.ParseInt(index, 10, 32)
	id := record.PartitionID{Topic: record.TopicID(t), Index: int32(i)}
	return id, err1 == nil && err2 == nil && folderOf(id) == name
}

func segmentPath(folder string, base record.Offset) string {
	return fmt.Sprintf("%s/%020d%s", folder, int64(base), logSuffix)
}

// parseSegment reads the base offset out of the name of a segment or index.
func parseSegment(name, suffix string) (record.Offset, bool) {
	digits, ok := strings.CutSuffix(name, suffix)
	if !ok || len(digits) != 20 {
		return 0, false
	}
	base, err := strconv.ParseInt(digits, 10, 64)
	return record.Offset(base), err == nil && base >= 0
}
