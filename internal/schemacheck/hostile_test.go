package schemacheck

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// doubling is a schema of which each level holds the one below twice.
func doubling(levels int, how string) string {
	var b strings.Builder
	b.WriteString(`{"$ref":"#/$defs/a` + fmt.Sprint(levels) + `","$defs":{"a0":{}`)
	for i := 1; i <= levels; i++ {
		ref := fmt.Sprintf(`{"$ref":"#/$defs/a%d"}`, i-1)
		fmt.Fprintf(&b, `,"a%d":`+how, i, ref, ref)
	}
	b.WriteString("}}")
	return b.String()
}

// Schemas that no check could finish are refused when they are compiled.
func TestHostileSchemasAreRefused(t *testing.T) {
	t.Parallel()
	const endless, multiplies = "refers to itself without end", "multiply"
	chain := `{"$ref":"#/$defs/a0","$defs":{`
	for i := range 3000 {
		chain += fmt.Sprintf(`"a%d":{"$ref":"#/$defs/a%d"},`, i, i+1)
	}
	chain += `"a3000":{}}}`
	var anchors strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&anchors, `,"d%d":{"$dynamicAnchor":"x"}`, i)
	}
	for _, c := range []struct{ name, schema, want string }{
		{"itself", `{"$ref":"#"}`, endless},
		{"allOf", `{"allOf":[{"$ref":"#"}]}`, endless},
		{"anyOf", `{"anyOf":[{"type":"string"},{"$ref":"#"}]}`, endless},
		{"oneOf", `{"oneOf":[{"$ref":"#"}]}`, endless},
		{"not", `{"not":{"$ref":"#"}}`, endless},
		{"if", `{"if":{"$ref":"#"}}`, endless},
		{"then", `{"if":{},"then":{"$ref":"#"}}`, endless},
		{"else", `{"if":false,"else":{"$ref":"#"}}`, endless},
		{"a ring of two", `{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}`, endless},
		{"dynamic", `{"$dynamicAnchor":"x","$dynamicRef":"#x"}`, endless},
		{"dynamic, by another's anchor", `{"$id":"urn:a","allOf":[{"$ref":"urn:b"}],"$dynamicAnchor":"x",` +
			`"$defs":{"b":{"$id":"urn:b","allOf":[{"$dynamicRef":"#x"}],"$defs":{"c":{"$dynamicAnchor":"x"}}}}}`, endless},
		{"recursive", `{"$recursiveAnchor":true,"$recursiveRef":"#"}`, endless},
		{"an id", `{"$id":"https://example.com/s","$ref":"https://example.com/s"}`, endless},
		{"a relative id", `{"$id":"https://example.com/s","allOf":[{"$ref":"s"}]}`, endless},
		{"a ring of urns", `{"$ref":"urn:a","$defs":{"a":{"$id":"urn:a","$ref":"urn:b"},"b":{"$id":"urn:b","$ref":"urn:a"}}}`, endless},
		{"an anchor", `{"$anchor":"me","$ref":"#me"}`, endless},
		{"dependentSchemas", `{"dependentSchemas":{"a":{"$ref":"#"}}}`, endless},
		{"dependencies", `{"$schema":"http://json-schema.org/draft-07/schema#","dependencies":{"a":{"$ref":"#"}}}`, endless},
		{"below a property", `{"properties":{"a":{"$ref":"#/properties/a"}}}`, endless},
		{"in an unknown keyword", `{"$ref":"#/x/y","x":{"y":{"$ref":"#/x/y"}}}`, endless},
		{"doubling 20", doubling(20, `{"allOf":[%s,%s]}`), multiplies},
		{"doubling 40", doubling(40, `{"allOf":[%s,%s]}`), multiplies},
		{"doubling 60", doubling(60, `{"anyOf":[%s,%s]}`), multiplies},
		{"doubling by oneOf", doubling(40, `{"oneOf":[%s,%s]}`), multiplies},
		{"doubling by not and if", doubling(40, `{"not":%s,"if":%s}`), multiplies},
		{"a long chain", chain, "lead on"},
		{"deep", strings.Repeat(`{"not":`, 5000) + "{}" + strings.Repeat("}", 5000), "too deep"},
		{"deep properties", strings.Repeat(`{"properties":{"a":`, 5000) + "{}" + strings.Repeat("}}", 5000), "too deep"},
		{"large", `{"description":"` + strings.Repeat("x", 2<<20) + `"}`, "1 MiB"},
		{"many parts", `{"enum":[0` + strings.Repeat(",0", 60_000) + `]}`, "too many parts"},
		{"repeats of repeats", `{"pattern":"((((a{1,10}){1,10}){1,10}){1,10}){1,10}"}`, "regular expression"},
		{"a large repeat", `{"pattern":"(abcdefghijklmnop){900}"}`, "regular expression is too large"},
		{"many large expressions", `{"allOf":[{"pattern":"a{900}"}` + strings.Repeat(`,{"pattern":"(ab){900}c"}`, 100) + `]}`, "regular expression is too large"},
		{"ids that are resolved against a long one", `{"$id":"http://h.example/` + strings.Repeat("x", 400_000) + `/","allOf":[{}` + strings.Repeat(`,{"$id":"a"}`, 1000) + `]}`, "URIs of the schema are too long"},
		{"ids that grow with each level", strings.Repeat(`{"$id":"`+strings.Repeat("x", 99)+`/","not":`, 50) + `{}` + strings.Repeat("}", 50), "URIs of the schema are too long"},
		{"very many ids", `{"$id":"http://h.example/` + strings.Repeat("x", 900) + `/","allOf":[{}` + strings.Repeat(`,{"$id":"a"}`, 2000) + `]}`, "URIs of the schema are too long"},
		{"a long reference", `{"$ref":"http://h.example/` + strings.Repeat("x", 400_000) + `"}`, "nothing is fetched"},
		{"many references to many anchors", `{"allOf":[{}` + strings.Repeat(`,{"items":{"$dynamicRef":"#x"}}`, 5000) + `],"$defs":{"a":{}` + anchors.String() + `}}`, "references multiply"},
		{"no expression", `{"pattern":"("}`, "none that RE2 knows"},
		{"a large limit", `{"maximum":1e999999999}`, "64 bits"},
		{"a large divisor", `{"multipleOf":1e999999999}`, "64 bits"},
		{"a large length", `{"minLength":1e300}`, "whole number"},
		{"elsewhere", `{"$ref":"http://127.0.0.1:1/s.json"}`, "nothing is fetched"},
		{"a file", `{"$ref":"file:///etc/passwd"}`, "nothing is fetched"},
		{"nowhere", `{"$ref":"#/$defs/a"}`, "names nothing"},
		{"twice", `{"type":"object","type":"string"}`, "one way only"},
		{"an unknown type", `{"type":"any"}`, "no type"},
		{"a list", `[]`, "an object or true or false"},
		{"properties that are a list", `{"properties":[]}`, "object of schemas"},
		{"nothing", ``, "no JSON"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := Compile([]byte(c.schema))
			var refusal *Refusal
			if !errors.As(err, &refusal) || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("the schema is refused with %v, want %q", err, c.want)
			}
			if len(err.Error()) > 700 {
				t.Errorf("the error has %d bytes", len(err.Error()))
			}
		})
	}
}

