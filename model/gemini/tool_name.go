package gemini

import "github.com/braidrun/braid/model/internal/toolname"

// toolNames is the API's rule for the names of functions (api/caching#FunctionDeclaration). The API also allows dots
// and colons, but this rule does not: the API itself uses them for a namespace in front of the name.
var toolNames = toolname.Rule{Max: 64, Hyphen: true, Letter: true}
