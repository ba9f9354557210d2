package sim

import (
	"github.com/tamarack-mq/tamarack/core/chance"
	"github.com/tamarack-mq/tamarack/core/client"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/history"
)

// scriptQuits is the argument of the action that closes a client whose commit waits.
// The transaction's number comes behind.
const scriptQuits = 6

// drawQuits lets some of those who make transactions be told to end, now and then, in
// one plan of three that has any.
func drawQuits(r *chance.Stream, p *Plan) {
	if !p.transacts() || !r.OneIn(3) {
		return
	}
	for i := range p.Clients {
		if c := &p.Clients[i]; c.Role.transacts() && r.OneIn(2) {
			c.Quit = int(r.Between(5, 40))
		}
	}
}

// mayQuit draws whether the application is told to end while it commits. It gives the
// commit some time then, and closes its client whether that is answered or not; what
// became of the commit it is told before the client is closed.
func (t *transacting) mayQuit(u *user) (wait message.Duration, quits bool) {
	if p := int64(u.plan.Quit); p == 0 || u.closing || u.world.phase >= draining || !u.trying.Percent(p) {
		return u.patience(), false
	}
	return message.Millisecond << u.trying.Between(4, 11), true
}

// quitsSoon has the client closed in a moment.
func (t *transacting) quitsSoon(u *user) { t.later(u, Millisecond<<u.trying.Below(8), scriptQuits) }

// quit closes the client in good order.
func (t *transacting) quit(u *user) {
	u.world.mark(markQuit)
	u.closing = true
	u.ask(opQuit, 0, history.Operation{}, func(op client.Op) client.Input { return client.Close{Op: op} })
}

// hasQuit ends the process. It is started again, as somebody new.
func (u *user) hasQuit() {
	u.die()
	u.startIn(u.some(2 * Second))
}
