package openapitool_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/tool"
	"github.com/braidrun/braid/tool/openapitool"
)

// bodySchema returns the schema of a JSON body, as a model gets it, and the definitions beside it.
func bodySchema(t *testing.T, version, schema, components string) (body, defs any) {
	t.Helper()
	doc := document(version, `"/":{"post":{"operationId":"x","requestBody":{"content":{"application/json":{"schema":`+schema+`}}},`+responses+`}}`,
		`"schemas":{`+components+`}`)
	spec := find(t, load(t, doc, openapitool.Options{Server: "https://a.example"}), "x").Spec()
	if err := tool.CheckSchema(spec); err != nil {
		t.Errorf("%v: %s", err, spec.Schema)
	}
	var s struct {
		Properties map[string]any `json:"properties"`
		Defs       any            `json:"$defs"`
	}
	if err := json.Unmarshal(spec.Schema, &s); err != nil {
		t.Fatal(err)
	}
	return s.Properties["body"], s.Defs
}

func TestSchemas(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, version, schema, components, want, defs string }{
		{
			"read-only properties are left out", "3.0.0",
			`{"type":"object","required":["id","name"],"properties":{"id":{"type":"integer","readOnly":true},"at":{"$ref":"#/components/schemas/At"},"name":{"type":"string","default":"x"}}}`,
			`"At":{"type":"string","readOnly":true}`,
			`{"type":"object","required":["name"],"properties":{"name":{"type":"string","default":"x"}}}`, `null`,
		},
		{
			"nullable and exclusive bounds of 3.0", "3.0.3",
			`{"type":"object","properties":{"a":{"type":"integer","nullable":true,"minimum":1,"exclusiveMinimum":true,"enum":[2,3]}}}`, ``,
			`{"type":"object","properties":{"a":{"type":["integer","null"],"exclusiveMinimum":1,"enum":[2,3,null]}}}`, `null`,
		},
		{
			"3.1 is kept", "3.1.0",
			`{"type":["object","null"],"properties":{"a":{"const":1,"examples":[1]},"b":true},"patternProperties":{"^x":{"type":"string"},"(?=a)":{}},"x-y":1}`, ``,
			`{"type":["object","null"],"properties":{"a":{"const":1},"b":true},"patternProperties":{"^x":{"type":"string"}}}`, `null`,
		},
		{
			"allOf is merged, oneOf and anyOf are kept", "3.0.3",
			`{"allOf":[{"$ref":"#/components/schemas/A"},{"type":"object","required":["b"],"properties":{"b":{"type":"string"}},"additionalProperties":false}],"oneOf":[{"required":["a"]},{"required":["b"]}]}`,
			`"A":{"type":"object","required":["a"],"properties":{"a":{"anyOf":[{"type":"string"},{"type":"integer"}]}}}`,
			`{"type":"object","required":["a","b"],"properties":{"a":{"anyOf":[{"type":"string"},{"type":"integer"}]},"b":{"type":"string"}},"oneOf":[{"required":["a"]},{"required":["b"]}]}`, `null`,
		},
		{
			"allOf that cannot be merged stays", "3.0.3", `{"allOf":[{"type":"string","pattern":"a","minLength":1,"maxLength":9,"enum":["a","b"]},{"pattern":"b","minLength":2,"maxLength":5,"enum":["b","c"]}]}`, ``,
			`{"type":"string","pattern":"a","minLength":2,"maxLength":5,"enum":["b"],"allOf":[{"pattern":"b"}]}`, `null`,
		},
		{
			"a cycle becomes a definition", "3.0.3", `{"$ref":"#/components/schemas/Node"}`,
			`"Node":{"type":"object","properties":{"next":{"$ref":"#/components/schemas/Node"},"kind":{"$ref":"#/components/schemas/Kind"}}},"Kind":{"type":"string","enum":["a"]}`,
			`{"$ref":"#/$defs/Node"}`, `{"Node":{"type":"object","properties":{"next":{"$ref":"#/$defs/Node"},"kind":{"type":"string","enum":["a"]}}}}`,
		},
		{
			"a cycle through allOf of a property", "3.0.3", `{"$ref":"#/components/schemas/Node"}`,
			`"Node":{"type":"object","properties":{"up":{"allOf":[{"$ref":"#/components/schemas/Node"}],"description":"its parent"},
				"all":{"type":"array","items":{"allOf":[{"$ref":"#/components/schemas/Node"},{"type":"object","properties":{"n":{"type":"integer"}}}]}}}}`,
			`{"$ref":"#/$defs/Node"}`, `{"Node":{"type":"object","properties":{"up":{"$ref":"#/$defs/Node","description":"its parent"},
				"all":{"type":"array","items":{"$ref":"#/$defs/Node","type":"object","properties":{"n":{"type":"integer"}}}}}}}`,
		},
		{
			"a cycle through allOf of two schemas", "3.0.3", `{"allOf":[{"$ref":"#/components/schemas/A"}]}`,
			`"A":{"type":"object","properties":{"b":{"allOf":[{"$ref":"#/components/schemas/B"}]}}},"B":{"type":"object","properties":{"a":{"allOf":[{"$ref":"#/components/schemas/A"}]}}}`,
			`{"type":"object","properties":{"b":{"type":"object","properties":{"a":{"$ref":"#/$defs/A"}}}}}`,
			`{"A":{"type":"object","properties":{"b":{"type":"object","properties":{"a":{"$ref":"#/$defs/A"}}}}}}`,
		},
		{
			"two definitions with one name", "3.1.0",
			`{"type":"object","properties":{"a":{"$ref":"#/components/schemas/a b"},"b":{"$ref":"#/components/schemas/a.b"}}}`,
			`"a b":{"type":"object"},"a.b":{"type":"array"}`, ``, ``,
		},
		{
			"words beside a reference in 3.1", "3.1.0", `{"type":"object","properties":{"a":{"$ref":"#/components/schemas/T","description":"this one"}}}`,
			`"T":{"type":"object"}`, `{"type":"object","properties":{"a":{"$ref":"#/$defs/T","description":"this one"}}}`, `{"T":{"type":"object"}}`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			body, defs := bodySchema(t, c.version, c.schema, c.components)
			if c.want == "" {
				if m, _ := defs.(map[string]any); len(m) != 2 {
					t.Errorf("the definitions are %v", defs)
				}
				return
			}
			var want, wantDefs any
			if err := errors.Join(json.Unmarshal([]byte(c.want), &want), json.Unmarshal([]byte(c.defs), &wantDefs)); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want, body); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff(wantDefs, defs); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestOperationsThatAreLeftOut(t *testing.T) {
	t.Parallel()
	fine := `"/fine":{"get":{` + responses + `}},`
	body := func(schema string) string {
		return `"/":{"post":{"operationId":"x","requestBody":{"content":{"application/json":{"schema":` + schema + `}}}}}`
	}
	for path, why := range map[string]string{
		body(`{"$ref":"https://evil.example/s.json"}`): "another document",
		body(`{"$ref":"other.yaml#/A"}`):               "another document",
		body(`{"$ref":"file:///etc/passwd"}`):          "another document",
		body(`{"$ref":"#/components/schemas/None"}`):   "is not there",
		body(`{"$ref":"#/components/schemas/Self"}`):   "through allOf",
		body(`7`): "neither an object",
		body(strings.Repeat(`{"not":`, 150) + `{}` + strings.Repeat(`}`, 150)):                                  "",
		`"/":{"get":{"operationId":"x","parameters":[{"$ref":"#/components/parameters/loop"}]}}`:                "refers to itself",
		`"/{id}":{"get":{"operationId":"x"}}`:                                                                   "does not describe",
		`"no-slash":{"get":{"operationId":"x"}}`:                                                                "cannot be called",
		`"/":{"get":{"operationId":"x","parameters":[{"name":"a","in":"body"}]}}`:                               `in "body"`,
		`"/":{"get":{"operationId":"x","parameters":[{"name":"a","in":"path","style":"form"}]},"parameters":7}`: "wrong type",
		`"/{a}":{"get":{"operationId":"x","parameters":[{"name":"a","in":"path","style":"form","schema":{}}]}}`: "the style",
		`"/":{"get":{"operationId":"x","servers":[{"url":"ftp://a.example"}]}}`:                                 "no server",
		`"/":{"get":{"operationId":"x","servers":[{"url":"https://u:p@a.example"}]}}`:                           "no server",
		`"/":{"post":{"operationId":"x","requestBody":{"content":{"multipart/mixed":{}}}}}`:                     "not supported",
	} {
		doc := document("3.0.3", fine+path, `"schemas":{"Self":{"allOf":[{"$ref":"#/components/schemas/Self"}]}},"parameters":{"loop":{"$ref":"#/components/parameters/loop"}}`)
		api, err := openapitool.Load([]byte(doc[:1]+`"servers":[{"url":"https://api.example"}],`+doc[1:]), openapitool.Options{})
		if err != nil {
			t.Errorf("%.80s: %v", path, err)
			continue
		}
		_ = api.Close()
		if why == "" {
			if len(api.Tools()) != 2 {
				t.Errorf("%.80s: %v", path, api.Skipped())
			}
			continue
		}
		if s := api.Skipped(); len(api.Tools()) != 1 || len(s) != 1 || !strings.Contains(s[0].Why, why) {
			t.Errorf("%.80s: %d tools, left out %v, want %q", path, len(api.Tools()), s, why)
		}
	}
}

func TestDocumentsThatAreRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		doc, why string
		kind     event.ErrorKind
	}{
		{"", "is empty", event.ErrInvalid},
		{"{", "not valid JSON", event.ErrInvalid},
		{"[]", "", event.ErrInvalid},
		{"a: [", "yaml", event.ErrInvalid},
		{"just text", "is not an object", event.ErrInvalid},
		{`{"swagger":"2.0"}`, "Swagger 2.0", event.ErrInvalid},
		{`{"openapi":"2.9"}`, "not supported", event.ErrInvalid},
		{`{"paths":{}}`, "no \"openapi\"", event.ErrInvalid},
		{`{"openapi":"3.0.0","paths":{}}`, "no operations", event.ErrUnsupported},
		{`{"openapi":"3.0.0","paths":[]}`, "paths", event.ErrInvalid},
		{`{"openapi":"3.0.0","servers":7}`, "servers", event.ErrInvalid},
		{`{"openapi":"3.0.0","paths":{"/":{"get":{}}}}`, "no server", event.ErrUnsupported},
		{`{"openapi":"3.0.0","x":` + strings.Repeat("[", 300) + strings.Repeat("]", 300) + `}`, "too deeply", event.ErrInvalid},
		{"openapi: 3.0.0\nx: " + strings.Repeat("[", 300) + strings.Repeat("]", 300), "too deeply", event.ErrInvalid},
		{"openapi: 3.0.0\na: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\n" +
			"e: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\ng: [*f,*f,*f,*f,*f,*f,*f,*f,*f]\n", "", event.ErrInvalid},
		{strings.Repeat(" ", 20<<20), "larger than", event.ErrTooLarge},
	} {
		api, err := openapitool.Load([]byte(c.doc), openapitool.Options{})
		if api != nil || !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.why) {
			t.Errorf("%.60q gives %v, want %s with %q", c.doc, err, c.kind, c.why)
		}
	}
}

