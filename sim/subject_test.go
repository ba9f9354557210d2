package sim

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/record"
	"github.com/tamarack-mq/tamarack/history"
	"github.com/tamarack-mq/tamarack/models"
)

func at(offset int64) *int64 { return &offset }

// What `simrun why` tells of is found in the sentence, of whatever kind it is.
func TestWhatASentenceIsAbout(t *testing.T) {
	part, shard := record.PartitionID{Topic: 10, Index: 1}, record.PartitionID{Topic: 17, Index: 3}
	kept := &Kept{17, 3, 50}
	for _, c := range []struct {
		format string
		args   []any
		want   Subject
	}{
		{"node %d cuts partition %s at %d and drops the batch at %d", []any{1, part, record.Offset(31), record.Offset(30)}, Subject{Topic: 10, Partition: 1, Offset: at(30)}},
		{"the batch at offset %d of partition %s, epoch %d, follows another batch", []any{record.Offset(22), part, record.LeaderEpoch(1)}, Subject{Topic: 10, Partition: 1, Offset: at(22)}},
		{"node %d leads partition %s in epoch %d, in which node %d led it", []any{1, part, record.LeaderEpoch(1), 2}, Subject{Topic: 10, Partition: 1}},
		{"the log of shard %s on node %d begins at %d", []any{shard, 1, record.Offset(4)}, Subject{Topic: 17, Partition: 3, Offset: at(4)}},
		// The offset is one of the shard, and the position is none of a record.
		{"shard %s resolves at offset %d a position of group %q in partition %s for producer %d, epoch %d", []any{shard, record.Offset(50), "g1", part, record.ProducerID(3), record.ProducerEpoch(0)}, Subject{Topic: 10, Partition: 1, Group: "g1", Kept: kept}},
		{"shard %s stores before offset %d the position %d of group %q in partition %s, but", []any{shard, record.Offset(50), record.Offset(7), "g1", part}, Subject{Topic: 10, Partition: 1, Offset: at(7), Group: "g1", Kept: kept}},
		{"node %d tells group %q the position %d for partition %s, which was not stored", []any{3, "g1", record.Offset(61), part}, Subject{Topic: 10, Partition: 1, Offset: at(61), Group: "g1"}},
		{"node %d answers that there is no group %q, although member %q was there", []any{3, "g1", "m1"}, Subject{Group: "g1", Member: "m1"}},
		{"the coordinator on node %d would accept commits for partition %s in group %q from member %q and from member %q", []any{3, part, "g1", "m1", "m2"}, Subject{Topic: 10, Partition: 1, Group: "g1", Member: "m1"}},
		{"the transaction of %q is %v in shard %s at offset %d, but partition %s has no marker of producer %d", []any{"t1", "CompleteAbort", shard, record.Offset(50), part, record.ProducerID(3)}, Subject{Transactional: "t1", Kept: kept}},
		{"the transaction of %q is %v in shard %s at offset %d, but a position of group %q in partition %s is still pending", []any{"t1", "CompleteAbort", shard, record.Offset(50), "g1", part}, Subject{Topic: 10, Partition: 1, Group: "g1", Transactional: "t1", Kept: kept}},
		{"partition %s has at offset %d a marker of producer %d that begins epoch %d and says %q, but the transaction of %q was decided", []any{part, record.Offset(5), record.ProducerID(3), record.ProducerEpoch(1), "abort", "t1"}, Subject{Transactional: "t1", Kept: &Kept{10, 1, 5}}},
		{"node %d gives %q the producer id %d with epoch %d", []any{1, "t1", record.ProducerID(3), record.ProducerEpoch(1)}, Subject{Transactional: "t1"}},
		{"node %d gives member %q of group %q the epoch %d", []any{1, "m1", "g1", 2}, Subject{Group: "g1", Member: "m1"}},
		{"node %d asks for %d effects in one step", []any{1, 5000}, Subject{}},
	} {
		require.Equal(t, c.want, subjectOf(c.format, c.args), c.format)
	}
}

