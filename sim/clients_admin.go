package sim

import (
	"strconv"

	"github.com/tamarack-mq/tamarack/core/client"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/history"
)

// Clients that every run has besides those of its plan.
const (
	operatorID = 998 // makes the topics and does what faults ask of an operator
	auditorID  = 999 // reads everything in the end
)

// operator makes the plan's topics and carries out the operations among the
// faults.
type operator struct {
	open     int
	retiring []retirement
	// What may hold before anybody hears of it: a min.insync, other controllers.
	lowering  []lowering
	reshaping []reshaping
	again     []*TopicPlan // topics of the plan that could not be made yet
}

func (o *operator) begin(u *user) {
	for i := range u.world.plan.Topics {
		o.create(u, &u.world.plan.Topics[i])
	}
}

// send asks for one administrative change and notes it.
func (o *operator) send(u *user, verb, topic string, count int, r message.Request) {
	o.open++
	op := u.ask(opAdmin, 0, history.Operation{Kind: history.Admin, Verb: verb, Topic: topic, Count: int32(count)},
		func(op client.Op) client.Input {
			return client.Ask{Op: op, Request: r, Target: client.Target{Kind: client.Controller}, Timeout: 60 * message.Second}
		})
	op.text = verb + " " + topic
}

func (o *operator) create(u *user, t *TopicPlan) {
	o.send(u, "create", t.Name, t.Partitions, &message.CreateTopic{
		Name: t.Name, Partitions: int32(t.Partitions), ReplicationFactor: int16(t.Replication),
		Config: message.TopicConfig{
			MinInsync: int32(t.MinInsync), SegmentBytes: int32(t.SegmentBytes),
			RetentionBytes: t.RetentionBytes, RetentionTime: message.Duration(t.RetentionTime),
		},
	})
}

func (o *operator) done(u *user, op *openOp, result *client.Result) {
	if op.what == opAdmin {
		o.settled(op, result)
		o.judgeAlter(u, op, result)
		o.judgeElect(u, result)
		u.world.granted(u, op, result)
		o.open--
		o.searches(u, op, result)
		if result.Err != nil && u.world.phase <= faulting {
			o.retry(u, op, result)
		}
	}
}

// retry tries again, a little later, what the run cannot begin without. A plan's
// topic that has too few brokers to hold it waits for them, and takes back drains
// that others have asked for.
func (o *operator) retry(u *user, op *openOp, result *client.Result) {
	ask, ok := op.ask.(client.Ask)
	if !ok || result.Err.Code == message.TopicAlreadyExists {
		return
	}
	if r, ok := ask.Request.(*message.CreateTopic); ok {
		if result.Err.Code == message.InvalidReplicationFactor {
			o.undrain(u)
		}
		for i := range u.world.plan.Topics {
			if t := &u.world.plan.Topics[i]; t.Name == r.Name {
				o.again = append(o.again, t)
				u.next(300 * Millisecond)
			}
		}
	}
}

// undrain takes all drains back.
func (o *operator) undrain(u *user) {
	image := u.world.newest()
	if image == nil {
		return
	}
	for _, b := range image.Brokers() {
		if b.Draining {
			o.order(u, "undrain", &message.DrainBroker{Node: b.Node, Undo: true})
		}
	}
}

func (o *operator) event(*user, *client.Event) {}

func (o *operator) idle(*user) (string, bool) {
	if o.open > 0 {
		return strconv.Itoa(o.open) + " requests of the operator without an answer", false
	}
	return "", true
}

// admin makes, grows and deletes topics of its own all the time.
type admin struct {
	made []string
	n    int
	open int
}

func (a *admin) begin(u *user) {
	if u.listed() {
		u.beginList()
		return
	}
	u.next(u.some(u.plan.Every))
}

func (a *admin) act(u *user, _ uint64) {
	if u.world.phase > draining {
		return
	}
	if u.listed() {
		a.actListed(u)
		return
	}
	u.next(u.some(u.plan.Every))
	if a.open > 3 {
		return
	}
	switch k := u.random.Below(4); {
	case k == 0 && len(a.made) > 0: // deletes one
		i := int(u.random.Below(int64(len(a.made))))
		name := a.made[i]
		a.made = append(a.made[:i], a.made[i+1:]...)
		a.do(u, "delete", name, 0)
	case k == 1 && len(a.made) > 0:
		name := a.made[u.random.Below(int64(len(a.made)))]
		count := int(u.random.Between(2, 5))
		a.do(u, "add-partitions", name, count)
	case len(a.made) < 3:
		a.n++
		// Names come back: a topic made again is another topic.
		name := "temp-" + strconv.Itoa(u.plan.ID) + "-" + strconv.Itoa(int(u.random.Below(3)))
		count := int(u.random.Between(1, 2))
		a.made = append(a.made, name)
		a.do(u, "create", name, count)
	}
}

func (a *admin) send(u *user, verb, topic string, count int, r message.Request) {
	a.open++
	u.ask(opAdmin, 0, history.Operation{Kind: history.Admin, Verb: verb, Topic: topic, Count: int32(count)},
		func(op client.Op) client.Input {
			return client.Ask{Op: op, Request: r, Target: client.Target{Kind: client.Controller}, Timeout: 20 * message.Second}
		})
}

func (a *admin) done(_ *user, op *openOp, _ *client.Result) {
	if op.what == opAdmin {
		a.open--
	}
}

func (a *admin) event(*user, *client.Event) {}

func (a *admin) idle(*user) (string, bool) {
	if a.open > 0 {
		return strconv.Itoa(a.open) + " admin requests without an answer", false
	}
	return "", true
}

func newScript(u *user) script {
	switch u.plan.Role {
	case Producer:
		return &producer{}
	case MemberOf:
		return &member{}
	case Worker:
		return &worker{}
	case Transactor:
		return &transactor{}
	case Processor:
		return &processor{}
	case Reader:
		return &reader{}
	case Admin:
		return &admin{}
	case Chaos:
		return &chaos{}
	case Malformed:
		return &chaos{malformed: true}
	case Hoarder:
		return &hoarder{}
	case operatorRole:
		return &operator{}
	case auditorRole:
		return &auditor{}
	}
	panic("sim: no client has the role " + string(u.plan.Role))
}

const (
	operatorRole Role = "operator"
	auditorRole  Role = "auditor"
)
