package client

import (
	"fmt"
	"slices"

	"github.com/tamarack-mq/tamarack/core/message"
)

// ask is a request that is tried until it is answered for good or its time is
// over.
type ask struct {
	c       *Client
	target  Target
	once    bool
	lasting bool                           // a Close lets it come to its end
	prepare func() (message.Request, bool) // false: the metadata for it is missing
	finish  func(Result)
	begun   message.Time
	until   message.Time

	request  message.Request
	flying   bool
	turn     uint64 // counts attempts
	maybe    bool   // an attempt may have taken effect
	blind    bool   // waits for metadata
	over     bool
	code     message.Code
	detail   string
	reply    message.Reply
	failures int
	again    alarm
	deadline alarm
}

// ask begins an operation of the application.
func (c *Client) ask(in Ask) {
	if in.Request == nil || in.Target.Kind > TheNode {
		c.fail(in.Op, NotDone, &Error{Problem: Misused, Detail: "ask: name a request and a target"})
		return
	}
	wait := in.Timeout
	if wait <= 0 {
		wait = c.cfg.AskTimeout
	}
	finish := func(r Result) { c.succeed(in.Op, r) }
	if in.Target.Kind == EveryBroker {
		c.askEvery(in, wait, finish)
		return
	}
	_, produces := in.Request.(*message.Produce) // a second attempt would append it twice
	c.begin(&ask{target: in.Target, once: in.Once || produces, prepare: ready(in.Request), finish: finish}, wait)
}

// ready is the prepare of a request that needs nothing.
func ready(r message.Request) func() (message.Request, bool) {
	return func() (message.Request, bool) { return r, true }
}

// begin starts an ask and keeps it in the list.
func (c *Client) begin(a *ask, wait message.Duration) {
	a.c = c
	a.begun, a.until = c.now.Mono, c.now.Mono.Add(wait)
	a.again.Due = a.attempt
	a.deadline.Due = a.expire
	c.asks = append(c.asks, a)
	c.alarms.Set(&a.deadline, a.until)
	a.attempt()
}

// askEvery sends a request to each broker that is alive, and gathers what they
// answer.
func (c *Client) askEvery(in Ask, wait message.Duration, finish func(Result)) {
	begun := c.now.Mono
	var asked bool
	gather := func() (message.Request, bool) {
		if asked || len(c.cluster.brokers) == 0 {
			return nil, false
		}
		asked = true
		return in.Request, true
	}
	first := &ask{target: Target{Kind: EveryBroker}, prepare: gather, finish: func(r Result) {
		if r.Err != nil {
			finish(r)
			return
		}
		c.spread(in, begun.Add(wait).Sub(c.now.Mono), finish)
	}}
	c.begin(first, wait)
}

// spread asks the brokers one by one, side by side.
func (c *Client) spread(in Ask, wait message.Duration, finish func(Result)) {
	var nodes []*node
	for _, n := range c.cluster.brokers {
		if !n.fenced {
			nodes = append(nodes, n)
		}
	}
	all := Result{Replies: make([]NodeReply, len(nodes))}
	left := len(nodes)
	if left == 0 {
		finish(all)
		return
	}
	for i, n := range nodes {
		one := &ask{target: Target{Kind: TheNode, Node: n.id}, once: in.Once, prepare: ready(in.Request)}
		one.finish = func(r Result) {
			all.Replies[i] = NodeReply{Node: n.id, Reply: r.Reply, Err: r.Err}
			if r.Outcome > all.Outcome {
				all.Outcome, all.Err = r.Outcome, r.Err
			}
			if left--; left == 0 {
				finish(all)
			}
		}
		c.begin(one, wait)
	}
}

// attempt sends the request once.
func (a *ask) attempt() {
	if a.over || a.flying {
		return
	}
	r, ok := a.prepare()
	if !ok {
		a.wait()
		return
	}
	a.blind = false
	a.request = r
	switch a.target.Kind {
	case EveryBroker: // the list of brokers is there
		a.end(Result{})
	case Coordinator:
		a.flying = true
		a.c.coordinate(a.target.office(), func(n *node, code message.Code) {
			a.flying = false
			switch {
			case a.over:
			case n == nil:
				a.refused(code, "the coordinator of "+a.target.office().String()+" was not found", false)
			default:
				a.send(n.target())
			}
		})
	default:
		to, ok := a.where()
		if !ok {
			a.wait()
			return
		}
		a.send(to)
	}
}

// where finds the node for a target other than a coordinator.
func (a *ask) where() (target, bool) {
	c := a.c
	var n *node
	switch a.target.Kind {
	case AnyBroker:
		return c.cluster.anyNode()
	case Controller:
		if n = c.nodes[c.cluster.controller]; n == nil || !n.usable(c.now.Mono) {
			return c.cluster.anyNode() // it passes the request on
		}
	case LeaderOf:
		id := a.target.Partition
		if name := a.target.Place.Topic; name != "" {
			t := c.cluster.topic(name)
			id.Topic, id.Index = t.id, a.target.Place.Partition
		} else {
			c.cluster.lookup(id.Topic)
		}
		n = c.cluster.leader(id)
	case TheNode:
		n = c.nodes[a.target.Node]
	}
	if n == nil || !n.usable(c.now.Mono) {
		return target{}, false
	}
	return n.target(), true
}

