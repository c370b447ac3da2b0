package schema

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/braidrun/braid/internal/race"
)

var update = flag.Bool("update", false, "write testdata/forms.txt anew, to be read before it is committed")

// keywords are schemas of one property, each with the keyword that it tests.
var keywords = [][2]string{
	{"nothing", `{}`},
	{"true", `true`},
	{"false", `false`},
	{"type", `{"type":"string"}`},
	{"types", `{"type":["string","integer"]}`},
	{"type and null", `{"type":["string","null"],"description":"d"}`},
	{"nullable", `{"type":"string","nullable":true}`},
	{"nullable enum", `{"type":"string","nullable":true,"enum":["a"]}`},
	{"title, default, examples", `{"title":"T","type":"string","default":"a","examples":["b"],"x-own":1,"$comment":"c"}`},
	{"enum", `{"enum":["a","b"]}`},
	{"enum of numbers", `{"type":"integer","enum":[1,2]}`},
	{"enum of all kinds", `{"enum":["a",1,null,{"b":[]}]}`},
	{"const", `{"const":"a"}`},
	{"$ref", `{"$ref":"#/$defs/word"}`},
	{"$ref with others", `{"$ref":"#/$defs/word","description":"mine","maxLength":3}`},
	{"definitions", `{"$ref":"#/definitions/old"}`},
	{"$anchor", `{"$ref":"#named"}`},
	{"$id", `{"$ref":"https://example.org/own"}`},
	{"recursion", `{"$ref":"#/$defs/tree"}`},
	{"itself", `{"$ref":"#/$defs/itself"}`},
	{"outside", `{"$ref":"https://example.org/other"}`},
	{"oneOf", `{"oneOf":[{"type":"string"},{"type":"integer"}]}`},
	{"oneOf that overlaps", `{"oneOf":[{"type":"number"},{"type":"integer"}]}`},
	{"anyOf", `{"anyOf":[{"type":"string","minLength":2},{"type":"array","items":{"type":"string"}}],"description":"d"}`},
	{"anyOf null", `{"anyOf":[{"type":"string","maxLength":9},{"type":"null"}],"default":null,"title":"T"}`},
	{"allOf", `{"allOf":[{"$ref":"#/$defs/word"},{"maxLength":5}],"description":"mine"}`},
	{"allOf of objects", `{"allOf":[{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]},{"properties":{"b":{"type":"integer"}}}]}`},
	{"allOf of limits", `{"allOf":[{"type":"integer","minimum":1,"maximum":9},{"minimum":3,"maximum":20},{"enum":[1,3,5]},{"enum":[3,5,7]}]}`},
	{"allOf of one thing twice", `{"type":"string","allOf":[{"pattern":"^a","minLength":1},{"pattern":"b$","minLength":2},{"format":"date"},{"format":"time"}]}`},
	{"not", `{"type":"string","not":{"const":"a"}}`},
	{"if", `{"type":"object","properties":{"a":{"type":"string"}},"if":{"required":["a"]},"then":{"minProperties":2},"else":{"maxProperties":1}}`},
	{"format", `{"type":"string","format":"date-time"}`},
	{"format of one's own", `{"type":"string","format":"colour"}`},
	{"pattern and lengths", `{"type":"string","pattern":"^a","minLength":1,"maxLength":4}`},
	{"limits", `{"type":"integer","minimum":0,"exclusiveMaximum":10,"multipleOf":2}`},
	{"limits of draft 4", `{"type":"number","minimum":0,"exclusiveMinimum":true,"maximum":9,"exclusiveMaximum":false}`},
	{"array", `{"type":"array"}`},
	{"items", `{"type":"array","items":{"type":"integer"},"minItems":2,"maxItems":3,"uniqueItems":true}`},
	{"prefixItems", `{"type":"array","prefixItems":[{"type":"string"},{"type":"integer"}],"items":false}`},
	{"items of draft 7", `{"type":"array","items":[{"type":"string"}],"additionalItems":{"type":"integer"}}`},
	{"contains", `{"type":"array","items":{"type":"string"},"contains":{"const":"a"},"minContains":2}`},
	{"object", `{"type":"object"}`},
	{"properties", `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer"}},"required":["a","a"]}`},
	{"closed", `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}`},
	{"closed and empty", `{"type":"object","properties":{},"additionalProperties":false}`},
	{"map", `{"type":"object","additionalProperties":{"type":"string"}}`},
	{"an object where none may be", `{"anyOf":[{"type":"number"},{"type":"null"}],"properties":{"b":{"type":"boolean"}},` +
		`"patternProperties":{"^e":{"type":"boolean"}},"required":["e"],"additionalProperties":false}`},
	{"patternProperties", `{"type":"object","patternProperties":{"^x":{"type":"string"}},"additionalProperties":false}`},
	{"unevaluatedProperties", `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"unevaluatedProperties":false}`},
	{"propertyNames", `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"propertyNames":{"maxLength":3},"minProperties":1}`},
	{"dependentRequired", `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"dependentRequired":{"a":["b"]}}`},
	{"dependencies", `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"dependencies":{"a":["b"]}}`},
	{"required that is not described", `{"type":"object","properties":{"a":{"type":"string"}},"required":["a","z"]}`},
	{"a name of letters that few take", `{"type":"object","properties":{"a b":{"type":"string"},"c":{"type":"string"}},"required":["a b","c"],"additionalProperties":false}`},
	{"no type", `{"properties":{"a":{"type":"string"}},"required":["a"]}`},
}

