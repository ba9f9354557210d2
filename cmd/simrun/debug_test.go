package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/scenarios"
	"github.com/tamarack-mq/tamarack/sim"
)

// play runs commands over a scenario and returns what each printed.
func play(t *testing.T, commands ...string) []string {
	t.Helper()
	raw, err := scenarios.Read("leader-loses-power")
	require.NoError(t, err)
	plan, err := sim.ParsePlan(raw)
	require.NoError(t, err)
	var out bytes.Buffer
	d := newDebugger(sim.NewSession(plan), &out)
	require.NoError(t, d.loop(strings.NewReader(strings.Join(commands, "\n")+"\n"), true))
	var answers []string
	for line := range strings.Lines(out.String()) {
		if head, _, ok := strings.Cut(line, "> "); ok && strings.Trim(head, "0123456789") == "" {
			answers = append(answers, "")
			continue
		}
		if len(answers) > 0 {
			answers[len(answers)-1] += line
		}
	}
	require.Len(t, answers, len(commands), out.String())
	return answers
}

func TestStepsBackwardsUndoStepsForwards(t *testing.T) {
	a := play(t, "goto 1500", "where", "node 1", "step 7", "back 7", "node 1", "s", "b", "where")
	require.Equal(t, a[0], a[1])
	require.Equal(t, a[0], a[4])
	require.NotEqual(t, a[0], a[3])
	require.Equal(t, a[2], a[5], "the state after going on and back is another one")
	require.Equal(t, a[7], a[8])
}

func TestABreakpointStopsBothWays(t *testing.T) {
	a := play(t, "break what fault", "break node 1 kind MetadataPush", "breaks", "continue", "continue", "reverse", "delete 2", "breaks", "last", "reverse", "")
	require.Equal(t, "1: what fault\n2: node 1 kind MetadataPush\n", a[2])
	require.Contains(t, a[3], "breakpoint: ")
	require.Equal(t, a[3], a[5])
	require.NotEqual(t, a[3], a[4])
	require.Equal(t, "1: what fault\n", a[7])
	require.Contains(t, a[9], "  fault: ")
	require.NotEqual(t, a[9], a[10], "an empty line does the last command again")
}

func TestADebuggerLooksAtEverything(t *testing.T) {
	a := play(t, "next what append", "prev node 2", "goto 4s", "isr orders/0", "log 1 orders/1", "disk 1", "flight Quorum", "node 1 highWatermark", "diff 1 1000", "why orders/1@5", "around 2", "goto 2s")
	require.Contains(t, a[0], " appends ")
	require.Contains(t, a[1], "node 2 ")
	require.Contains(t, a[3], "committed up to ")
	require.Contains(t, a[3], "controller: leader ")
	require.Contains(t, a[4], ": durable, committed")
	require.Contains(t, a[5], "disk.file[")
	for line := range strings.Lines(a[6]) {
		require.Contains(t, line, "Quorum")
	}
	require.Contains(t, a[7], "replica[")
	require.Contains(t, a[8], "  + ")
	require.Contains(t, a[9], "record 5 of partition ")
	require.Contains(t, a[11], ", 1.99")
}

func TestADebuggerSaysWhatIsWrong(t *testing.T) {
	a := play(t, "dance", "goto nowhere", "node 77", "next what unicorn", "log 1", "delete 3", "isr x/1", "first", "back")
	for i, want := range []string{
		"\"dance\" is no command: see help", "\"nowhere\" is neither an event nor a time", "there is no node 77", "there is no such event from here on",
		"log needs a node and a partition", "delete needs the number of a breakpoint", "is no record of this run", "event 1, ", "nothing comes before event 1",
	} {
		require.Contains(t, a[i], want)
	}
}
