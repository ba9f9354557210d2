package history

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAProductTellsWhatItWasMadeOf(t *testing.T) {
	input := []byte("c3.1-9|abc")
	for stage, name := range []string{"c5.2-17", "c6.1-3", "c7.4-1"} {
		value := AppendProduct(nil, name, stage, input)
		copy, made, ok := Product(value)
		require.True(t, ok)
		require.Equal(t, stage, copy)
		require.Equal(t, string(input), string(made))
		input = value
	}
	require.Equal(t, "c7.4-1<2<c6.1-3<1<c5.2-17<0<c3.1-9|abc", string(input))
}

func TestOtherValuesAreNoProducts(t *testing.T) {
	for _, value := range []string{"", "c3.1-9", "c3.1-9|abc", "a<b", "a<1", "a<b<c", "a<-1<c", "a<99999999999<c", "a<<c"} {
		_, _, ok := Product([]byte(value))
		require.False(t, ok, value)
	}
}

func FuzzProduct(f *testing.F) {
	f.Add([]byte("c5.2-17<1<c3.1-9"))
	f.Fuzz(func(t *testing.T, value []byte) {
		copy, input, ok := Product(value)
		if ok && (copy < 0 || len(input) >= len(value)) {
			t.Fatalf("%q: copy %d of %q", value, copy, input)
		}
	})
}
