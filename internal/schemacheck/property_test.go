package schemacheck

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"pgregory.net/rapid"

	"github.com/braidrun/braid/internal/strictjson"
)

var keys = []string{"a", "b", "c", "aa"}

func anyValue(t *rapid.T, depth int) any {
	kind := rapid.IntRange(0, 6).Draw(t, "kind")
	if depth == 0 {
		kind %= 5
	}
	switch kind {
	case 0:
		return nil
	case 1:
		return rapid.Bool().Draw(t, "bool")
	case 2:
		return rapid.IntRange(-2, 4).Draw(t, "int")
	case 3:
		return rapid.SampledFrom([]any{0.5, -1.5, 1.0, 1e20, 2.25}).Draw(t, "number")
	case 4:
		return rapid.SampledFrom([]string{"", "a", "b", "aa", "é", "日本語"}).Draw(t, "text")
	case 5:
		list := []any{}
		for range rapid.IntRange(0, 3).Draw(t, "items") {
			list = append(list, anyValue(t, depth-1))
		}
		return list
	default:
		m := map[string]any{}
		for _, k := range keys {
			if rapid.Bool().Draw(t, "has "+k) {
				m[k] = anyValue(t, depth-1)
			}
		}
		return m
	}
}

var keywords = []string{
	"type", "type", "enum", "const", "multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength",
	"pattern", "items", "prefixItems", "contains", "minContains", "maxContains", "minItems", "maxItems", "uniqueItems", "unevaluatedItems",
	"properties", "properties", "patternProperties", "additionalProperties", "propertyNames", "unevaluatedProperties", "minProperties", "maxProperties", "required",
	"dependentRequired", "dependentSchemas", "dependencies", "allOf", "anyOf", "oneOf", "not", "if", "then", "else", "$ref", "$dynamicRef", "title",
}

// maker makes schemas whose references lead to definitions of a higher number, or, below a property, to any.
type maker struct {
	old     bool
	dynamic bool
}

const definitions = 3

func (m *maker) schema(t *rapid.T, depth, from int) any {
	if rapid.IntRange(0, 11).Draw(t, "boolean") == 0 || depth == 0 {
		return rapid.Bool().Draw(t, "schema")
	}
	s := map[string]any{}
	for range rapid.IntRange(0, 4).Draw(t, "keywords") {
		m.keyword(t, s, rapid.SampledFrom(keywords).Draw(t, "keyword"), depth, from)
	}
	return s
}

func (m *maker) keyword(t *rapid.T, s map[string]any, key string, depth, from int) {
	small := func() any { return rapid.IntRange(0, 3).Draw(t, key) }
	sub := func(from int) any { return m.schema(t, depth-1, from) }
	list := func(from int) (l []any) {
		for range rapid.IntRange(1, 3).Draw(t, "parts") {
			l = append(l, sub(from))
		}
		return l
	}
	some := func(value func() any) map[string]any {
		o := map[string]any{}
		for range rapid.IntRange(0, 2).Draw(t, "some") {
			o[rapid.SampledFrom(keys).Draw(t, "key")] = value()
		}
		return o
	}
	names := func() any { return rapid.SliceOfNDistinct(rapid.SampledFrom(keys), 0, 2, rapid.ID).Draw(t, "names") }
	switch key {
	case "type":
		kinds := rapid.SampledFrom([]string{"null", "boolean", "integer", "number", "string", "array", "object"})
		if s[key] = kinds.Draw(t, "type"); rapid.Bool().Draw(t, "several") {
			s[key] = rapid.SliceOfNDistinct(kinds, 1, 3, rapid.ID).Draw(t, "types")
		}
	case "enum":
		s[key] = []any{anyValue(t, 2), anyValue(t, 1), anyValue(t, 1)}
	case "const":
		s[key] = anyValue(t, 2)
	case "multipleOf":
		s[key] = rapid.SampledFrom([]any{1, 2, 0.5, 0.01}).Draw(t, "of")
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum":
		s[key] = rapid.SampledFrom([]any{-1, 0, 1, 2, 0.5, 1e20}).Draw(t, "limit")
	case "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains", "maxContains":
		s[key] = small()
	case "pattern":
		s[key] = rapid.SampledFrom([]string{"^a", "a$", "^(a|b)+$", "."}).Draw(t, "pattern")
	case "uniqueItems":
		s[key] = rapid.Bool().Draw(t, "unique")
	case "required":
		s[key] = names()
	case "title":
		s[key] = "a title"
	case "items":
		if s[key] = sub(0); m.old && rapid.Bool().Draw(t, "tuple") {
			s[key], s["additionalItems"] = list(0), sub(0)
		}
	case "prefixItems":
		s[key] = list(0)
	case "contains", "unevaluatedItems", "additionalProperties", "propertyNames", "unevaluatedProperties":
		s[key] = sub(0)
	case "properties":
		s[key] = some(func() any { return sub(0) })
	case "patternProperties":
		s[key] = map[string]any{rapid.SampledFrom([]string{"^a", "b"}).Draw(t, "pattern"): sub(0)}
	case "dependentRequired":
		s[key] = some(names)
	case "dependentSchemas":
		s[key] = some(func() any { return sub(from) })
	case "dependencies":
		if m.old {
			s[key] = some(func() any {
				if rapid.Bool().Draw(t, "names") {
					return names()
				}
				return sub(from)
			})
		}
	case "allOf", "anyOf", "oneOf":
		s[key] = list(from)
	case "not", "if", "then", "else":
		s[key] = sub(from)
	case "$ref", "$dynamicRef":
		if from >= definitions {
			return
		}
		name := "d" + string(rune('0'+rapid.IntRange(from, definitions-1).Draw(t, "ref")))
		switch {
		case key == "$ref":
			s[key] = "#/$defs/" + name
		case m.dynamic && !m.old:
			s[key] = "#" + name
		}
	}
}

