package storage

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"

	"github.com/tamarack-mq/tamarack/storage/vfs"
)

// The quorum journal is one file of frames. Each frame tells how many frames
// were durable when it was written: so a frame that cannot be read is damage
// when one behind it says that it was durable, and else the torn end of a write
// that nobody relied on. Behind the last frame there may be zeros: the file is
// grown ahead of need, because a sync that need not make a new size durable
// takes one disk write less.
//
//	file:  envelope with generation u64 and first frames u32 | frame...
//	frame: length u32 | number u64 | durable u64 | CRC-32C u32 | payload | zeros to 8
//
// The generation counts the replacements; the number counts the frames of a
// generation; the first frames are those that a replacement began with.
const (
	journalKind    = "TMQJ"
	journalHeader  = envelopeOverhead + 12 // a multiple of 8
	frameHeader    = 4 + 8 + 8 + 4
	frameAlignment = 8
	longestFrame   = 1 << 30
)

// newJournal is a whole file. All its frames are durable before anybody sees it.
func newJournal(generation uint64, frames [][]byte) []byte {
	head := binary.BigEndian.AppendUint64(nil, generation)
	b := seal(journalKind, binary.BigEndian.AppendUint32(head, uint32(len(frames))))
	for i, f := range frames {
		b = appendFrame(b, uint64(i), 0, f)
	}
	return b
}

func appendFrame(b []byte, number, durable uint64, payload []byte) []byte {
	at := len(b)
	b = binary.BigEndian.AppendUint32(b, uint32(len(payload)))
	b = binary.BigEndian.AppendUint64(b, number)
	b = binary.BigEndian.AppendUint64(b, durable)
	b = binary.BigEndian.AppendUint32(b, 0)
	b = append(b, payload...)
	sum := checksum(b[at:])
	binary.BigEndian.PutUint32(b[at+20:], sum)
	for (len(b)-at)%frameAlignment != 0 {
		b = append(b, 0)
	}
	return b
}

// frameAt reads one frame. size is 0 when there is none that is intact.
func frameAt(b []byte) (number, durable uint64, payload []byte, size int) {
	if len(b) < frameHeader {
		return 0, 0, nil, 0
	}
	length := int(binary.BigEndian.Uint32(b))
	if length > longestFrame || frameHeader+length > len(b) {
		return 0, 0, nil, 0
	}
	sum := binary.BigEndian.Uint32(b[20:])
	if sum == 0 && length == 0 && binary.BigEndian.Uint64(b[4:]) == 0 {
		return 0, 0, nil, 0 // zeros ahead of need
	}
	payload = b[frameHeader : frameHeader+length : frameHeader+length]
	var head [frameHeader]byte
	copy(head[:20], b)
	if updateChecksum(checksum(head[:]), payload) != sum {
		return 0, 0, nil, 0
	}
	size = (frameHeader + length + frameAlignment - 1) / frameAlignment * frameAlignment
	return binary.BigEndian.Uint64(b[4:]), binary.BigEndian.Uint64(b[12:]), payload, min(size, len(b))
}

// foundJournal is what a journal file holds.
type foundJournal struct {
	headed     bool // the header is intact
	generation uint64
	frames     [][]byte // they point into the file's bytes
	end        int64    // of the last of them
	damaged    string   // frames that were durable cannot be read
}

// decodeJournal reads a journal file.
func decodeJournal(b []byte) (j foundJournal) {
	if len(b) < journalHeader {
		return j
	}
	p, ok := unseal(journalKind, b[:journalHeader])
	if !ok {
		return j
	}
	j.headed, j.generation, j.end = true, binary.BigEndian.Uint64(p), journalHeader
	for {
		number, _, payload, size := frameAt(b[j.end:])
		if size == 0 || number != uint64(len(j.frames)) {
			break
		}
		j.frames = append(j.frames, payload)
		j.end += int64(size)
	}
	// Whatever is behind: does any of it prove that the next frame was durable?
	lost := uint64(len(j.frames))
	if first := uint64(binary.BigEndian.Uint32(p[8:])); lost < first {
		j.damaged = fmt.Sprintf("frame %d of the %d that the journal began with, at byte %d, cannot be read", lost, first, j.end)
		return j
	}
	for at := int(j.end); at+frameHeader <= len(b); {
		number, durable, _, size := frameAt(b[at:])
		if size > 0 && number >= lost && durable > lost {
			j.damaged = fmt.Sprintf("frame %d at byte %d cannot be read, although frame %d says that it was durable", lost, j.end, number)
			return j
		}
		at += max(size, frameAlignment)
	}
	return j
}

