// Package dump writes everything that a value holds, unexported fields
// included, as lines of text: a path and what stands there. The same state gives
// the same text, and a small change of state a small change of text, so that two
// dumps can be compared line by line. It is for people who look into a state
// machine from outside, and for nothing else.
package dump

import (
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unsafe"
)

// Dumper says what to write of some types. Keys are types as reflection names
// them ("*chance.Stream"); of a generic type without what is in its brackets.
type Dumper struct {
	// Short gives the one line that stands for a value of a type. The value may
	// be read only through its fields.
	Short map[string]func(v reflect.Value) string
	// Skip are types that are not written at all, and Foreign beginnings of the
	// paths of packages whose types are not.
	Skip, Foreign []string
	// Fields are single fields that are not written: "raft.raft.logger".
	Fields []string
}

// Lines writes what v holds under the path name.
func (d *Dumper) Lines(name string, v any) []string {
	w := &writer{dumper: d, seen: map[pointer]string{}}
	w.write(name, reflect.ValueOf(v))
	return w.lines
}

// pointer is a place that was written: a struct and its first field have one
// address and two types.
type pointer struct {
	at uintptr
	of reflect.Type
}

type writer struct {
	dumper *Dumper
	lines  []string
	seen   map[pointer]string
}

func (w *writer) line(path, text string) { w.lines = append(w.lines, path+" = "+text) }

// write writes one value.
func (w *writer) write(path string, v reflect.Value) {
	if !v.IsValid() {
		return
	}
	name := typeName(v.Type())
	if slices.Contains(w.dumper.Skip, name) || w.foreign(v.Type()) {
		return
	}
	if short := w.dumper.Short[name]; short != nil {
		if text := short(v); text != "" {
			w.line(path, text)
		}
		return
	}
	if text, ok := w.leaf(v); ok {
		if text != "" {
			w.line(path, text)
		}
		return
	}
	switch v.Kind() {
	case reflect.Interface:
		w.write(path+".("+typeName(v.Elem().Type())+")", v.Elem())
	case reflect.Pointer:
		w.follow(path, v)
	case reflect.Struct:
		for i := range v.NumField() {
			field := v.Type().Field(i).Name
			if !slices.Contains(w.dumper.Fields, name+"."+field) {
				w.write(path+"."+field, v.Field(i))
			}
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			w.write(path+"["+strconv.Itoa(i)+"]", v.Index(i))
		}
	case reflect.Map:
		w.entries(path, v)
	}
}

func (w *writer) foreign(t reflect.Type) bool {
	return slices.ContainsFunc(w.dumper.Foreign, func(path string) bool { return strings.HasPrefix(t.PkgPath(), path) })
}

// follow writes what a pointer points to, once; after that where it was written.
func (w *writer) follow(path string, v reflect.Value) {
	at := pointer{v.Pointer(), v.Type()}
	if before, ok := w.seen[at]; ok {
		w.line(path, "→ "+before)
		return
	}
	w.seen[at] = path
	w.write(path, v.Elem())
}

// entries writes a map in the order of its keys.
func (w *writer) entries(path string, v reflect.Value) {
	type entry struct {
		number int64
		name   string
		value  reflect.Value
	}
	var list []entry
	for it := v.MapRange(); it.Next(); {
		e := entry{name: w.key(it.Key()), value: it.Value()}
		if it.Key().CanInt() {
			e.number = it.Key().Int()
		} else if it.Key().CanUint() {
			e.number = int64(it.Key().Uint())
		}
		list = append(list, e)
	}
	slices.SortFunc(list, func(a, b entry) int {
		if a.number != b.number {
			if a.number < b.number {
				return -1
			}
			return 1
		}
		return strings.Compare(a.name, b.name)
	})
	for _, e := range list {
		w.write(path+"["+e.name+"]", e.value)
	}
}

func (w *writer) key(v reflect.Value) string {
	if short := w.dumper.Short[typeName(v.Type())]; short != nil {
		return short(v)
	}
	if text, ok := w.leaf(v); ok {
		return text
	}
	return fmt.Sprintf("%v", v)
}

