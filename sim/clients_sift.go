package sim

import (
	"github.com/tamarack-mq/tamarack/core/chance"
	"github.com/tamarack-mq/tamarack/core/client"
)

// drawSift lets some workers look for what their transactions come to nothing by, in one
// plan of three that has any. They give more of them up than others, so that there is
// something to look for.
func drawSift(r *chance.Stream, p *Plan) {
	if !r.OneIn(3) {
		return
	}
	for i := range p.Clients {
		if c := &p.Clients[i]; c.Role == Worker && r.OneIn(2) {
			c.Sift = true
			c.Abort = max(c.Abort, int(r.Between(20, 50)))
		}
	}
}

// sifting is what a worker remembers that has gone back, and looks for what was at fault: it
// polls the same again, and then makes a transaction from the records of each partition.
// Those of one then do not tell of the positions of another, and some are committed while
// the next are given up.
type sifting struct {
	most int // how many records it polled before it went back; 0: it looks for nothing
}

// looks notes that a transaction of so much has come to nothing.
func (s *sifting) looks(u *user, from []client.Delivery) {
	s.most = 0
	if !u.plan.Sift || u.world.phase >= draining {
		return
	}
	for i := range from {
		s.most += len(from[i].Records)
	}
}

// part is how many records of what was polled are to be worked on by themselves; 0: all.
func (s *sifting) part(u *user, work []client.Delivery) int {
	if s.most == 0 || len(work) < 2 || u.world.phase >= draining {
		return 0
	}
	u.world.mark(markSifted)
	return len(work[0].Records)
}