// A small document can describe an immense schema. It is left out before it takes long.
func TestSchemasThatGrow(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 40 {
		fmt.Fprintf(&b, `"S%d":{"allOf":[{"$ref":"#/components/schemas/S%d"},{"$ref":"#/components/schemas/S%d"}]},`, i, i+1, i+1)
	}
	doc := document("3.0.3", `"/":{"post":{"operationId":"x","servers":[{"url":"https://a.example"}],"requestBody":{"content":{"application/json":{"schema":{"$ref":"#/components/schemas/S0"}}}}}}`,
		`"schemas":{`+b.String()+`"S40":{"type":"string"}}`)
	began := time.Now()
	_, err := openapitool.Load([]byte(doc), openapitool.Options{})
	if !errors.Is(err, event.ErrUnsupported) || !strings.Contains(err.Error(), "too large") {
		t.Error(err)
	}
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("it took %v", took)
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 70)
	paths := fmt.Sprintf(`"/a":{"get":{"operationId":"list"},"post":{"operationId":"list"}},"/b/{id}":{"parameters":[{"name":"id","in":"path"}],"get":{},"put":{"operationId":"読む"}},
		"/c":{"get":{"operationId":"%s1"},"put":{"operationId":"%s2"},"delete":{"operationId":"a.b/c"}},"/d":{"get":{"operationId":"mine"}}`, long, long)
	o := openapitool.Options{Server: "https://a.example", Reserved: []string{"mine"}}
	names := func(doc string) (list []string) {
		seen := map[string]bool{}
		for _, one := range load(t, doc, o).Tools() {
			name := one.Spec().Name
			if err := tool.CheckName(name); err != nil || seen[name] {
				t.Errorf("%q: %v", name, err)
			}
			seen[name] = true
			list = append(list, name)
		}
		return list
	}
	list := names(document("3.0.3", paths, ""))
	if len(list) != 8 || list[0] != "list" || list[2] != "get_b_id" || list[3] != "put_b_id" || list[4] != "a_b_c" {
		t.Errorf("the names are %q", list)
	}
	if d := cmp.Diff(list, names(document("3.0.3", paths, ""))); d != "" {
		t.Error(d)
	}
	o.Prefix, o.Only = "p_", []string{"p_list*"}
	if d := names(document("3.0.3", paths, "")); len(d) != 2 || d[0] != "p_list" {
		t.Errorf("the names are %q", d)
	}
}

