package replica

import (
	"github.com/tamarack-mq/tamarack/core/deadline"
	"github.com/tamarack-mq/tamarack/core/message"
)

// expirer is what a timer wakes.
type expirer interface {
	expire(m *Manager, now message.Now, out *Out)
}

type (
	timer  = deadline.Deadline[expirer] // lies in what it wakes
	timers = deadline.Heap[expirer]     // all of a Manager
)

// longest bounds how far ahead a deadline may lie that somebody else asked
// for, so that no arithmetic on times can overflow.
const longest = 24 * message.Hour

// within is the time d after now, with d held to what is reasonable.
func within(now message.Time, d message.Duration) message.Time {
	return now.Add(min(max(d, 0), longest))
}
