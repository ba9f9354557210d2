package group

import "github.com/tamarack-mq/tamarack/core/deadline"

// waits is what a timer is for: the fence of a producer, a member, or its group
// when member is nil.
type waits struct {
	group  *group
	member *member
	fence  *fence
}

// timer is a deadline of a member or of a group. It may stand earlier in the
// heap than what it stands for is due: a heartbeat moves the deadline and
// leaves the heap alone; when the timer comes up it is put back. So there is
// one entry for each member, and refreshing it is free.
type (
	timer  = deadline.Deadline[waits]
	timers = deadline.Heap[waits]
)
