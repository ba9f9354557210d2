package metadata

import (
	"encoding/hex"
	"fmt"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// storedSamples has a change of every kind of stored form, with every field in use.
func storedSamples() []message.Change {
	config := message.TopicConfig{MinInsync: 2, SegmentBytes: 4096, RetentionBytes: -1, RetentionTime: 300, MaxBatchBytes: 1000, Internal: true}
	broker := message.BrokerChange{Node: 3, Epoch: 200, Incarnation: 1 << 40, DiskID: 7, Address: "a:1", Rack: "r", Fenced: true, ShuttingDown: true}
	draining, reported := broker, broker
	draining.Draining = true
	reported.Draining, reported.Report = true, 5
	rests := message.PartitionChange{
		ID: record.PartitionID{Topic: 300, Index: 2}, Replicas: []message.NodeID{1, 2, 3}, ISR: []message.NodeID{1, 2}, ELR: []message.NodeID{3},
		Leader: 2, LeaderEpoch: 70, PartitionEpoch: 71, Unclean: true,
	}
	moves := rests
	moves.Adding, moves.Target = []message.NodeID{4}, []message.NodeID{2, 4}
	return []message.Change{
		{Cluster: &message.ClusterChange{ClusterID: "c"}},
		{Broker: &broker},
		{Topic: &message.TopicChange{ID: 300, Name: "t", Config: config}},
		{Partition: &rests},
		{RemoveTopic: &message.RemoveTopicChange{ID: 300}},
		{ProducerIDs: &message.ProducerIDsChange{Next: 1000}},
		{Settings: &message.SettingsChange{Node: 2, Settings: []message.Setting{{Key: "k", Value: "v"}, {Key: "l"}}}},
		{Controllers: &message.ControllersChange{Voters: []message.NodeID{1, 2}, Learners: []message.NodeID{3}}},
		{Partition: &moves},
		{Broker: &draining},
		{RemoveBroker: &message.RemoveBrokerChange{Node: 3, Epoch: 200}},
		{Throttle: &message.ThrottleChange{BytesPerSecond: 1 << 20}},
		{Broker: &reported},
	}
}

// The bytes are in the logs and snapshots of controllers for ever. A field that is
// new needs a kind, or a form, of its own: see Encode.
func TestTheStoredFormStays(t *testing.T) {
	for i, want := range []string{
		"010163",
		"020690038080808080200703613a3101720101",
		"03ac02017404804001d804d00f01",
		"04ac0204030204060202040106048c018e0101",
		"05ac02",
		"06d00f",
		"070402016b0176016c00",
		"080202040106",
		"09ac0204030204060202040106048c018e01010108020408",
		"0a0690038080808080200703613a3101720101",
		"0b069003",
		"0c80808001",
		"0d0690038080808080200703613a31017201010105",
	} {
		sample := storedSamples()[i]
		require.Equal(t, "0101"+want, hex.EncodeToString(Encode([]message.Change{sample})), "kind %d", i+1)
		stored, err := hex.DecodeString("0101" + want)
		require.NoError(t, err)
		back, err := Decode(stored)
		require.NoError(t, err)
		require.Equal(t, []message.Change{sample}, back)
	}
}

// What is added to a change and not to its stored form would be lost with the
// first restart of a controller.
func TestEveryFieldOfAChangeIsStored(t *testing.T) {
	for i := range reflect.TypeFor[message.Change]().NumField() {
		var change message.Change
		field := reflect.ValueOf(&change).Elem().Field(i)
		field.Set(reflect.New(field.Type().Elem()))
		fillAll(field.Elem(), new(int))
		back, err := Decode(Encode([]message.Change{change}))
		require.NoError(t, err)
		require.Equal(t, []message.Change{change}, back)
	}
	_, err := Decode([]byte{encoding + 1, 0})
	require.EqualError(t, err, "metadata: stored in form 2, this release reads form 1")
	_, err = Decode([]byte{encoding, 1, kindReported + 1, 0})
	require.EqualError(t, err, "metadata: unknown kind of change 14")
}

// fillAll gives every field a value that is not zero.
func fillAll(v reflect.Value, n *int) {
	*n++
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fillAll(v.Field(i), n)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fillAll(v.Index(0), n)
		fillAll(v.Index(1), n)
	case reflect.String:
		v.SetString(fmt.Sprint("text ", *n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(int64(*n))
	default:
		v.SetUint(uint64(*n))
	}
}