// nested is an object in an object, and so on, under one key.
func nested(levels int) string {
	return strings.Repeat(`{"a":`, levels) + `1` + strings.Repeat(`}`, levels)
}

// A value that costs too much is told from one that is valid or not, after a bounded number of steps.
func TestACheckIsBounded(t *testing.T) {
	t.Parallel()
	long := `"` + strings.Repeat("ab", 1<<20) + `"`
	numbers := make([]int, 200_000)
	for i := range numbers {
		numbers[i] = i
	}
	list, _ := json.Marshal(numbers)
	for _, c := range []struct {
		name, schema, value string
		want                error
	}{
		{"each level twice, by a reference", `{"properties":{"a":{"allOf":[{"$ref":"#"},{"$ref":"#"}]}}}`, nested(400), nil},
		{"each level twice, by a dynamic one", `{"$dynamicAnchor":"n","properties":{"a":{"allOf":[{"$dynamicRef":"#n"},{"$dynamicRef":"#n"}]}}}`, nested(400), ErrBudget},
		{"a large expression and a long text", `{"pattern":"(a|b){900}c"}`, long, ErrBudget},
		{"a small expression and a long text", `{"pattern":"^[ab]*$"}`, long, nil},
		{"many equal items", `{"uniqueItems":true}`, "[" + strings.Repeat(`"",`, 1000) + `""]`, errMisfit},
		{"many different items", `{"uniqueItems":true}`, string(list), nil},
		{"many values in an enum", `{"items":{"enum":` + string(list[:100_000]) + `0]}}`, string(list), ErrBudget},
		{"many required names", `{"items":{"required":["x"` + strings.Repeat(`,"y"`, 30_000) + `]}}`, "[" + strings.Repeat("{},", 1000) + "{}]", errMisfit},
		{"many parts", `{}`, "[0" + strings.Repeat(",0", 300_000) + "]", ErrBudget},
		{"a large number", `{"multipleOf":0.1}`, `1e999999999`, errMisfit},
		{"a number of many digits", `{"multipleOf":0.1}`, "1" + strings.Repeat("0", 1<<20), errMisfit},
		{"division by nothing", `{"multipleOf":0}`, `1`, errMisfit},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s, err := Compile([]byte(c.schema))
			if err != nil {
				t.Fatal(err)
			}
			err = s.Check(nil, []byte(c.value))
			var m *Misfit
			switch {
			case errors.As(err, &m) && c.want == errMisfit:
				if len(m.Error()) > 700 {
					t.Errorf("the error has %d bytes", len(m.Error()))
				}
			case !errors.Is(err, c.want):
				t.Errorf("%v, want %v", err, c.want)
			}
		})
	}
}

