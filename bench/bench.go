// Package bench measures what a running cluster does in a time, and what it costs.
//
// There are two kinds of it. A Load is a closed loop: so many records are always
// unanswered, or all that was published is read again. Styles are the ways to deliver
// records, from a plain stream to transactions, with the same records under each. Both
// make topics of their own and remove them, and both read from the nodes what they
// have spent in the meantime (Meter).
//
// It is a client like any other. Who starts the nodes, and prints what comes out, is
// no part of it.
package bench

import (
	"context"
	"strconv"
	"time"

	"github.com/tamarack-mq/tamarack/client"
	"github.com/tamarack-mq/tamarack/core/message"
)

// Bench is a cluster that is measured. Its fields are set before anything is run.
type Bench struct {
	// Dial connects one more client. Whoever calls it closes that.
	Dial func(ctx context.Context, options ...client.Option) (*client.Client, error)
	// Ready waits until a topic that was made is known, and each of its partitions
	// has a leader.
	Ready    func(ctx context.Context, cl *client.Client, topic string) error
	Meter    Meter
	Timeout  time.Duration // for whatever is no part of what is measured, and for each round of Styles; above 0
	Replicas int16         // of each topic
	Keep     bool          // leave the topics there
}

// stamp tells the topics and groups of one run from those of any other.
func stamp() string { return strconv.FormatInt(time.Now().UnixNano(), 36) }

// topic makes a topic. What it returns removes it, unless it is to be kept.
func (b *Bench) topic(ctx context.Context, cl *client.Client, name string, partitions int32) (remove func(), err error) {
	if err := cl.CreateTopic(ctx, message.CreateTopic{Name: name, Partitions: partitions, ReplicationFactor: b.Replicas}); err != nil {
		return nil, err
	}
	remove = func() {
		if b.Keep {
			return
		}
		end, stop := context.WithTimeout(context.Background(), b.Timeout) // also of a run that was interrupted
		defer stop()
		_ = cl.DeleteTopic(end, name)
	}
	if err := b.Ready(ctx, cl, name); err != nil {
		remove()
		return nil, err
	}
	return remove, nil
}

// shut closes a client without waiting for long: what it would still send counts no
// more.
func shut(cl *client.Client) {
	end, stop := context.WithTimeout(context.Background(), 2*time.Second)
	defer stop()
	_ = cl.Close(end)
}

// quantile is one of sorted times in nanoseconds, as microseconds; 0 when there are
// none. q is from 0, the least, to 1, the most.
func quantile(sorted []int64, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return float64(sorted[int(q*float64(len(sorted)-1))]) / 1e3
}
