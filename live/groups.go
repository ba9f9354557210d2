package live

import (
	"context"
	"fmt"
	"time"

	"github.com/tamarack-mq/tamarack/history"
	"github.com/tamarack-mq/tamarack/models"
)

// reads names the topic that each group reads.
var reads = map[string]string{billing: orders, invoicing: orders, paying: invoices}

// quiet is how long nothing is committed by groups that have caught up: twice the
// session of a member, after which its partitions have come to another one. (Positions
// cannot tell it by themselves, since markers may stand behind the last records.)
const quiet = 8 * time.Second

// catchUp waits until no group has committed anything for a while.
func (r *run) catchUp(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	c, err := r.dial(ctx, "watcher")
	if err != nil {
		return
	}
	defer c.Close(ctx)
	var last int64
	for since := time.Now(); time.Since(since) < quiet; {
		if !sleep(ctx, 500*time.Millisecond) {
			r.say("the groups have not caught up")
			return
		}
		sum := int64(0)
		for _, group := range groups {
			offsets, err := positionsOf(ctx, c, group)
			if err != nil {
				sum = last - 1 // look again
				break
			}
			for _, o := range offsets {
				sum += int64(o.Offset)
			}
		}
		if sum != last {
			last, since = sum, time.Now()
		}
	}
}

// stuck judges what catchUp waited for (INV-34): with faults over and nothing more
// published, each group has committed a position behind the last committed record of
// each partition that it reads.
func stuck(ops []history.Operation, committed []models.Log) []models.Violation {
	var out []models.Violation
	for _, group := range groups {
		at, op := finalPositions(ops, group)
		for i := range committed {
			log := &committed[i]
			if log.Topic != reads[group] || len(log.Records) == 0 {
				continue
			}
			last := log.Records[len(log.Records)-1].Offset
			if at[log.Partition] > last {
				continue
			}
			out = append(out, models.Violation{
				Invariant: "INV-34", Anomaly: "stuck group",
				Text: fmt.Sprintf("group %s stands at %d of %s-%d in the end, and has not got past the committed record %d",
					group, at[log.Partition], log.Topic, log.Partition, last),
				Ops:   []int64{op},
				About: models.About{Place: models.Place{TopicID: log.TopicID, Partition: log.Partition}, Offset: last, Group: group},
			})
		}
	}
	return out
}

// finalPositions is where the last answer says that a group stands, by partition of
// the topic that it reads, and the operation that asked.
func finalPositions(ops []history.Operation, group string) (at map[int32]int64, asked int64) {
	at = map[int32]int64{}
	for i := range ops {
		op := &ops[i]
		if op.Kind != history.FetchCommitted || op.Group != group || op.Client != readerID || op.Outcome != history.OK {
			continue
		}
		clear(at)
		asked = op.ID
		for _, p := range op.Positions {
			if p.Topic == reads[group] {
				at[p.Partition] = p.Offset
			}
		}
	}
	return at, asked
}
