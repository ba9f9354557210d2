package quorum

import (
	"errors"
	"fmt"
	"slices"

	"go.etcd.io/raft/v3"
	pb "go.etcd.io/raft/v3/raftpb"
)

// journal mirrors in memory what the frames of the quorum journal say, as of
// the last write that was asked for. It is the engine's raft.Storage: the
// engine reads from it only what it knows to be durable.
type journal struct {
	identity *identity
	// present are the members as of what was applied; snapshotSet as of the
	// snapshot. Before the first change they are those of the identity.
	present, snapshotSet placed

	term, vote, commit uint64

	snapshotIndex, snapshotTerm uint64
	snapshotDigest              uint64
	snapshotData                []byte

	// entries follow the one at (base, baseTerm). base is at or below
	// snapshotIndex: some entries outlive a snapshot in memory, for voters
	// that are only a little behind.
	base, baseTerm uint64
	entries        []*pb.Entry
}

// identity says for whom a journal was begun, up to which term its owner must
// not vote, how far the log of a candidate must reach (see admission), and who
// the members were to begin with.
type identity struct {
	mark  uint32
	self  uint64
	spent uint64
	floor position
	first members // of the log before its first entry, the same on all nodes for ever
}

// position is the end of a log. Logs are compared by term, then by index
// (Raft, section 5.4.1).
type position struct{ term, index uint64 }

func (p position) below(o position) bool {
	return p.term < o.term || p.term == o.term && p.index < o.index
}

func (j *journal) last() uint64 { return j.base + uint64(len(j.entries)) }

func (j *journal) end() position {
	if n := len(j.entries); n > 0 {
		return position{j.entries[n-1].GetTerm(), j.last()}
	}
	return position{j.baseTerm, j.base}
}

// fold rebuilds the mirror from frames: entries overwrite what they conflict
// with and all behind it, the last hard state wins.
func (j *journal) fold(frames [][]byte, self uint64) error {
	for i, bytes := range frames {
		f, err := decodeFrame(bytes)
		if err == nil {
			err = j.take(&f)
		}
		if err != nil {
			return fmt.Errorf("the quorum journal cannot be read at frame %d of %d: %w", i+1, len(frames), err)
		}
	}
	j.commit = max(j.commit, j.snapshotIndex)
	if j.snapshotIndex == 0 && j.identity != nil {
		j.snapshotSet = placed{0, j.identity.first}
	}
	j.present = j.snapshotSet
	switch {
	case len(frames) == 0:
		return nil
	case j.identity == nil:
		return errors.New("the quorum journal lacks its first frame")
	case j.identity.self != self:
		return fmt.Errorf("the quorum journal is that of voter %d", j.identity.self)
	case j.commit > j.last():
		return fmt.Errorf("the quorum journal ends at entry %d but entry %d was committed", j.last(), j.commit)
	case j.end().term > j.term:
		return fmt.Errorf("the quorum journal has an entry of term %d but ends in term %d", j.end().term, j.term)
	}
	return nil
}

func (j *journal) take(f *frame) error {
	if f.identity != nil {
		j.identity = f.identity
	}
	if f.hard != nil {
		j.term, j.vote, j.commit = f.hard.term, f.hard.vote, f.hard.commit
	}
	if s := f.snapshot; s != nil {
		j.restore(s.index, s.term, s.digest, s.set, s.data)
	}
	if len(f.entries) > 0 {
		if f.first <= j.base || f.first > j.last()+1 {
			return fmt.Errorf("entry %d does not join the entries %d to %d", f.first, j.base+1, j.last())
		}
		j.append(f.entries)
	}
	return nil
}

// append adds entries; what conflicts with them, and all behind it, goes.
func (j *journal) append(entries []*pb.Entry) {
	keep := entries[0].GetIndex() - j.base - 1
	if keep > uint64(len(j.entries)) {
		panic("quorum: appended entries leave a gap")
	}
	if keep < uint64(len(j.entries)) {
		// The full slice expression makes append copy: the engine may still
		// hold slices of the old array.
		j.entries = append(j.entries[:keep:keep], entries...)
		return
	}
	j.entries = append(j.entries, entries...)
}