const definitions = `"$defs":{"word":{"type":"string","minLength":1,"description":"a word"},` +
	`"tree":{"type":"object","properties":{"value":{"type":"string"},"leaves":{"type":"array","items":{"$ref":"#/$defs/tree"}}},` +
	`"required":["value","leaves"],"additionalProperties":false},"itself":{"$ref":"#/$defs/itself"},` +
	`"named":{"$anchor":"named","type":"boolean"},"own":{"$id":"https://example.org/own","type":"boolean"}},"definitions":{"old":{"type":"number"}}`

// tops are whole schemas.
var tops = [][2]string{
	{"no schema", ``},
	{"true", `true`},
	{"white space and order", "{ \"required\" : [ \"b\" ] ,\n \"properties\" : { \"b\" : { \"type\" : \"string\" } , \"a\" : { \"type\" : \"string\" } } }"},
	{"what is said of the schema", `{"$schema":"https://json-schema.org/draft/2020-12/schema","$id":"x","title":"T","description":"d","type":"object",` +
		`"properties":{"p":{"type":"string"}},"required":["p"],"additionalProperties":false}`},
	{
		"alternatives", `{"oneOf":[{"type":"object","properties":{"k":{"const":"a"},"x":{"type":"string"}},"required":["k","x"],"additionalProperties":false},` +
			`{"type":"object","properties":{"k":{"const":"b"},"y":{"type":"integer"}},"required":["k","y"],"additionalProperties":false}]}`,
	},
	{"alternatives beside properties", `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"anyOf":[{"required":["a"]},{"required":["b"]}]}`},
	{"one alternative", `{"anyOf":[{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}]}`},
	{"allOf", `{"type":"object","allOf":[{"properties":{"a":{"type":"string"}},"required":["a"]},{"properties":{"b":{"type":"string"}},"required":["b"]}]}`},
	{"$ref", `{"$ref":"#/$defs/o","$defs":{"o":{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}}}`},
	{"recursion to the top", `{"type":"object","properties":{"v":{"type":"string"},"next":{"anyOf":[{"$ref":"#"},{"type":"null"}]}},` +
		`"required":["v","next"],"additionalProperties":false}`},
	{"enum, not and if", `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"enum":[{"a":"b"}],"not":{"required":["z"]},` +
		`"if":{"required":["a"]},"then":{"minProperties":1}}`},
	{"another type", `{"type":"string"}`},
	{"false", `false`},
	{"an array", `[]`},
	{"no JSON", `{`},
	{"a key twice", `{"type":"object","type":"object"}`},
	{"a type that is none", `{"type":"object","properties":{"a":{"type":"text"}}}`},
	{"a schema that is none", `{"type":"object","properties":{"a":"string"}}`},
}

