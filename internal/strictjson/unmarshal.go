package strictjson

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
)

// Unmarshal checks data as [Check] does with [DefaultDepth] levels, and decodes it into v as
// encoding/json does. It also refuses keys without a field in v ([UnknownKey]), keys that differ
// from a field's in case only ([KeyCase]), values of another type ([WrongType]) and values that
// v's own unmarshalling refuses ([BadValue]). The error is an *[Error]; after one, v may be
// partially filled.
//
// As in encoding/json, null leaves a value unchanged unless it is a pointer, map, slice or
// interface, and a missing key leaves its field unchanged. Types with their own UnmarshalJSON or
// UnmarshalText, and the contents of interfaces, may have any keys. v must be a non-nil pointer.
func Unmarshal(data []byte, v any) error {
	var r Reader
	r.Reset(data, DefaultDepth)
	r.skipAs(shapeOf(reflect.TypeOf(v)))
	if err := r.End(); err != nil {
		return err
	}
	return explain(json.Unmarshal(data, v), reflect.TypeOf(v))
}

// skipAs is Skip that also checks keys against a type.
func (r *Reader) skipAs(s *shape) {
	if s == nil || r.err != nil {
		r.Skip()
		return
	}
	switch c := r.space(); {
	case c == '{' && s.fields != nil:
		for o := r.Object(); o.Next(); {
			sub, ok := s.fields[string(o.Key)]
			if !ok {
				o.refuse(s)
				return
			}
			r.skipAs(sub)
		}
	case c == '{' && s.isMap:
		for o := r.Object(); o.Next(); {
			r.skipAs(s.elem)
		}
	case c == '[' && s.isList:
		for a := r.Array(); a.Next(); {
			r.skipAs(s.elem)
		}
	default: // another type than expected: encoding/json reports it
		r.Skip()
	}
}

// refuse reports a key that s does not have.
func (o *Object) refuse(s *shape) {
	key := string(o.Key)
	like := ""
	for name := range s.fields {
		if strings.EqualFold(name, key) && (like == "" || name < like) {
			like = name
		}
	}
	if like == "" {
		o.Unknown()
		return
	}
	o.r.fail(KeyCase, o.keyAt, key, "key "+quoteKey(key)+" must be written "+quoteKey(like))
}

// explain converts an error of encoding/json. The original names Go types, which mean nothing to
// the sender of the text.
func explain(err error, t reflect.Type) error {
	if err == nil {
		return nil
	}
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		text, key := wanted(wrong.Type)+" is needed, not "+found(wrong.Value), keysOnly(wrong.Field, t)
		if key != "" {
			text = quoteKey(key) + ": " + text
		}
		return &Error{Reason: WrongType, Offset: int(wrong.Offset), Key: key, Text: text}
	}
	if _, ok := errors.AsType[*json.InvalidUnmarshalError](err); ok {
		return err
	}
	return &Error{Reason: BadValue, Offset: -1, Text: "refused value: " + err.Error(), Err: err}
}

// keysOnly removes the names of embedded structs from a path of encoding/json, because the text
// has no such keys.
func keysOnly(path string, t reflect.Type) string {
	if path == "" {
		return ""
	}
	var keys []string
	names := strings.Split(path, ".")
	for i, name := range names {
		for t != nil && (t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Array || t.Kind() == reflect.Map) {
			t = t.Elem()
		}
		if t != nil && t.Kind() == reflect.Struct {
			if f, ok := t.FieldByName(name); ok && f.Anonymous && i < len(names)-1 {
				t = f.Type
				continue
			}
			t = keysOf(t)[name]
		}
		keys = append(keys, name)
	}
	return strings.Join(keys, ".")
}

func wanted(t reflect.Type) string {
	if t == nil {
		return "another type"
	}
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a string"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return "an integer that fits"
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return "an integer that fits and is not negative"
	case reflect.Float32, reflect.Float64:
		return "a number that fits"
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Slice, reflect.Array:
		return "an array"
	case reflect.Pointer:
		return wanted(t.Elem())
	default:
		return "another type"
	}
}

func found(value string) string {
	switch {
	case value == "bool":
		return "true or false"
	case value == "array", value == "object":
		return "an " + value
	case strings.HasPrefix(value, "number "):
		const most = 40
		if len(value) > most {
			return value[:most] + "…"
		}
		return value
	default: // string, number
		return "a " + value
	}
}
