package group

import "github.com/tamarack-mq/tamarack/core/message"

// SetTiming takes other settings, as in Config; zero values mean the default. A
// member's session is part of what its group has agreed on: the new one is for
// members that join from now on.
func (c *Coordinator) SetTiming(session, heartbeat, offsets message.Duration) {
	cfg := c.cfg
	cfg.SessionTimeout, cfg.HeartbeatInterval, cfg.OffsetRetention = session, heartbeat, offsets
	c.cfg = cfg.withDefaults()
}
