package sim

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
)

// Two runs are the same when their hashes are: so whatever is said by a message
// must be in its digest. Each field is changed by itself, those of structures and
// lists within, too.
func TestTheDigestOfAMessageTellsAnyFieldFromAnother(t *testing.T) {
	var forgotten []string
	for _, kind := range message.Kinds() {
		m := message.New(kind)
		forgotten = append(forgotten, forgottenBy(reflect.ValueOf(m), kind.String(), func() uint64 { return digest(m) })...)
	}
	require.Empty(t, strings.Join(forgotten, "\n"), "fold these fields in digest*.go: without them two runs may differ and have one hash")
}

func TestTheHashOfARunTellsAnyFieldOfAnEffectFromAnother(t *testing.T) {
	var known, forgotten []string
	for _, e := range []any{
		new(effect.Send), new(effect.Reply), new(effect.CreateLog), new(effect.ConfigureLog), new(effect.DeleteLog),
		new(effect.Append), new(effect.Flush), new(effect.Truncate), new(effect.Reset), new(effect.TrimPrefix),
		new(effect.Checkpoint), new(effect.Read), new(effect.FindTime), new(effect.SaveQuorum),
		new(effect.ReplaceQuorum), new(effect.Halt),
	} {
		v := reflect.ValueOf(e)
		name := v.Elem().Type().Name()
		known = append(known, name)
		forgotten = append(forgotten, forgottenBy(v, name, func() uint64 {
			var r rolling
			given := v.Elem().Interface().(effect.Effect)
			foldEffect(&r, given, digestOfSent(given))
			return uint64(r)
		})...)
	}
	require.ElementsMatch(t, effectsInTheSource(t), known, "give this test every effect")
	require.Empty(t, strings.Join(forgotten, "\n"), "fold these fields in digest_effect.go: without them two runs may differ and have one hash")
}

// Of long bytes the ends are enough where there is a checksum in them. What controllers
// say and keep has none.
func TestTheHashOfARunHoldsAllThatControllersSay(t *testing.T) {
	long := make([]byte, 1000)
	sums := func() (list [3]uint64) {
		var saved, replaced rolling
		foldEffect(&saved, effect.SaveQuorum{Frame: long}, 0)
		foldEffect(&replaced, effect.ReplaceQuorum{Frames: [][]byte{nil, long}}, 0)
		return [3]uint64{digest(&message.Quorum{Data: long}), uint64(saved), uint64(replaced)}
	}
	before := sums()
	for _, at := range []int{0, 500, 999} {
		long[at]++
		after := sums()
		for i := range after {
			require.NotEqual(t, before[i], after[i], "byte %d", at)
		}
		long[at]--
	}
	require.Equal(t, before, sums())
}

func digestOfSent(e effect.Effect) uint64 {
	switch e := e.(type) {
	case effect.Send:
		return digest(e.Msg)
	case effect.Reply:
		return digest(e.Msg)
	}
	return 0
}

// effectsInTheSource are the types that have the method of an effect.
func effectsInTheSource(t *testing.T) (names []string) {
	file, err := parser.ParseFile(token.NewFileSet(), "../core/effect/effect.go", nil, 0)
	require.NoError(t, err)
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil && f.Name.Name == "isEffect" {
			names = append(names, f.Recv.List[0].Type.(*ast.Ident).Name)
		}
	}
	return names
}

// forgottenBy fills what v points to, and names the fields that may change and
// leave the sum as it is.
func forgottenBy(v reflect.Value, name string, sum func() uint64) (fields []string) {
	p := prober{sum: sum}
	p.fill(v.Elem())
	p.probe(v.Elem(), name)
	return p.forgotten
}

type prober struct {
	sum       func() uint64
	next      int64
	forgotten []string
}

// isChoice says that at most one field of a structure is set: its fields are all
// pointers.
func isChoice(t reflect.Type) bool {
	for i := range t.NumField() {
		if t.Field(i).Type.Kind() != reflect.Pointer {
			return false
		}
	}
	return t.NumField() > 1
}

