package record_test

import (
	"testing"

	"github.com/tamarack-mq/tamarack/core/record"
)

func benchBatch(b *testing.B, records int) []byte {
	var builder record.Builder
	value := make([]byte, 100)
	for i := range records {
		if err := builder.Append(record.Timestamp(i), []byte("key"), value, nil); err != nil {
			b.Fatal(err)
		}
	}
	return builder.Build()
}

func BenchmarkValidate(b *testing.B) {
	batch := benchBatch(b, 150)
	b.SetBytes(int64(len(batch)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := record.Validate(batch); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecodeHeader(b *testing.B) {
	batch := benchBatch(b, 1)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := record.DecodeHeader(batch); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRecords(b *testing.B) {
	batch := benchBatch(b, 150)
	h, err := record.DecodeHeader(batch)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(batch)))
	b.ReportAllocs()
	for b.Loop() {
		it := record.Records(&h, record.Payload(batch))
		for it.Next() {
		}
	}
}

func BenchmarkBuild(b *testing.B) {
	value := make([]byte, 100)
	b.ReportAllocs()
	var builder record.Builder
	for b.Loop() {
		builder.Reserve(20_000)
		for i := range 150 {
			if err := builder.Append(record.Timestamp(i), []byte("key"), value, nil); err != nil {
				b.Fatal(err)
			}
		}
		b.SetBytes(int64(len(builder.Build())))
	}
}
