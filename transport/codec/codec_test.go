package codec_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/transport/codec"
)

// Any message of any kind comes back as it was sent, with its correlation.
func TestEveryKindComesBackAsItWasSent(t *testing.T) {
	for _, kind := range message.Kinds() {
		t.Run(kind.String(), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				sent := drawMessage(t, kind)
				correlation := rapid.Uint64().Draw(t, "correlation")
				got, m, err := codec.Decode(frameOf(t, correlation, sent))
				require.NoError(t, err)
				require.Equal(t, correlation, got)
				require.Equal(t, sent, m)
			})
		})
	}
}

// Record bytes travel behind the head and are never copied: not when encoding,
// not when decoding.
func TestRecordBytesAreNeverCopied(t *testing.T) {
	records := []byte("twelve bytes")
	head, payload, err := codec.Encode(nil, nil, 7, produce(records, nil, records[:3]))
	require.NoError(t, err)
	require.Len(t, payload, 2)
	require.Same(t, &records[0], &payload[0][0])
	require.Same(t, &records[0], &payload[1][0])

	frame := append(append(head, payload[0]...), payload[1]...)
	_, m, err := codec.Decode(frame)
	require.NoError(t, err)
	parts := m.(*message.Produce).Partitions
	require.Same(t, &frame[len(head)], &parts[0].Records[0])
	require.Equal(t, len(parts[0].Records), cap(parts[0].Records), "an append must not reach the neighbour")
	require.Nil(t, parts[1].Records)
}

// Nil says another thing than empty: a heartbeat without changes against one
// that owns nothing.
func TestNilAndEmptyStayApart(t *testing.T) {
	for _, owned := range [][]record.PartitionID{nil, {}} {
		m, err := codec.Copy(&message.GroupHeartbeat{Group: "g", Owned: owned})
		require.NoError(t, err)
		require.Equal(t, owned, m.(*message.GroupHeartbeat).Owned)
	}
}

func TestFramesStandBehindOneAnother(t *testing.T) {
	buffer, _, err := codec.Encode(nil, nil, 1, &message.ListGroups{})
	require.NoError(t, err)
	first := len(buffer)
	buffer, _, err = codec.Encode(buffer, nil, 2, &message.DeleteGroup{Group: "g"})
	require.NoError(t, err)
	_, m, err := codec.Decode(buffer[first:])
	require.NoError(t, err)
	require.Equal(t, &message.DeleteGroup{Group: "g"}, m)
}

// Each way in which a frame can be wrong has its own error.
func TestWrongFramesAreNamed(t *testing.T) {
	good := frameOf(t, 1, produce([]byte("abc")))
	change := func(do func(b []byte) []byte) []byte { return do(append([]byte(nil), good...)) }
	setLength := func(b []byte, n int) []byte { binary.BigEndian.PutUint32(b, uint32(n)); return b }
	setHead := func(b []byte, n uint32) []byte { binary.BigEndian.PutUint32(b[13:], n); return b }
	headSize := int(binary.BigEndian.Uint32(good[13:]))
	cases := []struct {
		name  string
		frame []byte
		want  error
	}{
		{"nothing", nil, codec.ErrTruncated},
		{"half a prefix", good[:9], codec.ErrTruncated},
		{"cut payload", good[:len(good)-1], codec.ErrTruncated},
		{"a byte too many", change(func(b []byte) []byte { return append(b, 0) }), codec.ErrTrailing},
		{"length below the prefix", change(func(b []byte) []byte { return setLength(b, 3) }), codec.ErrTruncated},
		{"kind 0", change(func(b []byte) []byte { b[4] = 0; return b }), codec.ErrKind},
		{"kind 255", change(func(b []byte) []byte { b[4] = 255; return b }), codec.ErrKind},
		{"head beyond the frame", change(func(b []byte) []byte { return setHead(b, math.MaxUint32) }), codec.ErrTruncated},
		{"empty head", change(func(b []byte) []byte { return setHead(b, 0) }), codec.ErrTruncated},
		{"head with bytes to spare", change(func(b []byte) []byte { return setHead(b, uint32(headSize+4)) }), codec.ErrTrailing},
		{"head that is no message", change(func(b []byte) []byte { b[17] = 0xc1; return b }), codec.ErrMalformed},
		{"record length too large", change(func(b []byte) []byte { b[17+headSize+3]++; return b }), codec.ErrTruncated},
		{"record length too small", change(func(b []byte) []byte { b[17+headSize+3]--; return b }), codec.ErrTrailing},
		{"no lengths", change(func(b []byte) []byte { return setLength(b[:17+headSize+2], 13+headSize+2) }), codec.ErrTruncated},
		{"payload where none belongs", func() []byte {
			b := append(frameOf(t, 1, &message.ListGroups{}), 1)
			return setLength(b, len(b)-4)
		}(), codec.ErrTrailing},
		{"a field that nobody knows", body(message.KindDeleteGroup, 0x92, 0xa1, 'g', 1), codec.ErrMalformed},
		{"an array that claims 4 G entries", body(message.KindListOffsets, 0x91, 0xdd, 0xff, 0xff, 0xff, 0xff), codec.ErrMalformed},
		{"a string that claims 4 GB", body(message.KindDeleteGroup, 0x91, 0xdb, 0xff, 0xff, 0xff, 0xff), codec.ErrMalformed},
		{"a number that does not fit", body(message.KindInitProducerIDReply, 0x93, 0xcd, 0xff, 0xff, 0, 0), codec.ErrMalformed},
		{"deep nesting", body(message.KindDeleteGroup, 0x91, 0x91, 0x91, 0x91, 0x91), codec.ErrMalformed},
		{"a forwarded reply as request", body(message.KindForward, 0x92, 1, byte(message.KindDeleteGroupReply), 0x91, 0), codec.ErrMalformed},
		{"a forward in a forward", body(message.KindForward, 0x92, 1, byte(message.KindForward), 0x92, 1, 1), codec.ErrMalformed},
		{"a forward without body", body(message.KindForward, 0x92, 1, 0), codec.ErrMalformed},
		{"a forward with payload", body(message.KindForward, 0x92, 1, byte(message.KindProduce), 0x90), codec.ErrMalformed},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, m, err := codec.Decode(c.frame)
			require.ErrorIs(t, err, c.want)
			require.Nil(t, m)
			var typed *codec.Error
			require.ErrorAs(t, err, &typed)
		})
	}
}

