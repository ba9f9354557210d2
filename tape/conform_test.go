package tape

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
)

func TestACoreDoesTheSameAgain(t *testing.T) {
	s := tell(t, "c0ffee", nil)
	r := play(t, s.tape)
	require.Nil(t, r.Difference)
	require.Equal(t, "the story is over", r.End)
	require.Equal(t, s.steps, r.Steps)
	require.Equal(t, int64(len(s.tape)), r.Bytes)
	require.InDelta(t, 6, r.Virtual.Seconds(), 0.1)
	require.Equal(t, "oak", r.Header.Config.ClusterID)
	require.Equal(t, time.Date(2026, 11, 30, 1, 2, 3, 0, time.UTC), r.Header.Started)
}

func TestADifferenceIsNamedByStepAndField(t *testing.T) {
	produced := tell(t, "", nil).produced
	for _, c := range []struct {
		what   string
		offset int64 // steps after that of the produce
		bend   func(effects []effect.Effect)
		want   Difference
	}{
		{"a number in an effect", 0, func(l []effect.Effect) {
			a := l[0].(effect.Append)
			a.End++
			l[0] = a
		}, Difference{Effect: 1, Field: "Append.End", Was: "2", Is: "1"}},
		{"record bytes", 0, func(l []effect.Effect) {
			a := l[0].(effect.Append)
			a.Batches = bytes.Clone(a.Batches)
			a.Batches[68]++
			l[0] = a
		}, Difference{Effect: 1, Field: "Append.Bytes[0].CRC"}},
		{"another effect", 0, func(l []effect.Effect) {
			l[1] = effect.DeleteLog{Log: l[0].(effect.Append).Log}
		}, Difference{Effect: 2, Field: "the kind of effect", Was: "DeleteLog{Log:5/0}", Is: "Flush{Log:5/0 Cut:0}"}},
		{"a field of a reply", 2, func(l []effect.Effect) {
			reply := l[len(l)-1].(effect.Reply)
			m := *reply.Msg.(*message.ProduceReply)
			m.Partitions = []message.ProducedPartition{m.Partitions[0]}
			m.Partitions[0].BaseOffset = 41
			reply.Msg = &m
			l[len(l)-1] = reply
		}, Difference{Effect: 1, Field: "Reply.Msg.Partitions[0].BaseOffset", Was: "41", Is: "0"}},
	} {
		s := tell(t, "", func(step int64, _ *message.Now, effects []effect.Effect) {
			if step == produced+c.offset {
				c.bend(effects)
			}
		})
		d := play(t, s.tape).Difference
		require.NotNil(t, d, c.what)
		require.Equal(t, [3]any{produced + c.offset, c.want.Effect, c.want.Field}, [3]any{d.Step, d.Effect, d.Field}, "%s: %s", c.what, d)
		if c.want.Was != "" {
			require.Equal(t, [2]string{c.want.Was, c.want.Is}, [2]string{d.Was, d.Is}, c.what)
		}
	}
}

func TestATimeThatWasNotTheCoresShowsWhereItMatters(t *testing.T) {
	waits := tell(t, "", nil).waits
	s := tell(t, "", func(step int64, now *message.Now, _ []effect.Effect) {
		if step == waits {
			now.Mono += message.Time(100 * message.Millisecond)
		}
	})
	d := play(t, s.tape).Difference
	require.NotNil(t, d)
	require.Equal(t, [4]any{1, "the number of effects", "Tick{}", "nothing"}, [4]any{d.Effect, d.Field, d.Input, d.Is})
	require.True(t, strings.HasPrefix(d.Was, "Reply{Token:4 Msg:FetchReply{"), d.Was)
	require.Greater(t, d.Step, waits, "the fetch itself gives nothing yet: the reply comes a hundred milliseconds later")
}

func TestAMissingEffectIsNamed(t *testing.T) {
	l := newLone(t, "", nil)
	l.live(message.Second)
	in := effect.Requested{Token: 1, Msg: &message.Metadata{}}
	out := effect.Out{}
	l.core.Step(l.now, in, &out)
	require.Len(t, out.List, 1)
	l.bytes, _ = l.encoder.Begin(l.bytes, l.now, in)
	l.bytes, _ = l.encoder.End(l.bytes, nil)
	d := play(t, l.bytes).Difference
	require.NotNil(t, d)
	require.Equal(t, "the number of effects", d.Field)
	require.Equal(t, "nothing", d.Was)
	require.True(t, strings.HasPrefix(d.Is, "Reply{Token:1 Msg:MetadataReply{"), d.Is)
	require.Equal(t, "Requested{Token:1 Msg:Metadata{Topics:[] IDs:[]}}", d.Input)
}

// ends are where the frames of a tape end.
func ends(tape []byte) (list []int) {
	for at := len(magic) + 1; at < len(tape); {
		at += frameHead + int(uint32(tape[at])<<24|uint32(tape[at+1])<<16|uint32(tape[at+2])<<8|uint32(tape[at+3]))
		list = append(list, at)
	}
	return list
}

func TestATornTailIsReadUpToTheTear(t *testing.T) {
	tape := tell(t, "", nil).tape
	at := ends(tape)
	for cut := at[1]; cut <= at[4]; cut++ {
		r := play(t, tape[:cut])
		whole := int64(0)
		for _, e := range at[2:] {
			if e <= cut {
				whole++
			}
		}
		require.Nil(t, r.Difference)
		require.Equal(t, whole, r.Steps, "cut at %d", cut)
		require.Contains(t, r.End, "the process was killed", "cut at %d", cut)
	}
	for cut := len(magic) + 1; cut < at[1]; cut++ {
		_, err := Conform(bytes.NewReader(tape[:cut]), "")
		require.ErrorIs(t, err, ErrDamaged, "cut at %d: a tape without a beginning cannot be played", cut)
	}
}

func TestEveryChangedByteIsNoticed(t *testing.T) {
	tape := tell(t, "", nil).tape
	at := ends(tape)
	for i := range at[5] {
		bad := bytes.Clone(tape)
		bad[i] ^= 0x40
		r, err := Conform(bytes.NewReader(bad), "")
		torn := err == nil && r.End != "the story is over" // a length that reaches beyond the file
		require.True(t, err != nil || torn, "byte %d", i)
		if err != nil {
			require.True(t, errors.Is(err, ErrNoTape) || errors.Is(err, ErrFormat) || errors.Is(err, ErrDamaged), "byte %d: %v", i, err)
		}
	}
}

func TestTapesOfOtherCodeSaySo(t *testing.T) {
	tape := tell(t, "aaa", nil).tape
	_, err := Conform(bytes.NewReader(tape), "bbb")
	require.EqualError(t, err, "this recording was made by other code: by commit aaa, and this program is of commit bbb: build simrun at that commit, or play it all the same with --any-code")
	for _, code := range []string{"aaa", "", "unknown"} {
		_, err = Conform(bytes.NewReader(tape), code)
		require.NoError(t, err, code)
	}
	tape[len(magic)]++
	_, err = Conform(bytes.NewReader(tape), "")
	require.EqualError(t, err, "this recording is of another format: 2, and this program reads 1: use the simrun of the commit that recorded it")
	_, err = Conform(strings.NewReader("PK\x03\x04 some other file"), "")
	require.ErrorIs(t, err, ErrNoTape)
}
