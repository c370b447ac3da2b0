package gemini

import (
	"github.com/braidrun/braid/internal/schemaform"
)

// toolSchemas are the schemas of tools: as those of answers, but of an object, in
// whose properties the API sees the parameters (api/caching#FunctionDeclaration).
var toolSchemas = schemasOfObjects(schemaform.GeminiJSON)

func schemasOfObjects(r *schemaform.Rules) *schemaform.Rules {
	object := *r
	object.Object, object.NotTop = true, []string{"anyOf", "oneOf", "enum"}
	return &object
}
