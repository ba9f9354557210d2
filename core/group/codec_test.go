package group

import (
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/ledger"
	"github.com/tamarack-mq/tamarack/core/order"
	"github.com/tamarack-mq/tamarack/core/record"
)

// samples has a change of every kind, with every field in use.
func samples() []change {
	return []change{
		{key{kind: kindFloor}, nil},
		{key{kind: kindFloor}, floorValue{epoch: 12}},
		{key{kind: kindGroup, group: "g"}, groupValue{epoch: 9, emptySince: 1_700_000_000_000}},
		{key{kind: kindGroup, group: "g"}, groupValue{epoch: 9, emptySince: occupied}},
		{key{kind: kindMember, group: "g", member: "m"}, memberValue{
			instance: "i", session: 45e9, rebalance: 300e9, topics: []string{"a", "b"}, epoch: 5, previous: 4,
			assigned: order.Union(parts(3, 0, 1, 7), parts(900, 2)), revoking: parts(4, 0), left: true,
		}},
		{key{kind: kindMember, group: "g", member: "m"}, nil},
		{key{kind: kindTarget, group: "g", member: "m"}, targetValue{parts(3, 0, 5)}},
		{key{kind: kindOffset, group: "g", id: record.PartitionID{Topic: 3, Index: 1}}, offsetValue{
			offset: 42, leaderEpoch: record.NoLeaderEpoch, note: "n", at: 1_700_000_000_000,
		}},
		{key{kind: kindOffset, group: "g", id: record.PartitionID{Topic: 3, Index: 1}}, offsetValue{
			offset: 42, leaderEpoch: 7, at: 1_700_000_000_000, by: turn{member: "m", epoch: 3, number: 9},
		}},
		{key{kind: kindOffset, group: "g", id: record.PartitionID{Topic: 3, Index: 1}}, nil},
		{pendingKey("g", 70_000, record.PartitionID{Topic: 3, Index: 1}), pendingValue{epoch: 300, position: offsetValue{
			offset: 43, leaderEpoch: 7, note: "n", at: 1_700_000_000_000, by: turn{member: "m", epoch: 3, number: 10},
		}}},
		{pendingKey("g", 70_000, record.PartitionID{Topic: 3, Index: 1}), nil},
		{key{kind: kindProducer, producer: 70_000}, nil},
		{key{kind: kindProducer, producer: 70_000}, producerValue{epoch: 301, coordinator: 5, at: 1_700_000_000_000}},
	}
}

func encoded(c change) (k, v []byte) {
	k = appendKey(nil, c.key)
	if c.value != nil {
		v = appendValue(nil, c.value)
	}
	return k, v
}

func TestRecordsComeBackAsTheyWere(t *testing.T) {
	for _, c := range samples() {
		back, err := decode(encoded(c))
		require.NoError(t, err)
		require.Equal(t, c, back)
	}
	var back []change
	for _, batch := range ledger.Encode(samples(), 5, 100) {
		_, err := record.Validate(batch)
		require.NoError(t, err)
		require.NoError(t, ledger.Each(batch, decode, func(_ record.Offset, c change) { back = append(back, c) }))
	}
	require.Equal(t, samples(), back)
}

// The bytes are in logs for ever: the key and the value of each sample.
func TestTheFormatStays(t *testing.T) {
	for i, want := range [][2]string{
		{"02", ""},
		{"02", "0018"},
		{"030167", "001280a0abfef962"},
		{"030167", "001201"},
		{"040167016d", "0001698088aca3cf0280e0a596bb1102016101620a080403000001000681070201040001"},
		{"040167016d", ""},
		{"050167016d", "000203000005"},
		{"0601670301", "005401016e80a0abfef962"},
		{"0601670301", "00540e0080a0abfef962016d0609"},
		{"0601670301", ""},
		{"070167f0a2040301", "00d804560e016e80a0abfef962016d060a"},
		{"070167f0a2040301", ""},
		{"08f0a204", ""},
		{"08f0a204", "00da040a80a0abfef962"},
	} {
		k, v := encoded(samples()[i])
		require.Equal(t, want, [2]string{hex.EncodeToString(k), hex.EncodeToString(v)}, "sample %d", i)
	}
}

func TestWhatThisReleaseDoesNotWriteIsRefused(t *testing.T) {
	for name, c := range map[string]struct{ k, v, want string }{
		"nothing":         {"", "", "the key ends too early"},
		"unknown kind":    {"\x63", "\x00", "the key has kind 99, which this release does not know"},
		"a mark":          {"\x01\x01", "\x00\x07", "the key has kind 1, which this release does not know"},
		"key too long":    {"\x02\x00", "\x00\x00", "the key has bytes behind its end"},
		"newer value":     {"\x02", "\x01\x00", "the value has version 1, which this release does not know"},
		"short value":     {"\x02", "\x00", "the value ends too early"},
		"value too long":  {"\x02", "\x00\x00\x00", "the value has bytes behind its end"},
		"long varint":     {"\x02", "\x00\x80\x00", "the value holds a number out of range"},
		"big epoch":       {"\x02", "\x00\xff\xff\xff\xff\xff\x01", "the value holds a number out of range"},
		"false count":     {"\x05\x01g\x01m", "\x00\x7f\x01\x01", "the value ends too early"},
		"repeated":        {"\x05\x01g\x01m", "\x00\x02\x01\x01\x00\x00", "the value holds a set out of order"},
		"negative epoch":  {"\x08\x01", "\x00\x01\x00\x00", "the value holds a number out of range"},
		"large producer":  {"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "\x00\x00\x00\x00", "the key holds a number out of range"},
		"index too large": {"\x05\x01g\x01m", "\x00\x02\x01\xff\xff\xff\xff\x07\x00\x01", "the value holds a number out of range"},
	} {
		_, err := decode([]byte(c.k), []byte(c.v))
		require.EqualError(t, err, c.want, name)
	}
	member := samples()[4]
	v := member.value.(memberValue)
	v.topics = []string{"b", "a"}
	_, err := decode(encoded(change{member.key, v}))
	require.EqualError(t, err, "the value holds a set out of order")
	k, value := encoded(member)
	value[len(value)-1] = 2
	_, err = decode(k, value)
	require.EqualError(t, err, "the value holds a flag that is neither 0 nor 1")
}

func TestBatchesOfOthersAreRefused(t *testing.T) {
	_, err := Fold([]byte("short"))
	require.Error(t, err)
}

// FuzzDecode: whatever the bytes, decode does not panic, and what it accepts
// has exactly these bytes as its encoding.
func FuzzDecode(f *testing.F) {
	for _, c := range samples() {
		k, v := encoded(c)
		f.Add(k, v)
	}
	f.Fuzz(func(t *testing.T, k, v []byte) {
		c, err := decode(k, v)
		if err != nil {
			return
		}
		s := newState()
		s.apply(c)
		key, value := encoded(c)
		require.Equal(t, k, key)
		if c.value != nil {
			require.Equal(t, v, value)
		}
	})
}

// FuzzReplay: a log that cannot be read halts, and does not panic.
func FuzzReplay(f *testing.F) {
	for _, batch := range ledger.Encode(samples(), 5, 1<<20) {
		f.Add(batch)
	}
	f.Fuzz(func(t *testing.T, batches []byte) {
		digest, err := Fold(batches)
		if err != nil {
			return
		}
		same, err := Fold(batches)
		require.NoError(t, err)
		require.Equal(t, digest, same)
	})
}
