package sim

import (
	"github.com/tamarack-mq/tamarack/core/message"
)

// anySetting draws a legal request about settings and controllers. It changes
// only the chaos topic, and never who votes: that is for operators, who know
// what their cluster can bear.
func (c *chaos) anySetting(u *user) message.Request {
	r := u.random
	switch r.Below(5) {
	case 0:
		return &message.DescribeConfig{}
	case 1:
		return &message.DescribeConfig{Topic: []string{chaosTopic, offsetsTopic, "none"}[r.Below(3)]}
	case 2:
		stranger := message.NodeID(u.world.plan.Cluster.Nodes + 7)
		return &message.AlterControllers{Node: stranger, Remove: r.OneIn(2)}
	case 3:
		return &message.AlterConfig{Topic: chaosTopic, Unset: []string{[]string{"segment-bytes", "retention", "max-batch-bytes"}[r.Below(3)]}}
	}
	set := []message.Setting{
		{Key: "segment-bytes", Value: itoa(int(r.Between(2, 64))) + "KiB"},
		{Key: "retention", Value: itoa(int(r.Between(1, 60))) + "s"},
		{Key: "retention-bytes", Value: "none"},
		{Key: "max-batch-bytes", Value: itoa(int(r.Between(1, 64))) + "KiB"},
		{Key: "min-insync", Value: "2"},
	}
	from := r.Below(int64(len(set)))
	return &message.AlterConfig{Topic: chaosTopic, Set: set[from:r.Between(from+1, int64(len(set)))]}
}

// wrongSetting draws a request about settings that must be refused.
func (c *chaos) wrongSetting(u *user) message.Request {
	one := func(key, value string) []message.Setting { return []message.Setting{{Key: key, Value: value}} }
	switch u.random.Below(8) {
	case 0:
		return &message.AlterConfig{Topic: chaosTopic, Set: one("no.such.setting", "1")}
	case 1:
		return &message.AlterConfig{Topic: chaosTopic, Set: one("min-insync", "99")}
	case 2:
		return &message.AlterConfig{Topic: offsetsTopic, Set: one("retention", "1s")}
	case 3:
		return &message.AlterConfig{Set: one("replica-lag", "-1s")}
	case 4:
		return &message.AlterConfig{Node: 1, Set: one("session-timeout", "9s")}
	case 5:
		return &message.AlterConfig{Set: append(one("heartbeat-interval", "30s"), one("session-timeout", "31s")...)}
	case 6:
		return &message.AlterConfig{Topic: "none", Unset: []string{"retention"}}
	}
	return &message.AlterControllers{Node: -1}
}
