package main

import "syscall"

// peakMemory is the most memory that this process had at any time, in bytes.
func peakMemory() uint64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return uint64(u.Maxrss) << 10
}
