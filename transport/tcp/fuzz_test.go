package tcp

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/message"
)

// Whatever the bytes, both halves of the handshake are read or refused, and
// what was read comes out the same when it is written again.
func FuzzHandshake(f *testing.F) {
	f.Add(Hello{ClusterID: "oak", Node: 1, Want: 2, Address: "localhost:1", Software: "x"}.encode())
	f.Add(Welcome{ClusterID: "oak", Node: 1, MaxFrame: 1 << 20}.encode())
	f.Add(Welcome{version: 9, code: message.UnsupportedVersion, detail: "old"}.encode())
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if h, err := readHello(bytes.NewReader(b)); err == nil && h.version == Version {
			again, err := readHello(bytes.NewReader(h.encode()))
			require.NoError(t, err)
			require.Equal(t, h, again)
		}
		if w, err := readWelcome(bytes.NewReader(b)); err == nil && w.version == Version {
			again, err := readWelcome(bytes.NewReader(w.encode()))
			require.NoError(t, err)
			require.Equal(t, w, again)
		}
	})
}
