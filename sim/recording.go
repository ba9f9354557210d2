package sim

// Recording is what a run found out by itself and a plan could say instead: the
// operations of clients.
type Recording struct {
	Ops map[int][]ClientOp // by client
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
