package log

import (
	"encoding/binary"
	"encoding/hex"
	"hash/crc32"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

func twoBatches() run {
	return run{epoch: 2, count: 2, batches: [remembered]batch{{base: 10, first: 0, delta: 4}, {base: 20, first: 5}}}
}

func sound() snapshot {
	return snapshot{
		at: 100, forgotten: true,
		epochs:    history{{0, 0}, {3, 50}},
		chunks:    []chunk{{start: 0, bytes: 900, oldest: 5, latest: 9}, {start: 40, bytes: 60, oldest: 8, latest: -1}},
		producers: []snapshotProducer{{7, 3 * message.Second, twoBatches()}, {9, 0, twoBatches()}},
	}
}

func transactional() snapshot {
	s := sound()
	open, ended := twoBatches(), run{epoch: 4, transactional: true, marker: spotAt(31), coordinator: 6}
	open.transactional, open.open = true, spotAt(9)
	open.marker, open.coordinator = spotAt(8), 5
	carried := run{epoch: 4, transactional: true, open: spotAt(60)}
	s.producers = []snapshotProducer{{7, 3 * message.Second, open}, {9, 0, ended}, {11, 0, carried}, {12, 0, twoBatches()}}
	s.aborted = []span{{id: 7, first: 1, marker: 8}, {id: 9, first: 15, marker: 31}}
	return s
}

func TestCheckpointsComeBack(t *testing.T) {
	for _, s := range []snapshot{sound(), transactional(), {at: 0, epochs: history{}, chunks: []chunk{}, producers: []snapshotProducer{}}} {
		got, err := decodeSnapshot(s.encode())
		require.NoError(t, err)
		require.Equal(t, s, got)
	}
}

// What version 1 looks like on disk. When this must change, the version must.
func TestCheckpointVersion1(t *testing.T) {
	const want = "0101" + "c801" + "04" + "0000" + "0664" + "04" + "00880e0a12" + "50781001" +
		"04" + "0e04f02e04" + "140008" + "280a00" + "12040004" + "140008" + "280a00"
	s := sound()
	b := s.encode()
	require.Equal(t, want, hex.EncodeToString(b[:len(b)-4]))
}

// What version 2 says: the same, and more of producers and transactions.
func TestCheckpointVersion2(t *testing.T) {
	const want = "0201" + "c801" + "04" + "0000" + "0664" + "04" + "00880e0a12" + "50781001" +
		"08" +
		"0e04f02e04" + "140008" + "280a00" + "0e" + "12" + "100a" +
		"12080000" + "0a" + "3e0c" +
		"16080000" + "06" + "78" +
		"18040004" + "140008" + "280a00" + "00" +
		"04" + "100e02" + "3e121e"
	s := transactional()
	b := s.encode()
	require.Equal(t, want, hex.EncodeToString(b[:len(b)-4]))
}

// What there was before transactions is still said in the words of before, so
// that an older release can take a log back over.
func TestALogWithoutTransactionsIsWrittenInVersion1(t *testing.T) {
	l := New(0)
	l.Append(&record.Header{Length: 100, ProducerID: 7, Count: 1})
	l.Settle(1)
	_, state := l.Checkpoint()
	require.Equal(t, byte(plainVersion), state[0])
	l.Append(&record.Header{Length: 100, BaseOffset: 1, ProducerID: 7, ProducerEpoch: 1, Count: 1, Attributes: 0x10})
	_, state = l.Checkpoint()
	require.Equal(t, byte(plainVersion), state[0], "it is not settled yet")
	l.Settle(2)
	_, state = l.Checkpoint()
	require.Equal(t, byte(transactionalVersion), state[0])
}

func TestDecodingTransactionsTakesNothingOnTrust(t *testing.T) {
	for name, change := range map[string]func(s *snapshot){
		"a producer without anything":           func(s *snapshot) { s.producers[1].run = run{} },
		"open behind its newest batch":          func(s *snapshot) { s.producers[0].run.open = spotAt(21) },
		"open behind the end":                   func(s *snapshot) { s.producers[2].run.open = spotAt(100) },
		"open before its marker":                func(s *snapshot) { s.producers[0].run.open = spotAt(8) },
		"open in an epoch of no transactions":   func(s *snapshot) { s.producers[0].run.transactional = false },
		"marked in an epoch of no transactions": func(s *snapshot) { s.producers[1].run.transactional = false },
		"a marker behind the end":               func(s *snapshot) { s.producers[1].run.marker = spotAt(100) },
		"a marker among its batches":            func(s *snapshot) { s.producers[0].run.marker = spotAt(10) },
		"a negative coordinator epoch":          func(s *snapshot) { s.producers[0].run.coordinator = -1 },
		"a negative epoch":                      func(s *snapshot) { s.producers[3].run.epoch = -1 },
		"aborted markers that fall":             func(s *snapshot) { s.aborted[1].marker = 8 },
		"an aborted marker behind the end":      func(s *snapshot) { s.aborted[1].marker = 100 },
		"aborted before it began":               func(s *snapshot) { s.aborted[1].first = 31 },
		"aborted from before the log":           func(s *snapshot) { s.aborted[0].first = -1 },
		"aborted by nobody":                     func(s *snapshot) { s.aborted[0].id = -1 },
	} {
		s := transactional()
		change(&s)
		_, err := decodeSnapshot(s.encode())
		require.ErrorIs(t, err, ErrCheckpoint, name)
	}
}

func TestDecodingTakesNothingOnTrust(t *testing.T) {
	for name, change := range map[string]func(s *snapshot){
		"a negative offset":                  func(s *snapshot) { *s = snapshot{at: -1} },
		"epochs that fall":                   func(s *snapshot) { s.epochs[1].epoch = 0 },
		"epoch starts that fall":             func(s *snapshot) { s.epochs[1].start = 0 },
		"an epoch behind the end":            func(s *snapshot) { s.epochs[1].start = 100 },
		"a negative epoch":                   func(s *snapshot) { s.epochs[0].epoch = -1 },
		"chunks that fall":                   func(s *snapshot) { s.chunks[1].start = 0 },
		"a chunk behind the end":             func(s *snapshot) { s.chunks[1].start = 100 },
		"a negative size":                    func(s *snapshot) { s.chunks[0].bytes = -1 },
		"sizes that overflow":                func(s *snapshot) { s.chunks[0].bytes, s.chunks[1].bytes = 1<<62, 1<<62 },
		"a producer twice":                   func(s *snapshot) { s.producers[1].id = 7 },
		"a negative producer":                func(s *snapshot) { s.producers[0].id = -1 },
		"a negative producer epoch":          func(s *snapshot) { s.producers[0].run.epoch = -1 },
		"a producer without batches":         func(s *snapshot) { s.producers[0].run.count = 0 },
		"a gap in a sequence":                func(s *snapshot) { s.producers[0].run.batches[1].first = 6 },
		"a negative sequence":                func(s *snapshot) { s.producers[0].run.batches[0].first = -1 },
		"a batch of no records":              func(s *snapshot) { s.producers[0].run.batches[0].delta = -1 },
		"batches that overlap":               func(s *snapshot) { s.producers[0].run.batches[1].base = 14 },
		"a batch behind the end":             func(s *snapshot) { s.producers[0].run.batches[1].base = 100 },
		"a producer idle since before birth": func(s *snapshot) { s.producers[0].idle = -message.Second },
	} {
		s := sound()
		change(&s)
		_, err := decodeSnapshot(s.encode())
		require.ErrorIs(t, err, ErrCheckpoint, name)
	}
}

func TestDecodingSeesDamage(t *testing.T) {
	for _, s := range []snapshot{sound(), transactional()} {
		seesDamage(t, s.encode())
	}
}

func seesDamage(t *testing.T, whole []byte) {
	seal := func(body []byte) []byte {
		return binary.BigEndian.AppendUint32(body, crc32.Checksum(body, castagnoli))
	}
	for at := range whole {
		_, err := decodeSnapshot(whole[:at])
		require.ErrorIs(t, err, ErrCheckpoint, "cut at %d", at)
		for bit := range 8 {
			whole[at] ^= 1 << bit
			_, err := decodeSnapshot(whole)
			require.ErrorIs(t, err, ErrCheckpoint, "byte %d, bit %d", at, bit)
			whole[at] ^= 1 << bit
		}
	}
	body := func() []byte { return append([]byte(nil), whole[:len(whole)-4]...) }
	for at := range body() {
		_, err := decodeSnapshot(seal(body()[:at]))
		require.ErrorIs(t, err, ErrCheckpoint, "cut at %d and sealed", at)
	}
	_, err := decodeSnapshot(seal(append(body(), 0)))
	require.ErrorContains(t, err, "1 bytes follow its end")
	next := body()
	next[0] = 3
	_, err = decodeSnapshot(seal(next))
	require.ErrorContains(t, err, "version 3")
	flag := body()
	flag[1] = 4
	_, err = decodeSnapshot(seal(flag))
	require.ErrorContains(t, err, "flags")
	many := binary.AppendVarint([]byte{plainVersion, 0, 0}, 1<<40) // epochs
	_, err = decodeSnapshot(seal(many))
	require.ErrorIs(t, err, ErrCheckpoint, "a count that cannot be true")
}

// The tail keeps its order and its size through every kind of change.
func TestTail(t *testing.T) {
	var q tail
	var model []record.Offset
	next := record.Offset(0)
	for round := range 400 {
		for range round % 7 {
			q.push(&record.Header{BaseOffset: next, Length: 88})
			model = append(model, next)
			next++
		}
		for range round * 5 % 6 {
			if len(model) > 0 {
				q.pop()
				model = model[1:]
			}
		}
		if round%50 == 49 {
			keep := len(model) / 2
			q.cut(keep)
			model = model[:keep]
		}
		require.Equal(t, len(model), q.len())
		require.Equal(t, int64(100*len(model)), q.bytes)
		for i, base := range model {
			require.Equal(t, base, q.at(i).BaseOffset)
		}
		require.LessOrEqual(t, q.head, max(spareTail, q.len())+1)
	}
}