// wait lets the ask wait for metadata, and look again after a pause.
func (a *ask) wait() {
	if a.once && a.target.Kind == TheNode && len(a.c.cluster.brokers) > 0 {
		a.code, a.detail = message.BrokerNotAvailable, "node "+a.target.Node.String()+" cannot be reached or is not registered"
		a.fail(Refused)
		return
	}
	a.blind = true
	if a.code == message.None {
		a.detail = "who should answer is not known: no broker could be reached, or there is no such node, topic or partition"
	}
	a.c.cluster.want()
	a.rest()
}

func (a *ask) rest() {
	a.failures++
	a.c.alarms.Set(&a.again, a.c.now.Mono.Add(a.c.backoff(a.failures)))
}

// retryAsks tries again what waits for metadata.
func (c *Client) retryAsks() {
	for _, a := range slices.Clone(c.asks) {
		if a.blind {
			a.attempt()
		}
	}
}

func (a *ask) send(to target) {
	if p, ok := a.request.(*message.Produce); ok && p.Acks == message.AcksNone {
		a.c.emit(to, a.request, true)
		a.end(Result{})
		return
	}
	a.c.alarms.Stop(&a.again)
	a.flying = true
	a.turn++
	turn := a.turn
	wait := min(a.c.cfg.RequestTimeout, max(a.until.Sub(a.c.now.Mono), message.Millisecond))
	if f, ok := a.request.(*message.Fetch); ok {
		wait += max(f.MaxWait, 0)
	}
	a.c.send(to, a.request, wait, func(reply message.Reply, how ending) {
		if a.over || a.turn != turn {
			return
		}
		a.flying = false
		a.answered(to, reply, how)
	})
}

func (a *ask) answered(to target, reply message.Reply, how ending) {
	if how != replied {
		if a.target.Kind == Coordinator {
			a.c.uncoordinate(a.target.office(), to.node)
		}
		a.refused(message.BrokerNotAvailable, "no answer from "+to.address, how == broken)
		return
	}
	a.reply = reply
	code, detail := codeOf(reply)
	switch {
	case code == message.None:
		a.end(Result{Reply: reply})
		return
	case lostCoordinator(code) && a.target.Kind == Coordinator:
		a.c.uncoordinate(a.target.office(), to.node)
	case code == message.NotController || staleLeader(code):
		a.c.cluster.want()
	}
	a.refused(code, detail, code.Unknown())
}

// refused tries again or gives up.
func (a *ask) refused(code message.Code, detail string, maybe bool) {
	a.code, a.detail = code, detail
	a.maybe = a.maybe || maybe
	if a.once || a.final(code) || !code.Retriable() && code != message.UnknownServerError {
		a.fail(Refused)
		return
	}
	a.rest()
}

// final says that there is no such topic or partition, and that this is all there is to
// say. Of what is the controller's to do it alone says so, whoever was asked, after it has
// confirmed that it knows of every change. A broker that is asked for settings may not
// have heard of a topic yet: it is asked for as long as a producer would wait.
func (a *ask) final(code message.Code) bool {
	if code != message.UnknownTopicOrPartition {
		return false
	}
	switch a.request.(type) {
	case *message.DeleteTopic, *message.AddPartitions, *message.AlterConfig, *message.AlterReassignments, *message.ElectLeaders:
		return true
	case *message.DescribeConfig:
		return a.c.now.Mono >= a.begun.Add(a.c.cfg.TopicTimeout)
	}
	return false
}

// expire ends an ask whose time is over.
func (a *ask) expire() {
	a.maybe = a.maybe || a.flying && a.turn > 0
	a.fail(TimedOut)
}

// abandon ends an ask because the client is being closed.
func (a *ask) abandon() {
	a.maybe = a.maybe || a.flying && a.turn > 0
	a.code, a.detail = message.None, "the client was closed before the answer came"
	a.fail(Closed)
}

func (a *ask) fail(why Problem) {
	o := NotDone
	if a.maybe && a.request != nil && !changesNothing(a.request) {
		o = Unknown
	}
	a.end(Result{Outcome: o, Reply: a.reply, Err: a.because(why)})
}

// because is why there is no answer so far.
func (a *ask) because(why Problem) *Error {
	what := "ask"
	if a.request != nil {
		what = a.request.Kind().String()
	}
	detail := a.detail
	if detail == "" {
		detail = why.String()
	}
	return &Error{Problem: why, Code: a.code, Detail: fmt.Sprintf("%s: %s", what, detail)}
}

func (a *ask) end(r Result) {
	if a.over {
		return
	}
	a.over = true
	a.c.alarms.Stop(&a.again)
	a.c.alarms.Stop(&a.deadline)
	if i := slices.Index(a.c.asks, a); i >= 0 {
		a.c.asks = slices.Delete(a.c.asks, i, i+1)
	}
	a.finish(r)
}
