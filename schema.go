package braid

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

// plan is what is known of a Go type as tool arguments: the schema that the
// model is shown, and the shape that its answers are held against.
type plan struct {
	schema json.RawMessage
	shape  *shape
	// target reads simple types in one pass; nil where there is no short way.
	target *target
	err    error
}

// plans keeps one plan for each type. It is derived from the type alone, so
// that sharing it between agents cannot be seen.
var plans sync.Map // reflect.Type -> *plan

// planOf makes the plan of a type once, or finds it.
func planOf(t reflect.Type) (*plan, error) {
	if p, ok := plans.Load(t); ok {
		p := p.(*plan)
		return p, p.err
	}
	p := newPlan(t)
	if known, loaded := plans.LoadOrStore(t, p); loaded {
		p = known.(*plan)
	}
	return p, p.err
}

func newPlan(t reflect.Type) *plan {
	s, err := jsonschema.ForType(t, nil)
	if err != nil {
		return &plan{err: err}
	}
	// Null as an argument only makes sense where the type can hold it; models
	// read a plain type better.
	if t.Kind() == reflect.Pointer && t.Elem().Kind() == reflect.Struct && len(s.Types) == 2 {
		s.Type, s.Types = "object", nil
	}
	raw, err := json.Marshal(s)
	if err != nil {
		return &plan{err: err}
	}
	p := &plan{schema: raw, shape: shapeOf(s)}
	p.target = targetOf(t, p.shape)
	return p
}

// shape is the part of a schema that decoding does not check by itself: keys
// that are required, keys that do not exist, nulls.
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

// check walks the value at r. The first thing that is wrong is told in words
// that help the model to mend it.
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
			return fmt.Errorf("%s has no field %q; it has %s", orArguments(path), o.Key, list(s.names))
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

// decode holds args against the plan and decodes them into v.
func (p *plan) decode(args json.RawMessage, v any) error {
	if p.target != nil && p.read(args, v) {
		return nil
	}
	if err := p.check(args); err != nil {
		return err
	}
	err := json.Unmarshal(args, v)
	if e, ok := err.(*json.UnmarshalTypeError); ok { //nolint:errorlint // Unmarshal does not wrap
		return fmt.Errorf("%s must be %s, not %s", orArguments(e.Field), typeName(e.Type), e.Value)
	}
	return err
}

// readers are used again because one is larger than most arguments.
var readers = sync.Pool{New: func() any { return new(strictjson.Reader) }}

// read goes the short way. Where that fails it leaves v as it found it, empty.
func (p *plan) read(args json.RawMessage, v any) bool {
	r := readers.Get().(*strictjson.Reader)
	defer readers.Put(r)
	r.Reset(args, strictjson.DefaultDepth)
	value := reflect.ValueOf(v).Elem()
	if p.target.read(r, value) && r.End() == nil {
		return true
	}
	value.SetZero()
	return false
}

func (p *plan) check(args json.RawMessage) error {
	r := readers.Get().(*strictjson.Reader)
	defer readers.Put(r)
	r.Reset(args, strictjson.DefaultDepth)
	if err := p.shape.check(r, ""); err != nil {
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

// typeName is how a Go type is called towards a model.
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

// SchemaOf gives the JSON schema that a Go type is shown to models with. It is
// made from json and jsonschema struct tags, once for each type.
func SchemaOf[T any]() (json.RawMessage, error) {
	p, err := planOf(reflect.TypeFor[T]())
	if err != nil {
		return nil, schemaError("", reflect.TypeFor[T](), err)
	}
	return p.schema, nil
}

func schemaError(tool string, t reflect.Type, err error) error {
	return &event.Error{
		Op: "tool " + tool, Kind: event.ErrInvalid,
		Message: fmt.Sprintf("the type %s has no JSON schema: %v", t, err),
		Hint:    "use a struct of strings, numbers, booleans, lists and structs, without cycles",
		Err:     err,
	}
}