// quotedNames are what the words before a quoted name may be; subjectOf looks at those
// that name a group, a member or a transactional id.
var quotedNames = regexp.MustCompile(`(^| )(group|members?|topic|instance|key|says|transaction of|transactional id|decision of|producer of|gives|tells|about|and|wants to make|racks|refused with|is told|at)$`)

// Whatever a judge quotes in its sentence is something that subjectOf knows: a name of
// a group or of a transaction in other words would pass unseen, and why would tell of
// something else.
func TestEveryNameInASentenceIsKnown(t *testing.T) {
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	seen := 0
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		require.NoError(t, err)
		ast.Inspect(f, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) < 4 {
				return true
			}
			if fun, ok := call.Fun.(*ast.SelectorExpr); !ok || fun.Sel.Name != "fail" {
				return true
			}
			literal, ok := call.Args[3].(*ast.BasicLit)
			if !ok {
				return true
			}
			format, err := strconv.Unquote(literal.Value)
			require.NoError(t, err)
			seen++
			verbs := regexp.MustCompile(`%[+]?[a-z]`).FindAllString(strings.ReplaceAll(format, "%%", ""), -1)
			words := wordsBefore(format)
			require.Len(t, words, len(verbs), format)
			for i, verb := range verbs {
				if verb == "%q" {
					require.Regexp(t, quotedNames, words[i], "%s: %s", file, format)
				}
			}
			return true
		})
	}
	require.Greater(t, seen, 200, "sentences of judges")
}

func TestWhatAFindingOfAModelIsAbout(t *testing.T) {
	ops := []history.Operation{
		{ID: 0, Kind: history.Transact, Client: 9, TransactionalID: "stage0-1", Invoke: 5, Return: 20},
		{ID: 1, Kind: history.Commit, Group: "g1", Member: "m1", Invoke: 20, Return: 30},
		{ID: 2, Kind: history.Poll, Group: "g1", Member: "m2", Invoke: 40, Return: 50},
		{ID: 3, Kind: history.Publish, TopicID: 9, Partition: 1, Offset: 12, Invoke: 6, Return: history.Open},
	}
	one, two := models.Place{TopicID: 9, Partition: 1}, models.Place{TopicID: 9, Partition: 2}
	for _, c := range []struct {
		ops   []int64
		about models.About
		want  Subject
	}{
		{[]int64{3}, models.About{Place: one, Offset: 12}, Subject{Topic: 9, Partition: 1, Offset: at(12), At: 6}},
		{[]int64{3}, models.About{Place: one, Offset: 12, Again: []int64{3, 7}}, Subject{Topic: 9, Partition: 1, Offset: at(12), Copies: []int64{3, 7}, At: 6}},
		{[]int64{1, 2}, models.About{Place: two, Offset: 50, Group: "g1"}, Subject{Topic: 9, Partition: 2, Offset: at(50), Group: "g1", At: 50}},
		{nil, models.About{Place: two, Offset: history.None, Group: "g1"}, Subject{Topic: 9, Partition: 2, Group: "g1"}},
		{[]int64{1, 2}, models.About{Place: two, Offset: history.None, Group: "g1", Member: "m1"}, Subject{Topic: 9, Partition: 2, Group: "g1", Member: "m1", At: 50}},
		{[]int64{2}, models.About{Offset: history.None}, Subject{At: 50}},
		{[]int64{0}, models.About{Offset: history.None, Transaction: &ops[0]}, Subject{Transactional: "stage0-1", At: 20}},
		{[]int64{0, 3}, models.About{Place: one, Offset: 12, Transaction: &ops[0]}, Subject{Transactional: "stage0-1", At: 20, Kept: &Kept{9, 1, 12}}},
	} {
		require.Equal(t, c.want, subjectOfViolation(&models.Violation{Ops: c.ops, About: c.about}, ops), "%+v", c)
	}
}