// Parameters of one name in several places, and one that is called like the body, are different arguments.
func TestArgumentsOfOneName(t *testing.T) {
	t.Parallel()
	doc := document("3.1.0", `"/{id}":{"parameters":[{"name":"id","in":"query","schema":{"type":"string"}},{"name":"a b","in":"query"}],
		"post":{"operationId":"x","parameters":[{"name":"id","in":"path","required":true},{"name":"body","in":"query"},{"name":"a b","in":"query","description":"mine"},
		{"name":"Authorization","in":"header"},{"name":"Host","in":"header"},{"name":"n","in":"query","required":true,"schema":{"default":7}}],
		"requestBody":{"required":true,"content":{"application/json":{}}},`+responses+`}}`, "")
	s := serve(t, doc)
	api := load(t, doc, openapitool.Options{Server: s.URL})
	var schema struct {
		Properties map[string]struct{ Description string }
		Required   []string
	}
	if err := json.Unmarshal(find(t, api, "x").Spec().Schema, &schema); err != nil {
		t.Fatal(err)
	}
	var bodyKey string
	for name := range schema.Properties {
		if strings.HasPrefix(name, "body_") {
			bodyKey = name
		}
	}
	if len(schema.Properties) != 6 || schema.Properties["a_b"].Description != "mine" || bodyKey == "" || len(schema.Required) != 2 {
		t.Fatalf("the arguments are %+v", schema)
	}
	if _, err := call(t, api, "x", `{"id":"p","id_query":"q","body":"b","`+bodyKey+`":{"real":1}}`); err != nil {
		t.Fatal(err)
	}
	if r := s.request(t); r.RequestURI != "/p?body=b&n=7&id=q" || r.body != `{"real":1}` {
		t.Errorf("sent %s with %s", r.RequestURI, r.body)
	}
}

