package sim

import (
	"strconv"

	"github.com/tamarack-mq/tamarack/core/client"
)

// drawKey draws one of the keys by which a client publishes. Where they are long they
// are of any length: a hash takes four bytes at a time, and then what is left.
func (u *user) drawKey() string {
	n := int(u.random.Below(int64(u.plan.Keys)))
	key := "k" + strconv.Itoa(n)
	if u.plan.LongKeys {
		key += letters[:n%21]
	}
	return key
}

// keyed judges where a record with a key went (INV-9): to the partition to which
// Kafka's clients send that key, among as many partitions as its topic has had.
// So clients of both kinds keep the order of one key.
func (p *producer) keyed(u *user, key string, at *client.Published) {
	image := u.world.newest()
	if key == "" || image == nil || image.Topic(at.ID.Topic) == nil {
		return
	}
	topic, hash := image.Topic(at.ID.Topic), kafkaHash([]byte(key))&0x7fffffff
	for n := u.world.partitionsAtFirst(topic.Name); n <= len(topic.Partitions); n++ {
		if int32(hash%uint32(n)) == at.ID.Index {
			return
		}
	}
	u.world.fail("INV-9", 0, "a key goes to another partition than with other clients", "client %d sent key %q to partition %d of topic %q, which has %d partitions", u.plan.ID, key, at.ID.Index, topic.Name, len(topic.Partitions))
	u.world.aboutRecord(at.ID, at.Offset)
}

// partitionsAtFirst is how many partitions a topic of the plan begins with.
func (w *World) partitionsAtFirst(name string) int {
	for i := range w.plan.Topics {
		if w.plan.Topics[i].Name == name {
			return w.plan.Topics[i].Partitions
		}
	}
	return 1
}

// kafkaHash is MurmurHash2 with the seed of Kafka's default partitioner, written
// down a second time: it is held against the one of the client.
func kafkaHash(key []byte) uint32 {
	const m = 0x5bd1e995
	h := 0x9747b28c ^ uint32(len(key))
	for len(key) >= 4 {
		k := (uint32(key[0]) | uint32(key[1])<<8 | uint32(key[2])<<16 | uint32(key[3])<<24) * m
		h = h*m ^ (k^k>>24)*m
		key = key[4:]
	}
	if len(key) > 0 {
		for i := len(key) - 1; i >= 0; i-- {
			h ^= uint32(key[i]) << (8 * i)
		}
		h *= m
	}
	h = (h ^ h>>13) * m
	return h ^ h>>15
}
