package cputime

import (
	"syscall"
	"time"
	"unsafe"
)

const threadClock = 3 // CLOCK_THREAD_CPUTIME_ID

// Thread is the processor time of the calling thread. Who compares two of them calls
// runtime.LockOSThread before.
func Thread() time.Duration {
	var t syscall.Timespec
	if _, _, e := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, threadClock, uintptr(unsafe.Pointer(&t)), 0); e != 0 {
		return time.Since(began)
	}
	return time.Duration(t.Nano())
}
