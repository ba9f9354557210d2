package sim

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/tamarack-mq/tamarack/core/client"
	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

func itoa(n int) string { return strconv.Itoa(n) }

// describe prints a message on one line, with record bytes as the batches that
// they are.
func describe(m message.Message) string {
	text := strings.TrimPrefix(fmt.Sprintf("%+v", trimmed(m)), "&")
	if len(text) > 600 {
		text = text[:600] + "…"
	}
	return m.Kind().String() + text
}

// trimmed is a message to print: without long bytes.
func trimmed(m message.Message) any {
	switch m := m.(type) {
	case *message.Quorum:
		r, ok := readRaft(m.Data)
		if !ok {
			return struct{ Bytes int }{len(m.Data)}
		}
		return struct {
			Raft                string
			Term, Index, Commit uint64
			Reject              bool
		}{raftName(r.kind), r.term, r.index, r.commit, r.reject}
	case *message.Produce:
		var parts []string
		for i := range m.Partitions {
			parts = append(parts, m.Partitions[i].ID.String()+" "+describeBatches(m.Partitions[i].Records))
		}
		return struct {
			Acks       message.Acks
			Partitions []string
		}{m.Acks, parts}
	case *message.FetchReply:
		var parts []string
		for i := range m.Partitions {
			p := &m.Partitions[i]
			parts = append(parts, fmt.Sprintf("%s %s hw %d start %d %s", p.ID, p.Code, p.HighWatermark, p.LogStart, describeBatches(p.Records)))
		}
		return struct{ Partitions []string }{parts}
	case *message.ReplicaFetchReply:
		var parts []string
		for i := range m.Partitions {
			p := &m.Partitions[i]
			parts = append(parts, fmt.Sprintf("%s %s epoch %d hw %d start %d diverging %v %s", p.ID, p.Code, p.LeaderEpoch, p.HighWatermark, p.LogStart, p.Diverging, describeBatches(p.Records)))
		}
		return struct {
			Session    uint64
			Sequence   uint32
			Code       message.Code
			Partitions []string
		}{m.Session, m.Sequence, m.Code, parts}
	case *message.Forward:
		return struct {
			Request uint64
			Body    string
		}{m.Request, describe(m.Body)}
	case *message.Forwarded:
		body := "-"
		if m.Body != nil {
			body = describe(m.Body)
		}
		return struct {
			Request    uint64
			Code       message.Code
			Controller message.NodeID
			Body       string
		}{m.Request, m.Code, m.Controller, body}
	case *message.MetadataPush:
		var parts []string
		for i := range m.Changes {
			parts = append(parts, describeChange(&m.Changes[i]))
		}
		return struct {
			From, To message.Version
			Changes  []string
		}{m.From, m.To, parts}
	}
	return m
}

func raftName(kind uint64) string {
	names := map[uint64]string{
		0: "hup", 2: "propose", 3: "append", 4: "append-reply", 5: "vote", 6: "vote-reply", 7: "snapshot",
		8: "heartbeat", 9: "heartbeat-reply", 17: "pre-vote", 18: "pre-vote-reply",
	}
	if n, ok := names[kind]; ok {
		return n
	}
	return strconv.FormatUint(kind, 10)
}

func describeChange(c *message.Change) string {
	switch {
	case c.Partition != nil:
		return fmt.Sprintf("partition%+v", *c.Partition)
	case c.Broker != nil:
		return fmt.Sprintf("broker%+v", *c.Broker)
	case c.Topic != nil:
		return fmt.Sprintf("topic%+v", *c.Topic)
	case c.RemoveTopic != nil:
		return fmt.Sprintf("remove%+v", *c.RemoveTopic)
	case c.ProducerIDs != nil:
		return fmt.Sprintf("producer-ids%+v", *c.ProducerIDs)
	case c.Cluster != nil:
		return fmt.Sprintf("cluster%+v", *c.Cluster)
	}
	return "nothing"
}

