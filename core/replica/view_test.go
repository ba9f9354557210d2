package replica

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// A view that is written over another one has nothing left of that, whatever it was of:
// each field is written by itself, and one that was forgotten would be as it was.
func TestAViewKeepsNothingOfTheOneBefore(t *testing.T) {
	w := newWorld(t, 2)
	w.create(p0, message.TopicConfig{MinInsync: 1}, 1, 2)
	w.node(1).produce(message.AcksAll, batch("a", 1))
	w.run()
	for _, id := range []record.PartitionID{p0, {Topic: 99}} {
		for _, n := range []int{1, 2} {
			m := w.node(int(n)).m
			fresh, _ := m.View(id)
			var over View
			fill(reflect.ValueOf(&over).Elem())
			m.ViewInto(id, &over)
			require.Equal(t, withoutEmpty(fresh), withoutEmpty(over), "partition %s on node %d", id, n)
		}
	}
}

// fill gives everything another value than none.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i))
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 3, 5))
		for i := range v.Len() {
			fill(v.Index(i))
		}
	case reflect.String:
		v.SetString("before")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uint:
		v.SetUint(77)
	default:
		v.SetInt(77)
	}
}

// withoutEmpty has no slice where there is nothing in it.
func withoutEmpty(v View) View {
	if len(v.MaximalISR) == 0 {
		v.MaximalISR = nil
	}
	if len(v.Followers) == 0 {
		v.Followers = nil
	}
	return v
}
