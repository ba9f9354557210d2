package order

import (
	"cmp"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestKeysComeSorted(t *testing.T) {
	m := map[string]int{"c": 1, "a": 2, "b": 3}
	require.Equal(t, []string{"a", "b", "c"}, Keys(m))
	require.Equal(t, []string{"c", "b", "a"}, KeysBy(m, func(x, y string) int { return cmp.Compare(y, x) }))
	require.Empty(t, Keys(map[int]int(nil)))
}
