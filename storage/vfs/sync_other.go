//go:build !linux

package vfs

import "os"

// syncData has the device write its own cache out, too, where the system has a
// call for that (F_FULLFSYNC on macOS).
func syncData(f *os.File) error { return f.Sync() }
