package codec_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/transport/codec"
)

// Whatever the bytes, the decoder gives a message or an *Error; and what it
// accepts means the same when it is encoded anew.
func FuzzDecode(f *testing.F) {
	for _, kind := range message.Kinds() {
		generator := rapid.Custom(func(t *rapid.T) message.Message {
			rapid.Bool().Draw(t, "rapid wants a draw, and some messages have no field")
			return drawMessage(t, kind)
		})
		for seed := range 3 {
			f.Add(frameOf(f, uint64(seed), generator.Example(seed)))
		}
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		correlation, m, err := codec.Decode(frame)
		if err != nil {
			var typed *codec.Error
			require.True(t, errors.As(err, &typed), "%T", err)
			require.Nil(t, m)
			return
		}
		again, n, err := codec.Decode(frameOf(t, correlation, m))
		require.NoError(t, err)
		require.Equal(t, correlation, again)
		require.Equal(t, m, n)
	})
}
