package message_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/message"
)

func TestAcksAllNeedsNoMoreReplicasThanThereAre(t *testing.T) {
	for _, c := range []struct {
		set            int32
		replicas, need int
	}{
		{0, 3, 2}, {0, 1, 1}, {3, 3, 3}, {1, 3, 1}, {3, 2, 2}, {3, 0, 1},
	} {
		require.Equal(t, c.need, (&message.TopicConfig{MinInsync: c.set}).LeastInsync(c.replicas), "%+v", c)
	}
}
