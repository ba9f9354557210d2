package sim

import (
	"strconv"

	"github.com/tamarack-mq/tamarack/core/chance"
)

// transactionDraw draws who makes transactions: pipelines of workers, from topic to
// topic, and who publishes transactions by itself. Its streams are its own: the other
// clients of a seed are the same with it and without.
type transactionDraw struct {
	*clientDraw
	r *chance.Stream
}

// inSeeds is whether the seeds of NewPlan have them yet.
const inSeeds = false

// transactions draws them in one seed of three.
func (d *clientDraw) transactions(sure bool) {
	t := &transactionDraw{clientDraw: d, r: d.r.Split("transactions")}
	if one := t.r.OneIn(3) && inSeeds; !one && !sure {
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
	d.plan.Topics = append(d.plan.Topics, t)
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
	return c
}

// pipeline draws one to three stages: what one writes, the next reads.
func (d *transactionDraw) pipeline() {
	from := d.topic("in")
	d.feed(from)
	for stage := range d.r.Between(1, 3) {
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
	if d.r.OneIn(2) {
		topics = append(topics, d.topic("wide"))
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
	var topics []string
	for i := range d.plan.Topics {
		switch name := d.plan.Topics[i].Name; name {
		case "in", "out0", "out1", "out2", "more0", "more1", "more2", "loose", "wide":
			topics = append(topics, name)
		}
	}
	one := []string{topics[d.r.Below(int64(len(topics)))]}
	if d.r.OneIn(2) {
		d.add(ClientPlan{Role: Reader, Topics: topics, Every: d.ms(30, 300), Committed: !d.r.OneIn(4)})
	}
	if d.r.OneIn(2) {
		for range d.r.Between(1, 2) {
			d.add(ClientPlan{
				Role: MemberOf, Group: "onlookers", Topics: one, Style: "at-least-once", Reset: "earliest",
				Every: d.ms(20, 150), Slow: d.ms(0, 100), Committed: true,
			})
		}
	}
}
