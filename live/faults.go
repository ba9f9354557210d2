package live

import (
	"context"
	"time"
)

// fault is one piece of trouble for one node.
type fault struct {
	at, lasts time.Duration
	kind      faultKind
	node      int
}

type faultKind string

const (
	killed  faultKind = "kill -9"
	stopped faultKind = "SIGSTOP"
	cut     faultKind = "connections cut"
)

// schedule draws the faults of a run: one about every three seconds, more than
// half of them kills, on one node at a time, so that two of three replicas are
// always there to go on.
func (r *run) schedule() []fault {
	random := r.random.Split("faults")
	between := func(low, high int64) time.Duration {
		return time.Duration(random.Between(low, high)) * time.Millisecond
	}
	var list []fault
	kills := 0
	for at := between(500, 1500); at < r.cfg.For; {
		f := fault{at: at, node: int(random.Below(int64(r.cfg.Nodes))), lasts: between(500, 2000)}
		switch pick := random.Below(10); {
		case pick < 6 || 2*kills <= len(list):
			f.kind = killed
			kills++
		case pick < 8:
			f.kind, f.lasts = stopped, between(1000, 3500) // some outlive the session
		default:
			f.kind = cut
		}
		list = append(list, f)
		at += f.lasts + between(700, 1700)
	}
	return list
}

// trouble plays the schedule.
func (r *run) trouble(ctx context.Context) {
	for _, f := range r.schedule() {
		if !sleep(ctx, f.at-time.Since(r.rec.began)) {
			return
		}
		n := r.cluster.nodes[f.node]
		r.say("node %d: %s for %s", n.id, f.kind, f.lasts.Round(10*time.Millisecond))
		switch f.kind {
		case killed:
			r.report.Kills++
			n.kill()
			sleep(ctx, f.lasts)
			if err := n.launch(); err != nil {
				r.say("node %d does not start again: %v", n.id, err)
			}
		case stopped:
			r.report.Stops++
			n.pause()
			sleep(ctx, f.lasts)
			n.resume()
		case cut:
			r.report.Cuts++
			n.proxy.cut()
			sleep(ctx, f.lasts)
			n.proxy.mend()
		}
	}
	sleep(ctx, r.cfg.For-time.Since(r.rec.began))
}

// sleep waits; it is false when ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(max(0, d)):
		return true
	case <-ctx.Done():
		return false
	}
}
