package storage

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/chance"
	"github.com/tamarack-mq/tamarack/core/effect"
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

// A log whose first records are lost is replaced by an empty one. A crash in between
// finds it still damaged, or empty: never what is left of it as a sound log that
// begins later.
func TestACrashWhileADamagedLogIsReplacedHidesNoDamage(t *testing.T) {
	for name, change := range map[string]effect.Effect{
		"reset": effect.Reset{Log: logA, Start: 0}, "reset ahead": effect.Reset{Log: logA, Start: 20},
		"cut": effect.Truncate{Log: logA, To: 0},
	} {
		t.Run(name, func(t *testing.T) {
			hurt, _ := damaged(t, func(d *simdisk.Disk) { require.NoError(t, d.Remove(segmentPath("7-0", 0))) })
			outcomes := map[string]int{}
			for k := int64(1); ; k++ {
				d := hurt.Clone()
				s, found := open(t, d, small)
				require.Contains(t, found.Logs[0].Damage, "the first segment begins at")
				d.CrashAfter(k, chance.New(uint64(k)))
				if s.Do(change) == nil {
					require.Positive(t, outcomes["damaged"])
					require.Positive(t, outcomes["empty"])
					return
				}
				if k%3 == 0 {
					d.Kill()
				} else {
					d.Crash(chance.New(uint64(k)))
				}
				for range 2 {
					_, found = open(t, d, small)
					l := &found.Logs[0]
					if l.Damage == "" {
						require.Equal(t, l.Start, l.End, "crash in operation %d", k)
						outcomes["empty"]++
					} else {
						outcomes["damaged"]++
					}
					d.Kill()
				}
			}
		})
	}
}
