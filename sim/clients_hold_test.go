package sim

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/client"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/metadata"
	"github.com/tamarack-mq/tamarack/core/record"
)

func TestWhatIsPausedIsLeftAlone(t *testing.T) {
	s := newStage(t)
	u := s.clients[0]
	image := metadata.NewImage()
	require.NoError(t, image.Apply(message.Version(part.Topic), &message.Change{Topic: &message.TopicChange{ID: part.Topic, Name: "t"}}))
	s.book.meta.image = image
	u.given = map[record.PartitionID]record.Offset{part: 7}
	place := client.Place{Topic: "t", Partition: part.Index}
	fetch := &message.Fetch{Partitions: []message.FetchPartition{{ID: part}}}
	delivery := &client.Delivery{PlacedID: client.PlacedID{Place: place, ID: part}, Records: []client.Record{{Offset: 7}}}
	ok := &client.Result{Outcome: client.OK}
	refused := &client.Result{Outcome: client.NotDone, Err: &client.Error{Problem: client.NotReading}}

	u.fetches(fetch)
	u.heldBack(delivery)
	u.holds(&openOp{ask: client.Pause{Partitions: []client.Place{place}}}, refused)
	u.fetches(fetch)
	s.passed()

	u.holds(&openOp{ask: client.Pause{Partitions: []client.Place{place}}}, ok)
	u.fetches(fetch)
	s.refused("INV-10", "client 1 fetches partition 5/0, which it was granted to leave alone")
	u.heldBack(delivery)
	s.refused("INV-10", "client 1 is given records of partition 5/0 from 7 on")
	for _, resume := range []client.Resume{{Partitions: []client.Place{place}}, {}} {
		u.holds(&openOp{ask: client.Pause{Partitions: []client.Place{place}}}, ok)
		u.holds(&openOp{ask: resume}, ok)
		u.fetches(fetch)
		u.heldBack(delivery)
		s.passed()
	}

	stranger := &openOp{ask: client.Pause{Partitions: []client.Place{place, {Topic: "t", Partition: unreadPartition}}}}
	u.holds(stranger, refused)
	s.passed()
	u.holds(stranger, ok)
	s.refused("INV-10", "and is told ok")
}
