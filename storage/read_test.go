package storage

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/effect"
)

// A read that looks for its batch behind one whose length is damaged says how far it came.
func TestDamageSaysWhereItIs(t *testing.T) {
	options := small
	options.IndexInterval = 100_000 // it begins at the first batch
	d, s := newStore(t, options)
	do(t, s, effect.CreateLog{Log: logA})
	batches := fill(t, s, logA, 0, 1, 2)
	do(t, s, effect.Flush{Log: logA})
	end := len(batches[0]) + len(batches[1])
	f, err := d.Open(segmentPath("7-0", 0))
	require.NoError(t, err)
	_, err = f.WriteAt(binary.BigEndian.AppendUint32(nil, uint32(end-12)), 8) // the first batch takes up the second
	require.NoError(t, err)
	_, err = s.Read(effect.Slice{Log: logA, From: 4, To: 6, MaxBytes: 1000})
	var damage *DamageError
	require.ErrorAs(t, err, &damage)
	require.Equal(t, DamageError{
		Log: logA, Offset: 3, Path: segmentPath("7-0", 0), Position: int64(end), Reason: "the file ends before its time",
	}, *damage)
}
