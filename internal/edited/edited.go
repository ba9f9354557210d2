// Package edited lets one binary hold many edits of the code, of which one is
// switched on, or none. Package hunt writes calls of it into copies of the files
// that it edits; the source tree itself only asks what was Reached.
package edited

import (
	"os"
	"strconv"
)

// Variable is the environment variable that holds the number of the edit that is
// switched on, from 1 on. It is read before any other package of this module
// comes to life, so that tables made at the start are made by the edited code.
const Variable = "SIMRUN_EDIT"

// Most is how many edits one binary can hold.
const Most = 4096

// On is the number of the edit that is switched on; 0: the code as it is.
var On = number(os.Getenv(Variable))

func number(s string) int {
	if s == "" {
		return 0
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 || n > Most {
		panic(Variable + "=" + s + ": give the number of an edit, or 0 for none")
	}
	return n
}

var counts [Most + 1]uint64

// Reach counts that the place of an edit is executed. Runs side by side would
// count in one another's way: where counts matter, seeds run one by one.
func Reach(edit int) { counts[edit]++ }

// Where is is, and counts when the edit would give something else there.
func Where(edit int, is, differs bool) bool {
	if differs {
		counts[edit]++
	}
	return is
}

// Unlike is is, and counts when that is not what the edit forces it to be.
func Unlike(edit int, forced, is bool) bool {
	if is != forced {
		counts[edit]++
	}
	return is
}

// Reached returns how often each edit was counted since it was called last; those
// that were not are left out.
func Reached() map[int]uint64 {
	out := map[int]uint64{}
	for edit, n := range counts {
		if n > 0 {
			out[edit] = n
		}
	}
	clear(counts[:])
	return out
}
