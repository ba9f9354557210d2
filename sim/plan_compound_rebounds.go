package sim

import (
	"slices"

	"github.com/tamarack-mq/tamarack/core/chance"
)

// drawRebounds takes the shard of a group away from a broker that is still reading it,
// lets another lead it for long enough to commit something, and gives it back, in a few
// seeds: what was read for the first leadership comes in the next, and is too old. Somebody
// asks all the time what the group has committed, and members start again and ask, too.
// Whoever fails meanwhile keeps the others from committing, so nothing else goes on in the
// first of these times. It returns faults with those that it adds.
func drawRebounds(r *chance.Stream, p *Plan, faults []Fault) []Fault {
	members := p.members("g0")
	if len(members) == 0 || p.Cluster.Nodes < 3 || !r.OneIn(6) {
		return faults
	}
	p.Cluster.Shards = 1 // it is this one that moves
	addReader(p, "g0", 100*Millisecond)
	end := p.Phases.Warm + p.Phases.Faults*2/3
	quiet := false
	for at := p.Phases.Warm + Span(r.Below(int64(2*Second))); ; {
		away := Span(r.Between(900, 2400)) * Millisecond
		lent := at + 500*Millisecond // the preferred leader leads by then
		back := lent + 3*away
		if back+away > end {
			return faults
		}
		if !quiet {
			faults = slices.DeleteFunc(faults, func(f Fault) bool { return f.At < back+away && f.At+f.For >= at })
			quiet = true
		}
		lead := func(at Span, which int) {
			faults = append(faults, Fault{At: at, Kind: MoveLeader, Topic: offsetsTopic, Strength: which})
		}
		faults = append(faults,
			Fault{At: at, Kind: Elect},
			Fault{At: lent, For: 4 * away, Kind: SlowReads, Target: "coordinator g0", Strength: int(3 * away / Millisecond)})
		for from := lent; from < back; from += away { // each time it loads the shard anew
			lead(from+50*Millisecond, 2)
			lead(from+away, 1)
		}
		who := members[r.Below(int64(len(members)))]
		faults = append(faults, Fault{At: back + Span(r.Between(20, 1000))*Millisecond, For: 50 * Millisecond, Kind: ClientCrash, Client: who})
		at = back + away + Span(r.Between(2000, 6000))*Millisecond // something else gets done, too
	}
}

// addReader adds who reads alone what a group reads, and asks every broker all the time
// what that has committed: no heartbeat tells it that the coordinator has moved.
func addReader(p *Plan, group string, every Span) {
	i := slices.IndexFunc(p.Clients, func(c ClientPlan) bool { return c.Role == MemberOf && c.Group == group })
	p.Clients = append(p.Clients, ClientPlan{ID: len(p.Clients) + 1, Role: Reader, Group: group, Topics: p.Clients[i].Topics, Every: every})
}

// drawDeposed has the shard of a group moved away from a coordinator that was cut off
// just before, in a few seeds: it does not know, and sessions of its members, which
// are cut off from it, have not run out there yet, so that nothing of its own holds
// its answers back. Strangers go on asking it.
func drawDeposed(r *chance.Stream, p *Plan) (faults []Fault) {
	if len(p.members("g0")) == 0 || p.Cluster.Nodes < 3 || !r.OneIn(5) {
		return nil
	}
	p.Cluster.Shards = 1
	for range 3 { // each is held up for long by its first question that is not answered
		addReader(p, "g0", Span(r.Between(500, 1000))*Millisecond)
	}
	t := &p.Timing
	t.ReplicaLag, t.ClientRequest = min(t.ReplicaLag, Second), min(t.ClientRequest, Second)
	if t.TransactionIdle == 0 { // which must be longer
		t.GroupSession = max(t.GroupSession, 6*Second)
	}
	end := p.Phases.Warm + p.Phases.Faults
	for at := p.Phases.Warm + Span(r.Below(int64(3*Second))); at < end; {
		gone := max(t.ReplicaLag, t.ClientRequest) + Span(r.Between(1500, 4000))*Millisecond
		faults = append(faults, Fault{At: at, For: gone, Kind: Isolate, Target: "coordinator g0", Strength: cutFromMembers})
		for k := range Span(3) {
			faults = append(faults, Fault{At: at + (20+k*40)*Millisecond, Kind: MoveLeader, Topic: offsetsTopic})
		}
		at += gone + Span(r.Between(1500, 4000))*Millisecond
	}
	return faults
}
