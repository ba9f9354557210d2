package sim

import (
	"slices"
	"strconv"

	"github.com/tamarack-mq/tamarack/core/chance"
)

// transactionDraw draws who makes transactions: pipelines of workers, from topic to
// topic, and who publishes transactions by itself. Its streams are its own: the other
// clients of a seed are the same with it and without.
type transactionDraw struct {
	*clientDraw
	r    *chance.Stream
	made []string // topics of their own
}

// transactions draws them in one seed of three.
func (d *clientDraw) transactions(sure bool) {
	t := &transactionDraw{clientDraw: d, r: d.r.Split("transactions")}
	if one := t.r.OneIn(3); !one && !sure {
		return
	}
	d.plan.Cluster.TransactionShards = int(t.r.Between(1, 3))
	if e := t.r.Split("epochs"); e.OneIn(4) {
		d.plan.Cluster.Epochs = int(e.Between(2, 30))
	}
	if t.r.OneIn(3) {
		t.loose()
	} else {
		t.pipeline()
		if t.r.OneIn(4) {
			t.loose()
		}
	}
	t.onlookers()
	t.strangers()
	t.forgotten()
}

// forgotten lets coordinators forget transactional ids that do nothing, in some runs,
// and some of those be silent for longer. A worker takes its id over as it joins, and
// must be given records to work on before that is forgotten: which may be when the
// session of its last life is over.
func (d *transactionDraw) forgotten() {
	r := d.r.Split("forgotten")
	if !r.OneIn(4) {
		return
	}
	idle := 2*d.plan.Timing.GroupSession + Span(r.Between(2500, 6000))*Millisecond
	d.plan.Timing.TransactionIdle = idle
	d.plan.Phases.Faults = max(d.plan.Phases.Faults, idle*3/2)
	for i := range d.clients {
		if c := &d.clients[i]; c.Role == Transactor && r.OneIn(2) {
			c.Work = Span(r.Between(1000, 4000)) * Millisecond
			c.Nap = idle + Span(r.Between(500, 3000))*Millisecond
		}
	}
}

// drawTransactionDeaths lets those die who make transactions, and those who decide
// them, more often than others, in half of the plans that have any.
func drawTransactionDeaths(r *chance.Stream, p *Plan) (faults []Fault) {
	var who []*ClientPlan
	for i := range p.Clients {
		if p.Clients[i].Role.transacts() {
			who = append(who, &p.Clients[i])
		}
	}
	if len(who) == 0 || r.OneIn(2) {
		return nil
	}
	clients, nodes := !r.OneIn(3), r.OneIn(2)
	mean := r.Between(600, 3000)
	end := p.Phases.Warm + p.Phases.Faults
	for at := p.Phases.Warm; at < end; at += Span(r.Between(mean/4, mean*7/4)) * Millisecond {
		c := who[r.Below(int64(len(who)))]
		f := Fault{At: at, For: Span(r.Between(20, 1500)) * Millisecond}
		switch r.Below(8) {
		case 0:
			f.Kind, f.Target = PowerLoss, "decider "+c.Transactional
		case 1:
			f.Kind, f.Target = Pause, "decider "+c.Transactional
		case 2:
			f.Kind, f.Client, f.For = ClientPause, c.ID, Span(r.Between(500, 8000))*Millisecond
		default:
			f.Kind, f.Client = ClientCrash, c.ID
		}
		if f.Client > 0 && clients || f.Client == 0 && nodes {
			faults = append(faults, f)
		}
	}
	return faults
}

// strangers draws who knows of transactions what it should not.
func (d *transactionDraw) strangers() {
	if d.r.OneIn(4) {
		d.chaosTopic()
		d.add(ClientPlan{Role: Chaos, Every: d.ms(20, 200)})
	}
	if d.r.OneIn(6) {
		d.chaosTopic()
		d.add(ClientPlan{Role: Malformed, Every: d.ms(50, 300)})
	}
}

