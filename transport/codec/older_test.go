package codec

import (
	"encoding/binary"
	"fmt"
	"reflect"
	"testing"

	"github.com/hashicorp/go-msgpack/v2/codec"
	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/message"
)

// A program that knows fewer fields sends shorter arrays. Whatever is missing at
// the end of one, of the message or of a structure within, is zero.
func TestFieldsThatAnOlderProgramDoesNotSendAreZero(t *testing.T) {
	shortened := 0
	for _, kind := range message.Kinds() {
		if kind == message.KindForward || kind == message.KindForwarded {
			continue // their heads name what follows, and hold the heads of the others
		}
		sent := message.New(kind)
		fillFields(reflect.ValueOf(sent).Elem(), new(int))
		frame, _, err := Encode(nil, nil, 5, sent)
		require.NoError(t, err)
		size := binary.BigEndian.Uint32(frame[13:])
		var head any
		require.NoError(t, codec.NewDecoderBytes(frame[PrefixSize:PrefixSize+size], handle).Decode(&head))
		s := shortener{set: func(now any) { head = now }, visit: func(name string) {
			shortened++
			got, err := DecodeBody(bodyOf(t, head, sent))
			require.NoError(t, err, name)
			require.Equal(t, sent, got, name)
		}}
		s.shorten(head, reflect.ValueOf(sent).Elem(), kind.String())
	}
	require.Greater(t, shortened, 300, "too few for all the messages that there are")
}

// bodyOf is a frame without its prefix, with this head and the record bytes of m.
func bodyOf(t *testing.T, head any, m message.Message) (Prefix, []byte) {
	var body, records []byte
	require.NoError(t, codec.NewEncoderBytes(&body, handle).Encode(head))
	size := len(body)
	if p, ok := m.(message.Payload); ok {
		p.EachPayload(func(b *[]byte) {
			body = binary.BigEndian.AppendUint32(body, uint32(len(*b)))
			records = append(records, *b...)
		})
	}
	return Prefix{Kind: m.Kind(), HeadSize: size}, append(body, records...)
}

// shortener takes fields away from the end of arrays, and from the structures that
// they stand for.
type shortener struct {
	set   func(any) // puts another value in the place of the one at hand
	visit func(name string)
}

func (s shortener) shorten(head any, v reflect.Value, name string) {
	array, _ := head.([]any)
	within := func(i int, v reflect.Value, name string) {
		shortener{func(now any) { array[i] = now }, s.visit}.shorten(array[i], v, name)
	}
	switch v.Kind() {
	case reflect.Pointer:
		s.shorten(head, v.Elem(), name)
	case reflect.Slice:
		for i := range array {
			within(i, v.Index(i), fmt.Sprintf("%s[%d]", name, i))
		}
	case reflect.Struct:
		var fields []reflect.Value // those in the head
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.Tag.Get("codec") != "-" {
				within(len(fields), v.Field(i), name+"."+f.Name)
				fields = append(fields, v.Field(i))
			}
		}
		was := reflect.New(v.Type()).Elem()
		was.Set(v)
		for i := len(fields) - 1; i >= 0; i-- {
			fields[i].SetZero()
			s.set(array[:i])
			s.visit(fmt.Sprintf("%s with %d fields", name, i))
		}
		v.Set(was)
		s.set(array)
	}
}

// fillFields gives every field a value that is not zero.
func fillFields(v reflect.Value, n *int) {
	*n++
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fillFields(v.Elem(), n)
	case reflect.Struct:
		for i := range v.NumField() {
			fillFields(v.Field(i), n)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fillFields(v.Index(0), n)
		fillFields(v.Index(1), n)
	case reflect.String:
		v.SetString(fmt.Sprint("text ", *n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(int64(*n % 100))
	default:
		v.SetUint(uint64(*n % 100))
	}
}
