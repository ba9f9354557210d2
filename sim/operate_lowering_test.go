package sim

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/client"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/metadata"
	"github.com/tamarack-mq/tamarack/storage/vfs/simdisk"
)

// hit is a stage whose topic needs three replicas, and one of the three is hit: another
// may be, as long as it is sure that three are needed.
func hit(t *testing.T) (*stage, *operator) {
	s, _ := mapped(t)
	raised := &message.TopicChange{ID: part.Topic, Name: "t", Config: message.TopicConfig{MinInsync: 3}}
	require.NoError(t, s.newest().Apply(s.newest().Version()+1, &message.Change{Topic: raised}))
	s.atlas.damage(s.nodes[3], simdisk.Damage{Path: firstSegment})
	require.True(t, s.atlas.affords(2), "three are needed, and two are hit")
	return s, s.operatorUser().script.(*operator)
}

func minInsyncOf(value string) *message.AlterConfig {
	return &message.AlterConfig{Topic: "t", Set: []message.Setting{{Key: insyncKey, Value: value}}}
}

// ended tells the operator that a request has the outcome.
func (o *operator) ended(r message.Request, outcome client.Outcome) {
	o.settled(&openOp{ask: client.Ask{Request: r}}, &client.Result{Outcome: outcome})
}

func TestDamageIsMeasuredByALowerMinInsyncAsLongAsItMayCome(t *testing.T) {
	s, o := hit(t)
	m := minInsyncOf("2")
	require.True(t, s.atlas.mayAlter(o, m))
	require.False(t, s.atlas.affords(2), "it is asked for")
	o.sends(m)
	o.ended(m, client.Unknown)
	require.False(t, s.atlas.affords(2), "nobody knows what became of it")

	o.sends(m)
	o.hears(m, &message.AlterConfigReply{})
	o.ended(m, client.OK)
	require.False(t, s.atlas.affords(2), "the second copy is answered, and the first one may be carried out yet")
	o.hears(m, &message.AlterConfigReply{})
	o.ended(m, client.OK)
	require.True(t, s.atlas.affords(2), "both are")
}

func TestASettingThatIsNoMinInsyncDoesNotCountAgainstDamage(t *testing.T) {
	s, o := hit(t)
	require.True(t, s.atlas.mayAlter(o, &message.AlterConfig{Topic: "t", Set: []message.Setting{{Key: "retention", Value: "1s"}}}))
	require.True(t, s.atlas.mayAlter(o, minInsyncOf("3")))
	require.True(t, s.atlas.affords(2))
	require.True(t, s.atlas.mayAlter(o, &message.AlterConfig{Topic: "t", Unset: []string{insyncKey}}))
	require.False(t, s.atlas.affords(2), "the default is two")
}

func TestACopyThatTheNetworkMadeMayComeLateToo(t *testing.T) {
	for passed, affords := range map[string]bool{"2": false, "3": true} {
		s, o := hit(t)
		m := minInsyncOf("2")
		require.True(t, s.atlas.mayAlter(o, m))
		o.sends(m)
		o.doubles(&message.Forward{Request: 7, Body: minInsyncOf(passed)})
		o.hears(m, &message.AlterConfigReply{})
		o.ended(m, client.OK)
		require.Equal(t, affords, s.atlas.affords(2), "a copy of min.insync=%s", passed)
	}
}

// An answer that only says that patience is at an end leaves the copy under way; a
// refusal does not.
func TestWhoLostPatienceDoesNotKnowWhatBecomesOfASetting(t *testing.T) {
	for code, affords := range map[message.Code]bool{
		message.RequestTimedOut: false, message.NotController: false, message.InvalidConfig: true, message.None: true,
	} {
		s, o := hit(t)
		m := minInsyncOf("2")
		require.True(t, s.atlas.mayAlter(o, m))
		o.sends(m)
		o.hears(m, &message.AlterConfigReply{Code: code})
		o.ended(m, client.NotDone)
		require.Equal(t, affords, s.atlas.affords(2), "%v", code)
	}
}

// One replica may be the last one in sync when a min.insync of one may come.
func TestNoNodeIsLeftBrokenThatMayBecomeTheLastOneInSync(t *testing.T) {
	s, _ := mapped(t)
	for _, n := range s.nodes[1:] {
		n.up = true
	}
	require.True(t, s.atlas.spares(3))
	require.True(t, s.atlas.mayAlter(s.operatorUser().script.(*operator), minInsyncOf("1")))
	require.False(t, s.atlas.spares(3))
}

