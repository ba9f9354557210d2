package sim

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/core/replica"
	"github.com/tamarack-mq/tamarack/storage/vfs/simdisk"
)

// mapped is a stage with one partition of which the controllers know: three
// replicas, all in sync, two needed.
func mapped(t *testing.T) (*stage, *message.PartitionChange) {
	s := newStage(t)
	state := &message.PartitionChange{ID: part, Replicas: []message.NodeID{1, 2, 3}, ISR: []message.NodeID{1, 2, 3}, Leader: 1}
	s.operatorUser().script = &operator{}
	image := s.cluster()
	require.NoError(t, image.Apply(image.Version()+1, &message.Change{Partition: state}))
	p := s.book.part(part)
	p.state, p.high = state, 2
	for node := int32(1); node <= 3; node++ {
		s.holds(node, batch(0, 1, "a"), batch(1, 1, "b"))
		p.replica(node).exists, p.replica(node).durable = true, 2
	}
	return s, state
}

// registers has a run of node 3 registered.
func registers(t *testing.T, s *stage, incarnation uint64) {
	image := s.newest()
	require.NoError(t, image.Apply(image.Version()+1, &message.Change{Broker: &message.BrokerChange{
		Node: 3, Epoch: message.BrokerEpoch(image.Version() + 1), Incarnation: incarnation}}))
}

// inSync has the controller decide on another in-sync set.
func inSync(s *stage, state *message.PartitionChange, nodes ...message.NodeID) {
	next := *state
	next.ISR = nodes
	s.book.part(part).state = &next
	s.atlas.follow(&next)
}

const firstSegment = "5-0/00000000000000000000.log"

func TestDamageIsBoundedByWhatTheOthersHold(t *testing.T) {
	s, state := mapped(t)
	require.True(t, s.atlas.affords(2))
	s.atlas.damage(s.nodes[3], simdisk.Damage{Path: firstSegment})
	require.False(t, s.atlas.affords(2), "two hit of two that are needed: a record could be committed on these alone")
	require.True(t, s.atlas.affords(3), "the same one again")

	s, state = mapped(t)
	state.ISR = []message.NodeID{2}
	require.False(t, s.atlas.affords(2), "the only one in sync")
	state.ELR = []message.NodeID{1}
	require.True(t, s.atlas.affords(2), "another is eligible")
	s.book.part(part).replica(1).durable = 1
	require.False(t, s.atlas.affords(2), "which has not all that is committed on its disk")
}

func TestADiskThatIsToBeReplacedCountsAsHitAlready(t *testing.T) {
	s, _ := mapped(t)
	s.atlas.ails[3].reserved = true
	require.False(t, s.atlas.affords(2))
	require.True(t, s.atlas.covered(3))
}

// Beyond the promise only that partition is conceded whose last copy is hit.
func TestWhatIsConcededIsExact(t *testing.T) {
	s, state := mapped(t)
	other := s.book.part(record.PartitionID{Topic: 6})
	s.plan.Beyond = true
	s.atlas.damage(s.nodes[3], simdisk.Damage{Path: firstSegment})
	require.False(t, s.book.part(part).loss, "two copies are left")
	s.atlas.damage(s.nodes[2], simdisk.Damage{Path: firstSegment})
	require.True(t, s.book.part(part).loss)
	require.False(t, other.loss)

	p := s.book.part(part)
	require.False(t, p.off(), "it is judged on: whoever has lost records must say so")
	require.False(t, p.forsaken(), "somebody is in sync")
	state.ISR = nil
	require.True(t, p.forsaken())
	p.loss = false
	require.False(t, p.forsaken(), "there is no reason for it to be offline")
}

// A topic that is made while a broker's new disk is not known yet counts on a copy
// that goes when the broker registers.
func TestACopyOnADiskThatNobodyKnowsOfDoesNotCount(t *testing.T) {
	s, _ := mapped(t)
	made := func(index int32, sync ...message.NodeID) record.PartitionID {
		state := &message.PartitionChange{ID: record.PartitionID{Topic: part.Topic, Index: index},
			Replicas: []message.NodeID{1, 2, 3}, ISR: sync, Leader: sync[0]}
		image := s.newest()
		require.NoError(t, image.Apply(image.Version()+1, &message.Change{Partition: state}))
		s.book.meta.advance(s.World, image)
		return state.ID
	}
	require.True(t, s.atlas.clean(3, made(1, 1, 2, 3)))
	s.atlas.swapped(s.nodes[3])
	while := made(2, 1, 2, 3)
	require.False(t, s.atlas.clean(3, while), "its disk is not the one that is registered")
	require.False(t, s.book.part(while).loss, "two others hold it")
	require.False(t, s.atlas.affords(2), "two hit of two that are needed")

	require.False(t, s.book.part(made(3, 2, 3)).loss, "one broker is fenced, and another holds it")
	require.True(t, s.book.part(made(4, 3)).loss, "all others are fenced: nobody may lead when it registers")

	s.nodes[3].incarnation = 77 // it is back, and the controllers hear of it
	image := s.newest()
	require.NoError(t, image.Apply(image.Version()+1, &message.Change{Broker: &message.BrokerChange{Node: 3, Epoch: message.BrokerEpoch(image.Version() + 1), Incarnation: 77}}))
	require.True(t, s.atlas.clean(3, made(5, 3)))
	require.False(t, s.book.part(record.PartitionID{Topic: part.Topic, Index: 5}).loss)
}