var errMisfit = errors.New("a misfit")

// A check that is under way ends when its caller does not wait any more.
func TestACheckStops(t *testing.T) {
	t.Parallel()
	s, err := Compile([]byte(`{"$dynamicAnchor":"n","properties":{"a":{"allOf":[{"$dynamicRef":"#n"},{"$dynamicRef":"#n"}]}}}`))
	if err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	close(stop)
	if err := s.Check(stop, []byte(nested(400))); !errors.Is(err, ErrStopped) {
		t.Errorf("after the stop: %v", err)
	}
}

// Schemas that refer to themselves for what is in the value work as ever.
func TestRecursionIntoTheValue(t *testing.T) {
	t.Parallel()
	const tree = `{"type":"object","required":["name"],"properties":{"name":{"type":"string"},"children":{"type":"array","items":{"$ref":"#"}}}}`
	const expression = `{"$ref":"#/$defs/e","$defs":{"e":{"oneOf":[{"type":"number"},` +
		`{"type":"object","required":["op"],"properties":{"op":{"const":"add"},"l":{"$ref":"#/$defs/e"},"r":{"$ref":"#/$defs/e"}}},` +
		`{"type":"object","required":["op"],"properties":{"l":{"$ref":"#/$defs/e"},"r":{"$ref":"#/$defs/e"},"op":{"const":"mul"}}}]}}}`
	deep, sum := `{"name":"leaf"}`, `1`
	for range 200 {
		deep = `{"name":"n","children":[` + deep + `]}`
	}
	for range 100 {
		sum = `{"l":` + sum + `,"r":2,"op":"mul"}`
	}
	for _, c := range []struct{ schema, value, want string }{
		{tree, deep, ""},
		{tree, strings.Replace(deep, `"leaf"`, `1`, 1), `type: 1 has type "integer", want "string"`},
		{tree, `{"name":"a","children":[{"name":"b"},{"children":[]}]}`, `children[1]: required: missing properties: "name"`},
		{expression, sum, ""},
		{expression, `{"op":"pow"}`, `oneOf: an object fits none of the alternatives: type: an object has type "object", want "number"; op: const: pow is not add; op: const: pow is not mul`},
		{`{"anyOf":[{"type":"null"},{"properties":{"next":{"$ref":"#"}}}]}`, `{"next":{"next":null}}`, ""},
		{doubling(12, `{"allOf":[%s,%s]}`), `1`, ""},
	} {
		s, err := Compile([]byte(c.schema))
		if err != nil {
			t.Fatal(err)
		}
		text := ""
		if err := s.Check(nil, []byte(c.value)); err != nil {
			text = err.Error()
		}
		if c.want == "" && text != "" || !strings.HasSuffix(text, c.want) {
			t.Errorf("%s: %q, want %q", clip(c.value, 80), text, c.want)
		}
	}
}
