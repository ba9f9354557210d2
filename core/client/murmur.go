package client

import "encoding/binary"

// murmur2 is the hash by which the field's clients choose a key's partition
// (Austin Appleby's MurmurHash2 with Kafka's seed), so that a key goes to the
// same partition whichever client sent it.
func murmur2(data []byte) uint32 {
	const m, seed = 0x5bd1e995, 0x9747b28c
	h := uint32(seed) ^ uint32(len(data))
	for len(data) >= 4 {
		k := binary.LittleEndian.Uint32(data) * m
		k ^= k >> 24
		h = h*m ^ k*m
		data = data[4:]
	}
	switch len(data) {
	case 3:
		h ^= uint32(data[2])<<16 | uint32(data[1])<<8 | uint32(data[0])
		h *= m
	case 2:
		h ^= uint32(data[1])<<8 | uint32(data[0])
		h *= m
	case 1:
		h ^= uint32(data[0])
		h *= m
	}
	h ^= h >> 13
	h *= m
	return h ^ h>>15
}

// PartitionOf is the partition of a key in a topic of count partitions.
func PartitionOf(key []byte, count int32) int32 {
	return int32(murmur2(key)&0x7fffffff) % count
}
