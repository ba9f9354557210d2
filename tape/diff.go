package tape

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// part finds the first effect, and the first field in it, in which two lists
// differ. Effects are counted from 1; effect 0: the lists are equal.
func part(was, is []Effect) (effect int, field, wasText, isText string) {
	for i := range min(len(was), len(is)) {
		a, b := &was[i], &is[i]
		kind := kindOf(a)
		if kind != kindOf(b) {
			return i + 1, "the kind of effect", describe(a), describe(b)
		}
		if field, x, y, differ := fieldsOf(kind, reflect.ValueOf(a.Value), reflect.ValueOf(b.Value)); differ {
			return i + 1, field, x, y
		}
		if field, x, y, differ := fieldsOf(kind+".Bytes", reflect.ValueOf(a.Bytes), reflect.ValueOf(b.Bytes)); differ {
			return i + 1, field, x, y
		}
	}
	switch n := min(len(was), len(is)); {
	case len(was) > n:
		return n + 1, "the number of effects", describe(&was[n]), nothing
	case len(is) > n:
		return n + 1, "the number of effects", nothing, describe(&is[n])
	}
	return 0, "", "", ""
}

const nothing = "nothing"

func kindOf(e *Effect) string {
	return strings.TrimPrefix(reflect.TypeOf(e.Value).String(), "effect.")
}

// fieldsOf walks two values of one type and finds the first field that differs.
func fieldsOf(path string, a, b reflect.Value) (field, was, is string, differ bool) {
	switch a.Kind() {
	case reflect.Interface, reflect.Pointer:
		if a.IsNil() || b.IsNil() || a.Elem().Type() != b.Elem().Type() {
			if a.IsNil() && b.IsNil() {
				return "", "", "", false
			}
			return path, show(a), show(b), true
		}
		return fieldsOf(path, a.Elem(), b.Elem())
	case reflect.Struct:
		for i := range a.NumField() {
			if field, was, is, differ = fieldsOf(path+"."+a.Type().Field(i).Name, a.Field(i), b.Field(i)); differ {
				return field, was, is, true
			}
		}
		return "", "", "", false
	case reflect.Slice:
		if a.IsNil() != b.IsNil() {
			return path, show(a), show(b), true
		}
		for i := range min(a.Len(), b.Len()) {
			if field, was, is, differ = fieldsOf(path+"["+strconv.Itoa(i)+"]", a.Index(i), b.Index(i)); differ {
				return field, was, is, true
			}
		}
		if a.Len() != b.Len() {
			return "len(" + path + ")", strconv.Itoa(a.Len()), strconv.Itoa(b.Len()), true
		}
		return "", "", "", false
	}
	if a.Equal(b) {
		return "", "", "", false
	}
	return path, show(a), show(b), true
}

// shown bounds what is printed of one value.
const shown = 600

func show(v reflect.Value) string {
	if (v.Kind() == reflect.Pointer || v.Kind() == reflect.Slice || v.Kind() == reflect.Interface) && v.IsNil() {
		return "nil"
	}
	if v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	return short(fmt.Sprintf("%+v", v.Interface()))
}

func short(s string) string {
	if len(s) > shown {
		return s[:shown] + " ..."
	}
	return s
}

// describe is an effect in one line.
func describe(e *Effect) string {
	s := kindOf(e) + withMessages(e.Value)
	if len(e.Bytes) > 0 {
		s += fmt.Sprintf(" %v", e.Bytes)
	}
	return short(s)
}

// withMessages prints a struct and, where it holds a message, that one's fields
// instead of its address.
func withMessages(v any) string {
	s := reflect.ValueOf(v)
	var b strings.Builder
	b.WriteByte('{')
	for i := range s.NumField() {
		if i > 0 {
			b.WriteByte(' ')
		}
		f := s.Field(i)
		name := s.Type().Field(i).Name
		if f.Kind() == reflect.Interface && !f.IsNil() && f.Elem().Kind() == reflect.Pointer && f.Elem().Elem().Kind() == reflect.Struct {
			m := f.Elem().Elem()
			fmt.Fprintf(&b, "%s:%s%s", name, m.Type().Name(), withMessages(m.Interface()))
			continue
		}
		fmt.Fprintf(&b, "%s:%+v", name, f.Interface())
	}
	b.WriteByte('}')
	return b.String()
}