// restore replaces everything by a snapshot.
func (j *journal) restore(index, term, digest uint64, set placed, data []byte) {
	j.snapshotIndex, j.snapshotTerm = index, term
	j.snapshotDigest, j.snapshotData = digest, data
	j.snapshotSet, j.present = set, set
	j.base, j.baseTerm, j.entries = index, term, nil
}

// compact makes data the snapshot at index and forgets entries below it, but
// for the last keep ones.
func (j *journal) compact(index, digest uint64, data []byte, keep int) {
	term, err := j.Term(index)
	if err != nil {
		panic("quorum: a snapshot is taken where there is no entry")
	}
	j.snapshotIndex, j.snapshotTerm = index, term
	j.snapshotDigest, j.snapshotData = digest, data
	j.snapshotSet = j.present
	if j.base+uint64(keep) >= index {
		return
	}
	cut := index - uint64(keep) - j.base
	j.baseTerm = j.entries[cut-1].GetTerm()
	j.base += cut
	j.entries = append([]*pb.Entry(nil), j.entries[cut:]...)
}

// above returns the entries behind index.
func (j *journal) above(index uint64) []*pb.Entry { return j.entries[index-j.base:] }

// InitialState implements raft.Storage.
func (j *journal) InitialState() (*pb.HardState, *pb.ConfState, error) {
	hard := &pb.HardState{Term: new(j.term), Vote: new(j.vote), Commit: new(j.commit)}
	return hard, j.snapshotSet.confState(), nil
}

// sets are the present members, and those that entries above what was applied
// will make, if they are committed.
func (j *journal) sets() []placed {
	list := []placed{j.present}
	for _, e := range j.entries {
		if e.GetIndex() <= j.present.at || !changesMembers(e) {
			continue
		}
		c, err := changeOf(e.GetData())
		if err != nil {
			panic("quorum: a change of members in the log cannot be read: " + err.Error())
		}
		list = append(list, placed{e.GetIndex(), list[len(list)-1].after(c)})
	}
	return list
}

// behind says that the snapshot lacks a member: it is of no use to that one,
// which would not know itself.
func (j *journal) behind() bool {
	missing := func(id uint64) bool { return !j.snapshotSet.has(id) }
	return slices.ContainsFunc(j.present.voters, missing) || slices.ContainsFunc(j.present.learners, missing)
}

// Entries implements raft.Storage.
func (j *journal) Entries(lo, hi, maxSize uint64) ([]*pb.Entry, error) {
	switch {
	case lo <= j.base:
		return nil, raft.ErrCompacted
	case hi > j.last()+1:
		return nil, raft.ErrUnavailable
	}
	all := j.entries[lo-j.base-1 : hi-j.base-1]
	size := uint64(0)
	for i, e := range all {
		size += uint64(entryCost(e.GetData()))
		if size > maxSize && i > 0 {
			return all[:i:i], nil
		}
	}
	return all[:len(all):len(all)], nil
}

// Term implements raft.Storage.
func (j *journal) Term(i uint64) (uint64, error) {
	switch {
	case i == j.base:
		return j.baseTerm, nil
	case i < j.base:
		return 0, raft.ErrCompacted
	case i > j.last():
		return 0, raft.ErrUnavailable
	}
	return j.entries[i-j.base-1].GetTerm(), nil
}

// LastIndex implements raft.Storage.
func (j *journal) LastIndex() (uint64, error) { return j.last(), nil }

// FirstIndex implements raft.Storage.
func (j *journal) FirstIndex() (uint64, error) { return j.base + 1, nil }

// Snapshot implements raft.Storage.
func (j *journal) Snapshot() (*pb.Snapshot, error) {
	if j.behind() {
		return nil, raft.ErrSnapshotTemporarilyUnavailable // see WantsSnapshot
	}
	return &pb.Snapshot{
		Data: wrapSnapshot(j.snapshotDigest, j.snapshotSet.at, j.snapshotData),
		Metadata: &pb.SnapshotMetadata{
			ConfState: j.snapshotSet.confState(),
			Index:     new(j.snapshotIndex),
			Term:      new(j.snapshotTerm),
		},
	}, nil
}

// entryCost is about what one entry takes in a frame or a message.
func entryCost(data []byte) int { return len(data) + 16 }
