package dump

import (
	"reflect"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

type tree struct {
	name  string
	sizes []int
	raw   []byte
	at    point
	next  *tree
	all   map[int]*tree
	any   any
	hook  func()
	score float64
}

type point struct{ x, y int }

func sample() *tree {
	leaf := &tree{name: "leaf", raw: []byte{1, 2}}
	root := &tree{name: "root", sizes: []int{3, 1}, at: point{4, 5}, next: leaf, any: point{6, 7}, raw: make([]byte, 40)}
	root.all = map[int]*tree{10: leaf, 9: {name: "other"}}
	leaf.next = root
	return root
}

func TestADumpHoldsEverythingOnce(t *testing.T) {
	d := &Dumper{Short: map[string]func(reflect.Value) string{"dump.point": func(v reflect.Value) string {
		return strconv.FormatInt(v.Field(0).Int(), 10) + "|" + strconv.FormatInt(v.Field(1).Int(), 10)
	}}}
	require.Equal(t, []string{
		`t.name = "root"`,
		`t.sizes = [3 1]`,
		`t.raw = 40 bytes, crc e9ec3db1`,
		`t.at = 4|5`,
		`t.next.name = "leaf"`,
		`t.next.raw = 0x0102`,
		`t.next.at = 0|0`,
		`t.next.next = → t`,
		`t.next.score = 0`,
		`t.all[9].name = "other"`,
		`t.all[9].at = 0|0`,
		`t.all[9].score = 0`,
		`t.all[10] = → t.next`,
		`t.any.(dump.point) = 6|7`,
		`t.score = 0`,
	}, d.Lines("t", sample()))
}

func TestADiffShowsWhatChanged(t *testing.T) {
	d := &Dumper{}
	a := d.Lines("t", sample())
	changed := sample()
	changed.at.y = 6
	changed.sizes = nil
	changed.all[9].next = &tree{name: "new"}
	require.Equal(t, []string{
		`- t.sizes = [3 1]`,
		`- t.at = {x:4 y:5}`,
		`+ t.at = {x:4 y:6}`,
		`+ t.all[9].next.name = "new"`,
		`+ t.all[9].next.at = {x:0 y:0}`,
		`+ t.all[9].next.score = 0`,
	}, Diff(a, d.Lines("t", changed)))
	require.Empty(t, Diff(a, d.Lines("t", sample())))
}
