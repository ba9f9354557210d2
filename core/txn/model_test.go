package txn

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tamarack-mq/tamarack/core/ledger"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/order"
	"github.com/tamarack-mq/tamarack/core/record"
)

// producer is what one incarnation of an application knows. Two of them may run
// under one transactional id: the older is a zombie.
type producer struct {
	name   string
	self   uint64 // its incarnation; 0: it begins another one when it acts next
	who    Identity
	ready  bool                 // it has an identity
	took   []record.PartitionID // partitions whose leaders were told that they take part
	adds   map[uint64]record.PartitionID
	asked  message.Token // the InitProducerID or EndTransaction that is open
	commit bool          // how it ends, once it has said so
	ending bool
	rival  bool         // somebody else has asked for an identity since
	since  message.Time // when the present epoch began, at the earliest
}

// fenced takes in that the producer is out, which must have the reason that is told,
// if one is.
func (w *world) fenced(p *producer, told string) {
	late := w.now.Mono.Sub(p.since) >= 10*message.Second
	require.True(w.rt, p.rival || late, "%s with %v is fenced without a reason", p.name, p.who)
	if told != "" {
		tooLong := strings.Contains(told, "took longer")
		require.NotEqual(w.rt, tooLong, strings.Contains(told, "another producer"), "one reason: %s", told)
		require.True(w.rt, tooLong && late || !tooLong && p.rival, "%s with %v: %s", p.name, p.who, told)
	}
	p.ready, p.self = false, 0
}

func (p *producer) introduction() *message.InitProducerID {
	return &message.InitProducerID{TransactionalID: p.name, Timeout: 10 * message.Second, Incarnation: p.self}
}

// told is an outcome that a producer was promised.
type told struct {
	name   string
	who    Identity
	commit bool
	took   []record.PartitionID
}

// world is a bench under random producers, messages and failures.
type world struct {
	*bench
	rt        *rapid.T
	producers []*producer
	given     map[Identity]uint64 // every identity that was told to somebody, and to which incarnation
	lives     uint64
	promises  []told
}

func (w *world) draw(n int, what string) int { return rapid.IntRange(0, n-1).Draw(w.rt, what) }

var places = []record.PartitionID{one, two, three, {Topic: 9, Index: 1}}

func (w *world) act() {
	p := w.producers[w.draw(len(w.producers), "producer")]
	switch {
	case p.asked != 0:
		if w.draw(6, "gives up") == 0 { // the answer may be lost, and it asks again
			p.asked = 0
		}
	case !p.ready:
		p.took, p.adds, p.ending = nil, map[uint64]record.PartitionID{}, false
		for _, other := range w.producers {
			other.rival = other.rival || other.name == p.name
		}
		p.rival, p.since = false, w.now.Mono
		if p.self == 0 {
			w.lives++
			p.self = w.lives
		}
		p.asked = w.send(p.introduction())
	case p.ending || w.draw(4, "ends") == 0:
		if !p.ending {
			p.ending, p.commit = true, w.draw(2, "commits") == 0
		}
		p.asked = w.send(endRequest(p.name, p.who, p.commit))
	case w.draw(20, "crashes") == 0:
		p.ready, p.self = false, 0
	case w.draw(20, "its first question comes late, and again") == 0: // it takes nobody's place but that of others
		for _, other := range w.producers {
			other.rival = other.rival || other.name == p.name && other != p
		}
		w.send(p.introduction())
	default:
		id := places[w.draw(len(places), "partition")]
		if w.parts[id].deleted {
			return
		}
		p.adds[w.startAdd(p.name, p.who, id)] = id
	}
}

// listen takes the answers in.
func (w *world) listen() {
	for _, p := range w.producers {
		w.hear(p)
		for _, request := range order.Keys(p.adds) {
			code, answered := w.added[request]
			if !answered {
				continue
			}
			id := p.adds[request]
			delete(p.adds, request)
			switch code {
			case message.None:
				if part := w.parts[id]; part.epochs[p.who.ID] <= p.who.Epoch && !p.ending {
					p.took = append(p.took, id) // else its leader refuses the records: there is a marker
				}
			case message.ProducerFenced:
				w.fenced(p, "")
			default:
				require.True(w.rt, code.Retriable(), "%v to %v", code, p)
			}
		}
	}
}

