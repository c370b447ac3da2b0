package schema

// BedrockTools is what the vendors behind Converse take alike: the schema of an
// object whose references have been put in place, without alternatives at its top.
var BedrockTools = &Rules{
	NotTop: []string{"oneOf", "anyOf", "allOf", "enum", "const", "not"},
	Object: true,
}

// NovaTools is what Amazon's Nova takes: at the top type, properties and required
// alone (docs: nova/latest/userguide/tool-use-definition).
var NovaTools = &Rules{
	Top:    []string{"type", "properties", "required"},
	Object: true,
}
