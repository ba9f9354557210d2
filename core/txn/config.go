package txn

import (
	"cmp"
	"math"

	"github.com/tamarack-mq/tamarack/core/ledger"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// Config bounds what transactions may do. Zero fields mean the default.
type Config struct {
	Timeout       message.Duration // of transactions whose producer names none, when MaxTimeout is not shorter; 60 s
	MaxTimeout    message.Duration // 15 min (transaction.max.timeout.ms)
	Expiration    message.Duration // life of a transactional id that nobody uses; 7 days (transactional.id.expiration.ms)
	MarkerRetry   message.Duration // until markers that are not answered are sent again; 1 s
	MarkerBackoff message.Duration // ... that are answered with an error; 100 ms
	MaxPartitions int              // of one transaction; 10000
	MaxHeld       int              // requests to add to one transactional id that are held back; 64
	HoldTime      message.Duration // ... and for how long; 5 s
	Gather        message.Duration // longest wait for the questions that usually come together; 1 ms
	// LastEpoch is the highest producer epoch. It is never given to a producer: the
	// marker of the transaction before it carries it, and what follows has another
	// producer id. At least 2; 32767.
	LastEpoch record.ProducerEpoch
	Ledger    ledger.Config // how the shards are kept; its Topic is TopicName
}

func (c Config) withDefaults() Config {
	c.Timeout = cmp.Or(c.Timeout, message.Minute)
	c.MaxTimeout = cmp.Or(c.MaxTimeout, 15*message.Minute)
	c.Expiration = cmp.Or(c.Expiration, 7*24*message.Hour)
	c.MarkerRetry = cmp.Or(c.MarkerRetry, message.Second)
	c.MarkerBackoff = cmp.Or(c.MarkerBackoff, 100*message.Millisecond)
	c.MaxPartitions = cmp.Or(c.MaxPartitions, 10000)
	c.MaxHeld = cmp.Or(c.MaxHeld, 64)
	c.HoldTime = cmp.Or(c.HoldTime, 5*message.Second)
	c.LastEpoch = cmp.Or(c.LastEpoch, math.MaxInt16)
	c.Gather = cmp.Or(c.Gather, message.Millisecond)
	c.Ledger.Topic = TopicName
	return c
}

// SetTiming takes another MaxTimeout and Expiration, as in Config; zero values mean
// the default. A transaction that is open keeps the time that it has.
func (c *Coordinator) SetTiming(now message.Now, longest, expiration message.Duration) {
	cfg := c.cfg
	cfg.MaxTimeout, cfg.Expiration = longest, expiration
	before := c.cfg.Expiration
	c.cfg = cfg.withDefaults()
	if c.cfg.Expiration == before {
		return
	}
	for _, s := range c.shards.Books() { // ids that rest may be over sooner
		if s.Phase() != ledger.Serving {
			continue
		}
		for _, name := range s.Parts() {
			if e := s.state.entries[name]; e.phase != Ongoing && !e.phase.prepared() {
				s.arm(now, e)
			}
		}
	}
}

// Bounds of what clients may send.
const maxName = 249 // bytes of a transactional id
