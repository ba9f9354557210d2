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
//	identity  mark, self, spent term, floor term, floor index, first members
//	hard      term, vote, commit
//	snapshot  index, term, digest, the entry that made its members, members, data
//	entries   index of the first, count, then term and data of each; a term is
//	          doubled, and one more where the entry changes the members
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
	set                 placed
	data                []byte
}

// frameForm is the version of the stored form.
const frameForm = 2

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
		to = encodeMembers(to, i.first)
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
		to = pack.Uint(to, s.set.at)
		to = encodeMembers(to, s.set.members)
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
		f.identity = &identity{mark: uint32(r.Uint()), self: r.Uint(), spent: r.Uint(), floor: position{r.Uint(), r.Uint()}, first: decodeMembers(&r)}
	}
	if parts&hasHard != 0 {
		f.hard = &hardState{r.Uint(), r.Uint(), r.Uint()}
	}
	if parts&hasSnapshot != 0 {
		f.snapshot = &snapshot{r.Uint(), r.Uint(), r.Uint(), placed{r.Uint(), decodeMembers(&r)}, r.Bytes()}
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
		term := e.GetTerm() << 1
		if changesMembers(e) {
			term |= 1
		}
		to = pack.Uint(to, term)
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
		doubled := r.Uint()
		number[0], number[1] = doubled>>1, first+uint64(i)
		if number[0] < term {
			r.Fail(errors.New("terms of entries fall"))
		}
		term = number[0]
		e.Term, e.Index = &number[0], &number[1]
		if data := r.Bytes(); len(data) > 0 {
			e.Data = data
		}
		if doubled&1 != 0 {
			e.Type = pb.EntryConfChange.Enum()
			if _, err := changeOf(e.Data); err != nil {
				r.Fail(err)
			}
		}
		entries[i] = e
	}
	return entries
}

// wrapSnapshot puts the digest, and the entry that made the members, before the
// application's data.
func wrapSnapshot(digest, at uint64, data []byte) []byte {
	b := make([]byte, snapshotHead, snapshotHead+len(data))
	binary.BigEndian.PutUint64(b, digest)
	binary.BigEndian.PutUint64(b[8:], at)
	return append(b, data...)
}

const snapshotHead = 16

func unwrapSnapshot(b []byte) (digest, at uint64, data []byte) {
	return binary.BigEndian.Uint64(b), binary.BigEndian.Uint64(b[8:]), b[snapshotHead:]
}
