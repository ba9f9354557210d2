//go:build !(linux || darwin || freebsd || dragonfly)

package vfs

import (
	"errors"
	"fmt"
	"os"
	"runtime"
)

// Simulations run on any system; nodes need one whose locks and free space are
// known here.
var errSystem = fmt.Errorf("vfs: data folders on %s: %w", runtime.GOOS, errors.ErrUnsupported)

func free(string) (int64, error) { return 0, errSystem }

func lock(*os.File) error { return errSystem }
