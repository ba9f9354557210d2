package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/tamarack-mq/tamarack/core"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/transport/tcp"
)

// When the log tells what a node waits for: a start takes a second or two, in which
// it is nobody's business. What goes on is said again, more and more rarely.
const (
	waitLook  = 2 * time.Second
	waitAgain = time.Minute
	waitMost  = time.Hour
)

// waiting tells operators in the log what the node waits for. Nobody looks at its
// health check before he knows that something is wrong.
type waiting struct {
	log   *slog.Logger
	said  string
	again time.Time     // when the same is said once more
	pause time.Duration // until then, the last time
	ready bool          // the node has served
}

// look takes what the node waits for now; "" is nothing.
func (w *waiting) look(now time.Time, why string) {
	switch {
	case why == "" && (w.said != "" || !w.ready):
		w.log.Info("ready: the cluster knows this run and lets it serve")
		w.said, w.ready = "", true
	case why == "":
	case why != w.said:
		w.log.Warn("waiting", "for", why)
		w.said, w.pause = why, waitAgain
		w.again = now.Add(w.pause)
	case !now.Before(w.again):
		w.log.Warn("still waiting", "for", why)
		w.pause = min(2*w.pause, waitMost)
		w.again = now.Add(w.pause)
	}
}

// watchWaiting looks from time to time what the node waits for, until it ends.
func (n *Node) watchWaiting() {
	w := &waiting{log: n.log}
	ticker := time.NewTicker(waitLook)
	defer ticker.Stop()
	for {
		select {
		case <-n.done:
			return
		case <-n.shutdown:
			return
		case now := <-ticker.C:
			ctx, cancel := context.WithTimeout(context.Background(), waitLook)
			why, err := n.waitsFor(ctx)
			cancel()
			if err == nil {
				w.look(now, why)
			}
		}
	}
}

// waitsFor says what the node waits for; "": nothing.
func (n *Node) waitsFor(ctx context.Context) (string, error) {
	ready, why := n.Ready(ctx)
	registered, voter := true, ""
	err := n.ask(ctx, func(c *core.Node) {
		registered = c.Status(n.driver.clock.now().Mono).Registered
		voter = awaited(c)
	})
	if err != nil {
		return "", err
	}
	if !registered {
		if who := n.holder(ctx); who != "" {
			return who, nil // whatever else it waits for goes to that one
		}
	}
	switch {
	case ready:
		return voter, nil
	case voter != "":
		return why + " " + voter, nil
	}
	return why, nil
}

// awaited says what keeps a node from voting, if it has an empty journal.
func awaited(c *core.Node) string {
	if c.Controller() == nil || c.Controller().View().Quorum.Admitted || c.Controller().View().Quorum.Mute != "" {
		return ""
	}
	const empty = "This voter's journal is empty: it is new, or it has lost its disk and may have voted before. It votes once "
	if who := c.Controller().Claimant(); who != message.NoNode {
		return fmt.Sprintf("This voter's journal is empty, and node %d is registered with a cluster of this name, which had this voter alone or has others that cannot reach it. "+
			"It begins no new cluster: name the other voters in its configuration if there are any. If there are none, what the cluster knew of its topics is lost; "+
			"to begin anew stop all other nodes, move their data folders away, and start this one again", who)
	}
	ids := c.Controller().Awaited()
	if len(ids) == 0 {
		return empty + "the other voters agree with it on who votes: are the voters in the configurations of all nodes the same? " +
			"If its own names no other, it begins a cluster when nobody of one that is there already has spoken to it for some seconds"
	}
	var names []string
	for _, id := range ids {
		names = append(names, "node "+id.String())
	}
	return empty + "it has an answer of " + strings.Join(names, " and ") + " as well: start what is down, and see that they can reach this node"
}

// holder asks other nodes who is registered under the number of this one, which is
// not. Answers between nodes go to whoever has the number, so only a client is told.
func (n *Node) holder(ctx context.Context) string {
	for _, v := range n.cfg.Voters {
		b, err := n.registered(ctx, v)
		if err != nil || b == nil || b.Fenced {
			continue
		}
		return fmt.Sprintf("node %d is registered by another run, at %s, on another disk, whose session is not over. "+
			"If this lasts it is another process: give each node a number and a data folder of its own", n.cfg.Node, b.Address)
	}
	return ""
}

// registered is what a voter knows of who is registered under this node's number;
// nil: nobody, or it cannot know.
func (n *Node) registered(ctx context.Context, v Voter) (*message.BrokerInfo, error) {
	ctx, cancel := context.WithTimeout(ctx, waitLook/4)
	defer cancel()
	answer := &oneReply{got: make(chan message.Reply, 1), gone: make(chan error, 1)}
	conn, err := tcp.Dial(ctx, v.Address, tcp.Hello{ClusterID: n.cfg.ClusterID, Want: v.Node, Software: n.cfg.Software}, answer)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if err := conn.Send(1, &message.Metadata{Topics: []string{}}); err != nil {
		return nil, err
	}
	select {
	case r := <-answer.got:
		m, ok := r.(*message.MetadataReply)
		if !ok || m.ControllerSilent {
			return nil, errors.New("server: it does not know")
		}
		i := slices.IndexFunc(m.Brokers, func(b message.BrokerInfo) bool { return b.ID == n.cfg.Node })
		if i < 0 {
			return nil, nil
		}
		return &m.Brokers[i], nil
	case err := <-answer.gone:
		return nil, err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// oneReply takes the reply to the only request of a connection.
type oneReply struct {
	got  chan message.Reply
	gone chan error
}

// Replied takes it.
func (o *oneReply) Replied(_ uint64, m message.Reply) {
	select {
	case o.got <- m:
	default:
	}
}

// Closed ends the wait for it.
func (o *oneReply) Closed(err error) {
	if err == nil {
		err = tcp.ErrClosed
	}
	o.gone <- err
}
