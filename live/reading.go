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

// readerID is the client that reads everything in the end, and the next one is that
// which reads what is committed.
const readerID = 1000

// readAll reads every partition from its start to its end, once everything runs
// again and no transaction is open: all records, and those that readers of committed
// ones are shown. That it can is the liveness of the run.
func (r *run) readAll(ctx context.Context) (final, committed []models.Log, err error) {
	ctx, cancel := context.WithTimeout(ctx, 90*time.Second)
	defer cancel()
	c, err := r.dial(ctx, "reader")
	if err != nil {
		return nil, nil, err
	}
	defer c.Close(ctx)
	for _, topic := range topics {
		for p := range int32(r.cfg.Partitions) {
			log := models.Log{Topic: topic, TopicID: idOf(topic), Partition: p}
			if log.End, err = settled(ctx, c, topic, p); err != nil {
				return nil, nil, err
			}
			if log.Start, err = offsetAt(ctx, c, topic, p, message.Earliest, message.ReadUncommitted); err != nil {
				return nil, nil, err
			}
			final = append(final, log)
			committed = append(committed, log)
		}
	}
	if err := r.readLogs(ctx, readerID, final); err != nil {
		return nil, nil, err
	}
	if err := r.readLogs(ctx, readerID+1, committed, client.WithReadCommitted()); err != nil {
		return nil, nil, err
	}
	for _, group := range groups {
		if err := r.readPositions(ctx, c, group); err != nil {
			return nil, nil, err
		}
	}
	return final, committed, nil
}

// readLogs reads logs to their ends, and notes it as one raw read of each.
func (r *run) readLogs(ctx context.Context, id int32, logs []models.Log, options ...client.Option) error {
	c, err := r.dial(ctx, fmt.Sprintf("reader-%d", id), options...)
	if err != nil {
		return err
	}
	defer c.Close(ctx)
	assign := protocol.Assign{}
	at := map[client.Place]*models.Log{}
	for i := range logs {
		place := client.Place{Topic: topics[logs[i].TopicID-1], Partition: logs[i].Partition}
		at[place] = &logs[i]
		assign.Partitions = append(assign.Partitions, protocol.Start{Place: place})
	}
	if err := c.Assign(ctx, assign); err != nil {
		return err
	}
	for behind := true; behind; {
		if behind, err = readMore(ctx, c, at); err != nil {
			return err
		}
	}
	for i := range logs {
		l := &logs[i]
		r.rec.moment(history.Operation{
			Client: id, Kind: history.Read, Topic: topics[l.TopicID-1], TopicID: l.TopicID, Partition: l.Partition,
			Offset: l.Start, HighWatermark: l.End, LogStart: l.Start, Records: l.Records, Committed: id != readerID,
		})
	}
	return nil
}

// readMore polls once, and says whether some log is not read to its end, where a
// marker may stand.
func readMore(ctx context.Context, c *client.Client, logs map[client.Place]*models.Log) (behind bool, err error) {
	brief, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	records, err := c.Poll(brief, 1000)
	if err != nil {
		return false, err
	}
	for i := range records {
		l := logs[client.Place{Topic: records[i].Topic, Partition: records[i].Partition}]
		if records[i].Offset < l.End {
			l.Records = append(l.Records, recordOf(&records[i]))
		}
	}
	positions, err := c.Positions(ctx)
	for _, p := range positions {
		if l := logs[p.Place]; p.Offset < l.End {
			behind = true
			if ctx.Err() != nil {
				return false, fmt.Errorf("%v is read up to %d, not to its end at %d: %w", p.Place, p.Offset, l.End, ctx.Err())
			}
		}
	}
	return behind, err
}

// positionsOf asks where a group stands, as soon as no transaction may change it.
func positionsOf(ctx context.Context, c *client.Client, group string) ([]message.GroupOffset, error) {
	reply, err := c.Ask(ctx, &message.FetchOffsets{Group: group, Stable: true}, protocol.Target{Kind: protocol.Coordinator, Group: group})
	if err != nil {
		return nil, fmt.Errorf("the positions of group %s: %w", group, err)
	}
	m, ok := reply.(*message.FetchOffsetsReply)
	if !ok || m.Code != message.None {
		return nil, fmt.Errorf("the positions of group %s: %+v", group, reply)
	}
	return m.Offsets, nil
}

// readPositions notes where a group stands.
func (r *run) readPositions(ctx context.Context, c *client.Client, group string) error {
	op := r.rec.begin(history.Operation{
		Client: readerID, Kind: history.FetchCommitted, Group: group, Committed: true,
	})
	offsets, err := positionsOf(ctx, c, group)
	if err != nil {
		return err
	}
	metadata, err := c.Metadata(ctx, topics...)
	if err != nil {
		return err
	}
	names := map[record.TopicID]string{}
	for _, t := range metadata.Topics {
		names[t.ID] = t.Name
	}
	r.rec.end(op, history.OK, func(o *history.Operation) {
		for _, at := range offsets {
			name := names[at.ID.Topic]
			o.Positions = append(o.Positions, history.Position{Topic: name, TopicID: idOf(name), Partition: at.ID.Index, Offset: int64(at.Offset)})
		}
	})
	return nil
}

// settled waits until no transaction is open in a partition, and gives its end.
func settled(ctx context.Context, c *client.Client, topic string, partition int32) (int64, error) {
	for {
		stable, err := offsetAt(ctx, c, topic, partition, message.Latest, message.ReadCommitted)
		if err != nil {
			return 0, err
		}
		end, err := offsetAt(ctx, c, topic, partition, message.Latest, message.ReadUncommitted)
		if err != nil {
			return 0, err
		}
		if stable == end {
			return end, nil
		}
		if !sleep(ctx, 200*time.Millisecond) {
			return 0, fmt.Errorf("a transaction is open in %s/%d at %d, before its end at %d: %w", topic, partition, stable, end, ctx.Err())
		}
	}
}

// offsetAt asks the leader of a partition for its start or its end.
func offsetAt(ctx context.Context, c *client.Client, topic string, partition int32, at record.Timestamp, isolation message.Isolation) (int64, error) {
	for {
		m, err := c.Metadata(ctx, topic)
		if err != nil {
			return 0, err
		}
		if len(m.Topics) == 1 && m.Topics[0].Code == message.None {
			id := record.PartitionID{Topic: m.Topics[0].ID, Index: partition}
			reply, err := c.Ask(ctx, &message.ListOffsets{Isolation: isolation, Partitions: []message.ListOffsetsPartition{{
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
