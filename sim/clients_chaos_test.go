package sim

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// TestSomeMalformedRecordsHaveAGoodChecksum: a broker that looked at checksums
// only would take them.
func TestSomeMalformedRecordsHaveAGoodChecksum(t *testing.T) {
	s := newStage(t)
	c := &chaos{malformed: true}
	seen := 0
	for range 1000 {
		m, ok := c.wrong(s.clients[0]).(*message.Produce)
		if !ok || m.Acks != message.AcksAll {
			continue
		}
		it := record.Batches(m.Partitions[0].Records)
		for it.Next() {
			records := record.Records(&it.Header, record.Payload(it.Bytes))
			for records.Next() {
			}
			if it.Header.CRC == record.Checksum(it.Bytes) && records.Err() != nil {
				seen++
			}
		}
	}
	require.Positive(t, seen)
}