// describeBatches prints the batches in some bytes: offsets, epoch, and the
// producer's sequence.
func describeBatches(b []byte) string {
	if len(b) == 0 {
		return "-"
	}
	var out []string
	it := record.Batches(b)
	for it.Next() {
		h := &it.Header
		text := fmt.Sprintf("[%d,%d)@%d", h.BaseOffset, h.End(), h.LeaderEpoch)
		if h.ProducerID >= 0 {
			text += fmt.Sprintf("/p%d.%d.%d", h.ProducerID, h.ProducerEpoch, h.BaseSequence)
		}
		switch {
		case h.Marker.Outcome != record.NoOutcome:
			text += "/" + h.Marker.Outcome.String()
		case h.Attributes.Transactional():
			text += "/t"
		}
		out = append(out, text)
		if len(out) == 6 {
			out = append(out, "…")
			break
		}
	}
	if it.Err() != nil {
		out = append(out, it.Err().Error())
	}
	return strings.Join(out, " ")
}

// tellStep adds a step of a core to the trace.
func (w *World) tellStep(n *Node, in effect.Input, out []effect.Effect) {
	switch in := in.(type) {
	case effect.Received, effect.Requested:
		// told as the packet came in
	case effect.Tick:
		if len(out) > 0 {
			w.tell("node %d ticks", n.id)
		}
	case effect.ReadDone:
		w.tell("node %d <- ReadDone %d", n.id, in.Token)
	default:
		w.tell("node %d <- %s%+v", n.id, strings.TrimPrefix(fmt.Sprintf("%T", in), "effect."), in)
	}
	for _, e := range out {
		w.tell("node %d    -> %s", n.id, describeEffect(e))
	}
}

func describeEffect(e effect.Effect) string {
	switch e := e.(type) {
	case effect.Send:
		return fmt.Sprintf("to node %d: %s", e.To, describe(e.Msg))
	case effect.Reply:
		return fmt.Sprintf("reply to request %d: %s", e.Token, describe(e.Msg))
	case effect.Append:
		return fmt.Sprintf("Append %s cut %d %s", e.Log, e.Cut, describeBatches(e.Batches))
	case effect.SaveQuorum:
		return fmt.Sprintf("SaveQuorum %d (%d bytes)", e.Seq, len(e.Frame))
	case effect.ReplaceQuorum:
		return fmt.Sprintf("ReplaceQuorum %d (%d frames)", e.Seq, len(e.Frames))
	case effect.Checkpoint:
		return fmt.Sprintf("Checkpoint %s at %d", e.Log, e.At)
	}
	return fmt.Sprintf("%s%+v", strings.TrimPrefix(fmt.Sprintf("%T", e), "effect."), e)
}

// opNames are the kinds of operations in words.
var opNames = [...]string{"plumbing", "publish", "poll", "commit", "committed", "admin", "request", "groups", "seek", "hold", "begin", "end", "positions", "quit", "misuse"}

func describeResult(op *openOp, r *client.Result) string {
	text := opNames[op.what] + " ends " + r.Outcome.String()
	if op.text != "" {
		text += " (" + op.text + ")"
	}
	if r.Err != nil {
		text += ": " + r.Err.Error()
	}
	switch op.what {
	case opPublish:
		text += fmt.Sprintf(" at %s offset %d", r.Published.ID, r.Published.Offset)
	case opPoll:
		for i := range r.Polled {
			d := &r.Polled[i]
			if len(d.Records) > 0 {
				text += fmt.Sprintf(" %s/%d [%d..%d]", d.Topic, d.Partition, d.Records[0].Offset, d.Records[len(d.Records)-1].Offset)
			}
		}
	case opCommit, opCommitted:
		for i := range r.Offsets {
			text += fmt.Sprintf(" %s/%d=%d", r.Offsets[i].Topic, r.Offsets[i].Partition, r.Offsets[i].Offset)
		}
	}
	return text
}

func describeEvent(e *client.Event) string {
	names := [...]string{"", "assigned", "revoking", "revoked", "lost", "epoch changed", "truncated", "repositioned", "stuck", "expelled"}
	text := "event"
	if int(e.Kind) < len(names) {
		text = names[e.Kind]
	}
	for _, p := range e.Partitions {
		text += fmt.Sprintf(" %s/%d", p.Topic, p.Partition)
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text + fmt.Sprintf(" (epoch %d, from %d to %d)", e.MemberEpoch, e.From, e.To)
}
