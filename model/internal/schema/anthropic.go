package schema

import (
	"slices"

	"github.com/braidrun/braid/internal/lazyre"
)

// AnthropicTools are Anthropic's rules for a tool's input_schema: JSON Schema 2020-12 of an object,
// without alternatives at the top, and with a pattern for property names (docs:
// agents-and-tools/tool-use, and the API's error messages).
var AnthropicTools = &Rules{
	NotTop: []string{"oneOf", "anyOf", "allOf"},
	Object: true,
	Refs:   true,
	Name:   lazyre.New(`^[a-zA-Z0-9_.-]{1,64}$`),
}

// AnthropicOutput are its rules for an output schema (docs: build-with-claude/structured-outputs,
// "JSON Schema limitations").
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

// AnthropicStrictTools are its rules for the input_schema of a strict tool: those of an output
// schema for an object (docs: agents-and-tools/tool-use/strict-tool-use).
var AnthropicStrictTools = func() *Rules {
	r := *AnthropicOutput
	r.NotTop, r.Object, r.Name = AnthropicTools.NotTop, true, AnthropicTools.Name
	return &r
}()