func (w *world) hear(p *producer) {
	switch r := w.answers[p.asked].(type) {
	case *message.InitProducerIDReply:
		p.asked = 0
		if r.Code != message.None {
			require.True(w.rt, r.Code.Retriable(), "%v", r)
			return
		}
		p.who, p.ready = Identity{r.ID, r.Epoch}, true
		if owner, told := w.given[p.who]; told {
			require.Equal(w.rt, p.self, owner, "it was told to another one")
		}
		w.given[p.who] = p.self
	case *message.EndTransactionReply:
		p.asked = 0
		switch r.Code {
		case message.None:
			w.promises = append(w.promises, told{p.name, p.who, p.commit, p.took})
			p.who = Identity{r.ID, r.Epoch}
			require.NotContains(w.rt, w.given, p.who)
			w.given[p.who] = p.self
			p.took, p.adds, p.ending, p.since = nil, map[uint64]record.PartitionID{}, false, w.now.Mono
		case message.InvalidTxnState:
			require.True(w.rt, p.commit, "%v", r)
			require.Empty(w.rt, p.took, "records of a transaction that is said to have none")
			p.ending = false
		case message.ProducerFenced:
			w.fenced(p, r.Detail)
		default:
			require.True(w.rt, r.Code.Retriable(), "%v to %v", r, p)
		}
	}
}

// disturb does what networks, disks, brokers and operators do.
func (w *world) disturb() {
	switch w.draw(12, "what") {
	case 0:
		w.hold = true
	case 1:
		w.hold = false
		w.commit(len(w.log))
		w.settle()
	case 2:
		w.commit(w.draw(len(w.log)+1, "committed"))
		w.settle()
	case 3:
		w.refuse(message.NotEnoughReplicasAfterAppend, w.draw(2, "lost") == 0)
	case 4, 5:
		w.mute = w.draw(3, "mute") > 0
		w.settle()
	case 6: // a message is lost, or comes again, or late
		if len(w.wire) > 0 {
			i := w.draw(len(w.wire), "message")
			switch w.draw(3, "how") {
			case 0:
				w.wire = append(w.wire[:i:i], w.wire[i+1:]...)
			case 1:
				w.wire = append(w.wire, w.wire[i])
			default:
				w.deliver(i)
				w.settle()
			}
		}
	case 7: // the coordinator moves; what its last messages say may still arrive
		w.c.Resign(w.now, 0, w.epoch, &w.out)
		w.settle()
		w.listen()
		if w.draw(2, "what is not committed goes") == 0 {
			w.failover()
		} else {
			w.takeOver()
		}
	case 8:
		w.lead(places[w.draw(len(places), "partition")], message.NodeID(w.draw(4, "leader")))
	case 9:
		if w.draw(10, "deleted") == 0 {
			w.parts[places[3]].deleted = true
			w.image()
		}
	case 10:
		w.trim()
		w.noIDs = w.draw(3, "no ids") == 0
	default:
		w.pass(message.Duration(w.draw(6000, "time")) * message.Millisecond)
	}
}

// rest ends all faults and has everything come to its end.
func (w *world) rest() {
	w.noIDs = false
	for _, id := range places {
		if w.parts[id].leader == message.NoNode {
			w.lead(id, 1)
		}
	}
	w.release()
	w.pass(30 * message.Second)
	w.listen()
}

// judge holds what producers were promised against what is in the partitions.
func (w *world) judge() {
	for _, p := range w.promises {
		after := Identity{p.who.ID, p.who.Epoch + 1}
		for _, id := range p.took {
			found := w.parts[id].deleted
			for _, m := range w.parts[id].markers {
				if m.Identity == after {
					require.Equal(w.rt, p.commit, m.Commit, "%v in %v", p, id)
					found = true
				}
			}
			require.True(w.rt, found, "%v has no marker in %v", p, id)
		}
	}
	views := w.c.Views()
	require.Equal(w.rt, 0, views[0].Ongoing+views[0].Preparing+views[0].Pending+views[0].Waiting+views[0].Held, "%v", views)
	require.Empty(w.rt, w.c.asked)
}

// INV-32 and INV-23 under whatever fails: there is one decision for each
// transaction, also over failovers; the markers in each partition are those of
// their decisions, with rising epochs of producers and coordinators; no identity is
// told twice; nobody is fenced without a reason; what a producer was promised is so
// in all its partitions; and memory is what a replay gives.
func TestEachTransactionIsDecidedOnceWhateverFails(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := &world{rt: rt, given: map[Identity]uint64{}}
		w.bench = newBench(rt, Config{MaxHeld: 2, Ledger: ledger.Config{SnapshotMinimum: 25, SnapshotFactor: 2, MaxBatchBytes: 300}})
		w.lead(places[3], 2)
		for i := range 4 {
			w.producers = append(w.producers, &producer{name: fmt.Sprint("id-", i/2), adds: map[uint64]record.PartitionID{}})
		}
		for range rapid.IntRange(1, 150).Draw(rt, "steps") {
			if w.draw(3, "who acts") > 0 {
				w.act()
			} else {
				w.disturb()
			}
			w.listen()
			w.sound()
		}
		w.rest()
		w.sound()
		w.judge()
	})
}
