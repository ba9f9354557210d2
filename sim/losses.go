package sim

import "github.com/tamarack-mq/tamarack/history"

// LostAcked counts the records that were acknowledged with acks 0 or 1 and that
// the final reading did not find.
func LostAcked(ops []history.Operation) int {
	found := map[string]bool{}
	for i := range ops {
		if ops[i].Kind == history.Read && ops[i].Client == auditorID {
			for _, r := range ops[i].Records {
				found[string(r.Value)] = true
			}
		}
	}
	lost := 0
	for i := range ops {
		op := &ops[i]
		if op.Kind == history.Publish && op.Outcome == history.OK && op.Acks >= 0 && !found[string(op.Value)] {
			lost++
		}
	}
	return lost
}
