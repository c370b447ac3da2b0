package modeltest

import (
	"encoding/json"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/braidrun/braid/model"
)

// anySchema gives tools, and answers where the vendor holds them to one, schemas that
// nobody has thought of: each is taken, or reported beforehand; none is sent and refused.
func anySchema(t *testing.T, p *Provider) {
	p.shows(t, schemas)
	list := make([]Answer, 5000)
	for i := range list {
		list[i] = whole
	}
	m, _ := p.Open(t, list...)
	rapid.Check(t, func(rt *rapid.T) {
		schema, err := json.Marshal(objectSchema(rt, 3, true))
		if err != nil {
			rt.Fatal(err)
		}
		req := request()
		if p.has(StructuredOutput) && rapid.Bool().Draw(rt, "of the answer") {
			req.Output = &model.OutputSchema{Name: "x", Schema: schema}
		} else {
			req.Tools = []model.ToolSpec{{Name: "do", Description: "Does.", Schema: schema}}
		}
		told := check(m, req)
		r := Call(t.Context(), m, req)
		if (told == nil) != (r.Err == nil) {
			rt.Fatalf("%s\nbeforehand %v, then %v", schema, told, r.Err)
		}
	})
}

// objectSchema is an object; at the top it has definitions that are referred to.
func objectSchema(rt *rapid.T, depth int, top bool) map[string]any {
	s := map[string]any{"type": "object"}
	properties := map[string]any{}
	var all []string
	for i := range rapid.IntRange(0, 3).Draw(rt, "properties") {
		name := fmt.Sprintf("p%d", i)
		properties[name] = anyOne(rt, depth-1)
		all = append(all, name)
	}
	if len(all) > 0 || rapid.Bool().Draw(rt, "empty") {
		s["properties"] = properties
	}
	if n := rapid.IntRange(0, len(all)).Draw(rt, "required"); n > 0 {
		s["required"] = all[:n]
	}
	switch rapid.IntRange(0, 4).Draw(rt, "more") {
	case 0:
		s["additionalProperties"] = false
	case 1:
		s["additionalProperties"] = anyOne(rt, 0)
	}
	if top {
		s["$defs"] = map[string]any{"leaf": anyOne(rt, 0), "tree": map[string]any{
			"type": "object", "properties": map[string]any{"next": map[string]any{"$ref": "#/$defs/leaf"}},
		}}
		if rapid.IntRange(0, 9).Draw(rt, "itself") == 0 {
			properties["self"] = map[string]any{"$ref": "#"}
			s["properties"] = properties
		}
	}
	return s
}

// anyOne is a schema of anything.
func anyOne(rt *rapid.T, depth int) map[string]any {
	s := map[string]any{}
	if rapid.Bool().Draw(rt, "described") {
		s["description"] = "What it is."
	}
	most := 6
	if depth > 0 {
		most = 11
	}
	several := func() []any {
		list := []any{anyOne(rt, depth-1), anyOne(rt, depth-1)}
		return list[:rapid.IntRange(1, 2).Draw(rt, "alternatives")]
	}
	switch rapid.IntRange(0, most).Draw(rt, "kind") {
	case 0:
		s["type"] = "string"
		if f := rapid.SampledFrom([]string{"", "date-time", "uuid", "ipv4", "binary"}).Draw(rt, "format"); f != "" {
			s["format"] = f
		}
		if rapid.Bool().Draw(rt, "bounded") {
			s["minLength"], s["maxLength"], s["pattern"] = 1, 9, "^[a-z]+$"
		}
	case 1:
		s["type"] = rapid.SampledFrom([]string{"integer", "number"}).Draw(rt, "number")
		if rapid.Bool().Draw(rt, "bounded") {
			s["minimum"], s["exclusiveMaximum"], s["multipleOf"] = 0, 10.5, 2
		}
	case 2:
		s["type"] = rapid.SampledFrom([]any{"boolean", "null", []string{"string", "null"}, []string{"integer", "string"}}).Draw(rt, "type")
	case 3:
		s["enum"] = rapid.SampledFrom([][]any{{"x", "y"}, {1, 2}, {"x", nil}, {true}, {"x", 1}}).Draw(rt, "enum")
	case 4:
		s["const"] = rapid.SampledFrom([]any{"x", 1, nil, true}).Draw(rt, "const")
	case 5: // anything at all
	case 6:
		return map[string]any{"$ref": "#/$defs/" + rapid.SampledFrom([]string{"leaf", "tree"}).Draw(rt, "ref")}
	case 7:
		s["type"], s["items"] = "array", anyOne(rt, depth-1)
		if rapid.Bool().Draw(rt, "bounded") {
			s["minItems"], s["maxItems"], s["uniqueItems"] = 1, 3, true
		}
	case 8:
		s[rapid.SampledFrom([]string{"anyOf", "oneOf"}).Draw(rt, "choice")] = several()
	case 9:
		s["allOf"] = several()
	default:
		return objectSchema(rt, depth, false)
	}
	return s
}
