// Package hostile holds JSON schemas that recurse, circle or multiply without end, for tests of
// every place that takes a schema.
package hostile

import (
	"fmt"
	"strings"
)

// Schema is a schema that no check could finish.
type Schema struct {
	// Name says what it does.
	Name string
	// Text is the schema, of an object.
	Text string
}

// Schemas lists the forms.
func Schemas() []Schema {
	object := func(name, rest string) Schema { return Schema{name, `{"type":"object",` + rest + `}`} }
	return []Schema{
		object("itself", `"$ref":"#"`),
		object("itself by allOf", `"allOf":[{"$ref":"#"}]`),
		object("itself by anyOf", `"anyOf":[{"$ref":"#"}]`),
		object("itself by oneOf", `"oneOf":[{"type":"string"},{"$ref":"#"}]`),
		object("itself by not", `"not":{"$ref":"#"}`),
		object("itself by if", `"if":{"$ref":"#"}`),
		object("itself by then", `"if":{},"then":{"$ref":"#"}`),
		object("a ring of two", `"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}`),
		object("itself by $dynamicRef", `"$dynamicAnchor":"x","allOf":[{"$dynamicRef":"#x"}]`),
		object("itself by $recursiveRef", `"$recursiveAnchor":true,"allOf":[{"$recursiveRef":"#"}]`),
		object("its $id", `"$id":"https://example.com/s","allOf":[{"$ref":"https://example.com/s"}]`),
		object("a ring of urns", `"allOf":[{"$ref":"urn:a"}],"$defs":{"a":{"$id":"urn:a","$ref":"urn:b"},"b":{"$id":"urn:b","$ref":"urn:a"}}`),
		object("its $anchor", `"$anchor":"me","allOf":[{"$ref":"#me"}]`),
		object("itself by dependentSchemas", `"dependentSchemas":{"n":{"$ref":"#"}}`),
		{"itself by dependencies", `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","dependencies":{"n":{"$ref":"#"}}}`},
		object("a ring below a property", `"properties":{"n":{"$ref":"#/$defs/a"}},"$defs":{"a":{"anyOf":[{"$ref":"#/$defs/a"}]}}`),
		doubling("doubling 40 by allOf", 40, `{"allOf":[%s,%s]}`),
		doubling("doubling 60 by allOf", 60, `{"allOf":[%s,%s]}`),
		doubling("doubling 40 by anyOf", 40, `{"anyOf":[%s,%s]}`),
		doubling("doubling 40 by oneOf", 40, `{"oneOf":[%s,%s]}`),
		doubling("doubling 40 by not and if", 40, `{"not":%s,"if":%s}`),
		object("nested deep", `"properties":{"n":`+strings.Repeat(`{"not":`, 400)+`{}`+strings.Repeat("}", 400)+"}"),
		object("a large regular expression", `"properties":{"n":{"pattern":"(abcdefghijklmnopqrstuvwxyz){999}"}}`),
		object("URIs that multiply", `"$id":"http://h.test/`+strings.Repeat("x", 20_000)+`/","allOf":[{}`+strings.Repeat(`,{"$id":"a"}`, 1000)+`]`),
		object("a number without end", `"properties":{"n":{"multipleOf":1e999999999}}`),
	}
}

// doubling is a schema each level of which holds the level below twice.
func doubling(name string, levels int, form string) Schema {
	var b strings.Builder
	fmt.Fprintf(&b, `{"type":"object","allOf":[{"$ref":"#/$defs/a%d"}],"$defs":{"a0":{}`, levels)
	for i := 1; i <= levels; i++ {
		below := fmt.Sprintf(`{"$ref":"#/$defs/a%d"}`, i-1)
		fmt.Fprintf(&b, `,"a%d":`+form, i, below, below)
	}
	b.WriteString("}}")
	return Schema{name, b.String()}
}