// leaf is the text of what goes on one line. What is empty is not worth one: its
// text is empty.
func (w *writer) leaf(v reflect.Value) (text string, ok bool) {
	switch v.Kind() {
	case reflect.Bool:
		return strconv.FormatBool(v.Bool()), true
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return strconv.FormatInt(v.Int(), 10), true
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return strconv.FormatUint(v.Uint(), 10), true
	case reflect.Float32, reflect.Float64:
		return strconv.FormatFloat(v.Float(), 'g', -1, 64), true
	case reflect.String:
		return strconv.Quote(v.String()), true
	case reflect.Func, reflect.Chan, reflect.UnsafePointer:
		return "", true
	case reflect.Pointer, reflect.Interface, reflect.Map:
		return "", v.IsNil() || v.Kind() == reflect.Map && v.Len() == 0
	case reflect.Slice, reflect.Array:
		return w.list(v)
	case reflect.Struct:
		return w.flat(v)
	}
	return "", false
}

// list is a slice on one line: bytes, or a few plain values.
func (w *writer) list(v reflect.Value) (string, bool) {
	if v.Len() == 0 {
		return "", true
	}
	if v.Type().Elem().Kind() == reflect.Uint8 {
		b := bytesOf(v)
		if len(b) <= 16 {
			return "0x" + hex.EncodeToString(b), true
		}
		return fmt.Sprintf("%d bytes, crc %08x", len(b), crc32.ChecksumIEEE(b)), true
	}
	if v.Len() > 16 {
		return "", false
	}
	parts := make([]string, v.Len())
	for i := range parts {
		e := v.Index(i)
		switch e.Kind() {
		case reflect.Struct, reflect.Slice, reflect.Array, reflect.Map, reflect.Pointer, reflect.Interface:
			if short := w.dumper.Short[typeName(e.Type())]; short != nil && e.Kind() == reflect.Struct {
				parts[i] = short(e)
				continue
			}
			return "", false
		}
		parts[i], _ = w.leaf(e)
	}
	return "[" + strings.Join(parts, " ") + "]", true
}

func bytesOf(v reflect.Value) []byte {
	if v.Kind() == reflect.Slice {
		return v.Bytes()
	}
	if v.CanAddr() {
		return unsafe.Slice((*byte)(unsafe.Pointer(v.UnsafeAddr())), v.Len())
	}
	b := make([]byte, v.Len())
	for i := range b {
		b[i] = byte(v.Index(i).Uint())
	}
	return b
}

// flat is a struct of plain fields on one line.
func (w *writer) flat(v reflect.Value) (string, bool) {
	t := v.Type()
	if t.NumField() == 0 {
		return "", true
	}
	if t.NumField() > 24 {
		return "", false
	}
	parts := make([]string, 0, t.NumField())
	for i := range t.NumField() {
		f := v.Field(i)
		var text string
		switch short := w.dumper.Short[typeName(f.Type())]; {
		case short != nil:
			text = short(f)
		case f.Kind() == reflect.Struct, f.Kind() == reflect.Map, f.Kind() == reflect.Interface, f.Kind() == reflect.Pointer,
			f.Kind() == reflect.Slice && f.Len() > 0 && f.Type().Elem().Kind() != reflect.Uint8:
			return "", false
		default:
			var ok bool
			if text, ok = w.leaf(f); !ok {
				return "", false
			}
		}
		if text != "" {
			parts = append(parts, t.Field(i).Name+":"+text)
		}
	}
	return "{" + strings.Join(parts, " ") + "}", true
}

// typeName is a type without what is in its brackets.
func typeName(t reflect.Type) string {
	name, _, _ := strings.Cut(t.String(), "[")
	if name == "" {
		return t.String()
	}
	return name
}

// Diff lists the lines that only one of two dumps has: "-" of the first, "+" of
// the second, in the order of the dumps.
func Diff(a, b []string) []string {
	path := func(line string) string { p, _, _ := strings.Cut(line, " = "); return p }
	was := make(map[string]string, len(a))
	for _, line := range a {
		was[path(line)] = line
	}
	is := make(map[string]bool, len(b))
	for _, line := range b {
		is[path(line)] = true
	}
	var out []string
	for _, line := range a { // what is gone
		if !is[path(line)] {
			out = append(out, "- "+line)
		}
	}
	for _, line := range b {
		old, had := was[path(line)]
		switch {
		case !had:
			out = append(out, "+ "+line)
		case old != line:
			out = append(out, "- "+old, "+ "+line)
		}
	}
	return out
}
