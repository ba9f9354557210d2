package main

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// input is the nth record that the example reads.
func input(n int) []byte { return fmt.Appendf(nil, "order %d of customer %d", n, n%17) }

// tally is what is wrong with the outputs.
type tally struct {
	repeated, missing []int    // numbers of inputs, one entry for each time
	strange           []string // outputs that no input has
	disordered        int      // outputs that stand behind a later one of their customer
}

// count compares outputs, as they were read, with those that inputs should have.
func count(inputs int, outputs []string) (t tally) {
	number := map[string]int{}
	for n := range inputs {
		number[string(bytes.ToUpper(input(n)))] = n
	}
	seen := make([]bool, inputs)
	last := map[int]int{}
	for _, o := range outputs {
		n, known := number[o]
		switch {
		case !known:
			t.strange = append(t.strange, o)
		case seen[n]:
			t.repeated = append(t.repeated, n)
		default:
			seen[n] = true
			if n < last[n%17] {
				t.disordered++
			}
			last[n%17] = n
		}
	}
	for n, there := range seen {
		if !there {
			t.missing = append(t.missing, n)
		}
	}
	slices.Sort(t.repeated)
	return t
}

func TestATallyFindsWhatIsWrong(t *testing.T) {
	var right []string
	for n := range 40 {
		right = append(right, string(bytes.ToUpper(input(n))))
	}
	require.Equal(t, tally{}, count(40, right))
	wrong := slices.Clone(right)
	wrong[3], wrong[20] = wrong[20], wrong[3] // 3 and 20 are of one customer
	wrong = append(wrong[:30], "ORDER", wrong[7], wrong[7])
	require.Equal(t, tally{
		repeated: []int{7, 7}, missing: []int{30, 31, 32, 33, 34, 35, 36, 37, 38, 39}, strange: []string{"ORDER"}, disordered: 1,
	}, count(40, wrong))
}
