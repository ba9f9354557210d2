package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/tamarack-mq/tamarack/client"
)

// orderItems are what is ordered.
var orderItems = []string{"tea", "coffee", "bread", "apples", "honey", "salt", "rice", "plums"}

// orderFields are the fields that every order has.
var orderFields = []string{"orderId", "item", "quantity", "seq"}

// orderID is unique over all runs.
func orderID(run string, seq int) string { return "o-" + run + "-" + strconv.Itoa(seq) }

// order is the value of one record. A key field that orders do not have is
// added, with fifty values that come again and again, as customers do.
func order(run string, seq int, keyField string) []byte {
	value := fmt.Appendf(nil, `{"orderId":%q,"item":%q,"quantity":%d,"seq":%d`,
		orderID(run, seq), orderItems[seq%len(orderItems)], 1+seq%5, seq)
	if keyField != "" && !slices.Contains(orderFields, keyField) {
		name, _ := json.Marshal(keyField) // a string always can be
		text, _ := json.Marshal(keyField + "-" + strconv.Itoa(seq%50))
		value = fmt.Appendf(value, ",%s:%s", name, text)
	}
	return append(value, '}')
}

// orderNumber is the number of an order of this run; false for anything else.
func orderNumber(run string, value []byte) (int, bool) {
	var fields map[string]json.RawMessage // its names are exact, unlike a struct's
	if json.Unmarshal(value, &fields) != nil {
		return 0, false
	}
	var id string
	seq, err := strconv.Atoi(string(fields["seq"]))
	if err != nil || json.Unmarshal(fields["orderId"], &id) != nil {
		return 0, false
	}
	return seq, id == orderID(run, seq)
}

// pacer spreads records over time.
type pacer struct {
	rate  int // a second
	given int
}

// due is how many records are to be sent now, room at most. What a standstill
// has held up is made up for, but never more than a second's worth.
func (p *pacer) due(elapsed time.Duration, room int) int {
	want := int(elapsed.Seconds() * float64(p.rate))
	p.given = max(p.given, want-p.rate)
	n := max(0, min(want-p.given, room))
	p.given += n
	return n
}

// producer publishes orders at a steady rate.
type producer struct {
	run    *withRun
	cl     *client.Client
	shape  publishing // makes keys as node publish does
	pace   pacer
	window int // most orders without a result
}

func newProducer(r *withRun, cl *client.Client) *producer {
	return &producer{run: r, cl: cl, pace: pacer{rate: r.o.rate}, window: min(max(1000, 2*r.o.rate), 100_000),
		shape: publishing{o: publishOptions{topic: r.plan.Topic, field: r.plan.Producer.PartitionKey, partition: client.AnyPartition}}}
}

// produce goes on until ctx ends. Orders without a result are waited for by
// whoever ends it.
func (p *producer) produce(ctx context.Context) error {
	began := time.Now()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for seq := 1; ; {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		first := seq
		p.run.update(func(b *books) {
			n := p.pace.due(time.Since(began), p.window-b.waiting())
			b.sent += n
			seq += n
		})
		for n := first; n < seq; n++ {
			m, err := p.shape.message(order(p.run.id, n, p.shape.o.field))
			if err != nil {
				return err
			}
			p.cl.PublishAsync(m, func(_ client.Receipt, err error) {
				p.run.update(func(b *books) {
					if err != nil {
						b.fail(err)
						return
					}
					b.acknowledge(n)
				})
			})
		}
	}
}
