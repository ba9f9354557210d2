//go:build !unix

package live

import "syscall"

// There are no such signals here: a pause does nothing.
const (
	pauseSignal  = syscall.Signal(0)
	resumeSignal = syscall.Signal(0)
)
