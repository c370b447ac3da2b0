package bedrock

import "github.com/braidrun/braid/internal/lazyre"

const op = "model bedrock"

// names matches models, inference profiles and the ARNs of both.
var names = lazyre.New(`^[A-Za-z0-9][A-Za-z0-9._:/-]*$`)

// longest is the API's bound for the length of an id.
const longest = 2048

// The default model, and environment variables. This package reads neither variable.
const (
	// Default is the model for users who have credentials and name no model. Its
	// profile is global: it works in every region.
	Default = "global.anthropic.claude-sonnet-4-6"
	// KeyVariable usually holds a Bedrock API key, and RegionVariable the region. The
	// other AWS credentials have their own variables.
	KeyVariable    = "AWS_BEARER_TOKEN_BEDROCK"
	RegionVariable = "AWS_REGION"
)

// own is the prefix of block kinds that only this vendor has, and of signatures of models other
// than Claude. Both are sent back unchanged.
const own = "bedrock."

// noTool is the name of a placeholder tool. The API requires a tool definition if the history
// has a call. A call of it is dropped.
const noTool = "no_tool_here"
