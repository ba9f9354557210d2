package models

// byOffset is something for each of many offsets. Most logs are seen from their
// start on and without holes, and a slice is cheaper than a map then.
type byOffset[T any] struct {
	low  []*T // by offset; nil where nothing was put
	high map[int64]*T
}

// at is what was put at an offset, or nil.
func (o *byOffset[T]) at(offset int64) *T {
	if offset >= 0 && offset < int64(len(o.low)) && o.low[offset] != nil {
		return o.low[offset]
	}
	return o.high[offset]
}

// put notes what is at an offset. An offset far beyond all others goes to the map,
// so that a wrong one costs no memory.
func (o *byOffset[T]) put(offset int64, x *T) {
	if offset < 0 || offset >= int64(2*len(o.low)+1024) {
		if o.high == nil {
			o.high = map[int64]*T{}
		}
		o.high[offset] = x
		return
	}
	for offset >= int64(len(o.low)) {
		o.low = append(o.low, nil)
	}
	o.low[offset] = x
}

// each visits all, in no order.
func (o *byOffset[T]) each(visit func(int64, *T)) {
	for offset, x := range o.low {
		if x != nil {
			visit(int64(offset), x)
		}
	}
	for offset, x := range o.high {
		visit(offset, x)
	}
}

// tally counts by offset.
type tally struct {
	low  []int32
	high map[int64]int32
}

// add counts one more at an offset.
func (t *tally) add(offset int64) {
	if offset < 0 || offset >= int64(2*len(t.low)+1024) {
		if t.high == nil {
			t.high = map[int64]int32{}
		}
		t.high[offset]++
		return
	}
	for offset >= int64(len(t.low)) {
		t.low = append(t.low, 0)
	}
	t.low[offset]++
}

// at is how often an offset was counted.
func (t *tally) at(offset int64) int {
	n := t.high[offset] // counted while the slice did not reach so far
	if offset >= 0 && offset < int64(len(t.low)) {
		n += t.low[offset]
	}
	return int(n)
}

// each visits the offsets that were counted, some perhaps twice, in no order.
func (t *tally) each(visit func(offset int64)) {
	for offset, n := range t.low {
		if n > 0 {
			visit(int64(offset))
		}
	}
	for offset := range t.high {
		visit(offset)
	}
}
