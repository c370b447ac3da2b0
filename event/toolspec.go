package event

import "encoding/json"

// ToolSpec describes a tool to a model. It is no event: it stands here because the packages model and tool share it, and
// neither imports the other. They name it model.ToolSpec and tool.Spec.
type ToolSpec struct {
	Name        string
	Description string
	// Schema is the JSON schema of the arguments: an object.
	Schema json.RawMessage
	// Strict asks the provider to hold the arguments to the schema. A schema that the
	// provider cannot be held to is an error of kind [ErrUnsupported].
	Strict bool
}
