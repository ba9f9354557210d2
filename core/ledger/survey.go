package ledger

import "github.com/tamarack-mq/tamarack/core/message"

// survey is an answer about all shards on its way.
type survey struct {
	token          message.Token
	reply, refusal message.Reply
	waiting        int // shards whose part is not confirmed
	over           bool
}

// Survey answers a request about all led shards with what look sees, once that is
// Confirmed in each of them: a list of one that was deposed would show what is gone by
// now. (Kafka's lists are answered from memory.) A shard that does not serve, has too
// many who wait or fails meanwhile has the request answered with the refusal.
func (s *Set[C, B]) Survey(now message.Now, token message.Token, refusal message.Reply, look func() message.Reply, out *Out) {
	v := &survey{token: token, refusal: refusal, waiting: 1}
	for _, l := range s.ledgers {
		if l.phase != Serving || l.Full() {
			v.Failed(message.CoordinatorLoadInProgress, out)
			return
		}
	}
	v.reply = look()
	for _, l := range s.ledgers {
		v.waiting++
		l.Tell(now, v, Confirmed, out)
		l.Flush(now, out)
	}
	v.Ready(now, out)
}

// Ready says that one more part is confirmed.
func (v *survey) Ready(_ message.Now, out *Out) {
	if v.waiting--; v.waiting == 0 {
		v.answer(v.reply, out)
	}
}

// Failed answers that not all can be told now.
func (v *survey) Failed(_ message.Code, out *Out) { v.answer(v.refusal, out) }

func (v *survey) answer(reply message.Reply, out *Out) {
	if !v.over {
		v.over = true
		out.Replies = append(out.Replies, Reply{Token: v.token, Msg: reply})
	}
}
