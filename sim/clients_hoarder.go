package sim

import (
	"slices"
	"strconv"

	"github.com/tamarack-mq/tamarack/core/client"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/history"
)

// hoarder is a member of a group that speaks for itself and gives nothing up.
// It joins, takes what it is assigned, and at its time it subscribes to nothing
// any more, while it goes on to heartbeat and to say that it owns what it had.
// The coordinator must take that away from it within the time that it named.
type hoarder struct {
	id     string
	epoch  message.MemberEpoch
	owned  []record.PartitionID
	open   bool
	greedy bool
	over   bool // it was thrown out
}

func (h *hoarder) begin(u *user) {
	h.id = "hoarder-" + strconv.Itoa(u.plan.ID) + "." + strconv.Itoa(int(u.session))
	u.next(u.plan.Every)
}

func (h *hoarder) act(u *user, _ uint64) {
	if h.over {
		return
	}
	u.next(u.plan.Every)
	if h.open {
		return
	}
	h.greedy = h.greedy || u.world.now >= u.plan.Stop
	if h.greedy && h.epoch == message.JoinEpoch {
		h.over = true // too late to take part
		return
	}
	h.open = true
	session := message.Duration(u.world.plan.Timing.GroupSession)
	r := &message.GroupHeartbeat{
		Group: u.plan.Group, Member: h.id, MemberEpoch: h.epoch, Full: true,
		SessionTimeout: session, RebalanceTimeout: 2 * session, Topics: u.plan.Topics, Owned: h.owned,
	}
	if h.greedy {
		r.Topics = []string{}
	}
	u.ask(opPlumbing, 0, history.Operation{}, func(op client.Op) client.Input {
		return client.Ask{
			Op: op, Request: r, Target: client.Target{Kind: client.Coordinator, Group: u.plan.Group},
			Timeout: session / 2, Once: true,
		}
	})
}

func (h *hoarder) done(u *user, _ *openOp, result *client.Result) {
	h.open = false
	reply, ok := result.Reply.(*message.GroupHeartbeatReply)
	if !ok {
		return
	}
	switch reply.Code {
	case message.None:
		h.epoch = reply.MemberEpoch
		for _, p := range reply.Assignment {
			if !slices.Contains(h.owned, p) {
				h.owned = append(h.owned, p)
			}
		}
		if h.greedy && len(h.owned) > 0 {
			u.world.mark(markHoarded)
		}
	case message.UnknownMemberID, message.FencedMemberEpoch:
		h.over = h.greedy
		h.epoch, h.owned = message.JoinEpoch, nil
	}
}

func (*hoarder) event(*user, *client.Event) {}

func (*hoarder) idle(*user) (string, bool) { return "", true }
