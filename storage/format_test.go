package storage

import (
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/record"
)

// The bytes are in data folders: a program that is newer must read them. What must
// be said in another way gets another name (the letters of an envelope, another
// file), so that older programs do not take it for what they know.
func TestTheFormatOfFilesStays(t *testing.T) {
	full := slot{version: 258, mark: mark{
		live: true, suspect: true, leaving: true, told: true, id: record.PartitionID{Topic: 300, Index: 2},
		segmentBytes: 4096, start: 5, end: 700, hw: 600, names: 9,
	}}
	slotBytes := make([]byte, slotSize)
	full.encode(slotBytes, 3)
	whose := identity{"cluster", 3, 1 << 40}
	epochs := epochTable{list: []epochStart{{1, 0}, {3, 10}}}
	checkpoint := effect.Checkpoint{At: 5, HighWatermark: 6, State: []byte("state")}
	segment := newIndex(5, 10)
	for _, h := range headers(batchOf(5, 1, 2, 10, 0), batchOf(7, 1, 2, 10, 50)) {
		segment.add(&h)
	}
	journal := appendFrame(newJournal(3, [][]byte{[]byte("one"), nil}), 2, 2, []byte("three"))

	for _, c := range []struct {
		name, want string
		written    []byte
	}{
		{"slot of marks", "0000000000000102000000000000012c0000000200001000000000000000000500000000000002bc00000000000002580000000f00000009000000036ed940da", slotBytes},
		{"identity", "544d494400000013000001000000000000000003636c75737465721a974869", whose.encode()},
		{"epochs", "000000010000000000000000df5e631500000003000000000000000a592d914c", epochs.encode()},
		{"checkpoint", "544d434b00000015000000000000000500000000000000067374617465022c06b3", encodeCheckpoint(checkpoint)},
		{"index", "544d49580000004800000000000000be000000000000000900000000000000330000000000000005000000000000000080000000000000000000000000000007000000000000005f000000000000000153bc7e49", segment.encode()},
		{"quorum", "544d514a0000000c0000000000000003000000028a2e898b00000003000000000000000000000000000000006768fe876f6e6500000000000000000000000000000000010000000000000000b429d48b0000000500000000000000020000000000000002044ee46f7468726565000000", journal},
	} {
		require.Equal(t, c.want, hex.EncodeToString(c.written), c.name)
	}

	back, ok := decodeSlot(slotBytes, 3)
	require.True(t, ok)
	require.Equal(t, full, back)
	identityBack, ok := decodeIdentity(whose.encode())
	require.True(t, ok)
	require.Equal(t, whose, identityBack)
	require.Equal(t, epochs, decodeEpochs(epochs.encode()))
	at, hw, state, ok := decodeCheckpoint(encodeCheckpoint(checkpoint))
	require.True(t, ok)
	require.Equal(t, checkpoint, effect.Checkpoint{At: at, HighWatermark: hw, State: state})
	require.Equal(t, segment.entries, decodeIndex(segment.encode(), 5, 10).entries)
	found := decodeJournal(journal)
	require.Equal(t, uint64(3), found.generation)
	require.Equal(t, [][]byte{[]byte("one"), {}, []byte("three")}, found.frames)
}
