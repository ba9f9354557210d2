package sim

import (
	"slices"
	"strings"
	"time"

	"github.com/tamarack-mq/tamarack/core/client"
	"github.com/tamarack-mq/tamarack/core/message"
)

// judgeAlter is INV-10 for changes of settings: what is right in every state of
// the cluster is not refused as wrong.
func (o *operator) judgeAlter(u *user, op *openOp, result *client.Result) {
	ask, _ := op.ask.(client.Ask)
	if m, ok := ask.Request.(*message.AlterControllers); ok && result.Err != nil && result.Err.Code == message.InvalidRequest &&
		strings.Contains(result.Err.Detail, "is a member already") { // who is, is told so by another code, and may be removed
		u.world.fail("INV-10", 0, "a change of the controllers is refused for what it asks", "the operator asks for %s and is told: %s", describe(m), result.Err.Detail)
		return
	}
	m, ok := ask.Request.(*message.AlterConfig)
	if !ok || result.Err == nil || result.Err.Code != message.InvalidConfig || !alwaysRight(m) && !u.world.plan.justFits(m) {
		return
	}
	u.world.fail("INV-10", 0, "a setting that is right is refused", "the operator asks for %s and is told that it is wrong: %v", describe(m), result.Err)
}

// alwaysRight says that a change that a plan draws is right whatever else is
// set: it names nothing that must fit the number of replicas, the nodes that
// there are or another setting.
func alwaysRight(m *message.AlterConfig) bool {
	fits := func(key string) bool {
		if m.Topic != "" {
			return key != "min-insync"
		}
		return key != "session-timeout" && key != "heartbeat-interval"
	}
	for _, s := range m.Set {
		if !fits(s.Key) {
			return false
		}
	}
	return m.Node == message.NoNode && !slices.ContainsFunc(m.Unset, func(key string) bool { return !fits(key) })
}

// justFits says that a change sets a heartbeat for all nodes, and a session that
// outlives two of them; and no node ever gets a heartbeat of its own.
func (p *Plan) justFits(m *message.AlterConfig) bool {
	for i := range p.Faults {
		f := &p.Faults[i]
		if f.Kind == AlterNodes && f.Node != 0 && slices.ContainsFunc(f.Set, func(s string) bool { return strings.HasPrefix(s, "heartbeat-interval=") }) {
			return false
		}
	}
	beat, session := saidOf(m.Set)
	return m.Topic == "" && m.Node == message.NoNode && len(m.Set) == 2 && beat > 0 && session >= 2*beat
}

// saidOf are the heartbeat and the session among settings; 0: it says none.
func saidOf(list []message.Setting) (beat, session time.Duration) {
	for _, s := range list {
		d, err := time.ParseDuration(s.Value)
		switch {
		case err != nil:
		case s.Key == "heartbeat-interval":
			beat = d
		case s.Key == "session-timeout":
			session = d
		}
	}
	return beat, session
}

// judgeElect is INV-10 for elections: one is a success when every partition has a
// new leader, or needs none.
func (o *operator) judgeElect(u *user, result *client.Result) {
	m, ok := result.Reply.(*message.ElectLeadersReply)
	if !ok {
		return
	}
	done := m.Code == message.None
	for i := range m.Partitions {
		c := m.Partitions[i].Code
		done = done && (c == message.None || c == message.ElectionNotNeeded)
	}
	if done != (result.Outcome == client.OK) {
		u.world.fail("INV-10", 0, "the outcome of an election is not what was answered", "the operator is told %s, and that the outcome is %v", describe(m), result.Outcome)
	}
}
