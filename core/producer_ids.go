package core

import (
	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// producerIDs hands out producer ids from blocks that the controller gave to
// this broker (KIP-730). A block is used by one run only and never returned.
type producerIDs struct {
	patience message.Duration
	next     record.ProducerID
	left     int64
	request  uint64       // of the block that was asked for; counted as forwards are
	asked    bool         // one is on its way
	retry    message.Time // when it is asked for again
	waiting  []waitingProducer
}

type waitingProducer struct {
	token    message.Token
	deadline message.Time
}

// init answers a producer, now or when the next block is here.
func (p *producerIDs) init(now message.Time, token message.Token, out *effect.Out) {
	if p.left > 0 {
		p.hand(token, out)
		return
	}
	if len(p.waiting) >= maxForwarded {
		out.Reply(token, &message.InitProducerIDReply{Code: message.CoordinatorLoadInProgress})
		return
	}
	p.waiting = append(p.waiting, waitingProducer{token, now.Add(p.patience)})
	if !p.asked {
		p.asked, p.retry = true, now
	}
}

func (p *producerIDs) hand(token message.Token, out *effect.Out) {
	out.Reply(token, &message.InitProducerIDReply{ID: p.next})
	p.next++
	p.left--
}

// Take is how the transaction coordinator gets producer ids.
func (p *producerIDs) Take() (record.ProducerID, bool) {
	if p.left == 0 {
		if !p.asked {
			p.asked, p.retry = true, -message.Never // with the Tick that ends this step
		}
		return record.NoProducerID, false
	}
	id := p.next
	p.next++
	p.left--
	return id, true
}

// allocated takes a block, unless it answers an older question: that block is
// lost, which wastes numbers and harms nobody.
func (p *producerIDs) allocated(now message.Time, m *message.AllocateProducerIDsReply, pause message.Duration, out *effect.Out) {
	if !p.asked || m.Request != p.request {
		return
	}
	if m.Code != message.None {
		p.retry = now.Add(pause)
		return
	}
	p.asked = false
	p.next, p.left = m.First, m.Count
	waiting := p.waiting
	p.waiting = nil
	for _, w := range waiting {
		p.init(now, w.token, out)
	}
}

func (p *producerIDs) wake() message.Time {
	next := message.Never
	if p.asked {
		next = p.retry
	}
	if len(p.waiting) > 0 {
		next = min(next, p.waiting[0].deadline)
	}
	return next
}

func (p *producerIDs) tick(now message.Time, l *lifecycle, out *effect.Out) {
	for len(p.waiting) > 0 && now >= p.waiting[0].deadline {
		out.Reply(p.waiting[0].token, &message.InitProducerIDReply{Code: message.RequestTimedOut})
		p.waiting = p.waiting[1:]
	}
	if p.asked && now >= p.retry {
		p.retry = now.Add(l.patience())
		if l.phase == registering {
			return
		}
		p.request++
		out.Send(l.target, &message.AllocateProducerIDs{Node: l.cfg.ID, Epoch: l.epoch, Request: p.request})
	}
}
