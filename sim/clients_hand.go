package sim

import (
	"time"

	"github.com/tamarack-mq/tamarack/core/client"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// inHand is what the application of a member that commits behind its processing is at
// work on, and since when it is asked to give partitions up.
type inHand struct {
	records map[record.PartitionID]record.Offset // the first of each partition
	asked   map[record.PartitionID]message.Time
}

// takesInHand notes what the application was given to work on.
func (u *user) takesInHand(polled []client.Delivery) {
	if u.plan.Role != MemberOf && u.plan.Role != Worker || u.plan.Style == "at-most-once" {
		return
	}
	for i := range polled {
		if d := &polled[i]; len(d.Records) > 0 {
			if u.hand.records == nil {
				u.hand.records = map[record.PartitionID]record.Offset{}
			}
			u.hand.records[d.ID] = d.Records[0].Offset
		}
	}
}

// comesBack notes that the application is through with what it was given, or does not
// care for it any more.
func (u *user) comesBack(in client.Input) {
	switch in.(type) {
	case client.Pause, client.Resume, client.Begin:
	default:
		clear(u.hand.records)
	}
}

// keeps is INV-26 for partitions that a member gives up: as long as the application is
// at work on what it was given of them it keeps them, for half the time of a rebalance.
// Who gets them next would be given all that again.
func (u *user) keeps(e *client.Event) {
	now := u.clock.now(u.world.now).Mono
	for _, p := range e.Partitions {
		switch e.Kind {
		case client.Revoking:
			if u.hand.asked == nil {
				u.hand.asked = map[record.PartitionID]message.Time{}
			}
			u.hand.asked[p.ID] = now
			continue
		case client.Revoked:
			first, working := u.hand.records[p.ID]
			asked, known := u.hand.asked[p.ID]
			if working && known && !u.closing {
				u.patient(p.ID, now.Sub(asked), first)
			}
			delete(u.hand.asked, p.ID)
		case client.Assigned, client.Lost:
			delete(u.hand.asked, p.ID)
		case client.Truncated, client.Repositioned:
		default:
			continue
		}
		delete(u.hand.records, p.ID)
	}
}

func (u *user) patient(p record.PartitionID, took message.Duration, first record.Offset) {
	if patience := u.config().RebalanceTimeout / 2; took < patience {
		u.world.fail("INV-26", 0, "a partition is given up under the application's hands", "client %d gives up partition %s %v after it was asked to, while its application is at work on what it was given from %d on; it has %v to come back", u.plan.ID, p, time.Duration(took), first, time.Duration(patience))
	}
}