func (d *transactionDraw) ms(low, high int64) Span {
	return Span(d.r.Between(low, high)) * Millisecond
}

// topic makes a topic of their own.
func (d *transactionDraw) topic(name string) string {
	n := d.plan.Cluster.Nodes
	t := TopicPlan{
		Name: name, Partitions: int(d.r.Between(1, 3)), Replication: min(3, n), MinInsync: min(2, n),
		SegmentBytes: int(d.r.Between(2, 16)) << 10,
	}
	if r := d.r.Split("retention of " + name); r.OneIn(3) { // while a transaction is open, too
		t.RetentionTime = Span(r.Between(500, 5000)) * Millisecond
		if r.OneIn(2) {
			t.RetentionBytes = r.Between(1, 12) << 10
		}
	}
	d.plan.Topics = append(d.plan.Topics, t)
	d.made = append(d.made, name)
	return name
}

// who fills in what all have who make transactions.
func (d *transactionDraw) who(c ClientPlan, id string) ClientPlan {
	c.Transactional, c.Every = id, d.ms(10, 150)
	if c.Limit = d.ms(1500, 12_000); d.r.OneIn(6) {
		c.Limit = 0
	}
	if d.r.OneIn(2) {
		c.Abort = int(d.r.Between(5, 40))
	}
	if d.r.OneIn(3) {
		c.Dawdle = int(d.r.Between(2, 15))
	}
	c.Linger = d.ms(0, 10)
	if d.r.OneIn(3) {
		c.Batch = int(d.r.Between(200, 4000))
	}
	c.Slow = d.ms(0, 150)
	if d.r.OneIn(5) {
		c.Slow = d.ms(500, 2500)
	}
	r := d.r.Split("attempts of " + id)
	if !r.OneIn(5) {
		c.Retry = 100
		if r.OneIn(3) {
			c.Retry = int(r.Between(30, 90))
		}
	}
	if r.OneIn(3) {
		c.Leave = int(r.Between(3, 30))
	}
	return c
}

// pipeline draws one to three stages: what one writes, the next reads.
func (d *transactionDraw) pipeline() {
	stages := d.r.Between(1, 3)
	from := d.elsewhere()
	if d.r.OneIn(3) {
		stages = 1 // others write what it reads, and many
	} else {
		from = d.topic("in")
		d.feed(from)
	}
	for stage := range stages {
		name := strconv.Itoa(int(stage))
		into := []string{d.topic("out" + name)}
		fan := 1
		if d.r.OneIn(3) {
			fan = 2
		}
		if d.r.OneIn(4) {
			into = append(into, d.topic("more"+name))
		}
		d.workers("stage"+name, from, into, fan)
		from = into[0]
	}
}

// elsewhere is a topic that others write and read, too.
func (d *transactionDraw) elsewhere() string {
	var names []string
	for i := range d.plan.Topics {
		if name := d.plan.Topics[i].Name; name[0] == 't' {
			names = append(names, name)
		}
	}
	return names[d.r.Below(int64(len(names)))]
}

// feed draws who writes what a pipeline begins with.
func (d *transactionDraw) feed(topic string) {
	c := ClientPlan{Topics: []string{topic}, Size: int(d.r.Between(0, 60)), Burst: int(d.r.Between(1, 5))}
	if d.r.OneIn(2) {
		c.Keys = int(d.r.Between(1, 8))
	}
	if d.r.OneIn(2) {
		c.Role, c.Every, c.Acks, c.Idempotent = Producer, d.ms(60, 300), -1, true
	} else {
		c = d.who(c, "feed")
		c.Role, c.Every = Transactor, d.ms(60, 300)
	}
	c.Count = 400
	d.add(c)
}

