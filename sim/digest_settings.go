package sim

import "github.com/tamarack-mq/tamarack/core/message"

// foldSettings folds messages about settings and controllers.
func foldSettings(r *rolling, m message.Message) bool {
	switch m := m.(type) {
	case *message.AlterConfig:
		r.text(m.Topic)
		r.fold(uint64(m.Node))
		r.settings(m.Set)
		r.texts(m.Unset)
	case *message.AlterConfigReply:
		r.fold(uint64(m.Code))
	case *message.DescribeConfig:
		r.text(m.Topic)
	case *message.DescribeConfigReply:
		r.pair(int64(m.Code), int64(m.Node))
		for i := range m.Settings {
			r.text(m.Settings[i].Key)
			r.text(m.Settings[i].Value)
			r.fold(uint64(m.Settings[i].Source))
		}
	case *message.AlterControllers:
		r.fold(uint64(m.Node))
		r.flag(m.Remove)
	case *message.AlterControllersReply:
		r.fold(uint64(m.Code))
	default:
		return false
	}
	return true
}

func (r *rolling) settings(list []message.Setting) {
	r.fold(uint64(len(list)))
	for i := range list {
		r.text(list[i].Key)
		r.text(list[i].Value)
	}
}

func foldSettingsChange(r *rolling, c *message.SettingsChange) {
	r.fold(uint64(c.Node) + 1<<42)
	r.settings(c.Settings)
}

func foldControllers(r *rolling, c *message.ControllersChange) {
	r.fold(1 << 43)
	r.nodes(c.Voters)
	r.nodes(c.Learners)
}

func foldTopicConfig(r *rolling, c *message.TopicConfig) {
	r.pair(int64(c.MinInsync), int64(c.SegmentBytes))
	r.fold(uint64(c.RetentionBytes))
	r.fold(uint64(c.RetentionTime))
	r.fold(uint64(c.MaxBatchBytes))
}