// Settings that leave a partition to a copy which was hit are like damage.
func TestALowerMinInsyncConcedesWhatItLeavesToDamagedCopies(t *testing.T) {
	s, _ := mapped(t)
	p := s.book.part(part)
	alter := func(least int32) {
		image := s.newest()
		to := &message.TopicChange{ID: part.Topic, Name: "t", Config: message.TopicConfig{MinInsync: least}}
		require.NoError(t, image.Apply(image.Version()+1, &message.Change{Topic: to}))
		s.book.meta.altered.follow(s.World, image, 1)
	}
	s.plan.Beyond = true
	alter(2)
	alter(1)
	require.False(t, p.loss, "no copy was hit")
	alter(2)
	s.atlas.swapped(s.nodes[3])
	require.False(t, p.loss)
	alter(3)
	require.False(t, p.loss, "it was raised")
	alter(2)
	require.False(t, p.loss, "another copy holds it, that was not hit")
	alter(1)
	require.True(t, p.loss)

	p.loss, s.plan.Beyond = false, false
	alter(2)
	alter(1)
	require.False(t, p.loss, "whoever is bound to the budget does not ask for it")
}

func TestACopyThatWasToldToBeDamagedDoesNotLead(t *testing.T) {
	s, _ := mapped(t)
	r := s.holds(1, batch(0, 1, "a"), batch(1, 1, "b"))
	begins := func(told bool) {
		r.view.Role = replica.Following
		s.leads(r, 2, 2)
		r.view.Damage, r.view.DamageTold = "the checksum does not match", told
		s.step(&damageSeen{}, 1, nil, nil, r)
	}
	begins(false) // a read has found it, and the election is from before
	s.passed()
	begins(true)
	s.refused("INV-13", "node 1 begins to lead partition 5/0 although its copy is damaged")
}

func TestADamagedCopyIsNotServed(t *testing.T) {
	s, _ := mapped(t)
	s.atlas.damage(s.nodes[1], simdisk.Damage{Path: firstSegment})
	reply := effect.Reply{Msg: &message.FetchReply{Partitions: []message.FetchedPartition{{ID: part, Records: batch(0, 1, "a")}}}}
	o := &damageSeen{}
	o.Stepped(s.World, s.nodes[1], effect.Tick{}, []effect.Effect{reply})
	s.passed()
	s.book.replica(1, part).view.Damage = "a bad checksum"
	o.Stepped(s.World, s.nodes[1], effect.Tick{}, []effect.Effect{reply})
	s.refused("INV-13", "serves partition 5/0 although its copy is damaged")
}

// Beyond the promise whole clusters of damaged disks lose nothing in silence.
func TestBeyondThePromiseNoLossIsHidden(t *testing.T) {
	seeds := uint64(12)
	if testing.Short() {
		seeds = 4
	}
	for seed := uint64(1); seed <= seeds; seed++ {
		if r := Run(BeyondPlan(seed), Options{}); r.Failure != nil {
			t.Errorf("seed %d: %s (BeyondPlan)", seed, r.Failure.Sentence)
		}
	}
}

