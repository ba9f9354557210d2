package codec

import (
	"flag"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

var update = flag.Bool("update", false, "add fields and messages that are new to testdata/fields.txt")

const fieldsFile = "testdata/fields.txt"

const howFieldsGrow = `
Fields travel without their names, by their place (docs/wire.md, Frames). So a
field keeps its place and its type for ever, and new ones go to the end of their
structure, new kinds and codes to the end of their list; then
    go test ./transport/codec -update
adds them to ` + fieldsFile + `. A field that nobody uses any more stays where it
is. Whoever must break this raises the version in the handshake (transport/tcp),
says so in docs/wire.md, and takes the lines out of the file by hand.`

// What was once on the wire stays there as it is, and whatever is new stands
// behind it. The file has a line for each field of each structure, in order.
func TestFieldsAreOnlyAddedAtTheEnd(t *testing.T) {
	known, err := os.ReadFile(fieldsFile)
	require.NoError(t, err)
	now := wireFields()
	require.Empty(t, strings.Join(broken(lines(string(known)), now), "\n"), howFieldsGrow)
	if *update {
		require.NoError(t, os.WriteFile(fieldsFile, []byte(strings.Join(now, "\n")+"\n"), 0o644))
		return
	}
	added := slices.DeleteFunc(now, func(line string) bool { return strings.Contains("\n"+string(known), "\n"+line+"\n") })
	require.Empty(t, strings.Join(added, "\n"), "new on the wire, and not yet in the file."+howFieldsGrow)
}

// The file guards what it should: each way to break older programs is noticed,
// and a field at the end is not taken for one.
func TestABrokenOrderOfFieldsIsNoticed(t *testing.T) {
	known := []string{"kind 1 Ask", "Ask 0 Name text", "Ask 1 Count i32"}
	for name, c := range map[string]struct{ now, want []string }{
		"as it was":        {known, nil},
		"one at the end":   {append(slices.Clone(known), "Ask 2 Rack text"), nil},
		"another message":  {append([]string{"Answer 0 Code i16", "kind 2 Answer"}, known...), nil},
		"one in the midst": {[]string{"kind 1 Ask", "Ask 0 Name text", "Ask 1 Rack text", "Ask 2 Count i32"}, []string{"Ask 1 Count i32: now Ask 1 Rack text"}},
		"two that change places": {[]string{"kind 1 Ask", "Ask 0 Count i32", "Ask 1 Name text"},
			[]string{"Ask 0 Name text: now Ask 0 Count i32", "Ask 1 Count i32: now Ask 1 Name text"}},
		"another type":   {[]string{"kind 1 Ask", "Ask 0 Name text", "Ask 1 Count i64"}, []string{"Ask 1 Count i32: now Ask 1 Count i64"}},
		"one is gone":    {[]string{"kind 1 Ask", "Ask 0 Name text"}, []string{"Ask 1 Count i32: gone"}},
		"another number": {[]string{"kind 1 Other", "kind 2 Ask", "Ask 0 Name text", "Ask 1 Count i32"}, []string{"kind 1 Ask: now kind 1 Other"}},
	} {
		require.Equal(t, c.want, broken(known, c.now), name)
	}
}

// broken are the lines of known that do not stand in now, and what stands there
// in their place. A line's place is its first two words.
func broken(known, now []string) (list []string) {
	place := func(line string) string { return strings.Join(strings.Fields(line)[:2], " ") }
	at := map[string]string{}
	for _, line := range now {
		at[place(line)] = line
	}
	for _, line := range known {
		switch other := at[place(line)]; other {
		case line:
		case "":
			list = append(list, line+": gone")
		default:
			list = append(list, line+": now "+other)
		}
	}
	return list
}

func lines(text string) []string { return strings.Split(strings.TrimSuffix(text, "\n"), "\n") }

// wireFields has a line for each kind, each code, and each field of every
// structure that stands in a message.
func wireFields() (list []string) {
	seen := map[reflect.Type]bool{}
	for _, kind := range message.Kinds() {
		list = append(list, fmt.Sprintf("kind %d %s", kind, kind))
	}
	for code := message.None; code.String() != "UNKNOWN_CODE"; code++ {
		list = append(list, fmt.Sprintf("code %d %s", code, code))
	}
	for _, kind := range message.Kinds() {
		list = appendStruct(list, headOf(kind), kind.String(), seen)
	}
	return list
}

// headOf is the structure that the codec encodes for a kind.
func headOf(kind message.Kind) reflect.Type {
	switch kind {
	case message.KindForward:
		return reflect.TypeFor[forwardHead]()
	case message.KindForwarded:
		return reflect.TypeFor[forwardedHead]()
	}
	return reflect.TypeOf(message.New(kind)).Elem()
}

func appendStruct(list []string, t reflect.Type, name string, seen map[reflect.Type]bool) []string {
	if seen[t] {
		return list
	}
	seen[t] = true
	var within []reflect.Type
	place, behind := 0, 0
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Anonymous || !f.IsExported() {
			panic(fmt.Sprintf("%s.%s: the codec's order of such fields is not known here", t, f.Name))
		}
		if f.Tag.Get("codec") == "-" { // record bytes, which stand behind the head
			list = append(list, fmt.Sprintf("%s/behind %d %s %s", name, behind, f.Name, wireType(f.Type)))
			behind++
			continue
		}
		list = append(list, fmt.Sprintf("%s %d %s %s", name, place, f.Name, wireType(f.Type)))
		within = append(within, f.Type)
		place++
	}
	for _, t := range within {
		for t.Kind() == reflect.Slice || t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		if t.Kind() == reflect.Struct {
			list = appendStruct(list, t, t.Name(), seen)
		}
	}
	return list
}

// wireType says what a field is on the wire, in the words of docs/wire.md; of a
// structure its name.
func wireType(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return wireType(t.Elem()) + "?"
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return "bytes"
		}
		return "[" + wireType(t.Elem()) + "]"
	case reflect.Struct:
		if t == reflect.TypeFor[record.PartitionID]() {
			return "id"
		}
		return t.Name()
	case reflect.String:
		return "text"
	case reflect.Bool:
		return "bool"
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return fmt.Sprintf("i%d", t.Bits())
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return fmt.Sprintf("u%d", t.Bits())
	}
	panic("docs/wire.md has no word for a " + t.String())
}
