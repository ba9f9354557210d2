package deadline

import (
	"cmp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tamarack-mq/tamarack/core/message"
)

// TestWhatIsDueComesByTimeAndThenByTheOrderOfSetting holds the heap against a
// list that is sorted anew each time.
func TestWhatIsDueComesByTimeAndThenByTheOrderOfSetting(t *testing.T) {
	type set struct {
		who   int
		at    message.Time
		order int
	}
	rapid.Check(t, func(t *rapid.T) {
		var h Heap[int]
		all := make([]Deadline[int], 8)
		for i := range all {
			all[i].Due = i
		}
		var model []set
		find := func(who int) int { return slices.IndexFunc(model, func(s set) bool { return s.who == who }) }
		put := func(who int, at message.Time, order int) {
			if i := find(who); i >= 0 {
				model = slices.Delete(model, i, i+1)
			}
			if at != message.Never {
				model = append(model, set{who, at, order})
			}
			slices.SortFunc(model, func(a, b set) int {
				return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.order, b.order))
			})
		}
		times := rapid.OneOf(rapid.Just(message.Never), rapid.Map(rapid.IntRange(0, 9), func(i int) message.Time { return message.Time(i) }))
		for order := range rapid.IntRange(1, 60).Draw(t, "steps") {
			who := rapid.IntRange(0, len(all)-1).Draw(t, "who")
			switch rapid.IntRange(0, 3).Draw(t, "what") {
			case 0:
				at := times.Draw(t, "at")
				h.Set(&all[who], at)
				put(who, at, order)
			case 1:
				at := times.Draw(t, "at")
				h.Sooner(&all[who], at)
				if i := find(who); i < 0 || at < model[i].at {
					put(who, at, order)
				}
			case 2:
				h.Stop(&all[who])
				put(who, message.Never, order)
			case 3:
				now := message.Time(rapid.IntRange(0, 9).Draw(t, "now"))
				var passed, due []int
				h.Pass(now, func(who int) { passed = append(passed, who) })
				for len(model) > 0 && model[0].at <= now {
					due = append(due, model[0].who)
					model = model[1:]
				}
				require.Equal(t, due, passed)
			}
			require.Equal(t, len(model), h.Len())
			if len(model) == 0 {
				require.Equal(t, message.Never, h.Next())
				require.Nil(t, h.First())
				continue
			}
			require.Equal(t, model[0].at, h.Next())
			require.Equal(t, model[0].who, h.First().Due)
		}
	})
}

func TestWhatIsSetWhileTimePassesWaitsForTheNextCall(t *testing.T) {
	var h Heap[string]
	one := Deadline[string]{Due: "one"}
	h.Set(&one, 5)
	rounds := 0
	again := func(string) {
		rounds++
		h.Set(&one, 5)
	}
	h.Pass(5, again)
	require.Equal(t, 1, rounds)
	h.Pass(5, again)
	require.Equal(t, 2, rounds)
	require.True(t, one.IsSet())
	h.StopAll()
	require.False(t, one.IsSet())
	require.Zero(t, h.Len())
}

func TestSettingAndStoppingAllocateNothing(t *testing.T) {
	var h Heap[int]
	all := make([]Deadline[int], 64)
	for i := range all {
		h.Set(&all[i], message.Time(i))
	}
	require.Zero(t, testing.AllocsPerRun(100, func() {
		for i := range all {
			h.Stop(&all[i])
			h.Set(&all[i], message.Time(len(all)-i))
		}
	}))
}
