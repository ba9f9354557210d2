package models

import "github.com/tamarack-mq/tamarack/history"

// About is what a violation is about, as far as its judge knows: who tells the story of
// the failure begins with that.
type About struct {
	Place  Place // without a topic: of none, or of none that is known
	Offset int64 // of the first record in doubt, or of a Group the position; history.None: of none
	// Again are the other offsets at which the same record stands.
	Again  []int64
	Group  string
	Member string // it is about who owns what in the group
	// Transaction is the one that it is about, and the place that of a record of it.
	Transaction *history.Operation
}

// ofPlace is about a partition, and no record in it.
func ofPlace(at Place) About { return About{Place: at, Offset: history.None} }

// ofRecord is about a record.
func ofRecord(at Place, offset int64) About { return About{Place: at, Offset: offset} }

// ofGroup is about what a group has done with a partition, at an offset.
func ofGroup(group string, at Place, offset int64) About {
	return About{Place: at, Offset: offset, Group: group}
}

// about is about a transaction, and a record of it that was seen.
func (t *transaction) about(seen *sighting) About {
	a := About{Offset: history.None, Transaction: t.op}
	if seen.publish != nil {
		a.Place, a.Offset = seen.at, seen.offset
	}
	return a
}
