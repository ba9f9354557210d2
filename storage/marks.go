package storage

import (
	"encoding/binary"
	"sync"

	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/storage/vfs"
)

// The file of marks tells, for each log and for the quorum journal, what was
// durable at least: that is what tells damage from a torn tail. It is the home
// of the log start as well, because moving the start on a full disk must not
// need room.
//
// It consists of slots of 64 bytes that are written in place, each of them in
// one sector. Each slot is kept twice, a page apart, and the newer intact copy
// counts. What must be durable (a start that moves, a mark that falls) is
// written to both and synced. A mark that rises is written to the copies in turn
// after each flush, and synced only now and then: a lost one costs certainty,
// not truth.
const (
	slotSize       = 64
	slotsPerBlock  = 64
	copyGap        = slotsPerBlock * slotSize // one page
	blockSize      = 2 * copyGap
	slotsPerGrowth = 2 * slotsPerBlock
	marksGrowth    = 2 * blockSize
	journalSlot    = 0
)

// noMark stands where nothing is known to be durable.
const noMark record.Offset = -1

// mark is the content of a slot.
type mark struct {
	live         bool // the slot is in use: the log's name is durable
	suspect      bool // what was durable is not known any more: the marks were lost
	leaving      bool // the log is being deleted: its folder may be gone
	id           record.PartitionID
	segmentBytes int32
	start        record.Offset // of the log. Of the journal: its generation
	end          record.Offset // all below is durable; noMark. Of the journal: frames
	hw           record.Offset // as of the last checkpoint. Of the journal: slots in the file
	names        uint32        // foldNames of the segments up to end
}

// place is where in a log's files the end of a mark is.
type place struct {
	segment record.Offset
	bytes   int64
}

type slot struct {
	mark
	version uint64
	at      place // of mark.end
	sure    place // the same for the last mark that is durable in both copies
	dirty   bool  // written since the last sync
	lagging bool  // only one copy has the present content
}

func slotPosition(n int) int64 {
	return int64(n/slotsPerBlock)*blockSize + int64(n%slotsPerBlock)*slotSize
}

const (
	slotLive    = 1
	slotSuspect = 2
	slotLeaving = 4
)

func (s *slot) encode(n int) [slotSize]byte {
	var b [slotSize]byte
	var flags uint32
	if s.live {
		flags |= slotLive
	}
	if s.suspect {
		flags |= slotSuspect
	}
	if s.leaving {
		flags |= slotLeaving
	}
	binary.BigEndian.PutUint64(b[0:], s.version)
	binary.BigEndian.PutUint64(b[8:], uint64(s.id.Topic))
	binary.BigEndian.PutUint32(b[16:], uint32(s.id.Index))
	binary.BigEndian.PutUint32(b[20:], uint32(s.segmentBytes))
	binary.BigEndian.PutUint64(b[24:], uint64(s.start))
	binary.BigEndian.PutUint64(b[32:], uint64(s.end))
	binary.BigEndian.PutUint64(b[40:], uint64(s.hw))
	binary.BigEndian.PutUint32(b[48:], flags)
	binary.BigEndian.PutUint32(b[52:], s.names)
	binary.BigEndian.PutUint32(b[56:], uint32(n)) // a write that went elsewhere is noticed
	binary.BigEndian.PutUint32(b[60:], checksum(b[:60]))
	return b
}

// decodeSlot reads one copy. A slot that was never used is all zeros, and ok.
func decodeSlot(b []byte, n int) (s slot, ok bool) {
	if [slotSize]byte(b) == ([slotSize]byte{}) {
		return slot{}, true
	}
	if binary.BigEndian.Uint32(b[60:]) != checksum(b[:60]) || binary.BigEndian.Uint32(b[56:]) != uint32(n) {
		return slot{}, false
	}
	flags := binary.BigEndian.Uint32(b[48:])
	s = slot{version: binary.BigEndian.Uint64(b), mark: mark{
		live:    flags&slotLive != 0,
		suspect: flags&slotSuspect != 0,
		leaving: flags&slotLeaving != 0,
		id: record.PartitionID{
			Topic: record.TopicID(binary.BigEndian.Uint64(b[8:])),
			Index: int32(binary.BigEndian.Uint32(b[16:])),
		},
		segmentBytes: int32(binary.BigEndian.Uint32(b[20:])),
		start:        record.Offset(binary.BigEndian.Uint64(b[24:])),
		end:          record.Offset(binary.BigEndian.Uint64(b[32:])),
		hw:           record.Offset(binary.BigEndian.Uint64(b[40:])),
		names:        binary.BigEndian.Uint32(b[52:]),
	}}
	return s, true
}

// decodeMarks reads the file. broken: there are slots of which no copy is
// intact. No slots at all: the file is lost.
func decodeMarks(b []byte) (slots []slot, broken bool) {
	for n := 0; slotPosition(n)+copyGap+slotSize <= int64(len(b)); n++ {
		if n > journalSlot && slots[journalSlot].live && n >= int(slots[journalSlot].hw) {
			break
		}
		at := slotPosition(n)
		one, ok1 := decodeSlot(b[at:at+slotSize], n)
		two, ok2 := decodeSlot(b[at+copyGap:at+copyGap+slotSize], n)
		broken = broken || !ok1 && !ok2
		if ok2 && (!ok1 || two.version > one.version) {
			one = two
		}
		slots = append(slots, one)
	}
	return slots, broken
}

// encodeMarks lays out the whole file, both copies of each slot, and says in
// the journal's how many there are.
func encodeMarks(slots []slot) []byte {
	growths := (len(slots) + slotsPerGrowth - 1) / slotsPerGrowth
	slots[journalSlot].hw = record.Offset(growths * slotsPerGrowth)
	b := make([]byte, growths*marksGrowth)
	for n := range slots {
		if slots[n].version == 0 {
			continue
		}
		c := slots[n].encode(n)
		copy(b[slotPosition(n):], c[:])
		copy(b[slotPosition(n)+copyGap:], c[:])
	}
	return b
}

// marks is the open file of marks.
type marks struct {
	mu      sync.Mutex
	syncing sync.Mutex // one sync at a time; taken before mu
	file    vfs.File
	slots   []slot
	free    []int
	dirty   []int // slots written since the last sync
	since   int   // lazy updates since the last sync
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

func (m *marks) write(n int, first, second bool) error {
	b := m.slots[n].encode(n)
	if first {
		if err := writeFull(m.file, b[:], slotPosition(n)); err != nil {
			return err
		}
	}
	if second {
		return writeFull(m.file, b[:], slotPosition(n)+copyGap)
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
			if err := m.write(n, true, true); err != nil {
				m.mu.Unlock()
				return err
			}
			m.slots[n].lagging = false
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

// foldNames folds the base offsets of segments into 32 bits, in any order.
func foldNames(sum uint32, base record.Offset) uint32 {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], uint64(base))
	return sum + checksum(b[:])*2 + 1
}
