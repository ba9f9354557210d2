package client

import "github.com/tamarack-mq/tamarack/core/message"

// codeOf is the code that decides about a reply: that of the whole, else the
// first retriable one of its parts, else the first error of a part. detail is
// what the broker says about it.
func codeOf(reply message.Reply) (code message.Code, detail string) {
	switch m := reply.(type) {
	case *message.CreateTopicReply:
		return m.Code, m.Detail
	case *message.DeleteTopicReply:
		return m.Code, m.Detail
	case *message.AddPartitionsReply:
		return m.Code, m.Detail
	case *message.AlterReassignmentsReply:
		return reassigned(m)
	case *message.DrainBrokerReply:
		return m.Code, m.Detail
	case *message.UnregisterBrokerReply:
		return m.Code, m.Detail
	case *message.AlterConfigReply:
		return m.Code, m.Detail
	case *message.DescribeConfigReply:
		return m.Code, m.Detail
	case *message.AlterControllersReply:
		return m.Code, m.Detail
	case *message.InitProducerIDReply:
		return m.Code, m.Detail
	case *message.Refused:
		return m.Code, m.Detail
	case *message.ElectLeadersReply:
		return worst(m.Code, len(m.Partitions), func(i int) message.Code {
			if m.Partitions[i].Code == message.ElectionNotNeeded {
				return message.None
			}
			return m.Partitions[i].Code
		}), ""
	}
	if code, ok := dataCode(reply); ok {
		return code, ""
	}
	if code, detail, ok := transactionCode(reply); ok {
		return code, detail
	}
	return groupCode(reply)
}

func transactionCode(reply message.Reply) (code message.Code, detail string, ok bool) {
	switch m := reply.(type) {
	case *message.EndTransactionReply:
		return m.Code, m.Detail, true
	case *message.CommitTransactionOffsetsReply:
		return worst(m.Code, len(m.Offsets), func(i int) message.Code { return m.Offsets[i].Code }), m.Detail, true
	case *message.ListTransactionsReply:
		return m.Code, "", true
	case *message.DescribeTransactionReply:
		return m.Code, m.Detail, true
	}
	return message.None, "", false
}

func dataCode(reply message.Reply) (message.Code, bool) {
	switch m := reply.(type) {
	case *message.MetadataReply:
		return message.None, true
	case *message.ProduceReply:
		return worst(message.None, len(m.Partitions), func(i int) message.Code { return m.Partitions[i].Code }), true
	case *message.FetchReply:
		return worst(message.None, len(m.Partitions), func(i int) message.Code { return m.Partitions[i].Code }), true
	case *message.ListOffsetsReply:
		return worst(message.None, len(m.Partitions), func(i int) message.Code { return m.Partitions[i].Code }), true
	case *message.OffsetForLeaderEpochReply:
		return worst(message.None, len(m.Partitions), func(i int) message.Code { return m.Partitions[i].Code }), true
	case *message.DeleteRecordsReply:
		return worst(message.None, len(m.Partitions), func(i int) message.Code { return m.Partitions[i].Code }), true
	}
	return message.None, false
}

func groupCode(reply message.Reply) (message.Code, string) {
	switch m := reply.(type) {
	case *message.FindCoordinatorReply:
		return m.Code, ""
	case *message.GroupHeartbeatReply:
		return m.Code, m.Detail
	case *message.CommitOffsetsReply:
		return worst(m.Code, len(m.Offsets), func(i int) message.Code { return m.Offsets[i].Code }), ""
	case *message.FetchOffsetsReply:
		return m.Code, ""
	case *message.ListGroupsReply:
		return m.Code, ""
	case *message.DescribeGroupReply:
		return m.Code, ""
	case *message.DeleteGroupReply:
		return m.Code, ""
	case *message.DeleteOffsetsReply:
		return worst(m.Code, len(m.Offsets), func(i int) message.Code { return m.Offsets[i].Code }), ""
	}
	return message.UnknownServerError, "the reply is of no known kind"
}

func worst(whole message.Code, parts int, code func(int) message.Code) message.Code {
	if whole != message.None {
		return whole
	}
	first := message.None
	for i := range parts {
		switch c := code(i); {
		case c.Retriable():
			return c
		case first == message.None:
			first = c
		}
	}
	return first
}

// reassigned is the first outcome that is no success, with what is said about it.
func reassigned(m *message.AlterReassignmentsReply) (message.Code, string) {
	code := worst(m.Code, len(m.Partitions), func(i int) message.Code { return m.Partitions[i].Code })
	if m.Code != message.None || code == message.None {
		return code, m.Detail
	}
	for _, p := range m.Partitions {
		if p.Code == code {
			return code, p.Detail
		}
	}
	return code, ""
}

// changesNothing says that a request leaves the cluster as it is, so that a
// missing answer leaves nothing open.
func changesNothing(r message.Request) bool {
	switch r := r.(type) {
	case *message.InitProducerID:
		return r.TransactionalID == "" // else it ends what an earlier incarnation left
	case *message.Fetch, *message.ListOffsets, *message.OffsetForLeaderEpoch, *message.Metadata, *message.DescribeConfig, *message.FindCoordinator,
		*message.FetchOffsets, *message.ListGroups, *message.DescribeGroup, *message.ListTransactions,
		*message.DescribeTransaction:
		return true
	}
	return false
}
