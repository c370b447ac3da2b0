package foldtest

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/braidrun/braid/event"
)

// Deep writes a value with everything that it points at, each pointer once, unexported fields included. An empty map is
// written as none. It leaves out the fields that without names, each as "Type.Field".
func Deep(v any, without ...string) string {
	return deep(v, without, false)
}

func deep(v any, without []string, apart bool) string {
	w := deepWriter{seen: map[place]int{}, without: without, apart: apart}
	w.write(reflect.ValueOf(v))
	return w.String()
}

type deepWriter struct {
	strings.Builder

	// seen numbers the pointers that were written.
	seen    map[place]int
	without []string
	// apart has what events hold written at each place that points at it.
	apart bool
}

var eventPath = reflect.TypeFor[event.Event]().PkgPath()

// place is what a pointer points at; the first field of a struct has the struct's address.
type place struct {
	address uintptr
	of      reflect.Type
}

func (w *deepWriter) write(v reflect.Value) {
	switch v.Kind() {
	case reflect.Invalid:
		w.WriteString("nil")
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			w.WriteString("nil")
			return
		}
		if v.Kind() == reflect.Pointer && (!w.apart || v.Type().Elem().PkgPath() != eventPath) {
			at := place{v.Pointer(), v.Type()}
			if n, again := w.seen[at]; again {
				w.WriteString("again " + strconv.Itoa(n))
				return
			}
			w.seen[at] = len(w.seen)
		}
		w.write(v.Elem())
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			fmt.Fprint(w, v)
			return
		}
		w.WriteString(v.Type().Name() + "{")
		for i := range v.NumField() {
			if f := v.Field(i); !f.IsZero() && (f.Kind() != reflect.Map || f.Len() > 0) && !slices.Contains(w.without,
				v.Type().Name()+"."+v.Type().Field(i).Name) {
				w.WriteString(v.Type().Field(i).Name + ":")
				w.write(f)
				w.WriteString(" ")
			}
		}
		w.WriteString("}")
	case reflect.Slice, reflect.Array:
		if v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Uint8 {
			w.WriteString(strconv.Quote(string(v.Bytes())))
			return
		}
		w.WriteString(strconv.Itoa(v.Len()) + "[")
		for i := range v.Len() {
			w.write(v.Index(i))
			w.WriteString(" ")
		}
		w.WriteString("]")
	case reflect.Map:
		w.writeMap(v)
	case reflect.Func, reflect.Chan, reflect.UnsafePointer:
		fmt.Fprint(w, v.IsNil())
	case reflect.String:
		w.WriteString(v.String())
	default:
		fmt.Fprint(w, v)
	}
}

// writeMap writes a map in the order of its keys, so that a pointer in two values is first met in
// the same one each time.
func (w *deepWriter) writeMap(v reflect.Value) {
	values := map[string]reflect.Value{}
	for m := v.MapRange(); m.Next(); {
		values[fmt.Sprint(m.Key())] = m.Value()
	}
	w.WriteString("map[")
	for _, key := range slices.Sorted(maps.Keys(values)) {
		w.WriteString(key + ":")
		w.write(values[key])
		w.WriteString(" ")
	}
	w.WriteString("]")
}
