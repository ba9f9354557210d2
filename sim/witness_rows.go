package sim

import (
	"fmt"
	"strings"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/core/replica"
	"github.com/tamarack-mq/tamarack/witness"
)

// tookIn adds the row of an input; what arrived over the network has one
// already. A tick from which nothing follows is not worth one.
func (r *recorder) tookIn(n *Node, in effect.Input, effects int) {
	r.quiet = false
	row := witness.Row{Place: witness.NodeAt(int(n.id)), Cause: r.now()}
	switch in := in.(type) {
	case effect.Received:
		return
	case effect.Requested:
		r.requests[asked{n.id, n.run, uint64(in.Token)}] = r.now()
		return
	case effect.Tick:
		if effects == 0 {
			r.quiet, r.input = true, witness.None
			return
		}
		row.What, row.Cause = witness.Tick, witness.None
	case effect.Appended:
		row.What, row.Parts = witness.Appended, about(in.Log, witness.None, in.End)
		row.Cause = done(r.appends, where{n.id, n.run, in.Log}, in.Cut, in.End)
	case effect.Flushed:
		row.What, row.Parts = witness.Flushed, about(in.Log, witness.None, in.End)
		row.Parts[0].Flushed = int64(in.End)
		row.Cause = done(r.flushes, where{n.id, n.run, in.Log}, in.Cut, in.End)
	case effect.ReadDone:
		row.What, row.Cause = witness.ReadDone, pick(r.reads, asked{n.id, n.run, in.Token})
		for i := range in.Results {
			if err := in.Results[i].Err; err != nil {
				row.Code, row.Text = "error", err.Error()
			}
		}
	case effect.TimeFound:
		row.What, row.Cause = witness.TimeFound, pick(r.reads, asked{n.id, n.run, in.Token})
	case effect.QuorumSaved:
		row.What, row.Text = witness.Saved, fmt.Sprintf("up to %d", in.Seq)
		row.Cause = pick(r.saves, asked{n.id, n.run, in.Seq})
	case effect.DiskFailed:
		row.What, row.Name, row.Text = witness.DiskFailed, in.Op, in.Detail
		if !in.Journal {
			row.Parts = about(in.Log, witness.None, witness.None)
		}
	case effect.DiskSpace:
		row.What, row.Name = witness.DiskSpace, when(in.Low, "low")+when(!in.Low, "enough")
	case effect.Shutdown:
		row.What = witness.Shutdown
	}
	r.begins(row)
}

// loud adds the row of a quiet tick, now that something follows from it.
func (r *recorder) loud(n *Node) {
	if r.quiet {
		r.quiet = false
		r.begins(witness.Row{Place: witness.NodeAt(int(n.id)), What: witness.Tick, Cause: witness.None})
	}
}

// done finds the row of the last request that a completion covers, and forgets
// those before it.
func done(open map[where][]upTo, at where, cut effect.Cut, end record.Offset) int32 {
	list, row, left := open[at], int32(witness.None), 0
	for i, a := range list {
		if a.cut > cut || a.cut == cut && a.end > end {
			break
		}
		row, left = a.row, i+1
	}
	open[at] = append(list[:0], list[left:]...)
	return row
}

func pick(open map[asked]int32, at asked) int32 {
	row, ok := open[at]
	if !ok {
		return witness.None
	}
	delete(open, at)
	return row
}

// about is the one part of a row about one log.
func about(id record.PartitionID, from, to record.Offset) []witness.Part {
	p := witness.NewPart(id)
	p.From, p.To = int64(from), int64(to)
	return []witness.Part{p}
}

