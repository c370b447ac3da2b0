package strictjson

import (
	"encoding"
	"encoding/json"
	"reflect"
	"strings"
	"sync"
	"unicode"
)

// shape is the set of keys that a Go type allows. A nil shape allows all keys, as for types
// without keys.
type shape struct {
	// fields holds a struct's keys as encoding/json writes them; nil for other types.
	fields map[string]*shape
	// elem is the shape of the elements of a map or list.
	elem          *shape
	isMap, isList bool
}

// shapes caches the results of shapeOf. A type's shape never changes, and a program has a bounded
// number of types.
var shapes sync.Map // reflect.Type → *shape

func shapeOf(t reflect.Type) *shape {
	if s, ok := shapes.Load(t); ok {
		return s.(*shape)
	}
	s := makeShape(t, map[reflect.Type]*shape{})
	shapes.Store(t, s)
	return s
}

var (
	jsonUnmarshaler = reflect.TypeFor[json.Unmarshaler]()
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// makeShape computes the shape of t. made holds the types in progress, so that a type may contain
// itself.
func makeShape(t reflect.Type, made map[reflect.Type]*shape) *shape {
	for t != nil && t.Kind() == reflect.Pointer && !own(t) {
		t = t.Elem()
	}
	if t == nil || own(t) || own(reflect.PointerTo(t)) {
		return nil
	}
	switch t.Kind() {
	case reflect.Struct, reflect.Map, reflect.Slice, reflect.Array:
	default:
		return nil
	}
	if s, ok := made[t]; ok {
		return s
	}
	s := new(shape)
	made[t] = s
	switch t.Kind() {
	case reflect.Struct:
		s.fields = map[string]*shape{}
		for name, ft := range keysOf(t) {
			s.fields[name] = makeShape(ft, made)
		}
	case reflect.Map:
		s.isMap = true
		s.elem = makeShape(t.Elem(), made)
	default:
		s.isList = true
		s.elem = makeShape(t.Elem(), made)
	}
	return s
}

// own reports whether t decodes itself.
func own(t reflect.Type) bool {
	return t.Implements(jsonUnmarshaler) || t.Implements(textUnmarshaler)
}

// keysOf returns the keys of a struct by encoding/json's rules: tags, then embedded structs level
// by level. An outer name hides an inner one and a tagged name hides an untagged one; an
// ambiguous name is dropped.
func keysOf(t reflect.Type) map[string]reflect.Type {
	type found struct {
		typ    reflect.Type
		tagged bool
		n      int
	}
	keys := map[string]reflect.Type{}
	settled := map[string]bool{}
	level := map[reflect.Type]int{t: 1}
	visited := map[reflect.Type]bool{}
	for len(level) > 0 {
		next := map[reflect.Type]int{}
		names := map[string]found{}
		for st, times := range level {
			visited[st] = true
			for f := range st.Fields() {
				ft := f.Type
				if ft.Name() == "" && ft.Kind() == reflect.Pointer {
					ft = ft.Elem()
				}
				if f.Anonymous {
					if !f.IsExported() && ft.Kind() != reflect.Struct {
						continue
					}
				} else if !f.IsExported() {
					continue
				}
				tag := f.Tag.Get("json")
				if tag == "-" {
					continue
				}
				name, _, _ := strings.Cut(tag, ",")
				if !validName(name) {
					name = ""
				}
				if name == "" && f.Anonymous && ft.Kind() == reflect.Struct {
					next[ft] += times
					continue
				}
				tagged := name != ""
				if !tagged {
					name = f.Name
				}
				was := names[name]
				switch {
				case was.n == 0 || tagged && !was.tagged:
					names[name] = found{f.Type, tagged, times}
				case tagged == was.tagged:
					was.n += times
					names[name] = was
				}
			}
		}
		for name, f := range names {
			if settled[name] {
				continue
			}
			settled[name] = true
			if f.n == 1 {
				keys[name] = f.typ
			}
		}
		for st := range next {
			if visited[st] {
				delete(next, st)
			}
		}
		level = next
	}
	return keys
}

// validName reports whether encoding/json takes the name in a tag.
func validName(s string) bool {
	if s == "" {
		return false
	}
	for _, c := range s {
		if !strings.ContainsRune("!#$%&()*+-./:;<=>?@[]^_{|}~ ", c) && !unicode.IsLetter(c) && !unicode.IsDigit(c) {
			return false
		}
	}
	return true
}
