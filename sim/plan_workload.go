package sim

import (
	"slices"
	"strconv"

	"github.com/tamarack-mq/tamarack/core/chance"
)

// drawClients draws the workload: producers of every kind, groups with members
// that come and go, readers, and clients that do not behave.
func drawClients(r *chance.Stream, p *Plan, of family) []ClientPlan {
	d := &clientDraw{r: r, plan: p}
	d.producers()
	d.groups()
	d.others()
	d.hoarders()
	d.narrowRequests()
	d.tightBuffers()
	d.tightAhead()
	d.seekers()
	d.restless()
	d.holders()
	d.leavers()
	d.transactions(of.transactions)
	d.absences()
	return d.clients
}

type clientDraw struct {
	r       *chance.Stream
	plan    *Plan
	clients []ClientPlan
}

func (d *clientDraw) add(c ClientPlan) {
	c.ID = len(d.clients) + 1
	d.clients = append(d.clients, c)
}

// topics draws some of the topics, at least one.
func (d *clientDraw) topics() []string {
	var names []string
	for i := range d.plan.Topics {
		if d.r.OneIn(2) {
			names = append(names, d.plan.Topics[i].Name)
		}
	}
	if len(names) == 0 {
		names = append(names, d.plan.Topics[d.r.Below(int64(len(d.plan.Topics)))].Name)
	}
	return names
}

func (d *clientDraw) ms(low, high int64) Span { return Span(d.r.Between(low, high)) * Millisecond }

func (d *clientDraw) producers() {
	for i := range d.r.Between(1, 4) {
		c := ClientPlan{
			Role: Producer, Topics: d.topics(), Every: d.ms(10, 250), Acks: -1, Idempotent: true,
			Size: int(d.r.Between(0, 600)), Burst: int(d.r.Between(1, 12)), Headers: d.r.OneIn(4),
			Linger: d.ms(0, 20),
		}
		if i > 0 { // the first one always asks for everything
			switch d.r.Below(6) {
			case 0:
				c.Acks, c.Idempotent = 0, false
			case 1:
				c.Acks, c.Idempotent = 1, false
			case 2:
				c.Idempotent = false
			}
		}
		if d.r.OneIn(2) {
			c.Keys = int(d.r.Between(1, 20))
		}
		if d.r.OneIn(3) {
			c.Batch = int(d.r.Between(200, 4000))
		}
		d.add(c)
	}
}

func (d *clientDraw) groups() {
	for g := range d.r.Between(0, 2) {
		topics := d.topics()
		style := []string{"at-least-once", "at-least-once", "at-most-once", "manual", "auto"}[d.r.Below(5)]
		members := d.r.Between(1, 4)
		static := d.r.OneIn(4)
		for m := range members {
			c := ClientPlan{
				Role: MemberOf, Group: "g" + strconv.Itoa(int(g)), Topics: topics, Style: style,
				Reset: "earliest", Every: d.ms(5, 100), Slow: d.ms(0, 200),
			}
			if static {
				c.Instance = "i" + strconv.Itoa(int(m))
			}
			if m > 0 && d.r.OneIn(3) {
				c.Start = d.plan.Phases.Warm + Span(d.r.Below(int64(d.plan.Phases.Faults)))
			}
			if m > 0 && d.r.OneIn(4) {
				c.Stop = d.plan.Phases.Warm + Span(d.r.Below(int64(d.plan.Phases.Faults)))
			}
			d.add(c)
		}
	}
}

func (d *clientDraw) others() {
	if d.r.OneIn(2) {
		c := ClientPlan{Role: Reader, Topics: d.topics(), Every: d.ms(20, 300)}
		if i := slices.IndexFunc(d.clients, func(c ClientPlan) bool { return c.Role == MemberOf }); i >= 0 && d.r.OneIn(2) {
			c.Group, c.Topics = d.clients[i].Group, d.clients[i].Topics
		}
		d.add(c)
	}
	if d.r.OneIn(4) {
		d.add(ClientPlan{Role: Admin, Every: d.ms(500, 4000)})
	}
	if d.r.OneIn(4) {
		d.chaosTopic()
		d.add(ClientPlan{Role: Chaos, Every: d.ms(20, 200)})
	}
	if d.r.OneIn(6) {
		d.chaosTopic()
		d.add(ClientPlan{Role: Malformed, Every: d.ms(50, 300)})
	}
}

// hoarders draws a member that gives nothing up. Its stream is its own: the other
// clients of a seed are the same with it and without.
func (d *clientDraw) hoarders() {
	r := d.r.Split("hoarders")
	i := slices.IndexFunc(d.clients, func(c ClientPlan) bool { return c.Role == MemberOf && c.Style != "at-most-once" })
	if i < 0 || !r.OneIn(4) {
		return
	}
	d.add(ClientPlan{
		Role: Hoarder, Group: d.clients[i].Group, Topics: d.clients[i].Topics,
		Every: d.plan.Timing.GroupHeartbeat,
		Stop:  d.plan.Phases.Warm + Span(r.Below(int64(d.plan.Phases.Faults))),
	})
}

