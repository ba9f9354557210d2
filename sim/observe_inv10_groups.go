package sim

import (
	"slices"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// groupRefusals is INV-10 for who asks about a whole group: that it is not there, that
// its positions were deleted, or cannot be yet, is so at some time between the question
// and the answer. What is so is what the log of its shard says.
type groupRefusals struct{ blind }

func (*groupRefusals) Invariant() string { return "INV-10" }

func (*groupRefusals) Looks() scope { return ofGroupsTold }

func (o *groupRefusals) Stepped(w *World, n *Node, _ effect.Input, out []effect.Effect) {
	for _, e := range out {
		reply, ok := e.(effect.Reply)
		if !ok {
			continue
		}
		switch m := reply.Msg.(type) {
		case *message.DescribeGroupReply:
			if asked, ok := n.asker(reply.Token).request.(*message.DescribeGroup); ok && m.Code == message.GroupIDNotFound {
				o.absent(w, n, asked.Group, n.asker(reply.Token).since)
			}
		case *message.DeleteGroupReply:
			if asked, ok := n.asker(reply.Token).request.(*message.DeleteGroup); ok {
				o.deletedGroup(w, n, asked.Group, n.asker(reply.Token).since, m.Code)
			}
		case *message.DeleteOffsetsReply:
			if asked, ok := n.asker(reply.Token).request.(*message.DeleteOffsets); ok {
				o.deletedOffsets(w, n, asked.Group, n.asker(reply.Token).since, m)
			}
		}
	}
}

// shard is what is committed of a group's shard; nil: nothing is known.
func (*groupRefusals) shard(w *World, g string) *shardLog {
	s := w.book.transactions.shardAt(w.groupShard(g))
	if s == nil || s.lost() {
		return nil
	}
	return s
}

// absent judges the answer that a group is not there: it is, as long as it has positions.
func (o *groupRefusals) absent(w *World, n *Node, g string, since Span) {
	s := o.shard(w, g)
	if s == nil {
		return
	}
	if id, offset := s.standing(g, since); offset != message.NoOffset {
		w.fail("INV-10", n.id, "a group is said not to be there, and is", "node %d answers that there is no group %q, which has had the position %d in partition %s since before it was asked", n.id, g, offset, id)
		w.aboutCommit(g, id, offset)
	}
}

func (o *groupRefusals) deletedGroup(w *World, n *Node, g string, since Span, code message.Code) {
	if code == message.GroupIDNotFound {
		o.absent(w, n, g, since)
	}
	if code != message.None {
		return
	}
	s := o.shard(w, g)
	if s == nil {
		return
	}
	if id, offset := s.standing(g, since); offset != message.NoOffset {
		w.fail("INV-10", n.id, "a group is said to be deleted, and is not", "node %d answers that group %q is deleted, which has had the position %d in partition %s since before it was asked", n.id, g, offset, id)
		w.aboutCommit(g, id, offset)
		return
	}
	for i := range s.pending {
		if p := &s.pending[i]; p.Group == g && p.since < since {
			w.fail("INV-25", n.id, "a group is deleted in which a position is pending", "node %d lets group %q be deleted, in which a position of producer %d, epoch %d, is pending for partition %s", n.id, g, p.ID, p.Epoch, p.Partition)
			return
		}
	}
}

func (o *groupRefusals) deletedOffsets(w *World, n *Node, g string, since Span, m *message.DeleteOffsetsReply) {
	if m.Code == message.GroupIDNotFound {
		o.absent(w, n, g, since)
	}
	s := o.shard(w, g)
	if s == nil || m.Code != message.None {
		return
	}
	for i := range m.Offsets {
		at := claim{g, m.Offsets[i].ID}
		waits := func(p pendingAt) bool { return p.Group == g && p.Partition == at.id && p.since < since }
		offset := s.stands(at, since)
		switch m.Offsets[i].Code {
		case message.None:
			if offset != message.NoOffset {
				w.fail("INV-10", n.id, "a position is said to be deleted, and is not", "node %d answers that the position of group %q in partition %s is deleted, but it has stood at %d since before it was asked", n.id, g, at.id, offset)
			} else if p := slices.IndexFunc(s.pending, waits); p >= 0 {
				w.fail("INV-25", n.id, "a position is deleted while one is pending", "node %d lets the position of group %q in partition %s be deleted, while one of producer %d, epoch %d, is pending", n.id, g, at.id, s.pending[p].ID, s.pending[p].Epoch)
			}
		case message.UnstableOffsetCommit:
			if !s.everPended(at) {
				w.fail("INV-10", n.id, "a position is said to be pending, and is not", "node %d answers that a position of group %q in partition %s is pending, where none ever was", n.id, g, at.id)
			}
		}
	}
}

// stands is the position that is stored since before a time; message.NoOffset: none is.
func (s *shardLog) stands(at claim, since Span) record.Offset {
	list := s.stored[at]
	if len(list) == 0 || list[len(list)-1].since >= since {
		return message.NoOffset
	}
	return list[len(list)-1].offset
}

// standing is one of those of a group, the first by partition.
func (s *shardLog) standing(g string, since Span) (id record.PartitionID, offset record.Offset) {
	offset = message.NoOffset
	for at := range s.stored {
		if at.group != g || offset != message.NoOffset && at.id.Compare(id) > 0 {
			continue
		}
		if stands := s.stands(at, since); stands != message.NoOffset {
			id, offset = at.id, stands
		}
	}
	return id, offset
}

// everPended says whether a position was pending at any time.
func (s *shardLog) everPended(at claim) bool {
	for p := range s.pended {
		if p.claim == at {
			return true
		}
	}
	return false
}
