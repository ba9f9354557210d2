package controller

import (
	"slices"

	"github.com/tamarack-mq/tamarack/core/message"
)

// history keeps the latest changes, so that a broker that is a little behind
// gets what it lacks and not the whole image.
type history struct {
	limit   int             // changes kept, about
	from    message.Version // deltas reach back to here
	last    message.Version // of the last change
	size    int
	entries []committed
}

// committed are the changes of one entry of the log.
type committed struct {
	version message.Version
	changes []message.Change
}

func (h *history) reset(version message.Version) {
	h.from, h.last, h.size, h.entries = version, version, 0, nil
}

func (h *history) add(version message.Version, changes []message.Change) {
	if len(changes) == 0 {
		return
	}
	h.last = version
	h.size += len(changes)
	h.entries = append(h.entries, committed{version, changes})
	for h.size > h.limit && len(h.entries) > 1 {
		h.from = h.entries[0].version
		h.size -= len(h.entries[0].changes)
		h.entries[0] = committed{}
		h.entries = h.entries[1:]
	}
}

// older counts the changes that are kept, but for those of the newest entry.
func (h *history) older() (n int) {
	for i := range max(1, len(h.entries)) - 1 {
		n += len(h.entries[i].changes)
	}
	return n
}

// since returns all changes after a version, unless they are forgotten.
func (h *history) since(version message.Version) ([]message.Change, bool) {
	if version < h.from {
		return nil, false
	}
	at, _ := slices.BinarySearchFunc(h.entries, version+1, func(e committed, v message.Version) int {
		switch {
		case e.version < v:
			return -1
		case e.version > v:
			return 1
		}
		return 0
	})
	missing := h.entries[at:]
	if len(missing) == 1 {
		return missing[0].changes, true
	}
	var changes []message.Change
	for _, e := range missing {
		changes = append(changes, e.changes...)
	}
	return changes, true
}
