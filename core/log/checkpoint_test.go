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

func TestCheckpointsComeBack(t *testing.T) {
	for _, s := range []snapshot{sound(), {at: 0, epochs: history{}, chunks: []chunk{}, producers: []snapshotProducer{}}} {
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
	s := sound()
	whole := s.encode()
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
	next[0] = 2
	_, err = decodeSnapshot(seal(next))
	require.ErrorContains(t, err, "version 2")
	flag := body()
	flag[1] = 4
	_, err = decodeSnapshot(seal(flag))
	require.ErrorContains(t, err, "flags")
	many := binary.AppendVarint([]byte{checkpointVersion, 0, 0}, 1<<40) // epochs
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
