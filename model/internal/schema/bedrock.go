package schema

// BedrockTools are the common rules of the vendors behind Converse: the schema of an object with
// references resolved, without alternatives at the top.
var BedrockTools = &Rules{
	NotTop: []string{"oneOf", "anyOf", "allOf", "enum", "const", "not"},
	Object: true,
}

// NovaTools are the rules of Amazon's Nova: only type, properties and required at the top (docs:
// nova/latest/userguide/tool-use-definition).
var NovaTools = &Rules{
	Top:    []string{"type", "properties", "required"},
	Object: true,
}