// narrowRequests gives some producers so little room in a request that what is
// full for one broker does not fit into one.
func (d *clientDraw) narrowRequests() {
	r := d.r.Split("narrow requests")
	for i := range d.clients {
		if c := &d.clients[i]; c.Role == Producer && r.OneIn(4) {
			c.Request = int(r.Between(200, 2000))
		}
	}
}

// tightBuffers gives some producers little room for what has no result yet, and
// lets some send what no topic takes.
func (d *clientDraw) tightBuffers() {
	r := d.r.Split("tight buffers")
	for i := range d.clients {
		c := &d.clients[i]
		if c.Role != Producer {
			continue
		}
		if r.OneIn(4) {
			c.Buffer = int(r.Between(4, 60)) << 10
		}
		if r.OneIn(6) {
			c.Outsize = int(r.Between(10, 60))
		}
	}
}

// tightAhead gives some readers little room for what is fetched ahead of the
// application.
func (d *clientDraw) tightAhead() {
	r := d.r.Split("tight ahead")
	for i := range d.clients {
		c := &d.clients[i]
		if c.Role == Reader && r.OneIn(3) {
			c.Ahead = int(r.Between(200, 20_000))
		}
	}
}

// seekers lets some readers, and all members of some groups, go back and forth in
// what they read, and look for the times that records have.
func (d *clientDraw) seekers() {
	r := d.r.Split("seekers")
	groups := map[string]int{}
	for i := range d.clients {
		c := &d.clients[i]
		switch c.Role {
		case Reader:
			if r.OneIn(2) {
				c.Seek = int(r.Between(5, 40))
			}
			c.Times = r.OneIn(2)
		case MemberOf:
			seek, drawn := groups[c.Group]
			if !drawn && r.OneIn(4) {
				seek = int(r.Between(3, 25))
			}
			groups[c.Group] = seek
			c.Seek, c.Times = seek, seek > 0
		}
	}
}

// restless lets who goes back and forth change its mind before it has arrived.
func (d *clientDraw) restless() {
	r := d.r.Split("restless")
	for i := range d.clients {
		if c := &d.clients[i]; c.Seek > 0 && r.OneIn(2) {
			c.Again = int(r.Between(10, 60))
		}
	}
}

// leavers lets all members of some groups leave for good, early enough for what the
// group has committed to expire.
func (d *clientDraw) leavers() {
	r := d.r.Split("leavers")
	leave := map[string]bool{}
	for i := range d.clients {
		c := &d.clients[i]
		if c.Role != MemberOf {
			continue
		}
		if _, drawn := leave[c.Group]; !drawn {
			leave[c.Group] = r.OneIn(6)
		}
		if at := d.plan.Phases.Warm + Span(r.Below(int64(d.plan.Phases.Faults/2))); leave[c.Group] {
			c.Stop, c.Start = at, min(c.Start, at/2)
		}
	}
}

// absences lets a static member of some groups go away in good order, and somebody
// else come while its place is kept: what it is not meant to own any more is free.
func (d *clientDraw) absences() {
	r := d.r.Split("absences")
	for i := range len(d.clients) {
		c := &d.clients[i]
		if c.Role != MemberOf || c.Instance != "i0" || c.Stop > 0 || !r.OneIn(2) {
			continue
		}
		c.Stop = d.plan.Phases.Warm + Span(r.Below(int64(d.plan.Phases.Faults)))
		newcomer := *c
		newcomer.Start, newcomer.Stop = c.Stop+Span(r.Below(int64(d.plan.Timing.GroupSession))), 0
		if newcomer.Instance = ""; r.OneIn(2) {
			newcomer.Instance = "newcomer"
		}
		d.add(newcomer)
	}
}

// holders lets some who read leave partitions alone for a while.
func (d *clientDraw) holders() {
	r := d.r.Split("holders")
	for i := range d.clients {
		if c := &d.clients[i]; (c.Role == Reader || c.Role == MemberOf) && r.OneIn(4) {
			c.Hold = int(r.Between(3, 25))
		}
	}
}

// chaosTopic makes the topic in which clients may do what they like.
func (d *clientDraw) chaosTopic() {
	for i := range d.plan.Topics {
		if d.plan.Topics[i].Name == chaosTopic {
			return
		}
	}
	d.plan.Topics = append(d.plan.Topics, TopicPlan{
		Name: chaosTopic, Partitions: 2, Replication: min(3, d.plan.Cluster.Nodes),
		MinInsync: min(2, d.plan.Cluster.Nodes), SegmentBytes: 4 << 10,
	})
}
