package replica

import (
	"slices"

	"github.com/stretchr/testify/require"
	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/record"
)

// disk is one log: what was written, and how much of it is durable.
type disk struct {
	start   record.Offset
	batches [][]byte
	end     record.Offset
	durable record.Offset
	cut     effect.Cut
	mark    effect.Checkpoint
}

// carry does what a driver does.
func (n *node) carry(e effect.Effect) {
	t := n.w.t
	switch e := e.(type) {
	case effect.Send:
		n.w.wires = append(n.w.wires, wire{n.id, e.To, e.Msg})
	case effect.Reply:
		require.NotContains(t, n.w.replies, e.Token, "answered twice")
		n.w.replies[e.Token] = e.Msg
	case effect.Halt:
		n.halted = e.Reason
	case effect.CreateLog:
		require.NotContains(t, n.disks, e.Log)
		n.disks[e.Log] = &disk{start: e.Start, end: e.Start, durable: e.Start, cut: e.Cut}
	case effect.DeleteLog:
		require.Contains(t, n.disks, e.Log)
		delete(n.disks, e.Log)
	case effect.Append:
		n.disks[e.Log].append(t, e)
		n.pending = append(n.pending, effect.Appended{Log: e.Log, Cut: e.Cut, End: e.End})
	case effect.Flush:
		n.pending = append(n.pending, effect.Flushed{Log: e.Log, Cut: e.Cut, End: n.disks[e.Log].end})
	case effect.Truncate:
		d := n.disks[e.Log]
		require.LessOrEqual(t, e.To, d.end)
		for len(d.batches) > 0 && d.end > e.To {
			h, _ := record.DecodeHeader(d.batches[len(d.batches)-1])
			d.end = h.BaseOffset
			d.batches = d.batches[:len(d.batches)-1]
		}
		require.Equal(t, e.To, d.end, "truncation inside a batch")
		d.durable, d.cut = min(d.durable, d.end), e.Cut
	case effect.Reset:
		*n.disks[e.Log] = disk{start: e.Start, end: e.Start, durable: e.Start, cut: e.Cut}
	case effect.TrimPrefix:
		d := n.disks[e.Log]
		require.LessOrEqual(t, e.Start, d.end)
		d.start = max(d.start, e.Start)
		for len(d.batches) > 0 {
			h, _ := record.DecodeHeader(d.batches[0])
			if h.End() > d.start {
				break
			}
			d.batches = d.batches[1:]
		}
	case effect.Checkpoint:
		n.disks[e.Log].mark = e
	case effect.Read:
		n.pending = append(n.pending, n.read(e))
	case effect.FindTime:
		n.pending = append(n.pending, n.findTime(e))
	case effect.ConfigureLog: // segments do not matter here
	default:
		t.Fatalf("no driver would know what to do with %T", e)
	}
}

func (d *disk) append(t tester, e effect.Append) {
	require.Equal(t, d.end, e.Base, "an append must continue the log")
	it := record.Batches(e.Batches)
	for it.Next() {
		require.Equal(t, d.end, it.Header.BaseOffset)
		d.end = it.Header.End()
		d.batches = append(d.batches, slices.Clone(it.Bytes))
	}
	require.NoError(t, it.Err())
	require.Equal(t, d.end, e.End)
}

func (n *node) read(e effect.Read) effect.ReadDone {
	done := effect.ReadDone{Token: e.Token, Results: make([]effect.ReadResult, len(e.Slices))}
	for i, s := range e.Slices {
		if n.badReads && s.From < s.To {
			done.Results[i].Err = errBad
			continue
		}
		d := n.disks[s.Log]
		var bytes []byte
		for _, b := range d.batches {
			h, _ := record.DecodeHeader(b)
			if h.End() <= s.From || h.BaseOffset >= s.To {
				continue
			}
			if len(bytes) > 0 && len(bytes)+len(b) > int(s.MaxBytes) {
				break
			}
			bytes = append(bytes, b...)
		}
		done.Results[i].Batches = bytes
	}
	return done
}

type badDisk struct{}

func (badDisk) Error() string { return "bad sector" }

var errBad = badDisk{}

func (n *node) findTime(e effect.FindTime) effect.TimeFound {
	for _, b := range n.disks[e.Log].batches {
		h, _ := record.DecodeHeader(b)
		if h.BaseOffset >= e.To {
			break
		}
		if o, at, ok := record.FirstAt(&h, b, e.At); ok {
			return effect.TimeFound{Token: e.Token, Found: true, Offset: o, Timestamp: at}
		}
	}
	return effect.TimeFound{Token: e.Token}
}
