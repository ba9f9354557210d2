package sim

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestEventsComeInTheOrderOfTimeAndThenOfMaking(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type made struct {
			at Span
			n  uint64
		}
		var a agenda
		var waiting []made
		var now Span
		n := uint64(0)
		for range rapid.IntRange(1, 300).Draw(t, "moves") {
			if rapid.IntRange(0, 2).Draw(t, "move") > 0 || len(waiting) == 0 {
				n++
				m := made{now + Span(rapid.IntRange(0, 20).Draw(t, "after")), n}
				a.add(m.at, event{kind: evScript, arg: m.n})
				waiting = append(waiting, m)
				continue
			}
			slices.SortStableFunc(waiting, func(x, y made) int {
				if x.at != y.at {
					return int(x.at - y.at)
				}
				return int(x.n) - int(y.n)
			})
			at, e, ok := a.next()
			require.True(t, ok)
			require.Equal(t, waiting[0], made{at, e.arg})
			waiting, now = waiting[1:], at
		}
	})
}

func TestANodesClockSaysWhenItWillShowATime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newClock(5000)
		v := Span(0)
		for range rapid.IntRange(0, 5).Draw(t, "changes") {
			v += Span(rapid.Int64Range(0, int64(1000*Second)).Draw(t, "later"))
			c.setRate(v, rapid.Int64Range(500, 2000).Draw(t, "rate"))
		}
		shown := c.now(v).Mono
		m := shown + 1 + (c.now(v+Second).Mono-shown)*3
		at := c.when(m)
		require.GreaterOrEqual(t, c.now(at).Mono, m)
		require.Less(t, c.now(at-1).Mono, m)
	})
}

func TestAMonotonicClockNeverFallsAndAWallClockMay(t *testing.T) {
	c := newClock(0)
	before := c.now(10 * Second)
	c.setRate(10*Second, 900)
	c.jump(-5000)
	after := c.now(11 * Second)
	require.Equal(t, before.Mono+900_000_000, after.Mono)
	require.Equal(t, before.Wall+900-5000, after.Wall)
}
