package schema

import (
	"slices"

	"github.com/braidrun/braid/internal/lazyre"
)

// AnthropicTools is what Anthropic takes as a tool's input_schema: JSON Schema
// 2020-12 of an object, without alternatives at its top, and with property names of
// one pattern (docs: agents-and-tools/tool-use, and what the API says when it
// refuses one).
var AnthropicTools = &Rules{
	NotTop: []string{"oneOf", "anyOf", "allOf"},
	Object: true,
	Refs:   true,
	Name:   lazyre.New(`^[a-zA-Z0-9_.-]{1,64}$`),
}

// AnthropicOutput is what it takes as the schema of an answer (docs:
// build-with-claude/structured-outputs, "JSON Schema limitations").
var AnthropicOutput = &Rules{
	Keywords: slices.Concat(strictWords, []string{
		"title", "description", "default", "format", "pattern", "minItems", "additionalProperties",
	}),
	Formats:     []string{"date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"},
	Closed:      true,
	Typed:       true,
	Enum:        Scalars,
	MaxMinItems: 1,
}

// AnthropicStrictTools is what it takes as the input_schema of a tool that is strict: what it
// takes for an answer, of an object (docs: agents-and-tools/tool-use/strict-tool-use).
var AnthropicStrictTools = func() *Rules {
	r := *AnthropicOutput
	r.NotTop, r.Object, r.Name = AnthropicTools.NotTop, true, AnthropicTools.Name
	return &r
}()
