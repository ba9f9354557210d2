package group

import (
	"cmp"

	"github.com/tamarack-mq/tamarack/core/ledger"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/verify"
)

// Config bounds what groups may do. Zero fields mean the default.
type Config struct {
	SessionTimeout      message.Duration // for members that name none; 45 s
	MinSessionTimeout   message.Duration // 1 s
	MaxSessionTimeout   message.Duration // 30 min
	RebalanceTimeout    message.Duration // for members that name none; 5 min
	HeartbeatInterval   message.Duration // told to members; 5 s, never above a third of the session
	MaxMembers          int              // members of one group; 1000
	MaxNote             int              // bytes of GroupOffset.Note; 4096
	OffsetRetention     message.Duration // life of the offsets of an empty group; 7 days
	EmptyGroupRetention message.Duration // life of an empty group without offsets; 1 h
	ProducerIdle        message.Duration // how long the end of a silent producer's last transaction is remembered; 7 days
	Verify              verify.Config    // how coordinators of transactions are asked; its Timeout is 5 s by default
	Ledger              ledger.Config    // how the shards are kept; its Topic is TopicName
}

func (c Config) withDefaults() Config {
	c.SessionTimeout = cmp.Or(c.SessionTimeout, 45*message.Second)
	c.MinSessionTimeout = cmp.Or(c.MinSessionTimeout, message.Second)
	c.MaxSessionTimeout = cmp.Or(c.MaxSessionTimeout, 30*message.Minute)
	c.RebalanceTimeout = cmp.Or(c.RebalanceTimeout, 5*message.Minute)
	c.HeartbeatInterval = cmp.Or(c.HeartbeatInterval, 5*message.Second)
	c.OffsetRetention = cmp.Or(c.OffsetRetention, 7*24*message.Hour)
	c.EmptyGroupRetention = cmp.Or(c.EmptyGroupRetention, message.Hour)
	c.MaxMembers = cmp.Or(c.MaxMembers, 1000)
	c.MaxNote = cmp.Or(c.MaxNote, 4096)
	c.ProducerIdle = cmp.Or(c.ProducerIdle, 7*24*message.Hour)
	c.Verify.Timeout = cmp.Or(c.Verify.Timeout, 5*message.Second)
	c.Ledger.Topic = TopicName
	return c
}
