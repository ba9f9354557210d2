package storage

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/chance"
	"github.com/tamarack-mq/tamarack/storage/vfs/simdisk"
)

// A log of which the folder was lost is known by its mark only. From the first start on
// it is known twice: who loses the marks as well, before the core could say so, still
// finds that there was one. So it is with a folder of which all segments were lost.
func TestALogWhoseFolderWasLostIsNotForgottenWithTheMarks(t *testing.T) {
	for _, crash := range []bool{true, false} {
		d, _ := damaged(t, func(d *simdisk.Disk) {
			require.NoError(t, removeAll(d, "7-0"))
			require.NoError(t, d.SyncDir(""))
		})
		for range 3 {
			s, found := open(t, d, small)
			require.Len(t, found.Logs, 1)
			require.NotEmpty(t, found.Logs[0].Damage)
			require.NoError(t, d.Remove(marksName))
			require.NoError(t, d.SyncDir(""))
			if crash {
				d.Crash(chance.New(1))
			} else {
				require.NoError(t, s.Close(true))
			}
		}
	}
}