func TestOnlyAMinInsyncThatNobodyCanGiveIsTakenBack(t *testing.T) {
	broken := func(nodes ...message.NodeID) func(message.NodeID) bool {
		return func(m message.NodeID) bool { return slices.Contains(nodes, m) }
	}
	with := func(least int32, change func(*message.PartitionChange)) *metadata.Image {
		s, state := mapped(t)
		next := *state
		next.LeaderEpoch, next.PartitionEpoch = 1, 1
		change(&next)
		image := s.newest()
		topic := &message.TopicChange{ID: part.Topic, Name: "t", Config: message.TopicConfig{MinInsync: least}}
		require.NoError(t, image.Apply(image.Version()+1, &message.Change{Topic: topic}))
		require.NoError(t, image.Apply(image.Version()+1, &message.Change{Partition: &next}))
		return image
	}
	asIs := func(*message.PartitionChange) {}
	two := func(p *message.PartitionChange) { p.Replicas, p.ISR = nodeIDs{1, 3}, nodeIDs{1, 3} }
	adding := func(p *message.PartitionChange) {
		p.Replicas, p.Adding, p.Target = nodeIDs{1, 2, 3, 4}, nodeIDs{4}, nodeIDs{1, 2, 4}
	}
	for name, c := range map[string]struct {
		image  *metadata.Image
		broken func(message.NodeID) bool
		want   []*message.AlterConfig
	}{
		"two of three are left, two are needed":        {with(2, asIs), broken(3), nil},
		"two of three are left, three are needed":      {with(3, asIs), broken(3), []*message.AlterConfig{minInsyncOf("2")}},
		"another node is broken":                       {with(3, asIs), broken(4), nil},
		"no node is broken":                            {with(3, asIs), broken(), nil},
		"one of three is left":                         {with(2, asIs), broken(2, 3), []*message.AlterConfig{minInsyncOf("1")}},
		"none is left, and no setting helps":           {with(2, asIs), broken(1, 2, 3), nil},
		"a late move took a replica away":              {with(2, two), broken(3), []*message.AlterConfig{minInsyncOf("1")}},
		"what a move adds is not counted on":           {with(3, adding), broken(4), nil},
		"nor does it stand in for one that is missing": {with(3, adding), broken(3), []*message.AlterConfig{minInsyncOf("2")}},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, relief(c.image, c.broken)) })
	}
}

// Nobody is left broken whom the controllers miss when a request of before comes through
// late: one that takes another voter away, or makes a voter of the one that is broken.
func TestNoNodeIsLeftBrokenWithWhomALateChangeOfVotersTakesTheMajority(t *testing.T) {
	for name, c := range map[string]struct {
		voters int // by the plan: the first ones
		asked  []message.AlterControllers
		spared bool
	}{
		"nothing is asked for":              {voters: 3, spared: true},
		"another voter goes":                {3, []message.AlterControllers{{Node: 2, Remove: true}}, false},
		"it goes itself":                    {3, []message.AlterControllers{{Node: 3, Remove: true}}, true},
		"it goes, or another":               {3, []message.AlterControllers{{Node: 3, Remove: true}, {Node: 2, Remove: true}}, false},
		"it is none":                        {2, nil, true},
		"it becomes one of three":           {2, []message.AlterControllers{{Node: 3}}, true},
		"it becomes one, and another goes":  {2, []message.AlterControllers{{Node: 3}, {Node: 2, Remove: true}}, false},
		"it becomes one of two":             {1, []message.AlterControllers{{Node: 3}}, false},
		"another becomes one, as it can":    {1, []message.AlterControllers{{Node: 2}}, true},
		"one goes that is none":             {1, []message.AlterControllers{{Node: 2, Remove: true}}, true},
		"one becomes a voter that is one":   {3, []message.AlterControllers{{Node: 3}}, true},
		"all others go, one after another":  {3, []message.AlterControllers{{Node: 1, Remove: true}, {Node: 2, Remove: true}}, false},
		"the last one that is left goes":    {1, []message.AlterControllers{{Node: 1, Remove: true}}, false},
		"what is asked for twice goes once": {3, []message.AlterControllers{{Node: 3, Remove: true}, {Node: 3, Remove: true}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := mapped(t)
			s.plan.Cluster.Voters = c.voters
			for _, n := range s.nodes[1:] {
				n.up = true
			}
			o := s.operatorUser().script.(*operator)
			for i := range c.asked {
				o.reshapes(&c.asked[i])
				o.sends(&c.asked[i])
				o.ended(&c.asked[i], client.Unknown)
			}
			require.Equal(t, c.spared, s.atlas.spares(3))
			for i := range c.asked {
				o.hears(&c.asked[i], &message.AlterControllersReply{Code: message.RequestTimedOut})
				o.ended(&c.asked[i], client.NotDone)
				require.Equal(t, c.spared, s.atlas.spares(3), "it may be carried out yet")
			}
			for i := range c.asked {
				o.hears(&c.asked[i], &message.AlterControllersReply{Code: message.VotersChanging})
				o.ended(&c.asked[i], client.NotDone)
			}
			require.True(t, s.atlas.spares(3))
		})
	}
}