func TestPrefixHoldsTheLimits(t *testing.T) {
	frame := frameOf(t, 9, produce(make([]byte, 100)))
	p, err := codec.ReadPrefix(frame, len(frame), 64)
	require.NoError(t, err)
	require.Equal(t, len(frame), p.Size)

	p, err = codec.ReadPrefix(frame, len(frame)-1, 64)
	require.ErrorIs(t, err, codec.ErrTooLarge)
	require.Equal(t, uint64(9), p.Correlation, "so that it can be answered")
	_, err = codec.ReadPrefix(frame, len(frame), 2)
	require.ErrorIs(t, err, codec.ErrTooLarge)
}

func TestWhatCannotBeSaidIsRefused(t *testing.T) {
	_, _, err := codec.Encode(nil, nil, 0, nil)
	require.Error(t, err)
	_, _, err = codec.Encode(nil, nil, 0, &message.Forward{Request: 1})
	require.ErrorIs(t, err, codec.ErrMalformed)
}

// body is a frame of a kind whose head is given byte by byte.
func body(kind message.Kind, head ...byte) []byte {
	b := make([]byte, codec.PrefixSize, codec.PrefixSize+len(head))
	binary.BigEndian.PutUint32(b, uint32(13+len(head)))
	b[4] = byte(kind)
	binary.BigEndian.PutUint32(b[13:], uint32(len(head)))
	return append(b, head...)
}

func produce(records ...[]byte) *message.Produce {
	m := &message.Produce{Acks: message.AcksAll, Timeout: message.Second}
	for i, r := range records {
		m.Partitions = append(m.Partitions, message.ProducePartition{
			ID: record.PartitionID{Topic: 3, Index: int32(i)}, Records: r})
	}
	return m
}

func frameOf(t require.TestingT, correlation uint64, m message.Message) []byte {
	frame, payload, err := codec.Encode(nil, nil, correlation, m)
	require.NoError(t, err)
	for _, p := range payload {
		frame = append(frame, p...)
	}
	return frame
}

// drawMessage fills every field of a message of a kind, those inside other
// structs and lists too.
func drawMessage(t *rapid.T, kind message.Kind) message.Message {
	switch m := message.New(kind).(type) {
	case *message.Forward:
		m.Request = rapid.Uint64().Draw(t, "request")
		m.Body = drawMessage(t, pick[message.Request](t)).(message.Request)
		return m
	case *message.Forwarded:
		m.Request = rapid.Uint64().Draw(t, "request")
		m.Code = message.Code(rapid.Int16().Draw(t, "code"))
		m.Controller = message.NodeID(rapid.Int32().Draw(t, "controller"))
		if rapid.Bool().Draw(t, "has body") {
			m.Body = drawMessage(t, pick[message.Reply](t)).(message.Reply)
		}
		return m
	default:
		drawValue(t, reflect.ValueOf(m).Elem(), kind.String())
		return m
	}
}

// pick draws a kind that implements M and may be forwarded.
func pick[M message.Message](t *rapid.T) message.Kind {
	var kinds []message.Kind
	for _, k := range message.Kinds() {
		m := message.New(k)
		_, fits := m.(M)
		_, carries := m.(message.Payload)
		if fits && !carries {
			kinds = append(kinds, k)
		}
	}
	return rapid.SampledFrom(kinds).Draw(t, "body")
}

func drawValue(t *rapid.T, v reflect.Value, name string) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			drawValue(t, v.Field(i), v.Type().Field(i).Name)
		}
	case reflect.Pointer:
		if rapid.Bool().Draw(t, name+"?") {
			v.Set(reflect.New(v.Type().Elem()))
			drawValue(t, v.Elem(), name)
		}
	case reflect.Slice:
		if n := rapid.IntRange(-1, 3).Draw(t, name+" length"); n > 0 || (n == 0 && name != "Records") {
			v.Set(reflect.MakeSlice(v.Type(), n, n))
		}
		for i := range v.Len() {
			drawValue(t, v.Index(i), name)
		}
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, name))
	case reflect.String:
		v.SetString(string(rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, name)))
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		low := int64(-1) << (v.Type().Bits() - 1)
		v.SetInt(rapid.Int64Range(low, -(low+1)).Draw(t, name))
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(rapid.Uint64Max(math.MaxUint64>>(64-v.Type().Bits())).Draw(t, name))
	default:
		panic(fmt.Sprintf("the generator knows no %s (%s)", v.Kind(), name))
	}
}
