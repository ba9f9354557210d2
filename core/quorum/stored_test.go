package quorum

import (
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/require"
	pb "go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"
)

// The bytes are in the journals of voters: a program that is newer must read them.
// When this must change, frameForm must, and decodeFrame goes on reading the old.
func TestTheFormatOfFramesStays(t *testing.T) {
	whole := members{voters: []uint64{1, 2, 300}, learners: []uint64{4}}
	joins, err := proto.Marshal(&pb.ConfChange{Type: pb.ConfChangeAddNode.Enum(), NodeId: new(uint64(4))})
	require.NoError(t, err)
	entries := []*pb.Entry{
		{Term: new(uint64(5)), Index: new(uint64(201)), Data: []byte("data")},
		{Term: new(uint64(6)), Index: new(uint64(202)), Type: pb.EntryConfChange.Enum(), Data: joins},
	}
	for _, c := range []struct {
		name, want string
		frame      frame
	}{
		{"identity", "020180808080080207038201030102ac020104", frame{identity: &identity{mark: 1 << 31, self: 2, spent: 7, floor: position{3, 130}, first: whole}}},
		{"hard state", "02020602c801", frame{hard: &hardState{term: 6, vote: 2, commit: 200}}},
		{"snapshot", "0204c80105808080808080808080019601030102ac02010405696d616765", frame{snapshot: &snapshot{index: 200, term: 5, digest: 1 << 63, set: placed{150, whole}, data: []byte("image")}}},
		{"entries", "0208c901020a04646174610d0410001804", frame{first: 201, entries: entries}},
		{"all", "020f0102000000030102ac020104060000c801050000030102ac02010400c901020a04646174610d0410001804", frame{
			identity: &identity{mark: 1, self: 2, first: whole}, hard: &hardState{term: 6}, first: 201, entries: entries,
			snapshot: &snapshot{index: 200, term: 5, set: placed{0, whole}},
		}},
	} {
		written := c.frame.encode()
		require.Equal(t, c.want, hex.EncodeToString(written), c.name)
		back, err := decodeFrame(written)
		require.NoError(t, err, c.name)
		require.Equal(t, written, back.encode(), c.name)
		require.Equal(t, c.frame.identity, back.identity, c.name)
		require.Equal(t, c.frame.hard, back.hard, c.name)
		require.Equal(t, len(c.frame.entries), len(back.entries), c.name)
		if c.frame.snapshot != nil {
			require.Equal(t, c.frame.snapshot.set, back.snapshot.set, c.name)
		}
	}
	_, err = decodeFrame([]byte{frameForm + 1, 0})
	require.EqualError(t, err, "stored in form 3, this release reads form 2")
}

// Voters of two releases talk to each other while the version of the handshake is
// the same.
func TestTheFormatOfMessagesBetweenVotersStays(t *testing.T) {
	whole := members{voters: []uint64{1, 2, 300}, learners: []uint64{4}}
	engine := func(m *pb.Message) []byte {
		m.Term, m.LogTerm, m.Index, m.Commit = new(uint64(6)), new(uint64(5)), new(uint64(200)), new(uint64(199))
		m.Reject, m.RejectHint = new(true), new(uint64(130))
		return encodeEngine(77, m)
	}
	entry := &pb.Entry{Term: new(uint64(5)), Index: new(uint64(201)), Data: []byte("data")}
	for _, c := range []struct {
		name, want string
		written    []byte
	}{
		{"probe", "024dac02", encodeProbe(77, probe{300})},
		{"answer", "034dac0280808080080605c8010101030102ac0201049601030102ac020104", encodeAnswer(77, answer{nonce: 300, hopes: 1 << 31, term: 6, end: position{5, 200}, whole: true, first: whole, sets: []placed{{150, whole}}})},
		{"answer of one without a journal", "034dac02090000000000", encodeAnswer(77, answer{nonce: 300, hopes: 9})},
		{"vote", "014d050605c801c701018201", engine(&pb.Message{Type: pb.MsgVote.Enum()})},
		{"appends", "014d030605c801c70101820101010a0464617461", engine(&pb.Message{Type: pb.MsgApp.Enum(), Entries: []*pb.Entry{entry}})},
		{"image", "014d070605c801c701018201c80105030102ac0201041580000000000000000000000000000096696d616765", engine(&pb.Message{Type: pb.MsgSnap.Enum(), Snapshot: &pb.Snapshot{
			Data:     wrapSnapshot(1<<63, 150, []byte("image")),
			Metadata: &pb.SnapshotMetadata{Index: new(uint64(200)), Term: new(uint64(5)), ConfState: whole.confState()},
		}})},
	} {
		require.Equal(t, c.want, hex.EncodeToString(c.written), c.name)
		back, err := decode(c.written, 77, 1, 2)
		require.NoError(t, err, c.name)
		if back.engine != nil {
			require.Equal(t, c.written, encodeEngine(77, back.engine), c.name)
		}
	}
}
