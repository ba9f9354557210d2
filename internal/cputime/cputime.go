//go:build unix

// Package cputime tells how much processor time this process has used. Unlike the
// time on the wall it does not pass faster for one that has to share its machine.
package cputime

import (
	"syscall"
	"time"
)

// Used is the processor time of all threads of this process, user and system.
func Used() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return time.Since(began)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// began stands in where the processor time is not known.
var began = time.Now()
