package sim

import (
	"go/ast"
	"go/constant"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every kind of fault that the source declares can stand in a plan.
func TestEveryKindOfFaultIsListed(t *testing.T) {
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, "plan_faults.go", nil, 0)
	require.NoError(t, err)
	var declared []string
	c := types.Config{Importer: importer.Default(), Error: func(error) {}}
	info := types.Info{Defs: map[*ast.Ident]types.Object{}}
	_, _ = c.Check("sim", set, []*ast.File{f}, &info) // what other files declare is missing
	for _, o := range info.Defs {
		if k, ok := o.(*types.Const); ok && k.Type().String() == "sim.FaultKind" {
			declared = append(declared, constant.StringVal(k.Val()))
		}
	}
	slices.Sort(declared)
	names, prose := Faults()
	require.Equal(t, declared, names)
	require.NotContains(t, prose, "")
}

// An operator who deletes records retires what is committed, and nothing else.
func TestRecordsAreDeletedUpToTheHighWatermark(t *testing.T) {
	p, err := ParsePlan([]byte(`{
	  "name": "records-are-deleted", "seed": 3,
	  "cluster": {"nodes": 3, "voters": 3, "shards": 2},
	  "timing": {"brokerSession": "2s", "brokerHeartbeat": "400ms", "replicaLag": "2s", "groupSession": "4s", "groupHeartbeat": "600ms", "clientRequest": "2s", "clientDelivery": "30s"},
	  "phases": {"warm": "4s", "faults": "6s", "drain": "3s", "rest": "60s"},
	  "network": {"latency": "2ms", "spread": "1ms"},
	  "disk": {"append": "50µs", "flush": "2ms", "read": "100µs"},
	  "topics": [{"name": "orders", "partitions": 2, "replication": 3, "minInsync": 2, "segmentBytes": 16384}],
	  "clients": [{"id": 1, "role": "producer", "every": "20ms", "topics": ["orders"], "acks": -1, "size": 100}],
	  "faults": [
	    {"at": "6s", "kind": "delete-records", "topic": "orders"},
	    {"at": "7s", "kind": "delete-records", "topic": "orders"},
	    {"at": "8s", "kind": "delete-records", "topic": "orders"}
	  ],
	  "expect": {"seen": ["records were retired"]}
	}`))
	require.NoError(t, err)
	require.Empty(t, Unmet(p, Run(p, Options{})))
}
