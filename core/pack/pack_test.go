package pack

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestWhatIsWrittenIsRead(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		u, i, i32 := rapid.Uint64().Draw(rt, "u"), rapid.Int64().Draw(rt, "i"), rapid.Int32().Draw(rt, "i32")
		flag, s := rapid.Bool().Draw(rt, "flag"), rapid.String().Draw(rt, "s")
		b := String(Bool(Int(Int(Uint(nil, u), i), int64(i32)), flag), s)
		b = Bytes(b, []byte(s))
		r := Read(b)
		require.Equal(rt, u, r.Uint())
		require.Equal(rt, i, r.Int())
		require.Equal(rt, i32, r.Int32())
		require.Equal(rt, flag, r.Bool())
		require.Equal(rt, s, r.String())
		require.Equal(rt, s, string(r.Bytes()))
		require.NoError(rt, r.Err())
		require.Zero(rt, r.Left())

		// Every prefix ends within a value.
		short := Read(b[:rapid.IntRange(0, len(b)-1).Draw(rt, "cut")])
		_, _, _, _, _, _ = short.Uint(), short.Int(), short.Int32(), short.Bool(), short.String(), short.Bytes()
		require.ErrorIs(rt, short.Err(), ErrShort)
	})
}

func TestLengthsAndNumbersAreNotTrusted(t *testing.T) {
	for name, read := range map[string]func(*Reader){
		"a length beyond the input": func(r *Reader) { r.Bytes() },
		"a count beyond the input":  func(r *Reader) { r.Count(1) },
		"a number beyond 32 bits":   func(r *Reader) { r.Int32() },
		"a byte that is no bool":    func(r *Reader) { r.Bool() },
	} {
		r := Read(Uint(nil, math.MaxUint64))
		read(&r)
		require.ErrorIs(t, r.Err(), ErrShort, name)
		require.Zero(t, r.Uint(), "after a fault everything is zero")
	}
}
