package live

import (
	"context"
	"errors"
	"time"

	"github.com/tamarack-mq/tamarack/client"
	"github.com/tamarack-mq/tamarack/history"
)

// errGivenUp is why an application gives a transaction up.
var errGivenUp = errors.New("the application has given it up")

// attempt is one transaction as it goes into the history. Client.Transact may make
// several of them.
type attempt struct {
	life   *life
	op     int64
	number int64
}

// transaction makes a transaction of what f adds to it, and notes each attempt.
func (l *life) transaction(ctx context.Context, f func(*attempt, *client.Tx) error) error {
	var a *attempt
	err := l.client.Transact(ctx, func(tx *client.Tx) error {
		if a != nil {
			a.ends(history.Failed, errors.New("it was aborted, and tried again"))
		}
		a = l.begins()
		err := f(a, tx)
		if err == nil {
			a.asks("commit")
		} else {
			a.asks("abort")
		}
		return err
	})
	if a == nil {
		return err // it did not begin
	}
	switch {
	case err == nil:
		a.ends(history.OK, nil)
	case errors.Is(err, client.ErrUnknownOutcome):
		a.ends(history.Unknown, err)
	default:
		a.ends(history.Failed, err)
	}
	return err
}

func (l *life) begins() *attempt {
	a := &attempt{life: l, number: l.r.numbers.Add(1)}
	a.op = l.r.rec.begin(history.Operation{
		Client: l.id, Session: l.session, Kind: history.Transact, Group: l.group, Style: l.style,
		Transaction: a.number, TransactionalID: l.seat.id,
		Offset: history.None, HighWatermark: history.None, LogStart: history.None,
	})
	return a
}

// asks notes which end the client asks for.
func (a *attempt) asks(verb string) {
	rec := a.life.r.rec
	rec.mu.Lock()
	defer rec.mu.Unlock()
	rec.inner.Amend(a.op, func(op *history.Operation) { op.Verb = verb })
}

func (a *attempt) ends(outcome history.Outcome, err error) {
	a.life.r.rec.end(a.op, outcome, func(o *history.Operation) {
		if err != nil {
			o.Error = err.Error()
		}
	})
}

// publish adds a record.
func (a *attempt) publish(tx *client.Tx, topic string, key, value []byte) error {
	l := a.life
	m := client.Message{Topic: topic, Partition: client.AnyPartition, Key: key, Value: value, Timestamp: time.Now().UnixMilli()}
	op := l.r.rec.begin(history.Operation{
		Client: l.id, Session: l.session, Kind: history.Publish, Topic: topic, Key: key, Value: value, Timestamp: m.Timestamp,
		Acks: -1, Idempotent: true, Offset: history.None, Sequence: int64(l.values), Transaction: a.number,
	})
	told := func(receipt client.Receipt, err error) {
		l.r.rec.end(op, outcomeOf(err), func(o *history.Operation) {
			if err != nil {
				o.Error = err.Error()
				return
			}
			o.TopicID, o.Partition, o.Offset = idOf(topic), receipt.Partition, receipt.Offset
		})
	}
	err := tx.PublishAsync(m, told)
	if err != nil {
		l.r.rec.end(op, history.Failed, func(o *history.Operation) { o.Error = err.Error() }) // it was not taken
	}
	return err
}

// commit adds the positions behind records.
func (a *attempt) commit(tx *client.Tx, records []client.Record) error {
	l := a.life
	next := map[int32]int64{}
	for i := range records {
		next[records[i].Partition] = records[i].Offset + 1
	}
	var positions []history.Position
	for p := range int32(l.r.cfg.Partitions) {
		if o, ok := next[p]; ok {
			positions = append(positions, history.Position{Topic: l.topic, TopicID: idOf(l.topic), Partition: p, Offset: o})
		}
	}
	op := l.r.rec.begin(history.Operation{
		Client: l.id, Session: l.session, Kind: history.Commit, Group: l.group, Style: l.style,
		Member: l.name(), Epoch: l.memberEpoch(), Positions: positions, Transaction: a.number,
	})
	told := func(err error) {
		l.r.rec.end(op, outcomeOf(err), func(o *history.Operation) {
			if err != nil {
				o.Error, o.Outcome, o.Return = err.Error(), history.Unknown, history.Open // some may have been stored
			}
		})
	}
	err := tx.CommitRecordsAsync(records, told)
	if err != nil {
		l.r.rec.end(op, history.Failed, func(o *history.Operation) { o.Error = err.Error() }) // it was not taken
	}
	return err
}

// linger keeps a transaction open for a moment; now and then for longer than it may.
func (l *life) linger(ctx context.Context) {
	if l.wild.Err() != nil {
		return
	}
	switch l.random.Below(100) {
	case 0:
		sleep(ctx, transactionLimit+time.Second)
	case 1, 2, 3, 4, 5:
		sleep(ctx, time.Duration(l.random.Below(1000))*time.Millisecond)
	}
}

// pipe is one turn of a worker: it makes records of those that it polls.
func (l *life) pipe(ctx context.Context) error {
	records, err := l.take(ctx, int(l.random.Between(1, 100)))
	if err != nil {
		sleep(ctx, 50*time.Millisecond)
	}
	if len(records) == 0 {
		return err
	}
	err = l.transaction(ctx, func(a *attempt, tx *client.Tx) error {
		for i := range records {
			for copy := range l.seat.fan {
				value := history.AppendProduct(nil, string(l.value()), copy, records[i].Value)
				if err := a.publish(tx, l.seat.into, records[i].Key, value); err != nil {
					return err
				}
			}
			if l.random.OneIn(1000) {
				return errGivenUp
			}
		}
		l.linger(ctx)
		return a.commit(tx, records)
	})
	if err != nil {
		l.r.rec.moment(history.Operation{
			Client: l.id, Session: l.session, Kind: history.Assigned, Error: history.ByRewind,
			Group: l.group, Style: l.style, Epoch: l.memberEpoch(),
		})
	}
	return err
}

// transact is one turn of a client that publishes transactions.
func (l *life) transact(ctx context.Context) error {
	sleep(ctx, time.Duration(l.random.Below(100))*time.Millisecond)
	return l.transaction(ctx, func(a *attempt, tx *client.Tx) error {
		for range l.random.Between(1, 8) {
			topic := []string{orders, invoices}[l.random.Below(2)]
			if err := a.publish(tx, topic, []byte(l.seat.id), l.value()); err != nil {
				return err
			}
		}
		l.linger(ctx)
		if l.random.OneIn(6) {
			return errGivenUp
		}
		return nil
	})
}
