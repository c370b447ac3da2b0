package gemini

import "github.com/braidrun/braid/model/internal/schema"

// toolSchemas are the rules for tools: the rules for answers, applied to an object whose properties are the
// parameters (api/caching#FunctionDeclaration).
var toolSchemas = schemasOfObjects(schema.GeminiJSON)

func schemasOfObjects(r *schema.Rules) *schema.Rules {
	object := *r
	object.Object, object.NotTop = true, []string{"anyOf", "oneOf", "enum"}
	return &object
}

// place returns a JSON pointer for an error message.
func place(at string) string {
	if at == "" {
		return "its top"
	}
	return at
}
