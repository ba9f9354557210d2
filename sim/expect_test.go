package sim

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestThePageOfInvariantsHasThoseThatRunsAreJudgedBy(t *testing.T) {
	page, err := os.ReadFile("../docs/invariants.md")
	require.NoError(t, err)
	var listed []string
	for line := range strings.Lines(string(page)) {
		if row, ok := strings.CutPrefix(line, "| INV-"); ok {
			number, _, _ := strings.Cut(row, " ")
			listed = append(listed, "INV-"+number)
		}
	}
	require.Equal(t, listed, Invariants())
}

// What no run could break is no promise.
func TestAPromiseThatNothingCouldBreakIsRefused(t *testing.T) {
	for says, e := range map[string]Expect{
		"": {Holds: []string{"INV-9", "INV-46"}, Seen: []string{markNames[markPowerLost]}, Groups: []GroupExpect{{Group: "g", Repeated: "some", Skipped: "none"}}},
		`expect.holds: nothing enforces "INV-39"`:                             {Holds: []string{"INV-1", "INV-39"}},
		`expect.holds: nothing enforces "inv-1"`:                              {Holds: []string{"inv-1"}},
		`expect.seen: there is no mark "a leader was elect"`:                  {Seen: []string{"a leader was elect"}},
		`expect.groups, expect.outputs: "no" is neither some nor none`:        {Groups: []GroupExpect{{Group: "g", Skipped: "no"}}},
		`expect.groups, expect.outputs: "sometimes" is neither some nor none`: {Outputs: []OutputExpect{{Group: "g", Repeated: "sometimes"}}},
	} {
		p := NewPlan(1)
		p.Expect = e
		if says == "" {
			require.NoError(t, p.Validate())
		} else {
			require.EqualError(t, p.Validate(), says)
		}
	}
}

// A word that is misspelt would be taken for another, and the plan would play something
// else than it says.
func TestAWordThatNobodyKnowsIsRefused(t *testing.T) {
	for says, change := range map[string]func(*Plan){
		`client 1: there is no role "produser"`:                                              func(p *Plan) { p.Clients[0].Role = "produser" },
		`client 1: style is "at-most-one": one of at-least-once, at-most-once, manual, auto`: func(p *Plan) { p.Clients[0].Style = "at-most-one" },
		`client 1: reset is "last": one of earliest, latest`:                                 func(p *Plan) { p.Clients[0].Reset = "last" },
		`fault 0: nobody is a "leaders": a target begins with one of controller, leader, follower, coordinator, decider`: func(p *Plan) {
			p.Faults = []Fault{{Kind: Crash, Target: "leaders t0/0"}}
		},
	} {
		p := NewPlan(1)
		change(p)
		require.EqualError(t, p.Validate(), says)
	}
	w := newWorld(smallPlan(), Options{})
	for _, role := range roles {
		w.clients[0].plan = &ClientPlan{Role: role}
		require.NotNil(t, newScript(w.clients[0]), role)
	}
}
