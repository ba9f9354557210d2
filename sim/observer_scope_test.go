package sim

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestObserversSeeAllThatTheySayTheyLookAt plays seeds twice: once as campaigns
// do, and once with every observer called after every step. An observer that
// learns, marks or refuses something in a step that its Looks does not name
// differs at the end.
func TestObserversSeeAllThatTheySayTheyLookAt(t *testing.T) {
	plans := []*Plan{NewPlan(1), NewPlan(2), NewPlan(11), FiveBrokers(3)}
	if testing.Short() {
		plans = plans[:2]
	}
	for _, plan := range plans {
		told, all := newWorld(plan, Options{}), newWorld(plan, Options{})
		all.always = 1<<scopes - 1
		for i := range all.looks {
			all.looks[i] = 1<<len(all.observers) - 1
		}
		told.play()
		all.play()
		require.Equal(t, told.result().Marks, all.result().Marks, "seed %d", plan.Seed)
		require.Equal(t, told.failure, all.failure, "seed %d", plan.Seed)
		for i, o := range told.observers {
			if !reflect.DeepEqual(o, all.observers[i]) {
				t.Errorf("seed %d: %T (%s) sees something in steps that its Looks does not name", plan.Seed, o, o.Invariant())
			}
		}
	}
}

// TestNoObserverIsLeftWithoutABit: one that has none would never be called, and nothing
// else would show it.
func TestNoObserverIsLeftWithoutABit(t *testing.T) {
	var all uint64
	list := newObservers()
	l := looksOf(list)
	for _, set := range l {
		all |= set
	}
	for i, o := range list {
		if looker, ok := o.(looker); ok && looker.Looks() == 0 {
			continue // it is called at starts, or at rest
		}
		require.NotZero(t, all>>i&1, "%T", o)
	}
	for len(list) <= mostObservers {
		list = append(list, &offsetsOnce{})
	}
	require.Panics(t, func() { looksOf(list) })
}
