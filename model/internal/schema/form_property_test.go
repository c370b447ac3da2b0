package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"pgregory.net/rapid"

	"github.com/braidrun/braid/internal/race"
)

// vendors are all tables, by name.
var vendors = map[string]*Rules{
	"OpenAI tools": OpenAITools, "OpenAI output": OpenAIOutput, "Anthropic tools": AnthropicTools, "Anthropic output": AnthropicOutput,
	"Gemini OpenAPI": GeminiOpenAPI, "Gemini JSON": GeminiJSON, "Bedrock": BedrockTools, "Nova": NovaTools,
}

// schemas generates schemas of any kind, up to a depth. A schema beside others, about the same value, has no
// reference to a schema that contains it.
func schemas(t *rapid.T, depth int, top, beside bool) map[string]any {
	s := map[string]any{}
	pick := func(n int, label string) bool { return rapid.IntRange(0, n).Draw(t, label) == n }
	name := rapid.SampledFrom([]string{"a", "b", "c d", "e"})
	make := func(beside bool) any {
		switch {
		case pick(12, "true"):
			return true
		case pick(16, "false"):
			return false
		}
		return schemas(t, depth-1, false, beside)
	}
	sub := func() any { return make(false) }
	kinds := []string{"string", "integer", "number", "boolean", "null", "array", "object"}
	kind := "object"
	switch {
	case top && pick(4, "no type"):
	case top:
		s["type"] = "object"
	case depth <= 0:
		kind = rapid.SampledFrom(kinds[:5]).Draw(t, "scalar")
		s["type"] = kind
	case pick(5, "no type"):
		kind = rapid.SampledFrom(kinds).Draw(t, "about")
	case pick(5, "types"):
		kind = rapid.SampledFrom(kinds).Draw(t, "kind")
		other := rapid.SampledFrom(kinds).Filter(func(k string) bool { return k != kind }).Draw(t, "other")
		s["type"] = []any{kind, other}
	default:
		kind = rapid.SampledFrom(kinds).Draw(t, "kind")
		s["type"] = kind
	}
	if pick(6, "description") {
		s["description"] = "d"
	}
	switch kind {
	case "string":
		if pick(3, "min") {
			s["minLength"] = rapid.IntRange(0, 2).Draw(t, "minLength")
		}
		if pick(3, "pattern") {
			s["pattern"] = rapid.SampledFrom([]string{"^a", "b$"}).Draw(t, "pattern")
		}
		if pick(4, "format") {
			s["format"] = rapid.SampledFrom([]string{"date-time", "color"}).Draw(t, "format")
		}
	case "integer", "number":
		if pick(3, "min") {
			s["minimum"] = rapid.IntRange(-2, 2).Draw(t, "minimum")
		}
		if pick(3, "max") {
			s["exclusiveMaximum"] = rapid.IntRange(0, 4).Draw(t, "maximum")
		}
		if pick(5, "multiple") {
			s["multipleOf"] = 2
		}
	case "array":
		if pick(1, "items") && depth > 0 {
			s["items"] = sub()
		}
		if pick(3, "prefix") && depth > 0 {
			s["prefixItems"] = []any{sub(), sub()}
		}
		if pick(3, "min") {
			s["minItems"] = rapid.IntRange(0, 2).Draw(t, "minItems")
		}
		if pick(5, "contains") && depth > 0 {
			s["contains"] = sub()
		}
		if pick(4, "unique") {
			s["uniqueItems"] = true
		}
	case "object":
		props := map[string]any{}
		for range rapid.IntRange(0, 3).Draw(t, "properties") {
			if depth > 0 {
				props[name.Draw(t, "name")] = sub()
			}
		}
		if len(props) > 0 {
			s["properties"] = props
		}
		if pick(2, "required") {
			s["required"] = []any{name.Draw(t, "needed")}
		}
		switch {
		case pick(2, "closed"):
			s["additionalProperties"] = false
		case pick(4, "rest") && depth > 0:
			s["additionalProperties"] = sub()
		}
		if pick(6, "patterns") && depth > 0 {
			s["patternProperties"] = map[string]any{"^e": sub()}
		}
		if pick(8, "names") {
			s["propertyNames"] = map[string]any{"maxLength": 1}
		}
		if pick(8, "dependent") {
			s["dependentRequired"] = map[string]any{"a": []any{"b"}}
		}
	}
	if pick(8, "enum") && !top {
		s["enum"] = []any{"ab", 1, nil, true, 2.5}[:rapid.IntRange(1, 5).Draw(t, "values")]
	} else if pick(10, "const") && !top {
		s["const"] = rapid.SampledFrom([]any{"ab", 1, nil}).Draw(t, "const")
	}
	if depth > 0 {
		for _, key := range []string{"anyOf", "oneOf", "allOf"} {
			if pick(7, key) {
				list := []any{}
				for range rapid.IntRange(1, 3).Draw(t, "alternatives") {
					list = append(list, make(true))
				}
				s[key] = list
			}
		}
		if pick(12, "not") {
			s["not"] = make(true)
		}
		if pick(12, "if") {
			s["if"], s["then"] = make(true), make(true)
			if pick(1, "else") {
				s["else"] = make(true)
			}
		}
		if pick(8, "ref") {
			s["$ref"] = rapid.SampledFrom([]string{"#/$defs/x", "#/$defs/y", "#"}).Draw(t, "ref")
			if top || beside {
				s["$ref"] = "#/$defs/y"
			}
		}
		if pick(14, "unevaluated") && kind == "object" {
			s["unevaluatedProperties"] = false
		}
	}
	if top {
		s["$defs"] = map[string]any{"x": schemas(t, 1, false, true), "y": map[string]any{
			"type": "object", "properties": map[string]any{"a": map[string]any{"$ref": "#/$defs/y"}, "b": schemas(t, 1, false, false)},
		}}
	}
	return s
}

