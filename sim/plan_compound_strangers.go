package sim

import (
	"slices"

	"github.com/tamarack-mq/tamarack/core/chance"
)

// drawStrangers adds, in a few seeds, a client that does what it likes, and often, to a
// cluster that soon forgets positions: of those that it commits from outside some
// expire while others may stay, or while a transaction holds all of them back. What
// it asks about transactions is refused together with what others are granted.
func drawStrangers(r *chance.Stream, p *Plan) {
	transacts := slices.ContainsFunc(p.Clients, func(c ClientPlan) bool { return c.Role.transacts() })
	if p.atMostOnce() || len(p.members("")) == 0 && !transacts || transacts && !r.OneIn(4) || !transacts && !r.OneIn(10) {
		return
	}
	if p.Timing.OffsetRetention = Span(r.Between(2500, 8000)) * Millisecond; transacts {
		p.Timing.OffsetRetention = Span(r.Between(1500, 4000)) * Millisecond
		p.Cluster.TransactionShards = 1
	}
	(&clientDraw{plan: p}).chaosTopic()
	p.Clients = append(p.Clients, ClientPlan{ID: len(p.Clients) + 1, Role: Chaos, Every: Span(r.Between(15, 50)) * Millisecond})
}

// drawUndoing lets, in some of the plans with transactions, those who do what they like
// delete positions that are pending: by chance they hardly ever name one that is.
func drawUndoing(r *chance.Stream, p *Plan) {
	if !p.transacts() || !r.OneIn(3) {
		return
	}
	for i := range p.Clients {
		if c := &p.Clients[i]; c.Role == Chaos {
			c.Undo = true
		}
	}
}
