package txn

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/ledger"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// samples has a change of every kind, with every field in use.
func samples() []change {
	return []change{
		{name: "orders", value: value{phase: Empty, now: Identity{101, 0}, next: -1, ended: nobody, timeout: message.Minute, started: -1, updated: 1_700_000_000_000, incarnation: 1<<63 + 7}},
		{name: "orders", value: value{
			phase: PrepareCommit, now: Identity{101, 32767}, next: 300, ended: Identity{101, 32766}, timeout: message.Second,
			started: 1_700_000_000_000, updated: 1_700_000_000_001, partitions: []record.PartitionID{one, two, three}, incarnation: 300,
			waiting: []record.PartitionID{two},
		}},
		{name: "payments", value: value{phase: CompleteAbort, now: Identity{7, 2}, next: -1, ended: Identity{7, 1}, timeout: message.Second, started: -1}},
		{name: "slow", value: value{phase: Empty, now: Identity{7, 3}, next: -1, ended: nobody, timeout: message.Second, started: -1, overrun: overrun{Identity{7, 1}, 64}}},
		{name: "orders", gone: true},
	}
}

func encoded(c change) (k, v []byte) {
	k = c.AppendKey(nil)
	if !c.gone {
		v = c.AppendValue(nil)
	}
	return k, v
}

func TestRecordsComeBackAsTheyWere(t *testing.T) {
	for _, c := range samples() {
		back, err := decode(encoded(c))
		require.NoError(t, err)
		require.Equal(t, c, back)
	}
	var back []Transaction
	for _, batch := range ledger.Encode(samples(), 5, 100) {
		require.NoError(t, EachRecord(batch, func(_ record.Offset, t Transaction, gone bool) { back = append(back, t) }))
	}
	require.Equal(t, Transaction{
		TransactionalID: "orders", Phase: PrepareCommit, Now: Identity{101, 32767}, Ended: Identity{101, 32766}, Turn: Identity{300, 0},
		Timeout: message.Second, Started: 1_700_000_000_000, Updated: 1_700_000_000_001, Partitions: []record.PartitionID{one, two, three},
		Waiting: []record.PartitionID{two}, Incarnation: 300,
	}, back[1])
	require.Equal(t, Transaction{TransactionalID: "orders"}, back[4])
}

// The bytes are in logs for ever.
func TestTheFormatStays(t *testing.T) {
	k, v := encoded(samples()[1])
	require.Equal(t, "\x02\x06orders", string(k))
	fields := "\x03\xca\x01\xfe\xff\x03\xd8\x04\xca\x01\xfc\xff\x03\x80\xa8\xd6\xb9\x07\x80\xa0\xab\xfe\xf9b\x82\xa0\xab\xfe\xf9b\x03\x05\x00\x00\x01\x04\x00"
	require.Equal(t, "\x01"+fields+"\xac\x02\x01\x05\x01", string(v))
	plain := samples()[1]
	plain.incarnation, plain.waiting = 0, nil
	_, v = encoded(plain)
	require.Equal(t, "\x00"+fields, string(v))
	late := samples()[1]
	late.overrun = overrun{Identity{101, 32760}, 64}
	_, v = encoded(late)
	require.Equal(t, "\x02"+fields+"\xac\x02\x01\x05\x01"+"\xca\x01\xf0\xff\x03\x80\x01", string(v))
}

func TestWhatThisReleaseDoesNotWriteIsRefused(t *testing.T) {
	good := "\x00\x01\x02\x00\x01\x01\x01\x02\x01\x02"
	for name, c := range map[string]struct{ k, v, want string }{
		"nothing":         {"", "", "the key pack: the bytes end within a value"},
		"unknown kind":    {"\x03\x01a", good + "\x00", "the key has kind 3, which this release does not know"},
		"key too long":    {"\x02\x01ab", good + "\x00", "the key has bytes behind its end"},
		"long number":     {"\x02\x81\x00a", good + "\x00", "the key holds what this release does not write"},
		"newer value":     {"\x02\x01a", "\x03\x00", "the value has version 3, which this release does not know"},
		"who it is not":   {"\x02\x01a", "\x01" + good[1:] + "\x00\x00\x00", "the value holds what this release does not write"},
		"took no time":    {"\x02\x01a", "\x02" + good[1:] + "\x00\x07\x00\x02\x00\x00", "the value holds what this release does not write"},
		"took less":       {"\x02\x01a", "\x02" + good[1:] + "\x00\x07\x00\x02\x00\x01", "the value holds what this release does not write"},
		"waits for none":  {"\x02\x01a", "\x01" + good[1:] + "\x00\x07\x01\x05\x00", "the value holds what this release does not write"},
		"waits unsorted":  {"\x02\x01a", "\x01\x05" + good[2:] + "\x00\x07\x02\x05\x01\x00\x00", "the value holds what this release does not write"},
		"cut short":       {"\x02\x01a", "\x01" + good[1:] + "\x00", "the value pack: the bytes end within a value"},
		"short value":     {"\x02\x01a", good, "the value pack: the bytes end within a value"},
		"value too long":  {"\x02\x01a", good + "\x00\x00", "the value has bytes behind its end"},
		"unknown phase":   {"\x02\x01a", "\x00\x07" + good[2:] + "\x00", "the value holds what this release does not write"},
		"no phase":        {"\x02\x01a", "\x00\x00" + good[2:] + "\x00", "the value holds what this release does not write"},
		"empty and open":  {"\x02\x01a", good + "\x01\x05\x00", "the value holds what this release does not write"},
		"open and empty":  {"\x02\x01a", "\x00\x02" + good[2:] + "\x00", "the value holds what this release does not write"},
		"repeated":        {"\x02\x01a", "\x00\x02" + good[2:] + "\x02\x05\x00\x00\x00", "the value holds what this release does not write"},
		"epoch too large": {"\x02\x01a", "\x00\x01\x02\x80\x80\x04\x01\x01\x01\x02\x01\x02\x00", "the value holds what this release does not write"},
		"false count":     {"\x02\x01a", good + "\x7f", "the value pack: the bytes end within a value"},
		"index too large": {"\x02\x01a", "\x00\x02" + good[2:] + "\x01\x05\x80\x80\x80\x80\x10", "the value holds what this release does not write"},
	} {
		_, err := decode([]byte(c.k), []byte(c.v))
		require.EqualError(t, err, c.want, name)
	}
}

func TestRemovingWhatIsNotThereChangesNothing(t *testing.T) {
	s := newState()
	for _, c := range samples() {
		s.apply(change{name: c.name, gone: true})
	}
	require.Equal(t, newState(), s)
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
		newState().apply(c)
		key, value := encoded(c)
		require.Equal(t, k, key)
		if !c.gone {
			require.Equal(t, v, value)
		}
	})
}
