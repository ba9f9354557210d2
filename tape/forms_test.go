package tape

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/effect"
	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/pack"
	"github.com/tamarack-mq/tamarack/core/record"
)

var allInputs = []effect.Input{
	effect.Tick{}, effect.Received{}, effect.Requested{}, effect.Appended{}, effect.Flushed{}, effect.ReadDone{},
	effect.TimeFound{}, effect.QuorumSaved{}, effect.DiskFailed{}, effect.DiskSpace{}, effect.Shutdown{},
}

var allEffects = []effect.Effect{
	effect.Send{}, effect.Reply{}, effect.CreateLog{}, effect.DeleteLog{}, effect.Append{}, effect.Flush{},
	effect.Truncate{}, effect.Reset{}, effect.TrimPrefix{}, effect.Checkpoint{}, effect.Read{}, effect.FindTime{},
	effect.SaveQuorum{}, effect.ReplaceQuorum{}, effect.Halt{}, effect.ConfigureLog{},
}

// declared are the types of package effect that have a method.
func declared(t *testing.T, method string) []string {
	names := map[string]bool{}
	packages, err := parser.ParseDir(token.NewFileSet(), "../core/effect", nil, 0)
	require.NoError(t, err)
	for _, f := range packages["effect"].Files {
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Name.Name == method {
				names[fn.Recv.List[0].Type.(*ast.Ident).Name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}

func TestEveryInputAndEffectHasAForm(t *testing.T) {
	var inputs, effects []string
	for _, in := range allInputs {
		inputs = append(inputs, reflect.TypeOf(in).Name())
	}
	for _, e := range allEffects {
		effects = append(effects, reflect.TypeOf(e).Name())
	}
	slices.Sort(inputs)
	slices.Sort(effects)
	require.Equal(t, declared(t, "isInput"), inputs, "give the new input a form in input.go, and a place here")
	require.Equal(t, declared(t, "isEffect"), effects, "give the new effect a form in effect.go, and a place here")
}

// fill gives every field below v a value that is not its zero.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i))
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0))
		fill(v.Index(1))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i))
		}
	case reflect.Interface:
		for _, candidate := range []any{
			fmt.Errorf("segment 7: %w", effect.ErrGone),
			&message.Fetch{MinBytes: 3, Partitions: []message.FetchPartition{{Offset: 9}}},
			&message.FetchReply{Partitions: []message.FetchedPartition{{Records: []byte("one")}, {Records: []byte("two")}}},
		} {
			if reflect.TypeOf(candidate).AssignableTo(v.Type()) {
				v.Set(reflect.ValueOf(candidate))
			}
		}
	case reflect.String:
		v.SetString("words")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(77)
	default:
		v.SetUint(66)
	}
}

// leaves calls f with every number, text and truth below v.
func leaves(path string, v reflect.Value, f func(path string, leaf reflect.Value)) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			leaves(path+"."+v.Type().Field(i).Name, v.Field(i), f)
		}
	case reflect.Slice:
		for i := range v.Len() {
			leaves(fmt.Sprintf("%s[%d]", path, i), v.Index(i), f)
		}
	case reflect.Pointer:
		leaves(path, v.Elem(), f)
	case reflect.Interface: // messages: the codec's own tests see to their fields
	default:
		f(path, v)
	}
}

func change(leaf reflect.Value) {
	switch leaf.Kind() {
	case reflect.String:
		leaf.SetString("other words")
	case reflect.Bool:
		leaf.SetBool(!leaf.Bool())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		leaf.SetInt(78)
	default:
		leaf.SetUint(67)
	}
}

// filled is a value of v's type with something in every field.
func filled(v any) reflect.Value {
	p := reflect.New(reflect.TypeOf(v)).Elem()
	fill(p)
	return p
}

