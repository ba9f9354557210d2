package tape

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/pack"
)

// A message of any kind that there is goes onto a tape and comes back: what nodes
// send one another, what clients ask, and what they are answered.
func TestEveryKindOfMessageHasAForm(t *testing.T) {
	for _, kind := range message.Kinds() {
		t.Run(kind.String(), func(t *testing.T) {
			m := message.New(kind)
			fill(reflect.ValueOf(m).Elem())
			if f, ok := m.(*message.Forwarded); ok {
				f.Body = &message.CreateTopicReply{Detail: "words"} // not every reply is passed on
			}
			inputs := []effect.Input{effect.Received{From: 2, Msg: m}}
			effects := []effect.Effect{effect.Send{To: 3, Msg: m}}
			if r, ok := m.(message.Request); ok {
				inputs = append(inputs, effect.Requested{Token: 4, Msg: r})
			}
			if r, ok := m.(message.Reply); ok {
				effects = append(effects, effect.Reply{Token: 5, Msg: r})
			}
			for _, in := range inputs {
				b, err := newPacker().input(nil, in)
				require.NoError(t, err)
				r := pack.Read(b)
				got, err := readInput(&r)
				require.NoError(t, err)
				require.Zero(t, r.Left())
				require.Equal(t, in, got)
			}
			b, err := newPacker().effects(nil, effects)
			require.NoError(t, err)
			list, err := readEffects(b)
			require.NoError(t, err)
			sums := 0
			if carrier, ok := m.(message.Payload); ok { // of record bytes only sums are kept
				carrier.EachPayload(func(b *[]byte) { *b = nil; sums++ })
			}
			require.Len(t, list, len(effects))
			for i := range list {
				require.Equal(t, effects[i], list[i].Value)
				require.Len(t, list[i].Bytes, sums)
			}
		})
	}
}
