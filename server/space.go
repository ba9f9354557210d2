package server

import (
	"log/slog"
	"sync"
	"time"

	"github.com/tamarack-mq/tamarack/core/effect"
)

// spaceInterval is how often the free space is looked at, and how often writes
// that found no room are tried again.
const spaceInterval = time.Second

// marksInterval is how often the marks of what was flushed are made durable,
// if any moved.
const marksInterval = 5 * time.Second

// space watches how much room the disk has. The core is told before it is full:
// what is left then is for the quorum's journal, for groups and for followers.
type space struct {
	store   store
	inbox   *inbox
	tally   *metrics
	log     *slog.Logger
	reserve int64 // bytes that must be free
	mu      sync.Mutex
	low     bool
}

// full is called by whoever found no room.
func (s *space) full() { s.set(true, "a write found no room") }

func (s *space) set(low bool, reason string) {
	s.mu.Lock()
	changed := low != s.low
	s.low = low
	s.mu.Unlock()
	if !changed {
		return
	}
	if low {
		s.log.Error("the disk is full: no new records are taken until there is room; delete something, add space, or lower a topic's retention", "why", reason)
	} else {
		s.log.Info("the disk has room again: new records are taken")
	}
	s.inbox.put(effect.DiskSpace{Low: low})
}

// look compares what is free with the reserve. stuck is how many logs wait for
// room. Twice the reserve must be free before new records are taken again.
func (s *space) look(stuck int) {
	free, err := s.store.Free()
	if err != nil {
		s.log.Warn("cannot tell how much of the disk is free", "error", err)
		return
	}
	s.tally.free(free)
	s.mu.Lock()
	low := s.low
	s.mu.Unlock()
	switch {
	case !low && free < s.reserve:
		s.set(true, "free space fell below the reserve")
	case low && free >= 2*s.reserve && stuck == 0:
		s.set(false, "")
	}
}

// watch looks at the disk until stop is closed.
func (s *space) watch(d *disk, stop <-chan struct{}) {
	s.look(0)
	ticker := time.NewTicker(spaceInterval)
	defer ticker.Stop()
	for n := 0; ; n++ {
		select {
		case <-stop:
			return
		case <-ticker.C:
		}
		s.look(d.stuckLanes())
		d.retry()
		if n%int(marksInterval/spaceInterval) == 0 {
			if err := s.store.SyncMarks(); err != nil {
				s.log.Warn("cannot make the marks of what is flushed durable", "error", err)
			}
		}
	}
}
