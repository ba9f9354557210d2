package storage

import (
	"sync"

	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/storage/vfs"
)

// marks is the open file of marks.
type marks struct {
	mu      sync.Mutex
	syncing sync.Mutex // one sync at a time; taken before mu
	file    vfs.File
	slots   []slot
	free    []int
	dirty   []int // slots written since the last sync
	since   int   // lazy updates since the last sync
	buf     [slotSize]byte
}

// openMarks opens the file and writes all slots again, in both copies. It is
// done at each start: what an earlier process wrote may be in the page cache
// only, after a failed sync for ever. The file is made if it is missing; broken
// slots are cleared.
func openMarks(d vfs.FS, slots []slot, missing, broken bool) (*marks, error) {
	content := encodeMarks(slots)
	if missing {
		if err := replaceFile(d, "", marksName, content); err != nil {
			return nil, err
		}
	}
	f, err := d.Open(marksName)
	if err != nil {
		return nil, err
	}
	m := &marks{file: f, slots: slots}
	if !missing {
		if err := m.rewrite(content, broken); err != nil {
			_ = f.Close()
			return nil, err
		}
	}
	for n := range slots {
		slots[n].sure = slots[n].at
		if n != journalSlot && !slots[n].live {
			m.free = append(m.free, n)
		}
	}
	return m, nil
}

// rewrite writes the slots in place. Broken ones are cleared only when all
// others are durable: until then they tell that some log may have lost its own.
func (m *marks) rewrite(content []byte, broken bool) error {
	size, err := m.file.Size()
	if err != nil {
		return err
	}
	if size < int64(len(content)) {
		if err := writeFull(m.file, make([]byte, int64(len(content))-size), size); err != nil {
			return err
		}
		if err := m.file.Sync(); err != nil {
			return err
		}
	}
	for n := range m.slots {
		if m.slots[n].version == 0 {
			continue
		}
		if err := m.write(n, true, true); err != nil {
			return err
		}
	}
	if err := m.file.Sync(); err != nil || !broken {
		return err
	}
	if err := writeFull(m.file, content, 0); err != nil {
		return err
	}
	return m.file.Sync()
}

// claim takes a free slot for a log. Nothing is written to it yet.
func (m *marks) claim() (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if last := len(m.free) - 1; last >= 0 {
		n := m.free[last]
		m.free = m.free[:last]
		return n, nil
	}
	n := len(m.slots)
	if n >= m.capacity() {
		if err := m.grow(); err != nil {
			return 0, err
		}
	}
	m.slots = append(m.slots, slot{})
	return n, nil
}

// capacity is the number of slots that are durably there, used or not.
func (m *marks) capacity() int { return int(m.slots[journalSlot].hw) }

// grow adds slots. They count only when they are durably empty: what a crash
// leaves behind the end of a file that grew may be anything. They are zeros and
// not a hole, because what is written in place later must not need room.
func (m *marks) grow() error {
	at := m.capacity()
	if err := writeFull(m.file, make([]byte, marksGrowth), slotPosition(at)); err != nil {
		return err
	}
	if err := m.file.Sync(); err != nil {
		return err
	}
	m.slots[journalSlot].hw += slotsPerGrowth
	m.touch(journalSlot)
	if err := m.write(journalSlot, true, true); err != nil {
		return err
	}
	return m.file.Sync()
}

// release gives back a slot whose log is gone.
func (m *marks) release(n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.free = append(m.free, n)
}

// raise notes that more is durable, without making the note durable. It returns
// the number of such notes since the last sync.
func (m *marks) raise(n int, end record.Offset, at place, names uint32) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := &m.slots[n]
	if end <= s.end {
		return m.since, nil
	}
	s.end, s.at, s.names = end, at, names
	return m.note(n)
}

// raiseHW notes a high watermark in the same way.
func (m *marks) raiseHW(n int, hw record.Offset) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if hw <= m.slots[n].hw {
		return nil
	}
	m.slots[n].hw = hw
	_, err := m.note(n)
	return err
}

// raiseJournal is raise for the quorum journal.
func (m *marks) raiseJournal(generation, frames uint64, at place) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := &m.slots[journalSlot]
	s.start, s.end, s.at = record.Offset(generation), record.Offset(frames), at
	return m.note(journalSlot)
}

// note writes a slot to that copy whose turn it is. mu is held.
func (m *marks) note(n int) (int, error) {
	m.since++
	m.touch(n)
	s := &m.slots[n]
	s.lagging = true
	return m.since, m.write(n, s.version&1 == 0, s.version&1 == 1)
}

// set changes a slot, both copies, and makes it durable.
func (m *marks) set(n int, change func(*slot)) error {
	m.mu.Lock()
	change(&m.slots[n])
	m.touch(n)
	m.slots[n].lagging = false
	err := m.write(n, true, true)
	m.mu.Unlock()
	if err != nil {
		return err
	}
	return m.sync()
}

func (m *marks) get(n int) slot {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.slots[n]
}

// touch counts a change of a slot. mu is held.
func (m *marks) touch(n int) {
	s := &m.slots[n]
	s.version++
	if !s.dirty {
		s.dirty = true
		m.dirty = append(m.dirty, n)
	}
	// Until the next sync only what both the old and the new mark cover is sure.
	if s.at.segment < s.sure.segment || s.at.segment == s.sure.segment && s.at.bytes < s.sure.bytes {
		s.sure = s.at
	}
}

// write writes one copy of a slot or both. mu is held.
func (m *marks) write(n int, first, second bool) error {
	m.slots[n].encode(m.buf[:], n)
	if first {
		if err := writeFull(m.file, m.buf[:], slotPosition(n)); err != nil {
			return err
		}
	}
	if second {
		return writeFull(m.file, m.buf[:], slotPosition(n)+copyGap)
	}
	return nil
}

// sync makes all marks durable, in both copies.
func (m *marks) sync() error {
	m.syncing.Lock()
	defer m.syncing.Unlock()
	m.mu.Lock()
	if len(m.dirty) == 0 {
		m.mu.Unlock()
		return nil
	}
	covered := m.dirty
	m.dirty, m.since = nil, 0
	places := make([]place, len(covered))
	for i, n := range covered {
		if m.slots[n].lagging {
			s := &m.slots[n]
			if err := m.write(n, s.version&1 == 1, s.version&1 == 0); err != nil {
				m.mu.Unlock()
				return err
			}
			s.lagging = false
		}
		places[i] = m.slots[n].at
		m.slots[n].dirty = false
	}
	m.mu.Unlock()
	if err := m.file.Sync(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, n := range covered {
		if !m.slots[n].dirty { // else it has moved, perhaps back; the next sync tells
			m.slots[n].sure = places[i]
		}
	}
	return nil
}
