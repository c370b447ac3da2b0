package schema

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"
)

// usual is a tool's schema as people write them.
const usual = `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"query":{"type":"string","description":"What to look for."},` +
	`"limit":{"type":"integer","minimum":1,"maximum":100,"default":10},"order":{"enum":["new","old"]},"filter":{"$ref":"#/$defs/filter"},` +
	`"tags":{"type":"array","items":{"type":"string"}},"since":{"anyOf":[{"type":"string","format":"date-time"},{"type":"null"}]}},` +
	`"required":["query"],"additionalProperties":false,"$defs":{"filter":{"type":"object","properties":{"kind":{"type":"string"},` +
	`"not":{"$ref":"#/$defs/filter"}},"additionalProperties":false}}}`

// BenchmarkForm is what a schema costs when it is first sent.
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

// BenchmarkKeptForm is what it costs from then on.
func BenchmarkKeptForm(b *testing.B) {
	b.ReportAllocs()
	var k Forms
	schema := json.RawMessage(usual)
	for range b.N {
		k.Form(schema, OpenAITools)
	}
}
