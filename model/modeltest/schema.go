package modeltest

import (
	"encoding/json"
	"testing"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
)

// keywords are tool schemas by the JSON-Schema keywords that they use. Those that
// may be reported cannot be said to every vendor.
var keywords = []struct {
	name, schema string
	mayReport    bool
}{
	{"nothing", `{}`, false},
	{"an empty object", `{"type":"object"}`, false},
	{"no properties", `{"type":"object","properties":{},"additionalProperties":false}`, false},
	{"an empty object inside", `{"type":"object","properties":{"o":{"type":"object"},"p":{"type":"object","properties":{}},"any":{}}}`, false},
	{"formats", `{"type":"object","properties":{"a":{"type":"string","format":"date-time"},"b":{"type":"string","format":"uri"},` +
		`"c":{"type":"integer","format":"int64"},"d":{"type":"string","format":"no-such-format"}},"required":["a"]}`, false},
	{"bounds", `{"type":"object","properties":{"a":{"type":"integer","minimum":0,"exclusiveMaximum":10,"multipleOf":2},` +
		`"b":{"type":"string","minLength":1,"maxLength":9,"pattern":"^[a-z]+$"},` +
		`"c":{"type":"array","items":{"type":"number"},"minItems":1,"maxItems":3,"uniqueItems":true}}}`, false},
	{"titles and examples", `{"$schema":"https://json-schema.org/draft/2020-12/schema","$id":"https://example.com/s","title":"T",` +
		`"description":"D","type":"object","properties":{"a":{"title":"A","type":"string","default":"x","examples":["y"],"deprecated":true,` +
		`"readOnly":true,"$comment":"c"}},"examples":[{"a":"y"}]}`, false},
	{"nullable by a list", `{"type":"object","properties":{"a":{"type":["string","null"]},` +
		`"b":{"type":["integer","string"]}},"required":["a"]}`, false},
	{"nullable by a choice", `{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]}}}`, false},
	{"nullable of OpenAPI", `{"type":"object","properties":{"a":{"type":"string","nullable":true}}}`, false},
	{"enum and const", `{"type":"object","properties":{"a":{"enum":["x","y"]},"b":{"const":"z"},"c":{"type":"integer","enum":[1,2]},` +
		`"d":{"enum":["x",1,null]}}}`, false},
	{"oneOf", `{"type":"object","properties":{"a":{"oneOf":[{"type":"string"},{"type":"object","properties":{"n":{"type":"integer"}}}]}}}`, false},
	{"oneOf at the top", `{"type":"object","oneOf":[{"properties":{"a":{"type":"string"}},"required":["a"]},` +
		`{"properties":{"b":{"type":"string"}},"required":["b"]}]}`, false},
	{"anyOf at the top", `{"anyOf":[{"type":"object","properties":{"a":{"type":"string"}}},` +
		`{"type":"object","properties":{"b":{"type":"string"}}}]}`, false},
	{"allOf", `{"type":"object","properties":{"a":{"allOf":[{"type":"object","properties":{"x":{"type":"string"}}},` +
		`{"type":"object","properties":{"y":{"type":"string"}}}]}},"allOf":[{"properties":{"b":{"type":"integer"}}}]}`, false},
	{"$ref", `{"type":"object","properties":{"a":{"$ref":"#/$defs/p"},"b":{"type":"array","items":{"$ref":"#/$defs/p"}}},` +
		`"$defs":{"p":{"type":"object","properties":{"x":{"type":"integer"}}}}}`, false},
	{"$ref of old drafts", `{"type":"object","properties":{"a":{"$ref":"#/definitions/p~1q"}},"definitions":{"p/q":{"type":"string"}}}`, false},
	{"$ref at the top", `{"$ref":"#/$defs/p","$defs":{"p":{"type":"object","properties":{"x":{"type":"integer"}}}}}`, false},
	{"$ref beside others", `{"type":"object","properties":{"a":{"$ref":"#/$defs/p","description":"More."}},"$defs":{"p":{"type":"string"}}}`, false},
	{"properties with odd names", `{"type":"object","properties":{"a.b":{"type":"string"},"$ref":{"type":"string"},"日本":{"type":"string"}}}`, false},
	{"additional properties", `{"type":"object","properties":{"a":{"type":"object","additionalProperties":{"type":"string"}}},` +
		`"additionalProperties":true}`, false},
	{"recursion", `{"type":"object","properties":{"tree":{"$ref":"#/$defs/n"}},"$defs":{"n":{"type":"object","properties":` +
		`{"next":{"$ref":"#/$defs/n"},"v":{"type":"string"}}}}}`, true},
	{"recursion to the top", `{"type":"object","properties":{"child":{"$ref":"#"},"v":{"type":"string"}}}`, true},
	{"a $ref to elsewhere", `{"type":"object","properties":{"a":{"$ref":"https://example.com/s.json"}}}`, true},
	{"a $ref to nothing", `{"type":"object","properties":{"a":{"$ref":"#/$defs/gone"}}}`, true},
	{"tuples", `{"type":"object","properties":{"a":{"type":"array","prefixItems":[{"type":"string"},{"type":"integer"}],"items":false}}}`, true},
	{"conditions", `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"if":{"properties":{"a":{"const":"x"}}},` +
		`"then":{"required":["b"]},"else":{"not":{"required":["b"]}},"dependentRequired":{"b":["a"]}}`, true},
	{"not", `{"type":"object","properties":{"a":{"not":{"type":"string"}}}}`, true},
	{"yes and no", `{"type":"object","properties":{"a":true,"b":false}}`, true},
	{"patterns of names", `{"type":"object","patternProperties":{"^x-":{"type":"string"}},"propertyNames":{"maxLength":9}}`, true},
}

// toolSchemas are the schemas that tools may have: the vendor takes them, or their
// maker is told when the agent is made.
func toolSchemas(t *testing.T, p *Provider) {
	p.shows(t, schemas)
	for _, tc := range keywords {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			m, peer := p.Open(t, Answer{Chunks: calling(0, "c1", "do", `{"a":1}`), Stop: event.StopToolUse, Usage: counted})
			req := request()
			req.Tools = []model.ToolSpec{tool("add"), {Name: "do", Description: "Does.", Schema: json.RawMessage(tc.schema)}}
			taken(t, m, req, tc.mayReport)
			if check(m, req) != nil && peer.Asked() != 0 {
				t.Error("it was sent nevertheless")
			}
		})
	}
	t.Run("no JSON", func(t *testing.T) {
		t.Parallel()
		for _, schema := range []string{`{"type":`, `[]`, `"x"`, `{"type":"string"}`} {
			m, peer := p.Open(t, whole)
			req := request()
			req.Tools = []model.ToolSpec{{Name: "do", Schema: json.RawMessage(schema)}}
			if r := Call(t.Context(), m, req); r.Err == nil {
				t.Errorf("%s was taken", schema)
			} else if k := event.KindOf(r.Err); k != event.ErrInvalid && k != event.ErrUnsupported {
				t.Errorf("%s: %v", schema, r.Err)
			}
			if peer.Asked() != 0 {
				t.Errorf("%s was sent", schema)
			}
		}
	})
}
