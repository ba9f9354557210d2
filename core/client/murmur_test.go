package client

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// The values are those by which Kafka's own tests pin its hash down.
func TestMurmur2IsTheHashOfTheFieldsClients(t *testing.T) {
	for text, want := range map[string]int32{
		"21":                         -973932308,
		"foobar":                     -790332482,
		"a-little-bit-long-string":   -985981536,
		"a-little-bit-longer-string": -1486304829,
		"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
		"abc": 479470107,
	} {
		require.Equal(t, want, int32(murmur2([]byte(text))), text)
	}
}

func TestAKeyAlwaysHasAPartition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.SliceOf(rapid.Byte()).Draw(t, "key")
		count := rapid.Int32Range(1, 1000).Draw(t, "count")
		p := PartitionOf(key, count)
		require.True(t, p >= 0 && p < count)
		require.Equal(t, p, PartitionOf(key, count))
	})
}
