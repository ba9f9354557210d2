package sim

import (
	"hash/fnv"

	"github.com/tamarack-mq/tamarack/core/client"
	"github.com/tamarack-mq/tamarack/history"
)

// processor is a member of a group that reads, works and writes without
// transactions: what it publishes and where its group stands are two things, one
// after the other, and a crash comes between them. Its style says which is first.
type processor struct {
	member
	sent    int64
	work    []client.Record // polled, and not worked on yet
	under   map[*openOp]client.Record
	working bool
}

// scriptWorks is the argument of the action that works on some records.
const scriptWorks = 4

func (k *processor) begin(u *user) {
	k.under = map[*openOp]client.Record{}
	k.member.begin(u)
}

func (k *processor) act(u *user, arg uint64) {
	switch {
	case arg == scriptWorks:
		k.some(u)
	case arg == scriptCommits || !k.working:
		k.member.act(u, arg)
	}
}

// some publishes what follows from the next few records.
func (k *processor) some(u *user) {
	n := min(len(k.work), int(u.random.Between(1, 5)))
	var batch client.Inputs
	for _, r := range k.work[:n] {
		k.sent++
		in := client.Publish{
			Topic: u.plan.Into[productPlace(r.Value)%len(u.plan.Into)], Partition: client.AnyPartition, Key: r.Key,
			Value: history.AppendProduct(nil, string(u.value(k.sent, 1)), 0, r.Value),
		}
		k.under[u.publishes(&in, k.sent, 0)] = r
		batch = append(batch, in)
	}
	k.work = k.work[n:]
	u.step(batch)
}

// productPlace is a number that follows from an input and decides where its outputs
// go.
func productPlace(input []byte) int {
	where := fnv.New32a()
	_, _ = where.Write(input)
	return int(where.Sum32() % 1024)
}

func (k *processor) done(u *user, o *openOp, r *client.Result) {
	switch o.what {
	case opPoll:
		k.polling = false
		if k.polled(u, r) == 0 {
			u.next(u.some(u.plan.Every))
			return
		}
		for i := range r.Polled {
			k.work = append(k.work, r.Polled[i].Records...)
		}
		k.working = true
		u.world.in(u.some(u.plan.Every), event{kind: evScript, place: u.index, run: u.run, arg: scriptWorks})
	case opPublish:
		input := k.under[o]
		delete(k.under, o)
		if r.Err != nil && k.commits(u) {
			k.work = append(k.work, input) // once at least; the others let it go
		}
		k.goOn(u)
	default:
		k.member.done(u, o, r)
	}
}

// goOn does what comes next when nothing is under way any more.
func (k *processor) goOn(u *user) {
	pause, what := u.some(u.plan.Slow)+u.slow, uint64(scriptWorks)
	switch {
	case len(k.under) > 0:
		return
	case len(k.work) > 0:
	case k.commits(u):
		k.working, k.committing, what = false, true, scriptCommits
	default:
		k.working = false
		u.next(u.some(u.plan.Every))
		return
	}
	u.world.in(pause, event{kind: evScript, place: u.index, run: u.run, arg: what})
}

// idle: it has worked on what it polled last.
func (k *processor) idle(u *user) (string, bool) {
	if k.working {
		return "records that it has not worked on", false
	}
	return k.member.idle(u)
}
