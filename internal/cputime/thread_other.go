//go:build !linux

package cputime

import "time"

// Thread is the time since the process began: that of a thread is not known here.
func Thread() time.Duration { return time.Since(began) }