func TestYAML(t *testing.T) {
	t.Parallel()
	api := load(t, `
openapi: 3.0.3
info: {title: "Pets\nand more", version: 1.0}
servers:
  - url: https://{region}.example/{v}
    variables: {region: {default: eu, enum: [eu, us]}, v: {default: v1}}
x-common: &common
  parameters:
    - {name: since, in: query, schema: {type: string, default: 2020-01-02}}
paths:
  /pets:
    get:
      <<: *common
      operationId: pets
      responses: {200: {description: OK}}
`, openapitool.Options{Variables: map[string]string{"region": "us"}})
	if api.Name() != "Pets and more" {
		t.Errorf("the name is %q", api.Name())
	}
	if s := string(find(t, api, "pets").Spec().Schema); !strings.Contains(s, `"default":"2020-01-02"`) {
		t.Error(s)
	}
	_, err := openapitool.Load([]byte(`{"openapi":"3.0.0","servers":[{"url":"https://{r}.example","variables":{"r":{"default":"a","enum":["a"]}}}],"paths":{"/":{"get":{}}}}`),
		openapitool.Options{Variables: map[string]string{"r": "evil.example/"}})
	if err == nil || !strings.Contains(err.Error(), `cannot be "evil.example/"`) {
		t.Error(err)
	}
}
