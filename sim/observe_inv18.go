package sim

import (
	"bytes"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/metadata"
	"github.com/tamarack-mq/tamarack/core/quorum"
)

// quorumSnapshots is INV-18 for the log of the controllers. Every snapshot that
// is about to be written to a journal, taken or received, ends at what its node
// has applied, has the members that were in force there, and gives the very
// image that the log gives. That this image is the one of the committed log is
// INV-20; what stands in a journal is found to be so by INV-11.
type quorumSnapshots struct {
	blind
	images []imageFolder // by node id

	// The last snapshot that was restored, and what it gave: each voter takes one at the
	// same versions, mostly of the same bytes.
	version message.Version
	data    []byte
	gave    uint64
}

func (*quorumSnapshots) Invariant() string { return "INV-18" }

func (*quorumSnapshots) Looks() scope { return ofSaves }

func (o *quorumSnapshots) Stepped(w *World, n *Node, _ effect.Input, out []effect.Effect) {
	c := n.Core()
	if c == nil || c.Controller() == nil {
		return
	}
	for _, e := range out {
		if r, ok := e.(effect.ReplaceQuorum); ok && len(r.Frames) > 0 {
			for int(n.id) >= len(o.images) {
				o.images = append(o.images, imageFolder{})
			}
			v := w.quorumOf(n)
			o.judge(w, n, r.Frames[0], v, c.Controller().Image())
			return
		}
	}
}

// judge holds the first frame of a journal against what the node has applied. A
// journal that was begun just now has none.
func (o *quorumSnapshots) judge(w *World, n *Node, frame []byte, v *quorum.View, image *metadata.Image) {
	s, ok, err := quorum.SnapshotOf(frame)
	switch {
	case err != nil:
		w.fail("INV-18", n.id, "a snapshot of the controllers cannot be read", "node %d writes a snapshot of the controllers' log that cannot be read: %v", n.id, err)
		return
	case !ok:
		return
	case s.Version > v.Applied:
		w.fail("INV-18", n.id, "a snapshot is ahead of what was applied", "the snapshot of node %d reaches up to version %d, of which it has applied %d", n.id, s.Version, v.Applied)
		return
	case s.Version != v.Applied || s.Version != image.Version():
		return // it went on in the same step; what it had then is not to be seen
	case s.Digest != v.Digest:
		w.fail("INV-18", n.id, "a snapshot of other entries", "the snapshot of node %d says at version %d that other entries led there", n.id, s.Version)
		return
	case !sameMembers(s.Members, v.Members):
		w.fail("INV-18", n.id, "a snapshot has other members", "the snapshot of node %d has at version %d the members %v, where %v are in force", n.id, s.Version, s.Members, v.Members)
		return
	}
	if gives, err := o.gives(s.Version, s.Data); err != nil {
		w.fail("INV-18", n.id, "a snapshot of the controllers cannot be restored", "nothing can be restored from the snapshot of node %d at version %d: %v", n.id, s.Version, err)
	} else if gives != o.images[n.id].digest(image) {
		w.fail("INV-18", n.id, "a snapshot gives another image", "the snapshot of node %d gives at version %d another image of the cluster than the log does", n.id, s.Version)
	} else {
		w.mark(markQuorumSnapshotJudged)
	}
}

// gives is the digest of the image that a snapshot gives.
func (o *quorumSnapshots) gives(version message.Version, data []byte) (uint64, error) {
	if len(o.data) > 0 && version == o.version && bytes.Equal(data, o.data) {
		return o.gave, nil
	}
	restored, err := restore(version, data)
	if err != nil {
		return 0, err
	}
	o.version, o.data, o.gave = version, append(o.data[:0], data...), imageDigest(restored)
	return o.gave, nil
}

// restore is the image that the application's part of a snapshot gives.
func restore(version message.Version, data []byte) (*metadata.Image, error) {
	changes, err := metadata.Decode(data)
	if err != nil {
		return nil, err
	}
	return metadata.Restore(version, changes)
}
