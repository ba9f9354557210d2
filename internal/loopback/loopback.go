// Package loopback finds addresses on this machine that nobody uses, for
// clusters whose nodes must know one another's before they listen.
package loopback

import (
	"fmt"
	"math/rand/v2"
	"net"
)

// Ports are taken from below the range from which operating systems take the
// near end of outgoing connections (32768 up on Linux): between the search and
// the use of a port no connection of somebody else can slip onto it.
const (
	lowest  = 10000
	highest = 32000
	tries   = 200
)

// Addresses finds count different ones.
func Addresses(count int) ([]string, error) {
	var list []string
	var held []net.Listener // so that none is found twice
	defer func() {
		for _, l := range held {
			l.Close()
		}
	}()
	var last error
	for range tries + count {
		if len(list) == count {
			return list, nil
		}
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", lowest+rand.IntN(highest-lowest)))
		if err != nil {
			last = err
			continue
		}
		held = append(held, l)
		list = append(list, l.Addr().String())
	}
	if len(list) == count {
		return list, nil
	}
	return nil, fmt.Errorf("no free ports on loopback: %w", last)
}
