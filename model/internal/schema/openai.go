package schema

import "slices"

// OpenAITools are OpenAI's rules for the parameters of a function that is not strict (docs/guides/function-calling):
// any JSON schema of an object, except some keywords at the top. Arrays must describe their items.
var OpenAITools = &Rules{
	NotTop: []string{"oneOf", "anyOf", "allOf", "enum", "const", "not"},
	Object: true,
	Refs:   true,
	Items:  true,
}

// OpenAIOutput are its rules for a strict schema, of an answer or of a function (docs/guides/structured-outputs,
// "supported schemas").
var OpenAIOutput = &Rules{
	Keywords: slices.Concat(strictWords, []string{
		"$ref", "title", "description", "pattern", "format", "multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
		"minItems", "maxItems", "additionalProperties",
	}),
	NotTop:   []string{"anyOf", "enum", "const"},
	Object:   true,
	Formats:  []string{"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"},
	Refs:     true,
	Alone:    []string{"$ref"},
	Typed:    true,
	Closed:   true,
	Complete: true,
	Items:    true,
	Enum:     Scalars,
	Limits:   Limits{Objects: 10, Properties: 5000, Enums: 1000, Letters: 120_000},
}

// strictWords are the keywords that every vendor with output schemas accepts.
var strictWords = []string{"type", "properties", "required", "items", "enum", "const", "anyOf"}
