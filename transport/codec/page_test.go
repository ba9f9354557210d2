package codec

import (
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/message"
	"github.com/tamarack-mq/tamarack/core/record"
)

// Whoever writes a client in another language goes by the page: its tables name
// the fields of every message, in their order.
func TestThePageTellsTheFieldsOfEveryMessage(t *testing.T) {
	text, err := os.ReadFile("../../docs/wire.md")
	require.NoError(t, err)
	page := string(text)
	rows := map[string]string{}
	for line := range strings.Lines(page) {
		cells := strings.Split(line, "|")
		if len(cells) < 5 {
			continue
		}
		kinds, names := strings.Split(cells[1], ","), strings.Split(cells[2], ",")
		fields, _, _ := strings.Cut(cells[3], ":") // the rest is prose
		for i := range min(len(kinds), len(names)) {
			rows[strings.TrimSpace(kinds[i])+" "+strings.TrimSpace(names[i])] = strings.TrimSpace(fields)
		}
	}
	for _, kind := range message.Kinds() {
		name := strconv.Itoa(int(kind)) + " " + kind.String()
		_, listed := rows[name]
		require.True(t, listed, "docs/wire.md has no row for %s", name)
		require.Equal(t, fieldsOf(headOf(kind)), rows[name], "docs/wire.md tells other fields of %s", name)
	}
	prose := strings.Join(strings.Fields(page), " ")
	says := func(sentence string) {
		require.True(t, strings.Contains(prose, sentence), "docs/wire.md should say: %s", sentence)
	}
	says("- **Config** of a topic: " + fieldsOf(reflect.TypeFor[message.TopicConfig]()) + ".")
	var changes []string
	for i := range reflect.TypeFor[message.Change]().NumField() {
		f := reflect.TypeFor[message.Change]().Field(i)
		changes = append(changes, f.Name+" ["+fieldsOf(f.Type.Elem())+"]")
	}
	says("A **Change** is an array of which exactly one is not `nil`: " + strings.Join(changes, ", ") + ".")
}

// fieldsOf says what a structure holds, as the tables of the page do.
func fieldsOf(t reflect.Type) string {
	var list []string
	for i := range t.NumField() {
		f := t.Field(i)
		switch said := said(f.Type); {
		case f.Tag.Get("codec") == "-":
			list = append(list, "*"+f.Name)
		case said == "id" && f.Name == "ID", said == f.Name:
			list = append(list, said)
		case f.Type == reflect.TypeFor[message.Kind](): // of the message that follows
			list = append(list, f.Name)
		default:
			list = append(list, f.Name+" "+said)
		}
	}
	return strings.Join(list, ", ")
}

func said(t reflect.Type) string {
	switch {
	case t == reflect.TypeFor[record.PartitionID]():
		return "id"
	case t == reflect.TypeFor[message.TopicConfig]():
		return "Config"
	case t == reflect.TypeFor[message.Change]():
		return "Change"
	case t.Kind() == reflect.Pointer:
		return said(t.Elem()) + "?"
	case t.Kind() == reflect.Struct:
		return "[" + fieldsOf(t) + "]"
	case t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8:
		return "[" + said(t.Elem()) + "]"
	}
	return wireType(t)
}
