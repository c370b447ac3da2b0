package tenants

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

// operation is an operation in the API's document.
type operation struct {
	method, path string
	// scope is the scope that the credential needs; "" means none.
	scope string
	// params, query and headers are the names of the parameters.
	params, query, headers []string
	body                   *schema
	example                map[string]any
	// stream reports that the response is a stream without an end of its own.
	stream bool
}

func (o *operation) String() string { return o.method + " " + o.path }

// schema holds the parts of JSON schemas that the document uses.
type schema struct {
	Types      types              `json:"type"`
	Properties map[string]*schema `json:"properties"`
	Items      *schema            `json:"items"`
	// More is false, or the schema of members that are not named.
	More *schema `json:"additionalProperties"`
	// none marks a schema that nothing matches.
	none bool
}

// types is the type of a value without null; empty means any.
type types string

func (t *types) UnmarshalJSON(raw []byte) error {
	var many []string
	if json.Unmarshal(raw, &many) != nil {
		return json.Unmarshal(raw, (*string)(t))
	}
	*t = types(slices.DeleteFunc(many, func(s string) bool { return s == "null" })[0])
	return nil
}

func (s *schema) UnmarshalJSON(raw []byte) error {
	type plain schema
	if err := json.Unmarshal(raw, (*plain)(s)); err == nil {
		s.none = raw[0] == '{' && len(s.Types) == 0 && strings.Contains(string(raw), `"not"`)
		return nil
	}
	var all bool
	err := json.Unmarshal(raw, &all)
	s.none = !all
	return err
}

// document reads the API's document.
func document(t *testing.T) (list []operation) {
	t.Helper()
	raw, err := os.ReadFile("../../server/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Paths map[string]map[string]struct {
			Security   []struct{ Token []string }
			Parameters []struct{ Name, In string }
			Body       struct {
				Content map[string]struct {
					Schema  *schema
					Example map[string]any
				}
			} `json:"requestBody"`
			Responses map[string]struct {
				Content map[string]json.RawMessage
			}
		}
	}
	if err := json.Unmarshal(raw, &doc); err != nil {
		t.Fatal(err)
	}
	for _, path := range slices.Sorted(maps.Keys(doc.Paths)) {
		for _, method := range slices.Sorted(maps.Keys(doc.Paths[path])) {
			op := doc.Paths[path][method]
			o := operation{method: strings.ToUpper(method), path: path}
			if len(op.Security) > 0 {
				o.scope = op.Security[0].Token[0]
			}
			for _, p := range op.Parameters {
				switch p.In {
				case "path":
					o.params = append(o.params, p.Name)
				case "query":
					o.query = append(o.query, p.Name)
				case "header":
					o.headers = append(o.headers, p.Name)
				}
			}
			body := op.Body.Content["application/json"]
			o.body, o.example = body.Schema, body.Example
			_, events := op.Responses["200"].Content["text/event-stream"]
			o.stream = events && o.method == "GET"
			list = append(list, o)
		}
	}
	return list
}

// place is a value of a body: its path and its schema.
type place struct {
	// at are names of members. A number is an element of a list.
	at []string
	of *schema
}

func (p place) String() string { return strings.Join(p.at, ".") }

// places returns all values that a body may have, except the body itself.
func (s *schema) places(at ...string) (list []place) {
	within := func(name string, of *schema) {
		if of == nil || of.none {
			return
		}
		here := append(slices.Clone(at), name)
		list = append(append(list, place{here, of}), of.places(here...)...)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		within(name, s.Properties[name])
	}
	within("any", s.More)
	within("0", s.Items)
	return list
}

// with returns a valid body with a value in a place; without a place it is unchanged.
func (o *operation) with(at []string, value any) string {
	body := any(o.example)
	if o.example == nil {
		body = map[string]any{}
	}
	if len(at) > 0 {
		body = put(body, at, value)
	}
	raw, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

func put(into any, at []string, value any) any {
	if len(at) == 0 {
		return value
	}
	if at[0] == "0" {
		return []any{put(nil, at[1:], value)}
	}
	members, ok := into.(map[string]any)
	if !ok {
		members = map[string]any{}
	}
	members = maps.Clone(members)
	members[at[0]] = put(members[at[0]], at[1:], value)
	return members
}

// wrong returns values of other types than the schema's.
func (s *schema) wrong() []any {
	kinds := map[string][]any{
		"string": {1, true, []any{}, map[string]any{}}, "integer": {"1", 1.5, true, []any{}, map[string]any{}, 1e30},
		"number": {"1", true, []any{}, map[string]any{}}, "boolean": {"true", 1, []any{}, map[string]any{}},
		"array": {"x", 1, true, map[string]any{}}, "object": {"x", 1, true, []any{}},
	}
	return kinds[string(s.Types)]
}
