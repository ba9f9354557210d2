package models

import "github.com/tamarack-mq/tamarack/history"

// offsets are the committed records of a partition by offset: read by somebody,
// or there at rest. Most logs are seen from their start on and without holes,
// and a slice is cheaper than a map then.
type offsets struct {
	low  []*history.Record // by offset; nil where nothing was seen
	high map[int64]*history.Record
}

// at is the record that was seen first at an offset, or nil.
func (o *offsets) at(offset int64) *history.Record {
	if offset >= 0 && offset < int64(len(o.low)) && o.low[offset] != nil {
		return o.low[offset]
	}
	return o.high[offset]
}

// put notes the first record that was seen at its offset. An offset far beyond
// all others goes to the map, so that a wrong one costs no memory.
func (o *offsets) put(r *history.Record) {
	if r.Offset < 0 || r.Offset >= int64(2*len(o.low)+1024) {
		if o.high == nil {
			o.high = map[int64]*history.Record{}
		}
		o.high[r.Offset] = r
		return
	}
	for r.Offset >= int64(len(o.low)) {
		o.low = append(o.low, nil)
	}
	o.low[r.Offset] = r
}

// each visits all records, in no order.
func (o *offsets) each(visit func(*history.Record)) {
	for _, r := range o.low {
		if r != nil {
			visit(r)
		}
	}
	for _, r := range o.high {
		visit(r)
	}
}
