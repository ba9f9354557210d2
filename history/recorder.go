package history

import "slices"

// Recorder collects operations in the order of their calls. It is not safe for
// concurrent use: recorders of real clusters guard it with a lock of their own.
type Recorder struct{ ops []Operation }

// Reuse gives a recorder that is empty so far the memory of a history that
// nobody looks at any more.
func (r *Recorder) Reuse(ops []Operation) {
	clear(ops)
	r.ops = ops[:0]
}

// Begin notes a call and returns the id by which End finds it. Until End is
// called the outcome is Unknown and the operation stays open.
func (r *Recorder) Begin(op Operation) int64 {
	op.Outcome = Unknown
	op.Return = Open
	return r.add(&op)
}

// End notes the answer to a call. fill, when not nil, writes what came back.
// The time of an Unknown outcome is not kept: the operation stays open.
func (r *Recorder) End(id, at int64, outcome Outcome, fill func(*Operation)) {
	op := &r.ops[id]
	op.Outcome = outcome
	if outcome != Unknown {
		op.Return = at
	}
	if fill != nil {
		fill(op)
	}
}

// Amend notes more about an operation that is still open, as what its client asks for
// in the end.
func (r *Recorder) Amend(id int64, change func(*Operation)) { change(&r.ops[id]) }

// Moment notes something that is over at once: Assigned, Revoked, Restarted.
func (r *Recorder) Moment(op Operation) {
	op.Outcome = OK
	op.Return = op.Invoke
	r.add(&op)
}

// add doubles the room when it is used up: operations are large, and histories
// long.
func (r *Recorder) add(op *Operation) int64 {
	if len(r.ops) == cap(r.ops) {
		r.ops = slices.Grow(r.ops, max(256, len(r.ops)))
	}
	op.ID = int64(len(r.ops))
	r.ops = append(r.ops, *op)
	return op.ID
}

// Operations returns all that was recorded, in the order of the calls. The
// slice belongs to the recorder.
func (r *Recorder) Operations() []Operation { return r.ops }

// Len is the number of operations.
func (r *Recorder) Len() int { return len(r.ops) }
