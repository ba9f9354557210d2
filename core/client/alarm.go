package client

import "github.com/tamarack-mq/tamarack/core/deadline"

// alarm is a deadline that calls a function. It lies in what waits for it.
type (
	alarm  = deadline.Deadline[func()]
	alarms = deadline.Heap[func()]
)

func ring(what func()) { what() }
