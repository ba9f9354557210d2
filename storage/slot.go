package storage

import (
	"encoding/binary"

	"github.com/tamarack-mq/tamarack/core/record"
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
	anew         bool // an empty log that is whole already takes its place: see startAnew
	told         bool // a checkpoint tells of what is gone below the start, and nothing else does
	id           record.PartitionID
	segmentBytes int32
	start        record.Offset // of the log. Of the journal: its generation
	end          record.Offset // all below is durable; noMark. Of the journal: frames
	hw           record.Offset // as of the last checkpoint. Of the journal: slots in the file
	names        uint32        // the sum of nameHash over the segments up to end
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
	slotTold    = 8
	slotAnew    = 16
)

// encode writes a slot to the first slotSize bytes of b.
func (s *slot) encode(b []byte, n int) {
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
	if s.told {
		flags |= slotTold
	}
	if s.anew {
		flags |= slotAnew
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
		told:    flags&slotTold != 0,
		anew:    flags&slotAnew != 0,
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
	slots = make([]slot, 0, len(b)/(2*slotSize))
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
		at := b[slotPosition(n):]
		slots[n].encode(at, n)
		copy(at[copyGap:], at[:slotSize])
	}
	return b
}

// nameHash stands for one segment in a sum over the names of all.
func nameHash(base record.Offset) uint32 {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], uint64(base))
	return checksum(b[:])*2 + 1
}
