//go:build !unix

package cputime

import "time"

var began = time.Now()

// Used is the time since the process began: its processor time is not known here.
func Used() time.Duration { return time.Since(began) }
