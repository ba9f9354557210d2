package sim

import "github.com/tamarack-mq/tamarack/core/message"

func foldGroup(r *rolling, m message.Message) bool {
	switch m := m.(type) {
	case *message.FindCoordinator:
		r.text(m.Group)
		r.text(m.TransactionalID)
	case *message.FindCoordinatorReply:
		r.pair(int64(m.Code), int64(m.Node))
	case *message.GroupHeartbeat:
		r.text(m.Group)
		r.text(m.Member)
		r.text(m.Instance)
		r.pair(int64(m.MemberEpoch), int64(m.SessionTimeout))
		r.flag(m.Full)
		r.fold(uint64(m.RebalanceTimeout))
		r.texts(m.Topics)
		r.ids(m.Owned)
	case *message.GroupHeartbeatReply:
		r.text(m.Member)
		r.text(m.Detail)
		r.pair(int64(m.MemberEpoch), int64(m.Code))
		r.fold(uint64(m.Interval))
		r.flag(m.Assigned)
		r.ids(m.Assignment)
	case *message.CommitOffsets:
		r.text(m.Group)
		r.text(m.Member)
		r.fold(uint64(m.MemberEpoch))
		r.offsets(m.Offsets)
		r.fold(m.Number)
	case *message.CommitOffsetsReply:
		r.fold(uint64(m.Code))
		r.committed(m.Offsets)
	case *message.FetchOffsets:
		r.text(m.Group)
		r.text(m.Member)
		r.fold(uint64(m.MemberEpoch))
		r.ids(m.IDs)
		r.flag(m.Stable)
	case *message.FetchOffsetsReply:
		r.fold(uint64(m.Code))
		r.offsets(m.Offsets)
	default:
		return foldGroupAdmin(r, m)
	}
	return true
}

func foldGroupAdmin(r *rolling, m message.Message) bool {
	switch m := m.(type) {
	case *message.ListGroups:
	case *message.ListGroupsReply:
		r.fold(uint64(m.Code))
		for i := range m.Groups {
			r.text(m.Groups[i].Group)
			r.text(m.Groups[i].State)
			r.fold(uint64(m.Groups[i].Members))
		}
	case *message.DescribeGroup:
		r.text(m.Group)
	case *message.DescribeGroupReply:
		r.pair(int64(m.Code), int64(m.Epoch))
		r.text(m.Group)
		r.text(m.State)
		r.size(len(m.Members))
		for i := range m.Members {
			one := &m.Members[i]
			r.text(one.Member)
			r.text(one.Instance)
			r.fold(uint64(one.Epoch))
			r.texts(one.Topics)
			r.ids(one.Assigned)
			r.ids(one.Target)
		}
		r.offsets(m.Offsets)
	case *message.DeleteGroup:
		r.text(m.Group)
	case *message.DeleteGroupReply:
		r.fold(uint64(m.Code))
	case *message.DeleteOffsets:
		r.text(m.Group)
		r.ids(m.IDs)
	case *message.DeleteOffsetsReply:
		r.fold(uint64(m.Code))
		r.committed(m.Offsets)
	default:
		return false
	}
	return true
}

func (r *rolling) offsets(list []message.GroupOffset) {
	r.fold(uint64(len(list)))
	for i := range list {
		r.id(list[i].ID)
		r.pair(int64(list[i].LeaderEpoch), int64(list[i].Offset))
		r.text(list[i].Note)
	}
}

func (r *rolling) committed(list []message.CommittedOffset) {
	r.fold(uint64(len(list)))
	for i := range list {
		r.id(list[i].ID)
		r.fold(uint64(list[i].Code))
	}
}
