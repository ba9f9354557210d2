package storage

import (
	"sync"

	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/storage/vfs"
)

// segment is one file of a log.
type segment struct {
	base record.Offset
	size int64 // in bytes; of the last segment, see partition.size
	path string

	handle *handle // guarded by handles.mu
}

// handles keeps files open that are likely to be used again, and bounds their
// number: ten thousand logs must not need ten thousand descriptors. A file that
// is in use, or that holds writes which were not synced, stays open, so that
// no failure to write back can get lost with its descriptor.
type handles struct {
	fs   vfs.FS
	most int // files open without being in use

	mu     sync.Mutex
	busy   int // in use
	idle   int
	newest *handle // of those that are idle
	oldest *handle
}

// handle is an open segment.
type handle struct {
	file   vfs.File
	of     *segment
	users  int
	doomed bool // to be closed by its last user

	newer, older *handle

	indexing sync.Mutex // guards index
	index    *index     // of a segment that is complete; nil until it is needed
}

// take opens a segment, or finds it open. Each take needs one release.
func (c *handles) take(s *segment) (*handle, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := s.handle
	if h == nil {
		f, err := c.fs.Open(s.path)
		if err != nil {
			return nil, err
		}
		h = &handle{file: f, of: s}
		s.handle = h
	} else if h.users == 0 {
		c.unlink(h)
	}
	if h.users == 0 {
		c.busy++
	}
	h.users++
	return h, nil
}

// crowded says that about as many files are in use as may be, with so many more.
func (c *handles) crowded(more int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.busy+more > c.most/2
}

// adopt is take for a file that was just created.
func (c *handles) adopt(s *segment, f vfs.File) *handle {
	c.mu.Lock()
	defer c.mu.Unlock()
	s.handle = &handle{file: f, of: s, users: 1}
	c.busy++
	return s.handle
}

func (c *handles) release(h *handle) {
	c.mu.Lock()
	defer c.mu.Unlock()
	h.users--
	if h.users > 0 {
		return
	}
	c.busy--
	if h.doomed {
		_ = h.file.Close()
		return
	}
	h.older = c.newest
	if c.newest != nil {
		c.newest.newer = h
	} else {
		c.oldest = h
	}
	c.newest = h
	c.idle++
	for c.idle > c.most {
		c.shut(c.oldest)
	}
}

// drop closes a segment that is about to be deleted or cut.
func (c *handles) drop(s *segment) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch h := s.handle; {
	case h == nil:
	case h.users > 0:
		h.doomed = true
		s.handle = nil
	default:
		c.shut(h)
	}
}

// shut closes an idle handle. mu is held.
func (c *handles) shut(h *handle) {
	c.unlink(h)
	h.of.handle = nil
	_ = h.file.Close()
}

func (c *handles) unlink(h *handle) {
	if h.newer != nil {
		h.newer.older = h.older
	} else {
		c.newest = h.older
	}
	if h.older != nil {
		h.older.newer = h.newer
	} else {
		c.oldest = h.newer
	}
	h.newer, h.older = nil, nil
	c.idle--
}

// closeAll closes what is idle.
func (c *handles) closeAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.oldest != nil {
		c.shut(c.oldest)
	}
}

// inUse counts the segments of a log that are in use.
func (p *partition) inUse() (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.store.handles.mu.Lock()
	defer p.store.handles.mu.Unlock()
	for _, s := range p.segments {
		if s.handle != nil && s.handle.users > 0 {
			n++
		}
	}
	return n
}