// workers draws the workers of a stage. Each has a transactional id of its own; but
// now and then two have the same, and fence each other.
func (d *transactionDraw) workers(group, topic string, into []string, fan int) {
	n := d.r.Between(1, 3)
	same := n > 1 && d.r.OneIn(5)
	for i := range n {
		id := group + "-" + strconv.Itoa(int(i))
		if same && i == 1 {
			id = group + "-0"
		}
		c := d.who(ClientPlan{Role: Worker, Topics: []string{topic}, Group: group, Into: into, Fan: fan, Reset: "earliest"}, id)
		if i > 0 && d.r.OneIn(4) {
			c.Start = d.plan.Phases.Warm + Span(d.r.Below(int64(d.plan.Phases.Faults)))
		}
		if i > 0 && d.r.OneIn(5) {
			c.Stop = d.plan.Phases.Warm + Span(d.r.Below(int64(d.plan.Phases.Faults)))
		}
		d.add(c)
	}
}

// loose draws who publishes transactions over some topics, of others too.
func (d *transactionDraw) loose() {
	topics := []string{d.topic("loose")}
	switch d.r.Below(4) {
	case 0:
		topics = append(topics, d.topic("wide"))
	case 1, 2:
		topics = append(topics, d.elsewhere())
	}
	if d.r.Split("deleted").OneIn(3) { // in the middle of a transaction, too
		d.chaosTopic()
		topics = append(topics, chaosTopic)
	}
	for i := range d.r.Between(1, 3) {
		id := "loose-" + strconv.Itoa(int(i))
		if i > 0 && d.r.OneIn(4) {
			id = "loose-0"
		}
		c := d.who(ClientPlan{Role: Transactor, Topics: topics, Size: int(d.r.Between(0, 200)), Burst: int(d.r.Between(1, 12)), Keys: int(d.r.Between(0, 6))}, id)
		if d.r.OneIn(5) && d.plan.Timing.ClientDelivery < 10*Second {
			c.Work, c.Nap = d.ms(1500, 5000), d.ms(2000, 8000)
		}
		d.add(c)
	}
}

// onlookers draws who reads what was written: committed records, mostly.
func (d *transactionDraw) onlookers() {
	one := []string{d.made[d.r.Below(int64(len(d.made)))]}
	if d.r.OneIn(2) {
		c := ClientPlan{Role: Reader, Topics: d.made, Every: d.ms(30, 300), Committed: !d.r.OneIn(4), Times: d.r.OneIn(2)}
		if d.r.OneIn(2) {
			c.Seek = int(d.r.Between(5, 30))
		}
		d.add(c)
	}
	if d.r.OneIn(2) {
		for range d.r.Between(1, 2) {
			d.add(ClientPlan{
				Role: MemberOf, Group: "onlookers", Topics: one, Style: "at-least-once", Reset: "earliest",
				Every: d.ms(20, 150), Slow: d.ms(0, 100), Committed: true,
			})
		}
	}
	groups := map[string]bool{}
	for i := range d.clients {
		c := &d.clients[i]
		switch c.Role {
		case Reader:
			c.Committed = c.Committed || d.r.OneIn(4)
		case MemberOf:
			if _, drawn := groups[c.Group]; !drawn {
				groups[c.Group] = d.r.OneIn(4)
			}
			c.Committed = c.Committed || groups[c.Group]
		}
	}
	d.nibblers()
}

// nibblers lets some of those who read committed records get little at a time, so
// that what they get ends in the middle of transactions that have ended further up:
// which of these were aborted has to be looked for then. The topics of other clients
// may hold too much to be read so.
func (d *transactionDraw) nibblers() {
	r := d.r.Split("nibblers")
	for i := range d.clients {
		c := &d.clients[i]
		others := slices.ContainsFunc(c.Topics, func(name string) bool { return !slices.Contains(d.made, name) })
		if (c.Committed || c.Role == Worker) && !others && r.OneIn(2) {
			c.Fetch = int(r.Between(1, 1500))
		}
	}
}
