package sim

import (
	"testing"

	"github.com/tamarack-mq/tamarack/core/client"
	"github.com/tamarack-mq/tamarack/core/message"
)

func TestAMemberKeepsWhatItsApplicationIsAtWorkOn(t *testing.T) {
	s := newStage(t)
	u := s.clients[0]
	u.plan.Role, u.plan.Style = MemberOf, "at-least-once"
	patience := Span(u.config().RebalanceTimeout / 2)
	records := []client.Delivery{{PlacedID: client.PlacedID{ID: part}, Records: []client.Record{{Offset: 7}}, Next: 8}}
	tell := func(kind client.EventKind) {
		u.keeps(&client.Event{Kind: kind, Partitions: []client.PlacedID{{ID: part}}})
	}
	handover := func(between func()) {
		u.takesInHand(records)
		tell(client.Revoking)
		between()
		tell(client.Revoked)
	}

	handover(func() { u.comesBack(client.Poll{}) })
	handover(func() { u.comesBack(client.Commit{}) })
	handover(func() { s.now += patience })
	handover(func() { tell(client.Lost) })
	handover(func() { tell(client.Truncated) })
	tell(client.Revoking)
	tell(client.Revoked) // of which it was given nothing
	s.passed()

	handover(func() { u.comesBack(client.Pause{}) })
	s.refused("INV-26", "client 1 gives up partition 5/0 0s after it was asked to, while its application is at work on what it was given from 7 on")
	handover(func() { s.now += patience - Span(message.Millisecond) })
	s.refused("INV-26", "it has ")

	u.plan.Style = "at-most-once" // what it was given is committed
	handover(func() {})
	s.passed()
}
