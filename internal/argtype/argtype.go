// Package argtype describes a Go type as the arguments of a tool: the JSON schema that a model is shown, and the
// decoding that holds a model's arguments to it.
package argtype

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/strictjson"
)

// Type is a Go type as the arguments of a tool.
type Type struct {
	// Schema is the JSON schema of the type, made from its json and jsonschema tags. It is read only.
	Schema json.RawMessage
	shape  *shape
	plain  bool
	err    error
}

// types keeps one Type for each Go type. It depends on the Go type alone, so nobody can see that agents share it.
var types sync.Map // reflect.Type -> *Type

// Of returns the description of t. It makes it once for each type. The error says why t has no schema.
func Of(t reflect.Type) (*Type, error) {
	if p, ok := types.Load(t); ok {
		p := p.(*Type)
		return p, p.err
	}
	p := describe(t)
	if known, loaded := types.LoadOrStore(t, p); loaded {
		p = known.(*Type)
	}
	return p, p.err
}

func describe(t reflect.Type) *Type {
	s, err := jsonschema.ForType(t, nil)
	if err != nil {
		return &Type{err: err}
	}
	// Null as an argument only makes sense where the type can hold it; models
	// read a plain type better.
	if t.Kind() == reflect.Pointer && t.Elem().Kind() == reflect.Struct && len(s.Types) == 2 {
		s.Type, s.Types = "object", nil
	}
	raw, err := json.Marshal(s)
	if err != nil {
		return &Type{err: err}
	}
	return &Type{Schema: raw, shape: shapeOf(s), plain: isPlain(t)}
}

// shape is the part of a schema that encoding/json does not check: required keys, unknown keys, nulls.
type shape struct {
	fields   map[string]*shape
	names    []string
	required []string
	elem     *shape
	open     bool
	nullable bool
}

func shapeOf(s *jsonschema.Schema) *shape {
	if s == nil {
		return nil
	}
	p := &shape{nullable: s.Type == "" && len(s.Types) == 0 || slices.Contains(s.Types, "null")}
	if s.Properties != nil || s.AdditionalProperties != nil {
		p.fields = make(map[string]*shape, len(s.Properties))
		for name, sub := range s.Properties {
			p.fields[name] = shapeOf(sub)
			p.names = append(p.names, name)
		}
		slices.Sort(p.names)
		p.required = s.Required
		// jsonschema-go writes "no further properties" as a schema that
		// nothing satisfies.
		if a := s.AdditionalProperties; a == nil || a.Not == nil {
			p.open = true
			p.elem = shapeOf(a)
		}
	}
	if s.Items != nil {
		p.elem = shapeOf(s.Items)
	}
	return p
}

// check walks the value at r. Its error describes the first fault in words that help the model to mend it.
func (s *shape) check(r *strictjson.Reader, path string) error {
	if s == nil {
		r.Skip()
		return nil
	}
	if r.Null() {
		if s.nullable {
			return nil
		}
		return fmt.Errorf("%s must not be null", orArguments(path))
	}
	switch {
	case s.fields != nil && r.Peek() == '{':
		return s.checkObject(r, path)
	case s.elem != nil && r.Peek() == '[':
		i := 0
		for a := r.Array(); a.Next(); i++ {
			if err := s.elem.check(r, fmt.Sprintf("%s[%d]", path, i)); err != nil {
				return err
			}
		}
	default:
		r.Skip()
	}
	return nil
}

func (s *shape) checkObject(r *strictjson.Reader, path string) error {
	var few [16]bool
	seen := few[:]
	if len(s.required) > len(few) {
		seen = make([]bool, len(s.required))
	}
	for o := r.Object(); o.Next(); {
		sub, ok := s.fields[string(o.Key)]
		if !ok && !s.open {
			return fmt.Errorf("%s has no field %q; it has %s", orArguments(path), string(o.Key), list(s.names)) // a copy, or the reader would escape
		}
		for i, name := range s.required {
			if name == string(o.Key) {
				seen[i] = true
			}
		}
		if !ok {
			sub = s.elem
		}
		if sub == nil || sub.fields == nil && sub.elem == nil && sub.nullable {
			r.Skip()
			continue
		}
		inner := path
		if sub.fields != nil || sub.elem != nil || r.Peek() == 'n' {
			inner = join(path, string(o.Key))
		}
		if err := sub.check(r, inner); err != nil {
			return err
		}
	}
	for i, name := range s.required {
		if !seen[i] && r.Err() == nil {
			return fmt.Errorf("%s is missing", join(path, name))
		}
	}
	return nil
}

// Decode decodes args into v, a pointer to the type. Its error tells the model what to mend: a field that is missing,
// unknown, doubled or null, or a value of the wrong type.
func (p *Type) Decode(args json.RawMessage, v any) error {
	if err := p.check(args); err != nil {
		return err
	}
	err := p.unmarshal(args, v)
	if e, ok := err.(*json.UnmarshalTypeError); ok { //nolint:errorlint // Unmarshal does not wrap
		return fmt.Errorf("%s must be %s, not %s", orArguments(e.Field), typeName(e.Type), e.Value)
	}
	return err
}

func (p *Type) check(args json.RawMessage) error {
	var r strictjson.Reader
	r.Reset(args, strictjson.DefaultDepth)
	if err := p.shape.check(&r, ""); err != nil {
		return err
	}
	return r.End()
}

func orArguments(path string) string {
	if path == "" {
		return "the arguments object"
	}
	return path
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func list(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// typeName returns the words for a Go type that models read.
func typeName(t reflect.Type) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Bool:
		return "a boolean"
	case reflect.String:
		return "a string"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "an integer of type " + t.Kind().String()
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Slice, reflect.Array:
		return "an array"
	default:
		return "an object"
	}
}

// NoSchema is the error for a Go type that has no schema. tool is the name of the tool that takes it.
func NoSchema(tool string, t reflect.Type, err error) error {
	return &event.Error{
		Op: "tool " + tool, Kind: event.ErrInvalid,
		Message: fmt.Sprintf("the type %s has no JSON schema: %v", t, err),
		Hint:    "use a struct of strings, numbers, booleans, lists and structs, without cycles",
		Err:     err,
	}
}