// fill gives every field a value that is not zero, and lists two elements. Of a
// choice it takes the first.
func (p *prober) fill(v reflect.Value) {
	p.next++
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		p.fill(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			p.fill(v.Field(i))
			if isChoice(v.Type()) {
				return
			}
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		p.fill(v.Index(0))
		p.fill(v.Index(1))
	case reflect.Interface:
		v.Set(reflect.ValueOf(bodies(v.Type())[0]))
	case reflect.String:
		v.SetString(fmt.Sprint("text ", p.next))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(p.next % 100)
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(uint64(p.next % 100))
	default:
		panic("no value for a " + v.Type().String())
	}
}

// probe changes v, and what is within it, piece by piece. In the end it is as it
// was.
func (p *prober) probe(v reflect.Value, name string) {
	switch v.Kind() {
	case reflect.Pointer:
		p.instead(v, reflect.Zero(v.Type()), name+" is nil")
		p.probe(v.Elem(), name)
	case reflect.Struct:
		p.probeStruct(v, name)
	case reflect.Slice:
		p.instead(v, v.Slice(0, 1), name+" is shorter")
		p.instead(v, reflect.Append(v.Slice(0, 2), v.Index(0)), name+" is longer")
		p.probe(v.Index(0), name+"[]")
		p.probe(v.Index(1), name+"[]")
	case reflect.Interface:
		for _, other := range bodies(v.Type())[1:] {
			p.instead(v, reflect.ValueOf(other), name+" is another message")
		}
	case reflect.String:
		p.instead(v, reflect.ValueOf("text").Convert(v.Type()), name)
		p.instead(v, reflect.ValueOf(v.String()+" and more").Convert(v.Type()), name)
	case reflect.Bool:
		p.instead(v, reflect.ValueOf(!v.Bool()).Convert(v.Type()), name)
	default:
		for bit := range v.Type().Bits() {
			p.instead(v, flipped(v, bit), name)
		}
	}
}

func (p *prober) probeStruct(v reflect.Value, name string) {
	if isChoice(v.Type()) {
		p.probeChoice(v, name)
		return
	}
	for i := range v.NumField() {
		p.probe(v.Field(i), name+"."+v.Type().Field(i).Name)
	}
}

// probeChoice probes each field of a choice alone, and one against the other when
// there is nothing in them.
func (p *prober) probeChoice(v reflect.Value, name string) {
	was := reflect.New(v.Type()).Elem()
	was.Set(v)
	sums := map[uint64]bool{}
	for i := range v.NumField() {
		field := name + "." + v.Type().Field(i).Name
		v.SetZero()
		v.Field(i).Set(reflect.New(v.Field(i).Type().Elem()))
		if sums[p.sum()] {
			p.forgotten = append(p.forgotten, field+" against another field")
		}
		sums[p.sum()] = true
		p.fill(v.Field(i))
		p.probe(v.Field(i), field)
	}
	v.Set(was)
}

func flipped(v reflect.Value, bit int) reflect.Value {
	n := reflect.New(v.Type()).Elem()
	if v.CanInt() {
		n.SetInt(v.Int() ^ 1<<bit)
	} else {
		n.SetUint(v.Uint() ^ 1<<bit)
	}
	return n
}

// instead puts other in the place of v for a moment.
func (p *prober) instead(v, other reflect.Value, name string) {
	before := p.sum()
	was := reflect.New(v.Type()).Elem()
	was.Set(v)
	v.Set(other)
	if p.sum() == before && !slices.Contains(p.forgotten, name) {
		p.forgotten = append(p.forgotten, name)
	}
	v.Set(was)
}

// bodies are messages that fit an interface, and differ in kind or in a field.
func bodies(t reflect.Type) []any {
	list := []any{
		&message.DeleteTopic{Name: "a"}, &message.DeleteTopic{Name: "b"}, &message.ListGroups{},
		&message.DeleteTopicReply{Code: 1}, &message.DeleteTopicReply{Code: 2}, &message.DeleteGroupReply{Code: 1},
	}
	return slices.DeleteFunc(list, func(m any) bool { return !reflect.TypeOf(m).Implements(t) })
}