// testdata/forms.txt lists the form of each keyword for each vendor.
func TestForms(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	write := func(name, given string, part bool) {
		fmt.Fprintf(&b, "\n%s: %s\n", name, strings.Join(strings.Fields(given), " "))
		last := ""
		for _, vendor := range slices.Sorted(maps.Keys(vendors)) {
			schema := given
			if part {
				schema = `{"type":"object","properties":{"p":` + given + `},"required":["p"],"additionalProperties":false,` + definitions + `}`
			}
			form, problems := Form(json.RawMessage(schema), vendors[vendor])
			if form != nil {
				if err := conforms(form, vendors[vendor]); err != nil {
					t.Errorf("%s, %s: %v", name, vendor, err)
				}
			}
			line := string(form)
			var top struct {
				Properties map[string]json.RawMessage `json:"properties"`
				Defs       json.RawMessage            `json:"$defs"`
			}
			if part && form != nil {
				if err := json.Unmarshal(form, &top); err != nil {
					t.Fatal(err)
				}
				line = string(top.Properties["p"])
				if top.Defs != nil {
					line += " with " + string(top.Defs)
				}
			}
			for _, p := range problems {
				line += "\n    " + [...]string{"", "widened", "narrowed", "nulled", "fatal"}[p.Kind] + " " + p.At + " " + p.Keyword + ": " + string(p.Schema) + p.Text
			}
			if line == last {
				line = "the same"
			} else {
				last = line
			}
			fmt.Fprintf(&b, "  %s: %s\n", vendor, line)
		}
	}
	for _, k := range keywords {
		write(k[0], k[1], true)
	}
	for _, k := range tops {
		write("top: "+k[0], k[1], false)
	}
	file := filepath.Join("testdata", "forms.txt")
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), b.String()); d != "" {
		t.Error(d)
	}
}

func TestWords(t *testing.T) {
	t.Parallel()
	_, problems := Form(json.RawMessage(`{"type":"object","properties":{"a":{"type":"string","not":{"const":"x"}},"b":{"oneOf":[{"minimum":1},{"maxLength":2}]}},`+
		`"anyOf":[{"required":["a"]}],"oneOf":[{"required":["b"]},{"required":["a"]}],"not":{"$ref":"#/$defs/n"},"$defs":{"n":{"required":["z"]}}}`), NovaTools)
	want := `The input must also match this JSON schema: {"oneOf":[{"required":["b"]},{"required":["a"]}],"not":{"required":["z"]}}`
	if got := Words(problems); got != want {
		t.Errorf("%s\n%+v", got, problems)
	}
	_, problems = Form(json.RawMessage(`{"type":"object","properties":{"a":{"type":"string","maxLength":3,"not":{"const":"x"}},"b":{"oneOf":[{"type":"number"},{"type":"integer"}]}},`+
		`"additionalProperties":false}`), GeminiJSON)
	want = "These parts of its schema hold as well, each at its JSON pointer:\n/properties/a: {\"maxLength\":3}\n/properties/a: {\"not\":{\"const\":\"x\"}}\n" +
		"/properties/b: exactly one of the alternatives holds"
	if got := Words(problems); got != want {
		t.Errorf("%s\n%+v", got, problems)
	}
	if Words(nil) != "" {
		t.Error("there are words without problems")
	}
	many := `{"type":"object","properties":{`
	for i := range 200 {
		many += fmt.Sprintf(`"property_%d":{"type":"string","pattern":"^%s$"},`, i, strings.Repeat("a", 300))
	}
	_, problems = Form(json.RawMessage(many+`"z":{}}}`), GeminiJSON)
	if n := len(Words(problems)); n < 1000 || n > 5<<10 {
		t.Errorf("%d bytes of words", n)
	}
}

