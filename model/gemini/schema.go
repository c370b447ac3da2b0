package gemini

import (
	"github.com/braidrun/braid/model/internal/schema"
)

// toolSchemas are the schemas of tools: as those of answers, but of an object, in
// whose properties the API sees the parameters (api/caching#FunctionDeclaration).
var toolSchemas = schemasOfObjects(schema.GeminiJSON)

func schemasOfObjects(r *schema.Rules) *schema.Rules {
	object := *r
	object.Object, object.NotTop = true, []string{"anyOf", "oneOf", "enum"}
	return &object
}
