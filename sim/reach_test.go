package sim

import (
	"slices"
	"strings"
	"testing"

	"github.com/tamarack-mq/tamarack/core/message"
)

// Every message that there is must be sent by some workload of the first seeds:
// what nobody sends is not tested. The trace tells what was received.
func TestEveryKindOfMessageIsReached(t *testing.T) {
	missing := map[string]bool{}
	for _, k := range message.Kinds() {
		missing[k.String()] = true
	}
	const seeds = 80
	for seed := uint64(1); seed <= seeds && len(missing) > 0; seed++ {
		r := Run(NewPlan(seed), Options{TraceFrom: 1, TraceTo: 1 << 62})
		for _, line := range r.Trace {
			_, received, ok := strings.Cut(line, " <- ")
			if !ok {
				continue
			}
			if head, _, ok := strings.Cut(received, "{"); ok {
				delete(missing, head[strings.LastIndexByte(head, ' ')+1:])
			}
		}
	}
	var names []string
	for name := range missing {
		names = append(names, name)
	}
	slices.Sort(names)
	if len(names) > 0 {
		t.Errorf("no workload of the first %d seeds has sent: %s", seeds, strings.Join(names, ", "))
	}
}
