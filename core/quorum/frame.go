package quorum

import (
	"encoding/binary"
	"errors"
	"fmt"

	pb "go.etcd.io/raft/v3/raftpb"

	"github.com/tamarack-mq/tamarack/core/pack"
)

// frame is one unit of the quorum journal: written whole or not at all, and
// checksummed by storage. Every part may be missing.
//
//	byte 0    the form, frameForm
//	byte 1    which parts follow, in the order of the flags
//	identity  mark, self, spent term, floor term, floor index
//	hard      term, vote, commit
//	snapshot  index, term, digest, data
//	entries   index of the first, count, then term and data of each
type frame struct {
	identity *identity
	hard     *hardState
	snapshot *snapshot
	first    uint64
	entries  []*pb.Entry
}

// hardState is what must never be forgotten (Raft, figure 2). commit is only a
// hint: it may be older than what the voter knew.
type hardState struct{ term, vote, commit uint64 }

type snapshot struct {
	index, term, digest uint64
	data                []byte
}

// frameForm is the version of the stored form.
const frameForm = 1

const (
	hasIdentity = 1 << iota
	hasHard
	hasSnapshot
	hasEntries
)

func (f *frame) encode() []byte {
	size := 64
	for _, e := range f.entries {
		size += entryCost(e.GetData())
	}
	if f.snapshot != nil {
		size += len(f.snapshot.data)
	}
	to := make([]byte, 2, size)
	to[0] = frameForm
	if i := f.identity; i != nil {
		to[1] |= hasIdentity
		to = pack.Uint(to, uint64(i.mark))
		to = pack.Uint(to, i.self)
		to = pack.Uint(to, i.spent)
		to = pack.Uint(to, i.floor.term)
		to = pack.Uint(to, i.floor.index)
	}
	if h := f.hard; h != nil {
		to[1] |= hasHard
		to = pack.Uint(to, h.term)
		to = pack.Uint(to, h.vote)
		to = pack.Uint(to, h.commit)
	}
	if s := f.snapshot; s != nil {
		to[1] |= hasSnapshot
		to = pack.Uint(to, s.index)
		to = pack.Uint(to, s.term)
		to = pack.Uint(to, s.digest)
		to = pack.Bytes(to, s.data)
	}
	if len(f.entries) > 0 {
		to[1] |= hasEntries
		to = pack.Uint(to, f.entries[0].GetIndex())
		to = encodeEntries(to, f.entries)
	}
	return to
}

func decodeFrame(b []byte) (frame, error) {
	var f frame
	r := pack.Read(b)
	if form := r.Byte(); r.Err() == nil && form != frameForm {
		return f, fmt.Errorf("stored in form %d, this release reads form %d", form, frameForm)
	}
	parts := r.Byte()
	if parts >= hasEntries<<1 {
		r.Fail(fmt.Errorf("unknown parts %#x", parts))
	}
	if parts&hasIdentity != 0 {
		f.identity = &identity{mark: uint32(r.Uint()), self: r.Uint(), spent: r.Uint(), floor: position{r.Uint(), r.Uint()}}
	}
	if parts&hasHard != 0 {
		f.hard = &hardState{r.Uint(), r.Uint(), r.Uint()}
	}
	if parts&hasSnapshot != 0 {
		f.snapshot = &snapshot{r.Uint(), r.Uint(), r.Uint(), r.Bytes()}
	}
	if parts&hasEntries != 0 {
		f.first = r.Uint()
		f.entries = decodeEntries(&r, f.first)
	}
	if r.Err() == nil && r.Left() > 0 {
		r.Fail(errors.New("bytes behind the last part"))
	}
	return f, r.Err()
}

func encodeEntries(to []byte, entries []*pb.Entry) []byte {
	to = pack.Uint(to, uint64(len(entries)))
	for _, e := range entries {
		to = pack.Uint(to, e.GetTerm())
		to = pack.Bytes(to, e.GetData())
	}
	return to
}

// decodeEntries reads entries whose indexes rise from first. Terms must not
// fall. Their data shares memory with the input.
func decodeEntries(r *pack.Reader, first uint64) []*pb.Entry {
	n := r.Count(2)
	if n == 0 || first == 0 || first > 1<<62 {
		r.Fail(errors.New("no entries, or none at such an index"))
		return nil
	}
	entries := make([]*pb.Entry, n)
	store := make([]pb.Entry, n)
	numbers := make([]uint64, 2*n)
	term := uint64(1)
	for i := range entries {
		e, number := &store[i], numbers[2*i:2*i+2]
		number[0], number[1] = r.Uint(), first+uint64(i)
		if number[0] < term {
			r.Fail(errors.New("terms of entries fall"))
		}
		term = number[0]
		e.Term, e.Index = &number[0], &number[1]
		if data := r.Bytes(); len(data) > 0 {
			e.Data = data
		}
		entries[i] = e
	}
	return entries
}

// wrapSnapshot puts the digest before the application's data.
func wrapSnapshot(digest uint64, data []byte) []byte {
	b := make([]byte, 8, 8+len(data))
	binary.BigEndian.PutUint64(b, digest)
	return append(b, data...)
}

func unwrapSnapshot(b []byte) (digest uint64, data []byte) {
	return binary.BigEndian.Uint64(b), b[8:]
}
