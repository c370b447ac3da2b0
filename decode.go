package braid

import (
	"encoding"
	"encoding/json"
	"reflect"
	"strings"

	"github.com/braidrun/braid/internal/strictjson"
)

// target reads arguments into a Go value in one pass: most tools take a few
// plain fields, and for those this costs a third of checking and decoding apart.
// It only ever says yes: whatever it does not understand, or finds wrong, is left
// to the long way, which finds the words.
type target struct {
	kind   reflect.Kind
	fields []targetField
	elem   *target
}

type targetField struct {
	name     string
	index    int
	required bool
	target   *target
}

var (
	jsonUnmarshaler = reflect.TypeFor[json.Unmarshaler]()
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// targetOf makes the target of a type, or gives nil where the long way is needed.
func targetOf(t reflect.Type, s *shape) *target {
	p := reflect.PointerTo(t)
	if s == nil || p.Implements(jsonUnmarshaler) || p.Implements(textUnmarshaler) {
		return nil
	}
	switch t.Kind() {
	case reflect.Bool, reflect.String, reflect.Float64,
		reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return &target{kind: t.Kind()}
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return nil // base64
		}
		return wrap(t, s.elem)
	case reflect.Pointer:
		if t.Elem().Kind() == reflect.Pointer {
			return nil
		}
		return wrap(t, s)
	case reflect.Struct:
		return structTarget(t, s)
	default:
		return nil
	}
}

func wrap(t reflect.Type, s *shape) *target {
	elem := targetOf(t.Elem(), s)
	if elem == nil {
		return nil
	}
	return &target{kind: t.Kind(), elem: elem}
}

func structTarget(t reflect.Type, s *shape) *target {
	if t.NumField() > 64 {
		return nil
	}
	tg := &target{kind: reflect.Struct}
	for i := range t.NumField() {
		f := t.Field(i)
		tag := f.Tag.Get("json")
		if f.Anonymous || strings.Contains(tag, ",string") {
			return nil
		}
		if !f.IsExported() || tag == "-" {
			continue
		}
		name, _, _ := strings.Cut(tag, ",")
		if name == "" {
			name = f.Name
		}
		sub, known := s.fields[name]
		if !known {
			return nil
		}
		inner := targetOf(f.Type, sub)
		if inner == nil {
			return nil
		}
		field := targetField{name: name, index: i, target: inner}
		for _, r := range s.required {
			field.required = field.required || r == name
		}
		tg.fields = append(tg.fields, field)
	}
	return tg
}

// read fills v, or says no and leaves it half filled.
func (t *target) read(r *strictjson.Reader, v reflect.Value) bool {
	switch t.kind {
	case reflect.Bool:
		if c := r.Peek(); c != 't' && c != 'f' {
			return false
		}
		v.SetBool(r.Bool())
	case reflect.String:
		if r.Peek() != '"' {
			return false
		}
		v.SetString(r.String())
	case reflect.Float64:
		v.SetFloat(r.Float64())
	case reflect.Slice:
		return t.readSlice(r, v)
	case reflect.Pointer:
		if r.Peek() == 'n' {
			return false
		}
		p := reflect.New(v.Type().Elem())
		if !t.elem.read(r, p.Elem()) {
			return false
		}
		v.Set(p)
	case reflect.Struct:
		return t.readStruct(r, v)
	default:
		n := r.Int64()
		if r.Err() != nil || v.OverflowInt(n) {
			return false
		}
		v.SetInt(n)
	}
	return r.Err() == nil
}

func (t *target) readSlice(r *strictjson.Reader, v reflect.Value) bool {
	if r.Peek() != '[' {
		return false
	}
	v.Set(reflect.MakeSlice(v.Type(), 0, 0))
	for a := r.Array(); a.Next(); {
		n := v.Len()
		v.Grow(1)
		v.SetLen(n + 1)
		if !t.elem.read(r, v.Index(n)) {
			return false
		}
	}
	return r.Err() == nil
}

func (t *target) readStruct(r *strictjson.Reader, v reflect.Value) bool {
	if r.Peek() != '{' {
		return false
	}
	var seen uint64
	for o := r.Object(); o.Next(); {
		i := t.field(o.Key)
		if i < 0 || !t.fields[i].target.read(r, v.Field(t.fields[i].index)) {
			return false
		}
		seen |= 1 << i
	}
	for i := range t.fields {
		if t.fields[i].required && seen&(1<<i) == 0 {
			return false
		}
	}
	return r.Err() == nil
}

func (t *target) field(key []byte) int {
	for i := range t.fields {
		if t.fields[i].name == string(key) {
			return i
		}
	}
	return -1
}
