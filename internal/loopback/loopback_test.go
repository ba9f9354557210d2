package loopback

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAddressesAreDifferentAndFree(t *testing.T) {
	list, err := Addresses(20)
	require.NoError(t, err)
	require.Len(t, list, 20)
	seen := map[string]bool{}
	for _, a := range list {
		require.False(t, seen[a])
		seen[a] = true
		l, err := net.Listen("tcp", a)
		require.NoError(t, err)
		defer l.Close()
	}
}
