package live

import (
	"context"
	"fmt"
	"time"

	"github.com/tamarack-mq/tamarack/client"
	protocol "github.com/tamarack-mq/tamarack/core/client"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/history"
	"github.com/tamarack-mq/tamarack/models"
)

// readerID is the client that reads everything in the end.
const readerID = 1000

// readAll reads every partition from its start to its end, once everything runs
// again. That it can is the liveness of the run.
func (r *run) readAll(ctx context.Context) ([]models.Log, error) {
	ctx, cancel := context.WithTimeout(ctx, 90*time.Second)
	defer cancel()
	c, err := r.dial(ctx, "reader")
	if err != nil {
		return nil, err
	}
	defer c.Close(ctx)
	logs := make([]models.Log, r.cfg.Partitions)
	assign := protocol.Assign{}
	for p := range logs {
		logs[p] = models.Log{TopicID: topicID, Partition: int32(p)}
		if logs[p].Start, err = offsetAt(ctx, c, int32(p), message.Earliest); err != nil {
			return nil, err
		}
		if logs[p].End, err = offsetAt(ctx, c, int32(p), message.Latest); err != nil {
			return nil, err
		}
		assign.Partitions = append(assign.Partitions, protocol.Start{Place: protocol.Place{Topic: topicName, Partition: int32(p)}})
	}
	if err := c.Assign(ctx, assign); err != nil {
		return nil, err
	}
	if err := fill(ctx, c, logs); err != nil {
		return nil, err
	}
	for p := range logs {
		l := &logs[p]
		r.rec.moment(history.Operation{
			Client: readerID, Kind: history.Read, Topic: topicName, TopicID: topicID, Partition: l.Partition,
			Offset: l.Start, HighWatermark: l.End, LogStart: l.Start, Records: l.Records,
		})
	}
	return logs, nil
}

// fill reads until every log is complete.
func fill(ctx context.Context, c *client.Client, logs []models.Log) error {
	for {
		behind := -1
		for p := range logs {
			l := &logs[p]
			if n := len(l.Records); l.Start < l.End && (n == 0 || l.Records[n-1].Offset < l.End-1) {
				behind = p
			}
		}
		if behind < 0 {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("partition %d is not read to its end at %d: %w", behind, logs[behind].End, ctx.Err())
		}
		records, err := c.Poll(ctx, 1000)
		if err != nil {
			return err
		}
		for i := range records {
			l := &logs[records[i].Partition]
			if records[i].Offset < l.End {
				l.Records = append(l.Records, recordOf(&records[i]))
			}
		}
	}
}

// offsetAt asks the leader of a partition for its start or its end.
func offsetAt(ctx context.Context, c *client.Client, partition int32, at record.Timestamp) (int64, error) {
	for {
		m, err := c.Metadata(ctx, topicName)
		if err != nil {
			return 0, err
		}
		if len(m.Topics) == 1 && m.Topics[0].Code == message.None {
			id := record.PartitionID{Topic: m.Topics[0].ID, Index: partition}
			reply, err := c.Ask(ctx, &message.ListOffsets{Partitions: []message.ListOffsetsPartition{{
				ID: id, LeaderEpoch: record.NoLeaderEpoch, Timestamp: at,
			}}}, protocol.Target{Kind: protocol.LeaderOf, Partition: id})
			if err != nil {
				return 0, err
			}
			if listed, ok := reply.(*message.ListOffsetsReply); ok && listed.Partitions[0].Code == message.None {
				return int64(listed.Partitions[0].Offset), nil
			}
		}
		if !sleep(ctx, 200*time.Millisecond) {
			return 0, ctx.Err()
		}
	}
}