// journal is the open quorum journal.
type journal struct {
	fs         vfs.FS
	file       vfs.File
	generation uint64
	frames     uint64
	end        int64 // of the last frame
	proven     int64 // of the last frame that the file itself says was durable
	size       int64 // of the file
	reserve    int64 // bytes to grow ahead
	buf        []byte

	damaged bool     // the file is damaged, and no longer open: the first change puts it aside
	kept    [][]byte // its frames that could be read
	aside   bool     // a damaged one was put aside
}

// save appends frames and makes them durable. On ErrNoRoom nothing has changed.
func (j *journal) save(frames [][]byte) error {
	if j.damaged {
		return j.putAside(frames)
	}
	b := j.buf[:0]
	for i, f := range frames {
		b = appendFrame(b, j.frames+uint64(i), j.frames, f)
	}
	end := j.end + int64(len(b))
	if err := j.write(b, end); err != nil {
		return err
	}
	if err := j.file.Sync(); err != nil {
		return err
	}
	j.proven, j.end = j.end, end
	j.frames += uint64(len(frames))
	if cap(b) <= 1<<20 {
		j.buf = b
	}
	return nil
}

func (j *journal) write(b []byte, end int64) error {
	frames := len(b)
	grow := end > j.size
	if grow {
		b = append(b, make([]byte, j.reserve)...)
	}
	err := writeFull(j.file, b, j.end)
	if errors.Is(err, ErrNoRoom) && grow && j.reserve > 0 {
		b = b[:frames] // there may be room without the reserve
		if err = j.file.Truncate(j.end); err == nil {
			err = writeFull(j.file, b, j.end)
		}
	}
	if errors.Is(err, ErrNoRoom) {
		j.size = j.end
		return errors.Join(err, undone(j.file.Truncate(j.end)))
	}
	if err == nil && grow {
		j.size = j.end + int64(len(b))
	}
	return err
}

// replace writes a new generation of the journal and puts it in place of the
// old one. On ErrNoRoom nothing has changed.
func (j *journal) replace(frames [][]byte) error {
	b := newJournal(j.generation+1, frames)
	if err := replaceFile(j.fs, "", quorumName, b); err != nil {
		return err
	}
	if err := j.open(j.generation+1, len(frames), int64(len(b))); err != nil {
		return err
	}
	j.damaged, j.kept = false, nil
	if !j.aside {
		return nil
	}
	if err := removeFile(j.fs, quorumDamaged); err != nil {
		return err
	}
	j.aside = false
	return j.fs.SyncDir("")
}

// putAside keeps a damaged journal under another name and begins a new one with
// the frames that could be read and those that are new. As long as the damaged
// one is there, every start reports it.
func (j *journal) putAside(frames [][]byte) error {
	all := append(j.kept[:len(j.kept):len(j.kept)], frames...)
	b := newJournal(j.generation+1, all)
	if err := writeNew(j.fs, quorumName+tmpSuffix, b); err != nil {
		if errors.Is(err, ErrNoRoom) {
			_ = j.fs.Remove(quorumName + tmpSuffix)
		}
		return err
	}
	err := j.fs.Rename(quorumName, quorumDamaged)
	if errors.Is(err, fs.ErrNotExist) && !j.aside { // it is the whole file that was lost
		err = writeNew(j.fs, quorumDamaged, nil)
	} else if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err != nil {
		return err
	}
	if err := j.fs.SyncDir(""); err != nil { // the damage must not be forgotten first
		return err
	}
	if err := j.fs.Rename(quorumName+tmpSuffix, quorumName); err != nil {
		return err
	}
	if err := j.fs.SyncDir(""); err != nil {
		return err
	}
	j.damaged, j.kept, j.aside = false, nil, true
	return j.open(j.generation+1, len(all), int64(len(b)))
}

// open opens a journal that was just put in place.
func (j *journal) open(generation uint64, frames int, end int64) error {
	f, err := j.fs.Open(quorumName)
	if err != nil {
		return err
	}
	_ = j.close()
	j.file, j.generation, j.frames = f, generation, uint64(frames)
	j.end, j.proven, j.size = end, end, end
	return nil
}

// trim gives back what the file was grown ahead.
func (j *journal) trim() error {
	if j.damaged || j.size == j.end {
		return nil
	}
	if err := j.file.Truncate(j.end); err != nil {
		return err
	}
	j.size = j.end
	return j.file.Sync()
}

func (j *journal) close() error {
	if j.file == nil {
		return nil
	}
	return j.file.Close()
}
