package codec_test

import (
	"testing"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/transport/codec"
)

// The messages of one acks=all produce.
func BenchmarkCodec(b *testing.B) {
	id := record.PartitionID{Topic: 1000, Index: 3}
	records := make([]byte, 1<<10)
	for _, m := range []message.Message{
		produce(records),
		&message.ProduceReply{Partitions: []message.ProducedPartition{{ID: id, BaseOffset: 1 << 20}}},
		&message.ReplicaFetch{BrokerEpoch: 1000, Session: 1 << 40, Sequence: 1000, MaxWait: message.Second, MaxBytes: 1 << 20,
			Partitions: []message.ReplicaFetchPartition{{ID: id, LeaderEpoch: 5, Offset: 1 << 20, LastEpoch: 5, Flushed: 1 << 20}}},
		&message.ReplicaFetchReply{BrokerEpoch: 1000, Session: 1 << 40, Sequence: 1000,
			Partitions: []message.ReplicaFetchedPartition{{ID: id, LeaderEpoch: 5, HighWatermark: 1 << 20, Records: records}}},
		&message.ReplicaProgress{BrokerEpoch: 1000, Partitions: []message.ReplicaFlushed{{ID: id, LeaderEpoch: 5, Flushed: 1 << 20}}},
	} {
		b.Run("encode/"+m.Kind().String(), func(b *testing.B) {
			b.ReportAllocs()
			var dst []byte
			var payload [][]byte
			for b.Loop() {
				dst, payload, _ = codec.Encode(dst[:0], payload[:0], 1, m)
			}
		})
		b.Run("decode/"+m.Kind().String(), func(b *testing.B) {
			b.ReportAllocs()
			frame := frameOf(b, 1, m)
			for b.Loop() {
				if _, _, err := codec.Decode(frame); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
