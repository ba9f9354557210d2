package server

import (
	"fmt"
	"log/slog"
	"syscall"
)

const (
	leastDescriptors = 64
	// mostOpenFiles is how many files storage keeps open for the next use, where
	// there are descriptors for that.
	mostOpenFiles = 1024
)

// share divides what the system lets this process open: half of it for
// connections, a quarter for files that are kept open, the rest for files at
// work. Clients can take only their part, so that they cannot keep the node from
// its own files.
func (c *Config) share(limit uint64, log *slog.Logger) (openFiles int, err error) {
	if limit < leastDescriptors {
		return 0, fmt.Errorf("the system lets this process open only %d files: raise the limit (ulimit -n) to %d at least",
			limit, leastDescriptors)
	}
	limit = min(limit, 1<<30)
	most := int(limit / 2)
	switch {
	case c.Limits.MaxConnections == 0:
		c.Limits.MaxConnections = min(defaultConnections, most)
	case c.Limits.MaxConnections > most:
		c.Limits.MaxConnections = most
	}
	if most < defaultConnections {
		log.Warn("few files may be open at once: raise the limit (ulimit -n)", "limit", limit, "connections", c.Limits.MaxConnections)
	}
	return min(mostOpenFiles, int(limit/4)), nil
}

// defaultConnections is the default of tcp.Limits.MaxConnections.
const defaultConnections = 10_000

// descriptors is how many files and connections this process may have open. The
// runtime has raised it as far as it can.
func descriptors() (uint64, error) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 0, fmt.Errorf("cannot tell how many files may be open: %w", err)
	}
	return limit.Cur, nil
}
