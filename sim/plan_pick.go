package sim

import (
	"slices"

	"github.com/tamarack-mq/tamarack/core/chance"
)

// What compounds of faults are about.

func (p *Plan) anyTopic(r *chance.Stream) *TopicPlan {
	return &p.Topics[r.Below(int64(len(p.Topics)))]
}

// anyPartition is the name of one of the partitions, behind "leader " or "follower " in
// Fault.Target.
func (t *TopicPlan) anyPartition(r *chance.Stream) string {
	return t.Name + "/" + itoa(int(r.Below(int64(t.Partitions))))
}

// members are the clients that are members of a group, or of any: "".
func (p *Plan) members(group string) (ids []int) {
	for i := range p.Clients {
		if c := &p.Clients[i]; c.Role == MemberOf && (group == "" || c.Group == group) {
			ids = append(ids, c.ID)
		}
	}
	return ids
}

// readers are the clients that read a topic, alone or in a group.
func (p *Plan) readers(topic string) (ids []int) {
	for i := range p.Clients {
		if c := &p.Clients[i]; (c.Role == Reader || c.Role == MemberOf) && slices.Contains(c.Topics, topic) {
			ids = append(ids, c.ID)
		}
	}
	return ids
}

// atMostOnce says that some client must be given nothing twice.
func (p *Plan) atMostOnce() bool {
	return slices.ContainsFunc(p.Clients, func(c ClientPlan) bool { return c.Style == "at-most-once" })
}