// gaveOut adds the row of an effect: exactly one for each.
func (r *recorder) gaveOut(n *Node, e effect.Effect) {
	at := int32(len(r.run.Rows))
	row := witness.Row{Place: witness.NodeAt(int(n.id)), Cause: r.input}
	switch e := e.(type) {
	case effect.Send:
		row.What, row.Peer, row.Name = witness.Send, witness.NodeAt(int(e.To)), e.Msg.Kind().String()
		row.Parts, row.Group, row.Code = tell(e.Msg)
		row.Transactional = transactionalOf(e.Msg)
		row.Text = describe(e.Msg)
	case effect.Reply:
		row.What, row.Name, row.Begin = witness.Reply, e.Msg.Kind().String(), witness.None
		if to, ok := n.tokens[e.Token]; ok {
			row.Peer = r.place(to.client)
		}
		row.Begin = pick(r.requests, asked{n.id, n.run, uint64(e.Token)})
		row.Parts, row.Group, row.Code = tell(e.Msg)
		if row.Begin >= 0 {
			asked := &r.run.Rows[row.Begin]
			row.Group, row.Transactional = asked.Group, asked.Transactional
			fillRanges(row.Parts, asked.Parts)
		}
		row.Text = describe(e.Msg)
	case effect.Append:
		row.What, row.Parts, row.Text = witness.Append, appended(e), describeBatches(e.Batches)
		push(r.appends, where{n.id, n.run, e.Log}, upTo{e.Cut, e.End, at})
		r.ends[where{n.id, 0, e.Log}] = e.End
	case effect.Flush:
		row.What, row.Parts = witness.Flush, about(e.Log, witness.None, r.ends[where{n.id, 0, e.Log}])
		push(r.flushes, where{n.id, n.run, e.Log}, upTo{e.Cut, r.ends[where{n.id, 0, e.Log}], at})
	case effect.Truncate:
		row.What, row.Parts = witness.Truncate, about(e.Log, e.To, r.ends[where{n.id, 0, e.Log}])
		r.ends[where{n.id, 0, e.Log}] = e.To
	case effect.Reset:
		row.What, row.Parts = witness.Reset, about(e.Log, e.Start, witness.None)
		r.ends[where{n.id, 0, e.Log}] = e.Start
	case effect.CreateLog:
		row.What, row.Parts = witness.Create, about(e.Log, e.Start, witness.None)
		r.ends[where{n.id, 0, e.Log}] = e.Start
	case effect.DeleteLog:
		row.What, row.Parts = witness.Delete, about(e.Log, witness.None, witness.None)
	case effect.TrimPrefix:
		row.What, row.Parts = witness.Trim, about(e.Log, e.Start, witness.None)
	case effect.Checkpoint:
		row.What, row.Parts = witness.Checkpoint, about(e.Log, e.At, witness.None)
	case effect.Read:
		row.What = witness.Read
		for _, s := range e.Slices {
			row.Parts = append(row.Parts, about(s.Log, s.From, s.To)...)
		}
		r.reads[asked{n.id, n.run, e.Token}] = at
	case effect.FindTime:
		row.What, row.Parts = witness.FindTime, about(e.Log, witness.None, e.To)
		r.reads[asked{n.id, n.run, e.Token}] = at
	case effect.SaveQuorum:
		row.What, row.Text = witness.Save, fmt.Sprintf("frame %d, %d bytes", e.Seq, len(e.Frame))
		r.saves[asked{n.id, n.run, e.Seq}] = at
	case effect.ReplaceQuorum:
		row.What, row.Text = witness.Save, fmt.Sprintf("all frames up to %d are replaced by %d", e.Seq, len(e.Frames))
		r.saves[asked{n.id, n.run, e.Seq}] = at
	case effect.ConfigureLog:
		row.What, row.Parts, row.Text = witness.Configure, about(e.Log, witness.None, witness.None), describeEffect(e)
	default:
		row.What, row.Name, row.Text = witness.Other, fmt.Sprintf("%T", e), describeEffect(e)
	case effect.Halt:
		row.What, row.Name, row.Text = witness.Halt, when(e.Clean, "clean"), e.Reason
	}
	r.add(row)
}

func push(open map[where][]upTo, at where, u upTo) { open[at] = append(open[at], u) }

// appended are the ranges of one epoch each that an append holds.
func appended(e effect.Append) (parts []witness.Part) {
	for it := record.Batches(e.Batches); it.Next(); {
		h := &it.Header
		if k := len(parts) - 1; k >= 0 && parts[k].Epoch == int32(h.LeaderEpoch) {
			parts[k].To = int64(h.End())
			continue
		}
		parts = append(parts, about(e.Log, h.BaseOffset, h.End())...)
		parts[len(parts)-1].Epoch = int32(h.LeaderEpoch)
	}
	if len(parts) == 0 {
		return about(e.Log, e.Base, e.End)
	}
	return parts
}

// standing tells how a replica stands, on one line.
func standing(v *replica.View) string {
	var b strings.Builder
	fmt.Fprintf(&b, "leader %d in partition epoch %d", v.Leader, v.PartitionEpoch)
	if v.Role == replica.Leading {
		fmt.Fprintf(&b, ", isr %v, widest %v", v.ISR, v.MaximalISR)
		for _, f := range v.Followers {
			fmt.Fprintf(&b, ", node %d matched %d flushed %d", f.Node, f.Matched, f.Flushed)
		}
	}
	if v.Damage != "" {
		b.WriteString(", damaged: " + v.Damage)
	}
	return b.String()
}

// changing tells what a committed change of a partition has changed.
func changing(old, now *message.PartitionChange) string {
	if old == nil {
		return fmt.Sprintf("made on %v, led by %d", now.Replicas, now.Leader)
	}
	var parts []string
	if old.Leader != now.Leader || old.LeaderEpoch != now.LeaderEpoch {
		parts = append(parts, fmt.Sprintf("leader %d in epoch %d → %d in epoch %d", old.Leader, old.LeaderEpoch, now.Leader, now.LeaderEpoch))
	}
	list := func(what string, a, b []message.NodeID) {
		if x, y := fmt.Sprint(a), fmt.Sprint(b); x != y {
			parts = append(parts, what+" "+x+" → "+y)
		}
	}
	list("isr", old.ISR, now.ISR)
	list("eligible", old.ELR, now.ELR)
	list("replicas", old.Replicas, now.Replicas)
	list("moving to", old.Target, now.Target)
	if now.Unclean {
		parts = append(parts, "unclean")
	}
	return strings.Join(parts, ", ")
}

// fillRanges adds to an answer what only the question tells: how many records
// each batch has, or which position is committed.
func fillRanges(parts, asked []witness.Part) {
	if len(parts) != len(asked) {
		return
	}
	for i := range parts {
		p, q := &parts[i], &asked[i]
		if p.ID != q.ID {
			continue
		}
		if p.From == witness.None {
			p.From = q.From
		} else if p.To == witness.None && q.To > 0 {
			p.To = p.From + q.To
		}
	}
}

// how tells in a word how a process dies.
func how(d death) string {
	switch {
	case d.lossy && d.torn:
		return "power lost inside a file operation"
	case d.lossy:
		return "power lost"
	case d.torn:
		return "killed inside a file operation"
	}
	return "killed"
}

func (n *Node) place() witness.Place { return witness.NodeAt(int(n.id)) }
