package sim

import "slices"

// Recording is what a run found out by itself and a plan could say instead: the
// operations of clients, and what chance decided.
type Recording struct {
	Ops       map[int][]ClientOp // by client
	Decisions []Decision
}

func (r *Recording) note(client int, op ClientOp) {
	if r.Ops == nil {
		r.Ops = map[int][]ClientOp{}
	}
	r.Ops[client] = append(r.Ops[client], op)
}

// List returns a copy of a plan in which clients do what a run of it has seen
// them do, one operation after the other, and nothing else.
func (r *Recording) List(p *Plan) *Plan {
	c := p.Copy()
	for i := range c.Clients {
		cl := &c.Clients[i]
		cl.Ops = r.Ops[cl.ID]
		if cl.Ops == nil {
			cl.Ops = []ClientOp{}
		}
	}
	return c
}

// InStep returns a copy of a plan in which a script decides what chance has
// decided in a run of it. The weather stays: what the script decides about is drawn
// all the same, so that everything that is drawn behind it, jitter above all, is what
// it was in that run. It is the same run as long as the code is the same.
func (r *Recording) InStep(p *Plan) *Plan {
	c := p.Copy()
	c.Script = &Script{slices.Clone(r.Decisions)}
	if c.Script.Decisions == nil {
		c.Script.Decisions = []Decision{}
	}
	for i := range c.Script.Decisions {
		c.Script.Decisions[i].at = 0 // of this run only
	}
	return c
}

// Script is InStep with the weather taken off that the script decides about: a plan
// with less in it, whose jitter may fall otherwise.
func (r *Recording) Script(p *Plan) *Plan {
	c := r.InStep(p)
	n, d := &c.Network, &c.Disk
	n.Tail, n.TailScale, n.Reset, n.Stale, n.Lose, n.Duplicate, n.Reorder = 0, 0, 0, 0, 0, 0, 0
	d.FlushTail, d.TailScale, d.TornShare, d.LossyShare = 0, 0, 0, 0
	return c
}
