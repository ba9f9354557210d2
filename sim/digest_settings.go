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
		r.outcome(m.Code, m.Detail)
	case *message.DescribeConfig:
		r.text(m.Topic)
	case *message.DescribeConfigReply:
		r.outcome(m.Code, m.Detail)
		r.fold(uint64(m.Node))
		for i := range m.Settings {
			r.text(m.Settings[i].Key)
			r.text(m.Settings[i].Value)
			r.fold(uint64(m.Settings[i].Source))
			r.text(m.Settings[i].Prose)
		}
	case *message.AlterControllers:
		r.fold(uint64(m.Node))
		r.flag(m.Remove)
	case *message.AlterControllersReply:
		r.outcome(m.Code, m.Detail)
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