// Damage that recovery has reported counts as given up, but stays on the disk,
// and is found again, until a change of the log takes it away.
func TestReportedDamageIsOnTheDiskUntilTheLogIsRewritten(t *testing.T) {
	s, _ := mapped(t)
	require.True(t, s.atlas.sound(3, part))
	s.atlas.damage(s.nodes[3], simdisk.Damage{Path: firstSegment})
	delete(s.atlas.ails[3].owed, part) // found, out of the in-sync set, and elected all the same
	require.True(t, s.atlas.clean(3, part))
	require.False(t, s.atlas.sound(3, part))
	s.atlas.rewritten(3, effect.TrimPrefix{Log: part, Start: 1})
	require.False(t, s.atlas.sound(3, part))
	s.atlas.rewritten(3, effect.Checkpoint{Log: part})
	require.False(t, s.atlas.sound(3, part))
	s.atlas.rewritten(3, effect.Truncate{Log: part, To: 1})
	require.False(t, s.atlas.sound(3, part), "nobody has found it: the log was cut behind it")
	s.atlas.ails[3].owed[part] = true
	s.atlas.found(3, &effect.RecoveredLog{ID: part, Damage: firstSegment})
	delete(s.atlas.ails[3].owed, part)
	s.atlas.rewritten(3, effect.Truncate{Log: part})
	require.True(t, s.atlas.sound(3, part))

	s.atlas.damage(s.nodes[3], simdisk.Damage{Path: "5-0/checkpoint"})
	delete(s.atlas.ails[3].owed, part)
	s.book.replica(3, part).forgetful = true // recovery missed the checkpoint
	s.atlas.rewritten(3, effect.Truncate{Log: part})
	require.False(t, s.atlas.sound(3, part), "it is missing still")
	s.atlas.rewritten(3, effect.Checkpoint{Log: part})
	require.True(t, s.atlas.sound(3, part))
}

// A copy that was let lead uncleanly counts, and no longer when the power goes before its
// disk has made the damage good: the next start finds it once more, and nobody counts on
// what the node then gives up.
func TestDamageThatIsFoundOnceMoreDoesNotCount(t *testing.T) {
	s, state := mapped(t)
	registers(t, s, s.nodes[3].incarnation)
	inSync := func(nodes ...message.NodeID) { inSync(s, state, nodes...) }
	a := batch(0, 1, "a")
	r := s.holds(3, a)
	r.part.committed, r.part.high = []record.Header{header(a)}, 1
	reset := func() {
		e := effect.Reset{Log: part, Cut: r.cut + 1}
		s.cuts(3, e)
		(&nothingCut{}).Stepped(s.World, s.nodes[3], nil, []effect.Effect{e})
	}
	again := &effect.RecoveredLog{ID: part, End: 1, Damage: "the checkpoint cannot be read"}

	s.atlas.damage(s.nodes[3], simdisk.Damage{Path: "5-0/checkpoint"})
	s.atlas.found(3, again)
	inSync(1, 2)
	inSync(3)
	require.True(t, s.atlas.clean(3, part))
	reset()
	s.refused("INV-4", "drops the batch at 0, which is committed")

	inSync(3)
	s.atlas.found(3, again)
	require.False(t, s.atlas.clean(3, part))
	inSync(3)
	require.False(t, s.atlas.clean(3, part), "that was before the controller knew")
	inSync(1)
	reset()
	s.passed()
	inSync(1, 3)
	require.True(t, s.atlas.clean(3, part))
	reset()
	s.refused("INV-4", "drops the batch at 0, which is committed")

	s.atlas.ails[3].scars = nil // the disk has written the checkpoint
	s.atlas.found(3, again)
	require.True(t, s.atlas.clean(3, part), "nothing of it is there any more: a recovery that complains is wrong")
}

// A copy that was given up counts again when the run that gave it up is back in
// the in-sync set, under whatever number that run registers at last. A change that
// was under way when the node died names its earlier run: that is no return.
func TestOnlyTheRunThatGaveItsCopyUpComesBack(t *testing.T) {
	s, state := mapped(t)
	registers := func(incarnation uint64) { registers(t, s, incarnation) }
	inSync := func(nodes ...message.NodeID) { inSync(s, state, nodes...) }
	asks := func(incarnation uint64) {
		s.nodes[3].carryOut(effect.Send{To: 1, Msg: &message.RegisterBroker{Node: 3, Incarnation: incarnation}}, 0)
	}
	registers(7)
	asks(7)
	s.atlas.damage(s.nodes[3], simdisk.Damage{Path: firstSegment})
	inSync(1, 2)
	s.nodes[3].incarnation = 8 // it is started again
	s.atlas.found(3, &effect.RecoveredLog{ID: part, Damage: firstSegment})
	inSync(1, 2, 3)
	require.False(t, s.atlas.clean(3, part), "what the leader asked for when the run before was there")
	registers(8)
	inSync(1, 2)
	asks(9) // a late registration has replaced this run: it takes another number
	inSync(1, 2, 3)
	require.False(t, s.atlas.clean(3, part))
	registers(9)
	inSync(1, 2)
	inSync(1, 2, 3)
	require.True(t, s.atlas.clean(3, part))
}
