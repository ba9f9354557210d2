//go:build unix

package live

import "syscall"

// Signals that stop a process and let it go on.
const (
	pauseSignal  = syscall.SIGSTOP
	resumeSignal = syscall.SIGCONT
)
