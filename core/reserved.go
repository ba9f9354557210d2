package core

import (
	"fmt"

	"github.com/tamarack-mq/tamarack/core/group"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/txn"
)

// reserved says why a client may not make a topic. The cluster makes the topics
// of its coordinators itself, with settings that keep every record; one that a
// client made first would be written to by clients, and would forget.
func reserved(r message.Request) string {
	create, ok := r.(*message.CreateTopic)
	switch {
	case !ok:
		return ""
	case create.Name == group.TopicName:
		return fmt.Sprintf("topic %q belongs to the cluster, which makes it when the first group appears", create.Name)
	case create.Name == txn.TopicName:
		return fmt.Sprintf("topic %q belongs to the cluster, which makes it when the first transactional id appears", create.Name)
	case create.Config.Internal:
		return "only the cluster itself makes internal topics"
	}
	return ""
}
