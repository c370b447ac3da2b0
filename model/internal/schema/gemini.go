package schema

import "slices"

// GeminiOpenAPI are Gemini's rules for parameters and responseSchema: its Schema, a part of OpenAPI
// 3.0 (ai.google.dev/api/caching#Schema).
var GeminiOpenAPI = &Rules{
	Keywords: []string{
		"type", "format", "title", "description", "nullable", "enum", "maxItems", "minItems", "properties", "required", "minProperties",
		"maxProperties", "minLength", "maxLength", "pattern", "anyOf", "propertyOrdering", "items", "minimum", "maximum",
	},
	NotTop:   []string{"anyOf", "enum"},
	Object:   true,
	Formats:  []string{"date-time", "enum", "float", "double", "int32", "int64"},
	Alone:    []string{"anyOf"},
	OneType:  true,
	Nullable: true,
	Typed:    true,
	Defined:  true,
	Items:    true,
	Enum:     Strings,
	Anything: `{"anyOf":[{"type":"string"},{"type":"number"},{"type":"boolean"}]}`,
	Hollow:   `{"type":"string","description":"a JSON object, as text"}`,
}

// GeminiJSON are its rules for parametersJsonSchema and responseJsonSchema
// (ai.google.dev/api/generate-content, responseJsonSchema).
var GeminiJSON = &Rules{
	Keywords: slices.Concat(strictWords[:5], []string{
		"anyOf", "title", "description", "format", "prefixItems", "minItems", "maxItems", "minimum", "maximum", "additionalProperties",
		"propertyOrdering",
	}),
	Enum:    StringsAndNumbers,
	Defined: true,
}
