package topology

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheTaughtConfigurationIsReadAsItIsWritten(t *testing.T) {
	got, err := Load("testdata/orders.yaml")
	require.NoError(t, err)
	require.Equal(t, &Topology{
		Topic: "order-events", Partitions: 6, ReplicationFactor: 3,
		Producer: Producer{PartitionKey: "orderId"},
		ConsumerGroups: []Group{
			{Name: "fulfillment-service", Instances: 3, OffsetCommit: AfterProcessing, DeliverySemantics: AtLeastOnce},
			{Name: "analytics-service", Instances: 6, OffsetCommit: BeforeProcessing, DeliverySemantics: AtMostOnce},
		},
	}, got)
}

func TestTheOtherHalfOfAPairIsDerived(t *testing.T) {
	got, err := Read(strings.NewReader("topic: t\nconsumerGroups: [{name: a}, {name: b, offsetCommit: beforeProcessing}, {name: c, deliverySemantics: at-most-once}]"))
	require.NoError(t, err)
	require.Equal(t, []Group{
		{Name: "a", Instances: 1, OffsetCommit: AfterProcessing, DeliverySemantics: AtLeastOnce},
		{Name: "b", Instances: 1, OffsetCommit: BeforeProcessing, DeliverySemantics: AtMostOnce},
		{Name: "c", Instances: 1, OffsetCommit: BeforeProcessing, DeliverySemantics: AtMostOnce},
	}, got.ConsumerGroups)
	require.Equal(t, 1, got.Partitions)
	require.Equal(t, 3, got.ReplicationFactor)
}

func TestWhatIsWrongIsNamed(t *testing.T) {
	const group = "topic: t\nconsumerGroups: [{name: g, "
	for text, want := range map[string]string{
		"":                                "the file is empty",
		"partitions: 3":                   "no topic",
		"topic: __mine":                   "belong to the cluster",
		"topic: t\npartitions: -1":        "at least one",
		"topic: t\nreplicationFactor: -2": "at least one replica",
		"topic: t\npartition: 3":          `unknown field "partition"`,
		"topic: t\nconsumerGroups: [{instances: 2}]":                                 "has no name",
		"topic: t\nconsumerGroups: [{name: g}, {name: g}]":                           "twice",
		group + "instances: -1}]":                                                    "at least one",
		group + "offsetCommit: sometimes}]":                                          "afterProcessing or beforeProcessing",
		group + "deliverySemantics: twice}]":                                         "at-least-once or at-most-once",
		group + "deliverySemantics: exactly-once}]":                                  "holds for what is written in a transaction",
		group + "offsetCommit: beforeProcessing, deliverySemantics: at-least-once}]": "contradicts at-least-once",
		group + "offsetCommit: afterProcessing, deliverySemantics: at-most-once}]":   "contradicts at-most-once",
	} {
		_, err := Read(strings.NewReader(text))
		require.ErrorContains(t, err, want, "%q", text)
	}
}

func FuzzRead(f *testing.F) {
	f.Add("topic: t\npartitions: 6\nconsumerGroups: [{name: g, instances: 3}]")
	f.Fuzz(func(t *testing.T, text string) {
		got, err := Read(strings.NewReader(text))
		if err == nil && (got.Topic == "" || got.Partitions < 1 || got.ReplicationFactor < 1) {
			t.Fatalf("accepted without %+v", got)
		}
	})
}
