package sim

import (
	"fmt"
	"reflect"
	"strings"
	"time"
)

// Bounds of what a plan may ask for. A plan may be written by hand or spoilt, and
// what lies outside of these is no fault of the cluster: time that runs
// backwards, or a run that never ends or does not fit into memory.
const (
	longestSpan = Span(24 * time.Hour)
	mostBytes   = 1 << 30
	many        = 1 << 20
)

// bound is a number of a plan with what it may be, both included.
type bound struct {
	name        string
	value       int
	least, most int
}

// inBounds says which number or span of a plan is absurd.
func (p *Plan) inBounds() error {
	if err := spansInBounds(reflect.ValueOf(p).Elem(), ""); err != nil {
		return err
	}
	n, d := &p.Network, &p.Disk
	rows := []bound{
		{"cluster.racks", p.Cluster.Racks, 0, many},
		{"cluster.shards", p.Cluster.Shards, 0, 1000},
		{"cluster.transactionShards", p.Cluster.TransactionShards, 0, 1000},
		{"cluster.epochs", p.Cluster.Epochs, 0, 32767},
		{"cluster.tidy", p.Cluster.Tidy, 0, many},
		{"network.tail", n.Tail, 0, 1000},
		{"network.reset", n.Reset, 0, 1e6},
		{"network.stale", n.Stale, 0, 100},
		{"network.lose", n.Lose, 0, 1e6},
		{"network.duplicate", n.Duplicate, 0, 1e6},
		{"network.reorder", n.Reorder, 0, 1e6},
		{"network.queue", n.Queue, 0, many},
		{"network.spoil", n.Spoil, 0, many},
		{"disk.flushTail", d.FlushTail, 0, 1000},
		{"disk.openFiles", d.OpenFiles, 0, many},
		{"disk.readTail", d.ReadTail, 0, 1000},
		{"disk.segment", d.Segment, 0, mostBytes},
		{"disk.tornShare", d.TornShare, 0, 100},
		{"disk.lossyShare", d.LossyShare, 0, 100},
	}
	for i := range p.Topics {
		t, at := &p.Topics[i], fmt.Sprintf("topic %q: ", p.Topics[i].Name)
		rows = append(rows,
			bound{at + "partitions", t.Partitions, 1, 1000},
			bound{at + "minInsync", t.MinInsync, 0, t.Replication},
			bound{at + "segmentBytes", t.SegmentBytes, 0, mostBytes})
	}
	for i := range p.Clients {
		c, at := &p.Clients[i], fmt.Sprintf("client %d: ", p.Clients[i].ID)
		rows = append(rows,
			bound{at + "acks", c.Acks, -1, 1},
			bound{at + "keys", c.Keys, 0, many},
			bound{at + "size", c.Size, 0, many},
			bound{at + "seek", c.Seek, 0, 100},
			bound{at + "again", c.Again, 0, 90},
			bound{at + "fan", c.Fan, 0, 100},
			bound{at + "abort", c.Abort, 0, 100},
			bound{at + "dawdle", c.Dawdle, 0, 100},
			bound{at + "retry", c.Retry, 0, 100},
			bound{at + "leave", c.Leave, 0, 100},
			bound{at + "quit", c.Quit, 0, 100},
			bound{at + "hold", c.Hold, 0, 100},
			bound{at + "burst", c.Burst, 0, 10000},
			bound{at + "batch", c.Batch, 0, mostBytes},
			bound{at + "fetch", c.Fetch, 0, mostBytes},
			bound{at + "ahead", c.Ahead, 0, mostBytes},
			bound{at + "count", c.Count, 0, mostBytes})
	}
	for i := range p.Faults {
		f, least, most := &p.Faults[i], -mostBytes, mostBytes
		switch f.Kind {
		case ClockRate: // a clock does not stand still, nor does it run backwards
			least, most = -999, 1000000
		case AddPartitions:
			least, most = 0, 1000
		}
		rows = append(rows, bound{fmt.Sprintf("fault %d (%s): strength", i, f.Kind), f.Strength, least, most})
	}
	for _, r := range rows {
		if r.value < r.least || r.value > r.most {
			return fmt.Errorf("%s is %d: between %d and %d", r.name, r.value, r.least, r.most)
		}
	}
	return nil
}

var spanType = reflect.TypeFor[Span]()

// spansInBounds looks at every span below v, so that new ones are looked at, too.
func spansInBounds(v reflect.Value, name string) error {
	switch {
	case v.Type() == spanType:
		if s := Span(v.Int()); s < 0 || s > longestSpan {
			return fmt.Errorf("%s is %s: between 0s and a day", strings.TrimPrefix(name, "."), s)
		}
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
				if err := spansInBounds(v.Field(i), name+"."+tag); err != nil {
					return err
				}
			}
		}
	case v.Kind() == reflect.Slice:
		for i := range v.Len() {
			if err := spansInBounds(v.Index(i), fmt.Sprintf("%s[%d]", name, i)); err != nil {
				return err
			}
		}
	case v.Kind() == reflect.Pointer && !v.IsNil():
		return spansInBounds(v.Elem(), name)
	}
	return nil
}