// values generates values, many of which are valid under the schema.
func values(t *rapid.T, s any, defs map[string]any, depth int) any {
	m, ok := s.(map[string]any)
	free := func() any {
		return rapid.SampledFrom([]any{"", "a", "ab", "b", 0, 1, 2, 3.5, -1, nil, true, []any{}, []any{1, "a"}, map[string]any{}, map[string]any{"a": 1}}).Draw(t, "free")
	}
	if !ok || depth <= 0 || rapid.IntRange(0, 20).Draw(t, "any") == 0 {
		return free()
	}
	if r, ok := m["$ref"].(string); ok && len(r) > 8 {
		return values(t, defs[r[8:]], defs, depth-1)
	}
	if c, ok := m["const"]; ok {
		return c
	}
	if e, ok := m["enum"].([]any); ok {
		return rapid.SampledFrom(e).Draw(t, "one")
	}
	kind, _ := m["type"].(string)
	if list, ok := m["type"].([]any); ok {
		kind = rapid.SampledFrom(list).Draw(t, "type").(string)
	}
	switch kind {
	case "string":
		return rapid.SampledFrom([]string{"ab", "a", "b", "", "aab"}).Draw(t, "string")
	case "integer":
		return rapid.IntRange(-2, 4).Draw(t, "integer")
	case "number":
		return rapid.SampledFrom([]any{0, 1, 2, 2.5, -1}).Draw(t, "number")
	case "boolean":
		return true
	case "null":
		return nil
	case "array":
		list := []any{}
		for range rapid.IntRange(0, 3).Draw(t, "items") {
			item := m["items"]
			if p, ok := m["prefixItems"].([]any); ok && len(list) < len(p) {
				item = p[len(list)]
			}
			list = append(list, values(t, item, defs, depth-1))
		}
		return list
	}
	o := map[string]any{}
	fill := func(m map[string]any) {
		props, _ := m["properties"].(map[string]any)
		needed, _ := m["required"].([]any)
		for _, name := range []string{"a", "b", "c d", "e"} {
			p, named := props[name]
			if slices.Contains(needed, any(name)) || named && rapid.Bool().Draw(t, "there") || rapid.IntRange(0, 6).Draw(t, "more") == 0 {
				o[name] = values(t, p, defs, depth-1)
			}
		}
	}
	fill(m)
	for _, key := range []string{"anyOf", "oneOf", "allOf"} {
		list, _ := m[key].([]any)
		for _, b := range list {
			if bm, ok := b.(map[string]any); ok && rapid.Bool().Draw(t, "branch") {
				fill(bm)
			}
		}
	}
	return o
}

func resolved(schema []byte) (*jsonschema.Resolved, error) {
	var s jsonschema.Schema
	if err := json.Unmarshal(schema, &s); err != nil {
		return nil, fmt.Errorf("%s: %w", schema, err)
	}
	return s.Resolve(nil)
}

// standard rewrites OpenAPI's nullable to JSON Schema.
func standard(form []byte) []byte {
	var v any
	if json.Unmarshal(form, &v) != nil {
		return form
	}
	var walk func(v any) any
	walk = func(v any) any {
		switch v := v.(type) {
		case []any:
			for i := range v {
				v[i] = walk(v[i])
			}
		case map[string]any:
			for k := range v {
				v[k] = walk(v[k])
			}
			if v["nullable"] == true {
				delete(v, "nullable")
				return map[string]any{"anyOf": []any{v, map[string]any{"type": "null"}}}
			}
		}
		return v
	}
	b, _ := json.Marshal(walk(v))
	return b
}

