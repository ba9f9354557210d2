package storage

import (
	"errors"
	"io"
	"sync"

	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/storage/vfs"
)

// errNoBatch says that the bytes at hand are no whole batch, or that the device
// cannot read them.
var errNoBatch = errors.New("no whole batch")

// scanner walks over the batches of a file. It checks that they are whole, and
// reads their headers and markers, and nothing else.
type scanner struct {
	file  vfs.File
	pos   int64 // of the next batch
	limit int64 // end of what may be read
	chunk int   // bytes to read at once
	buf   []byte
	at    int    // of pos in buf
	spare []byte // of no use to anybody now
}

const scanChunk = 256 << 10

func newScanner(f vfs.File, from, to int64) scanner {
	s := scanner{file: f, pos: from, limit: to, chunk: scanChunk}
	if b, ok := scanBuffers.Get().(*[]byte); ok {
		s.spare = *b
	}
	return s
}

// scanBuffers are left by scanners that are done, for the next ones: a recovery
// walks over many files, and most are small.
var scanBuffers sync.Pool

// close ends the use of a scanner, and of all bytes that it gave out.
func (s *scanner) close() {
	b := s.buf[:0]
	if cap(s.spare) > cap(b) {
		b = s.spare[:0]
	}
	if cap(b) > 0 {
		scanBuffers.Put(&b)
	}
	s.buf, s.spare = nil, nil
}

// next returns the next batch and where it begins. The bytes stay as they are
// until the call after the next. io.EOF ends the file; errNoBatch says that what
// follows is no batch; any other error comes from the disk.
func (s *scanner) next() (h record.Header, batch []byte, pos int64, err error) {
	pos = s.pos
	if pos >= s.limit {
		return h, nil, pos, io.EOF
	}
	if err := s.fill(record.HeaderSize); err != nil {
		return h, nil, pos, err
	}
	h, err = record.DecodeHeader(s.buf[s.at:])
	if err != nil || h.LastOffsetDelta < 0 {
		return h, nil, pos, errNoBatch
	}
	size := h.Size()
	if err := s.fill(size); err != nil {
		return h, nil, pos, err
	}
	batch = s.buf[s.at : s.at+size : s.at+size]
	record.FillMarker(&h, batch)
	s.pos += int64(size)
	s.at += size
	return h, batch, pos, nil
}

// fill makes sure that need bytes from pos on are in buf.
func (s *scanner) fill(need int) error {
	have := len(s.buf) - s.at
	if have >= need {
		return nil
	}
	rest := s.limit - s.pos
	if int64(need) > rest {
		return errNoBatch
	}
	size := int(min(rest, int64(max(need, s.chunk))))
	buf := s.spare // and not s.buf: the last batch may still be in use
	s.spare = nil
	if cap(buf) < size {
		buf = make([]byte, size)
	}
	buf = buf[:size]
	copy(buf, s.buf[s.at:])
	if err := readFull(s.file, buf[have:], s.pos+int64(have)); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, vfs.ErrUnreadable) {
			return errNoBatch
		}
		return err
	}
	s.buf, s.at = buf, 0
	return nil
}

// wrongWith tells what is wrong with a batch that should begin at offset want
// and be of an epoch in the table; "" is nothing.
func wrongWith(h *record.Header, batch []byte, want record.Offset, epochs epochTable) string {
	switch {
	case h.BaseOffset != want:
		return "the batch there has another offset than the one before it leads to"
	case h.LastOffsetDelta < 0:
		return "the batch there counts its records below one"
	case record.Checksum(batch) != h.CRC:
		return "the checksum of the batch there does not match its content"
	case !epochs.agrees(h) && epochs.open:
		return "the file of epochs is damaged, and its copy: nothing tells any more with which leader epoch the batch there was written"
	case !epochs.agrees(h):
		return "the batch there names another leader epoch than the one it was written with"
	}
	return ""
}
