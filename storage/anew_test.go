package storage

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/chance"
	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/storage/vfs/simdisk"
)

// withoutMarks is a log of 36 records whose mark was lost, and the batches in it.
func withoutMarks(t *testing.T) (*simdisk.Disk, *Store, [][]byte) {
	d, batches := damaged(t, func(d *simdisk.Disk) {
		require.NoError(t, d.Remove(marksName))
		require.NoError(t, d.SyncDir(""))
	})
	s, found := open(t, d, small)
	require.Contains(t, found.Logs[0].Damage, "marks were lost")
	return d, s, batches
}

// The log that is to take the place of another one is made beside it first. Until it is
// whole the old one stays, also one of which no mark told anything.
func TestAHalfMadeLogTakesNoPlace(t *testing.T) {
	for name, c := range map[string]struct {
		before []effect.Effect
		left   int
		damage string
	}{
		"of a log that was not put in order": {nil, 12, "marks were lost"},
		"of one that was":                    {[]effect.Effect{effect.Truncate{Log: logA, To: 18}}, 6, ""},
	} {
		t.Run(name, func(t *testing.T) {
			d, s, batches := withoutMarks(t)
			do(t, s, c.before...)
			d.Kill()
			require.NoError(t, d.Mkdir("7-0"+newSuffix)) // the first step of a reset, and the last of this process
			d.Crash(chance.New(1))
			s, found := open(t, d, small)
			require.Equal(t, headers(batches[:c.left]...), found.Logs[0].Headers)
			require.Contains(t, found.Logs[0].Damage, c.damage)
			require.Equal(t, c.damage == "", found.Logs[0].Damage == "")
			got, err := readAll(s, logA, 0, found.Logs[0].End, 500)
			require.NoError(t, err)
			require.Equal(t, bytes.Join(batches[:c.left], nil), got)
			require.NotContains(t, files(t, d, ""), "7-0"+newSuffix)
		})
	}
}

// What is left by a cut was durable before, whatever the marks said: damage to it is no
// torn tail.
func TestWhatACutHasLeftIsClaimedAgain(t *testing.T) {
	d, s, batches := withoutMarks(t)
	do(t, s, effect.Truncate{Log: logA, To: 18})
	d.Kill()
	whole := d.Clone()
	_, found := open(t, whole, small)
	require.EqualValues(t, 18, found.Logs[0].End)
	require.Equal(t, headers(batches[:6]...), found.Logs[0].Headers)

	flip(t, d, segmentPath("7-0", 15), 20)
	_, found = open(t, d, small)
	require.Contains(t, found.Logs[0].Damage, "damaged at offset 15")
}