// Harmless schemas mean what they mean to another implementation, and hostile ones are refused: nothing
// runs for ever and nothing is taken differently.
func TestTheSameAsAnotherImplementation(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := &maker{old: rapid.IntRange(0, 3).Draw(t, "draft") == 0, dynamic: rapid.IntRange(0, 3).Draw(t, "dynamic") == 0}
		top, ok := m.schema(t, 4, 0).(map[string]any)
		if !ok {
			top = map[string]any{}
		}
		defs := map[string]any{}
		for i := range definitions {
			name := "d" + string(rune('0'+i))
			d, ok := m.schema(t, 3, i+1).(map[string]any)
			if !ok {
				d = map[string]any{}
			}
			if m.dynamic && !m.old {
				d["$dynamicAnchor"] = name
			}
			defs[name] = d
		}
		top["$defs"] = defs
		if m.old {
			top["$schema"] = "http://json-schema.org/draft-07/schema#"
		}
		raw, err := json.Marshal(top)
		if err != nil {
			t.Fatal(err)
		}
		own, err := Compile(raw)
		if _, refused := errors.AsType[*Refusal](err); refused {
			t.Fatalf("%s is refused: %v", raw, err)
		}
		var s jsonschema.Schema
		if err := json.Unmarshal(raw, &s); err != nil {
			t.Fatal(err)
		}
		other, err := s.Resolve(nil)
		if err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		for range 4 {
			value, err := json.Marshal(anyValue(t, 3))
			if err != nil {
				t.Fatal(err)
			}
			var v any
			if err := json.Unmarshal(value, &v); err != nil {
				t.Fatal(err)
			}
			got, want := own.Check(nil, value), other.Validate(v)
			if (got == nil) != (want == nil) {
				t.Fatalf("%s under %s is %v, another implementation says %v", value, raw, got, want)
			}
		}
	})
}

// Whatever the schema and the value, a check ends and its error is one of those that are promised.
func FuzzCheck(f *testing.F) {
	f.Add(`{"type":"object","properties":{"a":{"$ref":"#"}}}`, `{"a":{}}`)
	f.Add(`{"$dynamicAnchor":"n","items":{"$dynamicRef":"#n"},"unevaluatedItems":false}`, `[[],[[]]]`)
	f.Add(`{"$id":"urn:x","anyOf":[{"$ref":"urn:x#/$defs/a"}],"$defs":{"a":{"pattern":"a{9}"}}}`, `"aaa"`)
	f.Fuzz(func(t *testing.T, schema, value string) {
		s, err := Compile([]byte(schema))
		if err != nil {
			var refusal *Refusal
			if !errors.As(err, &refusal) || refusal.Error() == "" {
				t.Fatalf("%v is no refusal", err)
			}
			return
		}
		err = s.Check(nil, []byte(value))
		var misfit *Misfit
		var bad *strictjson.Error
		if err != nil && !errors.As(err, &misfit) && !errors.As(err, &bad) && !errors.Is(err, ErrBudget) || err != nil && err.Error() == "" {
			t.Fatalf("%v is none of the errors of a check", err)
		}
	})
}
