package client

import (
	"testing"

	"github.com/tamarack-mq/tamarack/core/chance"
	"github.com/tamarack-mq/tamarack/core/message"
)

// bench is a play without its books, so that the client alone is measured.
func bench(b *testing.B) *Client {
	s := newPlay(b, nil)
	c := New(DefaultConfig("boot:1"), chance.New(1), s.now)
	b.ReportAllocs()
	return c
}

// answerAll answers what a client asks until it asks nothing more.
func answerAll(c *Client, image *message.MetadataReply, now message.Now, out *Out, batch []byte) (published int) {
	for len(out.List) > 0 {
		var in Inputs
		for _, e := range out.List {
			switch e := e.(type) {
			case Done:
				published++
			case Call:
				var reply message.Reply
				switch r := e.Request.(type) {
				case *message.Metadata:
					reply = image
				case *message.InitProducerID:
					reply = &message.InitProducerIDReply{ID: 1}
				case *message.Produce:
					reply = produced(r, 1)
				case *message.Fetch:
					if r.Partitions[0].Offset > 0 {
						continue
					}
					reply = &message.FetchReply{Partitions: []message.FetchedPartition{{ID: r.Partitions[0].ID, Records: batch}}}
				}
				in = append(in, Answered{e.Call, reply})
			}
		}
		out.Empty()
		if len(in) > 0 {
			c.Step(now, in, out)
		}
	}
	return published
}

// BenchmarkPublish is the cost of one record, published a hundred at a time.
func BenchmarkPublish(b *testing.B) {
	c := bench(b)
	s := newPlay(b, nil)
	var out Out
	value := make([]byte, 100)
	in := make(Inputs, 100)
	for n := 0; n < b.N; n += len(in) {
		for i := range in {
			in[i] = Publish{Op: Op(n + i), Topic: "orders", Partition: int32(i % 3), Value: value}
		}
		c.Step(s.now, in, &out)
		answerAll(c, &s.image, s.now, &out, nil)
	}
}

// BenchmarkPoll is the cost of one record out of a batch of a thousand.
func BenchmarkPoll(b *testing.B) {
	c := bench(b)
	s := newPlay(b, nil)
	values := make([]string, 1000)
	for i := range values {
		values[i] = string(make([]byte, 100))
	}
	batch := stored(0, 5, values...)
	var out Out
	c.Step(s.now, Assign{Op: 1, Partitions: []Start{{Place{"orders", 0}, Position{Kind: AtOffset}}}}, &out)
	for n := 0; n < b.N; n += len(values) {
		answerAll(c, &s.image, s.now, &out, batch)
		c.Step(s.now, Poll{Op: 2, Max: len(values)}, &out)
		out.Empty()
		c.consumer.list[0].begin(Position{Kind: AtOffset})
		for _, n := range c.nodes {
			n.fetching = false
		}
		c.Step(s.now, Tick{}, &out)
	}
}