func TestInputsComeBackAsTheyWere(t *testing.T) {
	for _, zero := range allInputs {
		in := filled(zero).Interface().(effect.Input)
		b, err := newPacker().input(nil, in)
		require.NoError(t, err)
		r := pack.Read(b)
		got, err := readInput(&r)
		require.NoError(t, err)
		require.Zero(t, r.Left())
		switch in := in.(type) {
		case effect.ReadDone:
			for i, result := range got.(effect.ReadDone).Results {
				require.ErrorIs(t, result.Err, effect.ErrGone)
				require.EqualError(t, result.Err, in.Results[i].Err.Error())
				require.Equal(t, in.Results[i].Batches, result.Batches)
			}
		case effect.TimeFound:
			found := got.(effect.TimeFound)
			require.ErrorIs(t, found.Err, effect.ErrGone)
			found.Err = in.Err
			require.Equal(t, in, found)
		default:
			require.Equal(t, in, got)
		}
	}
	none, err := newPacker().input(nil, effect.ReadDone{Token: 1, Results: []effect.ReadResult{{Err: errors.New("bad sector")}, {}}})
	require.NoError(t, err)
	r := pack.Read(none)
	got, err := readInput(&r)
	require.NoError(t, err)
	results := got.(effect.ReadDone).Results
	require.EqualError(t, results[0].Err, "bad sector")
	require.False(t, errors.Is(results[0].Err, effect.ErrGone))
	require.NoError(t, results[1].Err)
}

func TestEveryFieldOfAnEffectCounts(t *testing.T) {
	p := newPacker()
	form := func(v reflect.Value) []byte {
		b, err := p.effects(nil, []effect.Effect{v.Interface().(effect.Effect)})
		require.NoError(t, err)
		return b
	}
	for _, zero := range allEffects {
		was := form(filled(zero))
		list, err := readEffects(was)
		require.NoError(t, err)
		require.Len(t, list, 1)
		require.Equal(t, reflect.TypeOf(zero), reflect.TypeOf(list[0].Value))
		v := filled(zero)
		leaves(v.Type().Name(), v, func(path string, leaf reflect.Value) {
			before := reflect.ValueOf(leaf.Interface())
			change(leaf)
			is := form(v)
			leaf.Set(before)
			require.NotEqual(t, was, is, path)
			changed, err := readEffects(is)
			require.NoError(t, err)
			at, field, _, _ := part(list, changed)
			require.Equal(t, 1, at, path)
			require.NotEmpty(t, field)
		})
	}
}

func TestMessagesKeepOnlySumsOfRecordBytes(t *testing.T) {
	send := filled(effect.Send{}).Interface().(effect.Send)
	b, err := newPacker().effects(nil, []effect.Effect{send})
	require.NoError(t, err)
	list, err := readEffects(b)
	require.NoError(t, err)
	require.Equal(t, &message.FetchReply{Partitions: make([]message.FetchedPartition, 2)}, list[0].Value.(effect.Send).Msg)
	require.Equal(t, []int{3, 3}, []int{list[0].Bytes[0].Size, list[0].Bytes[1].Size})
	require.NotEqual(t, list[0].Bytes[0], list[0].Bytes[1])
}

func FuzzReader(f *testing.F) {
	b := bytes.NewBuffer(nil)
	found := effect.Recovered{DiskID: 1, Logs: []effect.RecoveredLog{{End: 3, Headers: make([]record.Header, 2)}}}
	h := Header{}
	h.Config.ID, h.Config.ClusterID, h.Config.Voters, h.Config.Incarnation = 1, "oak", []message.NodeID{1}, 1
	e, tape, err := NewEncoder(b.Bytes(), &h, &found)
	require.NoError(f, err)
	f.Add(tape, byte(0))
	var effects []effect.Effect
	for _, zero := range allEffects {
		effects = append(effects, filled(zero).Interface().(effect.Effect))
	}
	for _, zero := range allInputs {
		tape, err = e.Begin(tape, message.Now{Mono: 5}, filled(zero).Interface().(effect.Input))
		require.NoError(f, err)
		tape, err = e.End(tape, effects)
		require.NoError(f, err)
	}
	f.Add(e.Finish(tape, "done"), byte(0))
	body, err := newPacker().input(nil, filled(effect.Received{}).Interface().(effect.Input))
	require.NoError(f, err)
	f.Add(body, byte(1))
	body, err = newPacker().effects(nil, effects)
	require.NoError(f, err)
	f.Add(body, byte(2))
	f.Fuzz(func(t *testing.T, b []byte, what byte) {
		switch what {
		case 1: // below the sums, which few guesses pass
			r := pack.Read(b)
			_, _ = readInput(&r)
			return
		case 2:
			if list, err := readEffects(b); err == nil {
				at, _, _, _ := part(list, list)
				require.Zero(t, at)
			}
			return
		}
		r, err := NewReader(bytes.NewReader(b))
		if err != nil {
			return
		}
		for {
			s, err := r.Next()
			if errors.Is(err, io.EOF) {
				require.NotEmpty(t, r.End)
				return
			}
			if err != nil {
				return
			}
			_ = describeInput(s.Input)
			_, _ = s.Effects()
		}
	})
}