// A value that is valid under a schema is valid under its form, unless a problem says otherwise. The form has only
// keywords that its vendor accepts.
func TestFormsLetThroughWhatSchemasDo(t *testing.T) {
	t.Parallel()
	held := map[string]int{}
	names := slices.Sorted(maps.Keys(vendors))
	one := func(t *rapid.T) {
		schema := schemas(t, 3, true, true)
		defs := schema["$defs"].(map[string]any)
		given, err := json.Marshal(schema)
		if err != nil {
			t.Fatal(err)
		}
		under, err := resolved(given)
		if err != nil {
			t.Skip(err) // the library does not support it
		}
		var valid []any
		for range 4 {
			v := values(t, schema, defs, 5)
			if o, object := v.(map[string]any); object && under.Validate(o) == nil {
				valid = append(valid, o)
			}
		}
		for _, name := range names {
			form, problems := Form(given, vendors[name])
			again, _ := Form(given, vendors[name])
			if !bytes.Equal(form, again) {
				t.Fatalf("%s: %s becomes %s and %s", name, given, form, again)
			}
			if _, fatal := Worst(problems, Fatal); fatal != (form == nil) {
				t.Fatalf("%s: %s becomes %s with %v", name, given, form, problems)
			}
			if form == nil {
				continue
			}
			if err := conforms(form, vendors[name]); err != nil {
				t.Fatalf("%s: %s becomes %s: %v", name, given, form, err)
			}
			_, narrowed := Worst(problems, Narrowed)
			_, nulled := Worst(problems, Nulled)
			if narrowed || nulled {
				continue
			}
			over, err := resolved(standard(form))
			if err != nil {
				t.Fatalf("%s: %s becomes %s: %v", name, given, form, err)
			}
			for _, v := range valid {
				held[name]++
				if vendors[name].Complete {
					continue // checked by a test of its own, with nulls inserted
				}
				if err := over.Validate(v); err != nil {
					t.Fatalf("%s: %v is valid under\n%s\nand not under\n%s\n%v\n%+v", name, v, given, form, err, problems)
				}
			}
		}
	}
	times := 4 // the strictest vendor may express few of the schemas
	if race.On {
		times = 1 // make test-long runs all of them without the race detector
	}
	for range times {
		rapid.Check(t, one)
	}
	for _, name := range names {
		t.Logf("%s: %d values", name, held[name])
		if held[name] == 0 && !race.On {
			t.Errorf("%s: no value was tried", name)
		}
	}
}

// stripped returns a value without the members that are null in place of missing.
func stripped(v any, names map[string]bool) any {
	switch v := v.(type) {
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = stripped(v[i], names)
		}
		return list
	case map[string]any:
		o := map[string]any{}
		for k, one := range v {
			if one != nil || !names[k] {
				o[k] = stripped(one, names)
			}
		}
		return o
	default:
		return v
	}
}

// A value that is valid under a form is valid under its schema, unless words describe a part of the schema. So a
// model that keeps to the form keeps to the schema.
func TestFormsHoldWhatIsNotTold(t *testing.T) {
	t.Parallel()
	held := map[string]int{}
	names := slices.Sorted(maps.Keys(vendors))
	one := func(t *rapid.T) {
		// Deep schemas nearly always need words, and then there is nothing to check. So most are flat.
		schema := schemas(t, rapid.SampledFrom([]int{1, 1, 1, 2, 3}).Draw(t, "depth"), true, true)
		given, err := json.Marshal(schema)
		if err != nil {
			t.Fatal(err)
		}
		under, err := resolved(given)
		if err != nil {
			return
		}
		for _, name := range names {
			form, problems := Form(given, vendors[name])
			if _, omitted := Worst(problems, Widened); omitted || form == nil {
				continue
			}
			absent := map[string]bool{}
			clear := true
			for _, p := range problems {
				if p.Kind == Narrowed && p.Keyword == "properties" {
					clear = false // the form has a substitute for an object
				}
				if p.Kind == Nulled {
					absent[p.Name] = true
					clear = clear && p.Name != ""
				}
			}
			if !clear {
				continue
			}
			over, err := resolved(standard(form))
			if err != nil {
				t.Fatalf("%s: %s: %v", name, form, err)
			}
			var parsed map[string]any
			if err := json.Unmarshal(form, &parsed); err != nil {
				t.Fatal(err)
			}
			defs, _ := parsed["$defs"].(map[string]any)
			for range 6 {
				// Decode numbers from JSON, so that they have one type.
				raw, err := json.Marshal(values(t, parsed, defs, 5))
				if err != nil {
					t.Fatal(err)
				}
				var v any
				if err := json.Unmarshal(raw, &v); err != nil {
					t.Fatal(err)
				}
				if _, object := v.(map[string]any); !object || over.Validate(v) != nil {
					continue
				}
				held[name]++
				if err := under.Validate(stripped(v, absent)); err != nil {
					t.Fatalf("%s: %s is valid under the form\n%s\nof\n%s\nand not there: %v\n%+v", name, raw, form, given, err, problems)
				}
			}
		}
	}
	// A vendor accepts about one of ten schemas without words. With -short there are a fifth as many checks, and each
	// vendor must still have some. make test-long runs all of them without the race detector.
	each := 10
	if race.On {
		each = 1
	}
	rapid.Check(t, func(t *rapid.T) {
		for range each {
			one(t)
		}
	})
	for _, name := range names {
		t.Logf("%s: %d values", name, held[name])
		if held[name] == 0 && !race.On {
			t.Errorf("%s: no value was tried", name)
		}
	}
}
