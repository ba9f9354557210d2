//go:build !unix

package tcp

import "syscall"

// writev never writes here without waiting: it leaves all to a write that may
// wait.
func writev(int, [][]byte) (int, error) { return 0, syscall.EAGAIN }
