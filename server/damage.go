package server

import (
	"errors"
	"log/slog"
	"strconv"

	"github.com/tamarack-mq/tamarack/core"
	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/storage"
)

// What finds that a log is damaged, for metrics.
const (
	foundAtStart = "start"
	foundByRead  = "read"
)

// damage tells operators of damaged logs: when they are found and when they are
// repaired. The core decides what to do about them. Used before the core is
// stepped, and by whoever has the inbox's turn.
type damage struct {
	log   *slog.Logger
	tally *metrics
	logs  map[record.PartitionID]bool // damaged now
}

func newDamage(log *slog.Logger, tally *metrics) *damage {
	return &damage{log: log, tally: tally, logs: map[record.PartitionID]bool{}}
}

func (d *damage) found(id record.PartitionID, by string) {
	d.logs[id] = true
	d.tally.damage.WithLabelValues(by).Inc()
	d.tally.damaged.Set(float64(len(d.logs)))
}

// recovered takes a damaged log that the start found. Its topic's name is not
// known yet.
func (d *damage) recovered(l *effect.RecoveredLog) {
	d.log.Error("a log is damaged: it is fetched again from a healthy replica", "log", l.ID.String(), "end", l.End, "damage", l.Damage)
	d.found(l.ID, foundAtStart)
}

// read takes the failure of a read that the core has been told of. That what
// was to be read is gone meanwhile is no damage.
func (d *damage) read(c *core.Node, id record.PartitionID, err error) {
	v, ok := c.Replicas().View(id)
	if !ok || v.Damage == "" || d.logs[id] {
		return
	}
	words := []any{"partition", partitionName(c, id), "log", id.String()}
	var at *storage.DamageError
	if errors.As(err, &at) {
		words = append(words, "offset", at.Offset, "file", at.Path, "position", at.Position)
	}
	d.log.Error("a read found a log damaged: this node gives its place up and fetches the log again from a healthy replica; check the disk",
		append(words, "damage", err)...)
	d.found(id, foundByRead)
}

// follow tells of logs that are not damaged any more.
func (d *damage) follow(c *core.Node) {
	for id := range d.logs { // empty, almost always
		v, ok := c.Replicas().View(id)
		if ok && v.Damage != "" {
			continue
		}
		delete(d.logs, id)
		d.tally.damaged.Set(float64(len(d.logs)))
		d.tally.repairs.Inc()
		if !ok {
			d.log.Info("a damaged log was deleted", "log", id.String())
			continue
		}
		d.log.Info("a damaged log is given up and filled again", "partition", partitionName(c, id), "log", id.String(), "from", v.End, "leader", v.Leader)
	}
}

// partitionName is a partition as people know it.
func partitionName(c *core.Node, id record.PartitionID) string {
	if t := c.Image().Topic(id.Topic); t != nil {
		return t.Name + "/" + strconv.Itoa(int(id.Index))
	}
	return id.String()
}
