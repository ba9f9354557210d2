package sim

import (
	"bytes"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/storage/vfs/simdisk"
)

func TestWhereTheRecordsBeginThatADamageSpoils(t *testing.T) {
	a, b, c := batch(7, 1, "a"), batch(8, 3, "b"), batch(9, 1, "c")
	whole := slices.Concat(a, b, c)
	first, second := int64(len(a)), int64(len(a)+len(b))
	flipped := func(at int64) []byte {
		s := bytes.Clone(whole)
		s[at] ^= 0x10
		return s
	}
	for name, x := range map[string]struct {
		segment []byte
		at      int64
		from    record.Offset
	}{
		"the first byte":              {flipped(0), 0, 7},
		"the last byte of a batch":    {flipped(first - 1), first - 1, 7},
		"the first byte of the next":  {flipped(first), first, 8},
		"the length of a batch":       {flipped(first + 8), first + 8, 8},
		"an epoch, which no sum says": {flipped(second + 15), second + 15, 9},
		"behind what was hit before":  {flipped(first + 40), second + 40, 8},
		"cut within a batch":          {whole[:second-2], second - 2, 8},
		"cut between two":             {whole[:second], second, 9},
		"gone":                        {nil, 0, 7},
	} {
		require.Equal(t, x.from, spoilt(x.segment, 7, x.at), name)
	}
}

// Recovery that begins at a checkpoint cuts at the second of two damages to one segment,
// and leaves the first, below the checkpoint, for a read to find: until the log begins
// anew its copy does not count.
func TestOfTwoDamagesToASegmentTheFirstStays(t *testing.T) {
	for first, counts := range map[record.Offset]bool{1: false, 2: true, 3: true} {
		s, state := mapped(t)
		registers(t, s, s.nodes[3].incarnation)
		inSync := func(nodes ...message.NodeID) { inSync(s, state, nodes...) }
		s.atlas.damage(s.nodes[3], simdisk.Damage{Path: firstSegment})
		s.atlas.ails[3].hits[part] = []wound{{firstSegment, first}, {firstSegment, 2}, {"marks", noRecords}}
		s.atlas.found(3, &effect.RecoveredLog{ID: part, End: 2, Damage: firstSegment})
		s.atlas.rewritten(3, effect.Truncate{Log: part, To: 2})
		inSync(1, 2)
		inSync(1, 2, 3)
		require.Equal(t, counts, s.atlas.clean(3, part), first)
		require.Equal(t, counts, s.atlas.sound(3, part), first)

		s.book.changed(s.nodes[3], effect.Reset{Log: part}) // a read has met it
		inSync(1, 2)
		inSync(1, 2, 3)
		require.True(t, s.atlas.sound(3, part), first)
	}
}

// What a cut takes away is not below what is written in its place.
func TestACutTakesAwayWhatWasHitBehindIt(t *testing.T) {
	s, _ := mapped(t)
	s.atlas.damage(s.nodes[3], simdisk.Damage{Path: firstSegment})
	s.atlas.ails[3].hits[part] = []wound{{firstSegment, 1}, {"marks", noRecords}}
	s.atlas.rewritten(3, effect.Truncate{Log: part, To: 1})
	require.False(t, s.atlas.hitBelow(3, part, 9))
	require.Equal(t, []wound{{"marks", noRecords}}, s.atlas.ails[3].hits[part])
	require.False(t, s.atlas.clean(3, part), "nobody has told of it, and its mark was hit")
}
