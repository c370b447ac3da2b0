package schema

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"
)

// usual is a typical schema of a tool.
const usual = `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"query":{"type":"string","description":"What to look for."},` +
	`"limit":{"type":"integer","minimum":1,"maximum":100,"default":10},"order":{"enum":["new","old"]},"filter":{"$ref":"#/$defs/filter"},` +
	`"tags":{"type":"array","items":{"type":"string"}},"since":{"anyOf":[{"type":"string","format":"date-time"},{"type":"null"}]}},` +
	`"required":["query"],"additionalProperties":false,"$defs":{"filter":{"type":"object","properties":{"kind":{"type":"string"},` +
	`"not":{"$ref":"#/$defs/filter"}},"additionalProperties":false}}}`

// BenchmarkForm measures rewriting a schema for its first request.
func BenchmarkForm(b *testing.B) {
	for _, vendor := range slices.Sorted(maps.Keys(vendors)) {
		b.Run(vendor, func(b *testing.B) {
			b.ReportAllocs()
			for range b.N {
				Form(json.RawMessage(usual), vendors[vendor])
			}
		})
	}
}

// BenchmarkKeptForm measures looking up a cached form.
func BenchmarkKeptForm(b *testing.B) {
	b.ReportAllocs()
	var k Forms
	schema := json.RawMessage(usual)
	for range b.N {
		k.Form(schema, OpenAITools)
	}
}
