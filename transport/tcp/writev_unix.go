//go:build unix

package tcp

import "golang.org/x/sys/unix"

// writev writes pieces to a file descriptor that does not block.
func writev(fd int, pieces [][]byte) (int, error) {
	if len(pieces) == 1 {
		return unix.Write(fd, pieces[0])
	}
	return unix.Writev(fd, pieces[:min(len(pieces), writePieces)])
}
