package sim

import (
	"encoding/json"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// The seeds that tests play: few, because campaigns play the many.
var someSeeds = []uint64{1, 2, 3, 5, 9}

func TestASeedGivesTheSameRunAgainAndSideBySide(t *testing.T) {
	first := map[uint64]*Result{}
	for _, seed := range someSeeds {
		first[seed] = Run(NewPlan(seed), Options{})
	}
	var group sync.WaitGroup
	var lock sync.Mutex
	for range 2 {
		for _, seed := range someSeeds {
			group.Go(func() {
				r := Run(NewPlan(seed), Options{})
				lock.Lock()
				defer lock.Unlock()
				require.Equal(t, first[seed].Hash, r.Hash, "seed %d", seed)
				require.Equal(t, first[seed].Stats, r.Stats, "seed %d", seed)
				require.Equal(t, first[seed].Checkpoints, r.Checkpoints, "seed %d", seed)
				require.Equal(t, len(first[seed].History), len(r.History), "seed %d", seed)
			})
			runtime.Gosched()
		}
	}
	group.Wait()
}

func TestLookingDoesNotChangeWhatHappens(t *testing.T) {
	plan := smallPlan(Fault{At: 3 * Second, For: Second, Kind: Crash, Node: 1})
	silent := Run(plan, Options{})
	told := Run(plan, Options{TraceFrom: 1, TraceTo: silent.Stats.Events})
	require.Equal(t, silent.Hash, told.Hash)
	require.NotEmpty(t, told.Trace)
}

func TestAPlanSurvivesItsFile(t *testing.T) {
	for _, seed := range someSeeds {
		plan := NewPlan(seed)
		text, err := json.Marshal(plan)
		require.NoError(t, err)
		again, err := ParsePlan(text)
		require.NoError(t, err)
		require.Equal(t, plan, again)
	}
}

// smallPlan is a quiet cluster with a little to do.
func smallPlan(faults ...Fault) *Plan {
	return &Plan{
		Seed:    7,
		Cluster: ClusterPlan{Nodes: 3, Voters: 3, Shards: 1},
		Timing: TimingPlan{
			BrokerSession: 2 * Second, BrokerHeartbeat: 400 * Millisecond, ReplicaLag: Second, ClientRequest: Second,
			GroupSession: 3 * Second, GroupHeartbeat: 500 * Millisecond, ClientDelivery: 20 * Second,
		},
		Phases:  PhasePlan{Warm: 2 * Second, Faults: 6 * Second, Drain: Second, Rest: 60 * Second},
		Network: NetworkPlan{Latency: 500 * Microsecond, Spread: 300 * Microsecond},
		Disk:    DiskPlan{Append: 20 * Microsecond, Flush: Millisecond, Read: 50 * Microsecond},
		Topics:  []TopicPlan{{Name: "t", Partitions: 1, Replication: 3, MinInsync: 2, SegmentBytes: 8 << 10}},
		Clients: []ClientPlan{
			{ID: 1, Role: Producer, Topics: []string{"t"}, Every: 100 * Millisecond, Acks: -1, Idempotent: true},
			{ID: 2, Role: MemberOf, Topics: []string{"t"}, Every: 50 * Millisecond, Group: "g", Style: "at-least-once", Reset: "earliest"},
		},
		Faults: faults,
	}
}

func TestOneFaultLessLeavesTheOthersDrawsAsTheyWere(t *testing.T) {
	crash := Fault{At: 3 * Second, For: Second, Kind: PowerLoss, Target: "leader t/0"}
	isolate := Fault{At: 6 * Second, For: Second, Kind: Isolate, Node: 2}
	story := Options{TraceFrom: 1, TraceTo: 1 << 60}
	whole := Run(smallPlan(crash, isolate), story)
	cut := Run(smallPlan(crash), story)
	require.Equal(t, Passed, whole.Class, "%+v", whole.Failure)
	for i, line := range whole.Trace {
		if i >= len(cut.Trace) || line != cut.Trace[i] {
			require.Contains(t, line, "fault: isolate node 2")
			return
		}
	}
	t.Fatal("the fault changed nothing")
}

func TestPlansThatPromiseTheImpossibleAreRefused(t *testing.T) {
	for name, spoil := range map[string]func(*Plan){
		"no nodes":            func(p *Plan) { p.Cluster.Nodes = 0 },
		"too many voters":     func(p *Plan) { p.Cluster.Voters = p.Cluster.Nodes + 1 },
		"no bound for rest":   func(p *Plan) { p.Phases.Rest = 0 },
		"no topics":           func(p *Plan) { p.Topics = nil },
		"two equal clients":   func(p *Plan) { p.Clients = append(p.Clients, p.Clients[0]) },
		"an unknown fault":    func(p *Plan) { p.Faults = append(p.Faults, Fault{Kind: "meteor"}) },
		"a topic on too many": func(p *Plan) { p.Topics[0].Replication = 20 },
	} {
		plan := NewPlan(1)
		spoil(plan)
		require.Error(t, plan.Validate(), name)
	}
	for want, spoil := range map[string]func(*Plan){
		"network.latency is -1s: between 0s and a day":                      func(p *Plan) { p.Network.Latency = -Second },
		"phases.warm is 2400h0m0s: between 0s and a day":                    func(p *Plan) { p.Phases.Warm = 100 * longestSpan },
		"clients[0].every is -1s: between 0s and a day":                     func(p *Plan) { p.Clients[0].Every = -Second },
		"faults[0].for is -1s: between 0s and a day":                        func(p *Plan) { p.Faults[0].For = -Second },
		"cluster.shards is -1: between 0 and 1000":                          func(p *Plan) { p.Cluster.Shards = -1 },
		"client 1: burst is 4294967296: between 0 and 10000":                func(p *Plan) { p.Clients[0].Burst = 1 << 32 },
		"client 1: size is 4611686018427387904: between 0 and 1048576":      func(p *Plan) { p.Clients[0].Size = 1 << 62 },
		"fault 0 (clock-rate): strength is -1000: between -999 and 1000000": func(p *Plan) { p.Faults[0] = Fault{Kind: ClockRate, Strength: -1000} },
		"topic \"t0\": minInsync is 4: between 0 and 3":                     func(p *Plan) { p.Topics[0].Replication, p.Topics[0].MinInsync = 3, 4 },
		"disk.lossyShare is 101: between 0 and 100":                         func(p *Plan) { p.Disk.LossyShare = 101 },
	} {
		plan := NewPlan(3)
		spoil(plan)
		require.EqualError(t, plan.Validate(), want)
	}
	_, err := ParsePlan([]byte(`{"seed": 1, "meteors": 3}`))
	require.ErrorContains(t, err, "meteors")
}
