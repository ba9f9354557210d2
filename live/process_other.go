//go:build !linux

package live

import "syscall"

// dieWithUs has no counterpart here: the children of a run that was killed
// live on.
func dieWithUs() *syscall.SysProcAttr { return nil }
