package sim

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/storage/vfs/simdisk"
)

func TestFilesThatAreLeftAreSeen(t *testing.T) {
	var files []simdisk.File
	for _, path := range []string{
		"5-0/00000000000000000000.log",
		"5-0/00000000000000000010.index",
		"5-0/00000000000000000010.log",
		"5-0/00000000000000000020.log",
		"5-0/00000000000000000030.index",
		"5-0/checkpoint",
		"5-1.deleted/00000000000000000000.log",
		"6-0/00000000000000000007.log",
		"marks",
	} {
		files = append(files, simdisk.File{Path: path})
	}
	told := func(start record.Offset) (list []string) {
		leftFiles(files, func(id record.PartitionID) (record.Offset, bool) {
			return start, id == record.PartitionID{Topic: 5}
		}, func(what, path string) { list = append(list, what+": "+path) })
		return list
	}
	always := []string{
		"an index is left without its segment: 5-0/00000000000000000030.index",
		"a folder is left: 5-1.deleted/00000000000000000000.log",
	}
	require.Equal(t, always, told(9), "the first segment reaches beyond the start")
	require.Equal(t, always, told(10), "it was the last one when the start moved")
	require.Equal(t, append([]string{"a segment below the start of its log is left: 5-0/00000000000000000000.log"}, always...), told(19))
	require.Equal(t, append([]string{
		"a segment below the start of its log is left: 5-0/00000000000000000000.log",
		"a segment below the start of its log is left: 5-0/00000000000000000010.log",
	}, always...), told(25))
}