// Rewriting schemas that are built to become large takes little time and memory.
func TestHostileSchemas(t *testing.T) {
	t.Parallel()
	chain := `{"type":"object","properties":{"p":{"$ref":"#/$defs/n0"}},"$defs":{`
	for i := range 60 {
		chain += fmt.Sprintf(`"n%d":{"type":"object","properties":{"a":{"$ref":"#/$defs/n%d"},"b":{"$ref":"#/$defs/n%d"}}},`, i, i+1, i+1)
	}
	chain += `"n60":{"type":"string"}}}`
	wide := `{"type":"object","properties":{"p":{"$ref":"#/$defs/t"}},"$defs":{"t":{"type":"object","properties":{`
	for i := range 300 {
		wide += fmt.Sprintf(`"p%d":{"$ref":"#/$defs/t"},`, i)
	}
	wide += `"z":{}}}}}`
	folded := `{"type":"object","allOf":[{"$ref":"#/$defs/n0"}],"$defs":{`
	for i := range 60 {
		folded += fmt.Sprintf(`"n%d":{"allOf":[{"$ref":"#/$defs/n%d"},{"$ref":"#/$defs/n%d"}]},`, i, i+1, i+1)
	}
	folded += `"n60":{"properties":{"a":{"type":"string"}}}}}`
	product := strings.Repeat(`{"type":["string","array","object"],"description":"d","anyOf":[{"items":`, 12) + `{}` + strings.Repeat(`},{"type":"string"},{"type":["null","array"]}]}`, 12)
	same := `{"type":"object","properties":{`
	for i := range 9000 {
		same += fmt.Sprintf(`"p%d":{"$ref":"#/$defs/d/x%d/x"},`, i, i)
	}
	same += `"z":{}},"$defs":{"d":{`
	for i := range 9000 {
		same += fmt.Sprintf(`"x%d":{"x":{"type":"string"}},`, i)
	}
	same += `"z":{}}}}`
	played := vendors
	if race.On {
		// The race detector finds nothing in a single goroutine. `make test-long` runs the other vendors and the
		// large schemas without it.
		played = map[string]*Rules{"OpenAI output": OpenAIOutput}
	}
	for name, schema := range map[string]string{
		"a chain of references": chain, "a wide tree": wide, "a chain of allOf": folded,
		"alternatives of types": `{"type":"object","properties":{"p":` + product + `}}`,
		"deep":                  strings.Repeat(`{"type":"object","properties":{"a":`, 60) + `{}` + strings.Repeat(`}}`, 60),
		"too deep":              strings.Repeat(`{"not":`, 5000) + `{}` + strings.Repeat(`}`, 5000),
		"many alternatives":     `{"oneOf":[` + strings.Repeat(`{"properties":{"a":{"const":1}}},`, 4000) + `{}]}`,
		"many to merge":         `{"allOf":[` + strings.Repeat(`{"required":["a","b"],"properties":{"a":{}},"enum":[1,2]},`, 1500) + `{}]}`,
		"many values":           `{"properties":{"a":{"allOf":[{"enum":[` + strings.Repeat(`"a",`, 9000) + `1]},{"enum":[` + strings.Repeat(`"b",`, 9000) + `2]}]}}}`,
		"many definitions":      same,
		"large":                 `{"description":"` + strings.Repeat("a", 2<<20) + `"}`,
		"long":                  `{"properties":{"` + strings.Repeat("a", 400<<10) + `":{"minLength":7}}}`,
	} {
		if race.On && len(schema) > 8<<10 {
			continue
		}
		for vendor, rules := range played {
			// Takes milliseconds on an idle machine. Unbounded work would exceed go test's timeout.
			form, problems := Form(json.RawMessage(schema), rules)
			if len(form) > maxBytes {
				t.Errorf("%s, %s: %d bytes", name, vendor, len(form))
			}
			if form != nil {
				if err := conforms(form, rules); err != nil {
					t.Errorf("%s, %s: %v", name, vendor, err)
				}
			}
			if len(problems) > 2*maxProblems || len(Words(problems)) > 6<<10 {
				t.Errorf("%s, %s: %d problems", name, vendor, len(problems))
			}
		}
	}
}

// No input makes a form that the rules forbid, or two different forms.
func FuzzForm(f *testing.F) {
	for _, k := range keywords {
		f.Add([]byte(`{"type":"object","properties":{"p":` + k[1] + `},` + definitions + `}`))
	}
	for _, k := range tops {
		f.Add([]byte(k[1]))
	}
	f.Fuzz(func(t *testing.T, given []byte) {
		before := bytes.Clone(given)
		for vendor, rules := range vendors {
			form, problems := Form(given, rules)
			again, _ := Form(given, rules)
			if _, fatal := Worst(problems, Fatal); fatal != (form == nil) || !bytes.Equal(form, again) || !bytes.Equal(given, before) {
				t.Fatalf("%s: %s, then %s, %v", vendor, form, again, problems)
			}
			if form == nil {
				continue
			}
			if err := conforms(form, rules); err != nil {
				t.Fatalf("%s: %s: %v", vendor, form, err)
			}
		}
	})
}
