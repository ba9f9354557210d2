package client

import (
	"github.com/tamarack-mq/tamarack/core/message"
)

// Config are the settings of one client. Start from DefaultConfig: Acks and
// Idempotent are taken as they stand; every other field that is zero means its
// default.
type Config struct {
	// Name is for logs and member ids; it need not be unique.
	Name string
	// Bootstrap are addresses (host:port) of some brokers of the cluster. They
	// are asked first, and again when no known broker can be reached.
	Bootstrap []string

	// RequestTimeout is how long one request may stay unanswered before the
	// client gives the connection up and tries again. Default 10 s.
	RequestTimeout message.Duration
	// RetryBackoff and RetryBackoffMax bound the pause before something is
	// tried again: it doubles with each failure in a row, and a fifth of it is
	// chance. Defaults 50 ms and 1 s.
	RetryBackoff    message.Duration
	RetryBackoffMax message.Duration
	// MetadataMaxAge is how old the picture of the cluster may get before it is
	// asked for without need. It bounds how long a reader stays with a leader
	// that is cut off from the cluster but not from the reader. Default 1 min.
	MetadataMaxAge message.Duration
	// TopicTimeout is how long a topic or partition that no broker knows is
	// looked for before what needs it fails. Default 10 s.
	TopicTimeout message.Duration
	// AskTimeout is how long an Ask is retried when it names no time of its
	// own. Default 30 s.
	AskTimeout message.Duration

	// Acks is what a Publish waits for.
	Acks message.Acks
	// Idempotent numbers the batches so that a retry is never appended twice
	// and never out of order. It needs AcksAll and is off with other acks.
	Idempotent bool
	// TransactionalID makes the producer a transactional one: it publishes only
	// within transactions, with AcksAll and Idempotent. Of all clients with one id
	// the last to begin is the one that counts; the others are fenced. It also has
	// positions of a group read only once they are stable. Empty: no transactions.
	TransactionalID string
	// TransactionTimeout is how long a transaction may be open before the
	// coordinator aborts it, which ends the producer. Default 0: the broker's.
	TransactionTimeout message.Duration
	// Linger is how long a batch that is not full waits for more records.
	// Default 0: it is sent as soon as its broker has a request slot free, so
	// that batches grow only under load.
	Linger message.Duration
	// BatchBytes is the size at which a batch is full. Default 256 KiB; never
	// above what the topic takes. RequestBytes bounds one produce request.
	// Default 1 MiB, and at least one batch.
	BatchBytes   int32
	RequestBytes int32
	// InFlight is how many produce requests one broker may owe an answer to.
	// Default 5, which is also the most that idempotence allows (a broker
	// remembers the last five batches of a producer).
	InFlight int
	// DeliveryTimeout is how long a record may take from Publish to its result,
	// retries included. Default 2 min.
	DeliveryTimeout message.Duration
	// BufferBytes bounds the records that wait for their result. A Publish
	// beyond it fails at once with BufferFull. Default 32 MiB.
	BufferBytes int64

	// FetchWait is how long a broker may hold a fetch back while there is
	// nothing to read. Default 500 ms.
	FetchWait message.Duration
	// FetchBytes bounds one fetch reply, PartitionFetchBytes the share of one
	// partition. Defaults 8 MiB and 1 MiB. A batch that is larger comes all
	// the same, alone.
	FetchBytes          int32
	PartitionFetchBytes int32
	// PrefetchBytes bounds what is fetched ahead of the application: beyond it
	// no fetch is sent. The partitions that are read share it evenly, and a reply
	// may bring one of them beyond its share. Replies that are on their way come on
	// top, at most two of each broker. What was fetched of a paused partition is
	// dropped when others need the room. Default 16 MiB.
	PrefetchBytes int64
	// Isolation chooses what may be read. Default ReadUncommitted: all below
	// the high watermark. ReadCommitted: below the last stable offset, and without
	// the records of aborted transactions; positions of a group are then told once
	// no open transaction may change them (KIP-447).
	Isolation message.Isolation
	// PollRecords is how many records a Poll returns that names no number.
	// Default 500.
	PollRecords int

	// SessionTimeout is how long the coordinator waits for a silent member.
	// Default 0: the broker's.
	SessionTimeout message.Duration
	// RebalanceTimeout is how long a member may take to give a partition up.
	// The application must come back with a Poll or Commit in this time.
	// Default 30 s.
	RebalanceTimeout message.Duration
	// MaxPollInterval is how long the application may stay away from Poll
	// before the member leaves its group, so that a stuck process does not
	// hold partitions for ever (KIP-62). It joins again with the next Poll.
	// Default 5 min.
	MaxPollInterval message.Duration
	// AutoCommitInterval is the time between two automatic commits of a
	// subscription with AutoCommit. Default 5 s.
	AutoCommitInterval message.Duration
}

// DefaultConfig are the defaults for a cluster that some brokers of are known
// by address: acks=all, idempotent.
func DefaultConfig(bootstrap ...string) Config {
	return Config{Bootstrap: bootstrap, Acks: message.AcksAll, Idempotent: true}.Filled()
}

// Filled returns c with its defaults in place of zero values.
func (c Config) Filled() Config {
	or := func(d *message.Duration, v message.Duration) {
		if *d <= 0 {
			*d = v
		}
	}
	or(&c.RequestTimeout, 10*message.Second)
	or(&c.RetryBackoff, 50*message.Millisecond)
	or(&c.RetryBackoffMax, message.Second)
	or(&c.MetadataMaxAge, message.Minute)
	or(&c.TopicTimeout, 10*message.Second)
	or(&c.AskTimeout, 30*message.Second)
	or(&c.DeliveryTimeout, 2*message.Minute)
	or(&c.FetchWait, 500*message.Millisecond)
	or(&c.RebalanceTimeout, 30*message.Second)
	or(&c.MaxPollInterval, 5*message.Minute)
	or(&c.AutoCommitInterval, 5*message.Second)
	if c.Linger < 0 {
		c.Linger = 0
	}
	if c.BatchBytes <= 0 {
		c.BatchBytes = 256 << 10
	}
	if c.RequestBytes <= 0 {
		c.RequestBytes = 1 << 20
	}
	if c.InFlight <= 0 || c.InFlight > maxInFlight {
		c.InFlight = maxInFlight
	}
	if c.BufferBytes <= 0 {
		c.BufferBytes = 32 << 20
	}
	if c.FetchBytes <= 0 {
		c.FetchBytes = 8 << 20
	}
	if c.PartitionFetchBytes <= 0 {
		c.PartitionFetchBytes = 1 << 20
	}
	if c.PrefetchBytes <= 0 {
		c.PrefetchBytes = 16 << 20
	}
	if c.PollRecords <= 0 {
		c.PollRecords = 500
	}
	if c.TransactionalID != "" {
		c.Acks, c.Idempotent = message.AcksAll, true
	}
	if c.Acks != message.AcksAll {
		c.Idempotent = false
	}
	return c
}

// maxInFlight is how many batches of one producer a broker remembers.
const maxInFlight = 5
