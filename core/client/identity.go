package client

import (
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// identity is the producer id that the cluster has given this client. Lanes
// begin with it; a lane that has used up its epochs needs the next generation.
type identity struct {
	p          *producer
	id         record.ProducerID
	epoch      record.ProducerEpoch
	generation uint64 // 0: none yet
	waiting    []*lane
	asking     bool
	failures   int
	again      alarm
}

func (y *identity) init(p *producer) {
	y.p = p
	y.again.Due = y.ask
}

// await lets a lane wait for a generation beyond the one it has.
func (y *identity) await(l *lane) {
	y.waiting = append(y.waiting, l)
	if !y.again.IsSet() {
		y.ask()
	}
}

func (y *identity) ask() {
	if y.asking || len(y.waiting) == 0 {
		return
	}
	to, ok := y.p.c.cluster.anyNode()
	if !ok {
		y.failed()
		return
	}
	y.asking = true
	y.p.c.send(to, &message.InitProducerID{}, y.p.c.cfg.RequestTimeout, y.answered)
}

// failed tries again after a pause: the lanes that wait have deadlines of
// their own.
func (y *identity) failed() {
	y.failures++
	y.p.c.alarms.Set(&y.again, y.p.c.now.Mono.Add(y.p.c.backoff(y.failures)))
}

func (y *identity) answered(reply message.Reply, how ending) {
	y.asking = false
	m, code, ok := read[*message.InitProducerIDReply](reply, how)
	if ok {
		code = m.Code
	}
	if code != message.None || m.ID < 0 || m.Epoch < 0 {
		for _, l := range y.waiting {
			if len(l.batches) > 0 {
				l.batches[0].code = code // what a timeout will tell
			}
		}
		y.failed()
		return
	}
	y.failures = 0
	y.generation++
	y.id, y.epoch = m.ID, m.Epoch
	waiting := y.waiting
	y.waiting = nil
	for _, l := range waiting {
		l.at = nowhere
		l.stir()
	}
}
