package order_test

import (
	"cmp"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tamarack-mq/tamarack/core/order"
)

type number int

func (n number) Compare(o number) int { return cmp.Compare(n, o) }

// Sets against the maps that they stand for.
func TestSetsAreWhatMapsOfThemWouldBe(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		numbers := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) number { return number(rapid.IntRange(0, 9).Draw(rt, "number")) }), 0, 8)
		list, other := numbers.Draw(rt, "list"), numbers.Draw(rt, "other")
		given := append([]number(nil), list...)
		of := func(keep func(n number) bool) (set []number) {
			for n := range number(10) {
				if keep(n) {
					set = append(set, n)
				}
			}
			return set
		}
		in := func(list []number) func(number) bool {
			return func(n number) bool {
				for _, o := range list {
					if o == n {
						return true
					}
				}
				return false
			}
		}
		a, b := order.Set(list), order.Set(other)
		require.ElementsMatch(rt, of(in(list)), a)
		require.True(rt, order.IsSet(a))
		for n := range number(10) {
			require.Equal(rt, in(list)(n), order.Contains(a, n))
		}
		require.Equal(rt, of(func(n number) bool { return in(a)(n) && in(b)(n) }), order.Common(a, b))
		require.Equal(rt, of(func(n number) bool { return in(a)(n) && !in(b)(n) }), order.Without(a, b))
		require.ElementsMatch(rt, of(func(n number) bool { return in(a)(n) || in(b)(n) }), order.Union(a, other))
		require.True(rt, order.IsSet(order.Union(a, other)))
		require.Equal(rt, given, append([]number(nil), list...), "nothing is changed in place")
	})
}
