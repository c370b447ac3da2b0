package model

import "encoding/json"

// Options are the settings of a call that providers share. A zero value leaves a setting
// to the provider. A provider that cannot keep a setting refuses the request with
// event.ErrUnsupported, before anything is sent ([Checker]).
type Options struct {
	// MaxTokens bounds the answer.
	MaxTokens int
	// Temperature is nil for the provider's default.
	Temperature *float64
	// TopP is the share of probability that tokens are drawn from: above 0, at most 1.
	TopP *float64
	// Seed asks for the same answer to the same request, as far as the provider can.
	Seed      *int64
	StopWords []string
	// Thinking is the token budget for reasoning. Providers that know efforts alone
	// take the effort next to it.
	Thinking int
	// Effort is how hard the model tries. It takes precedence over Thinking.
	Effort Effort
	// ShowThinking asks for readable reasoning. Unlike the other settings it is a wish: a
	// model that shows none answers without.
	ShowThinking bool
	// Verbosity is how long answers are: "low", "medium" or "high".
	Verbosity string
	// ServiceTier is the provider's word for how fast and at which price it answers.
	ServiceTier string
	// ServerTools are tools that the provider runs itself.
	ServerTools []ServerTool
	// Context asks the provider to shorten long conversations itself.
	Context ContextManagement
	// Extra are members for the body of each request that Braid has no setting for. A
	// member that Braid writes itself cannot be named (event.ErrInvalid).
	Extra map[string]json.RawMessage
	// Headers are header fields for each request. Credentials and fields that Braid writes
	// itself cannot be named (event.ErrInvalid).
	Headers map[string]string
}

// Effort is how hard a model tries. Providers take their own words beside these, such as
// "minimal" and "xhigh".
type Effort string

// The efforts that every provider maps to its own settings.
const (
	// EffortDefault leaves the effort to the provider.
	EffortDefault Effort = ""
	// EffortNone answers without reasoning.
	EffortNone   Effort = "none"
	EffortLow    Effort = "low"
	EffortMedium Effort = "medium"
	EffortHigh   Effort = "high"
	// EffortMax is the most that the model has.
	EffortMax Effort = "max"
)

// ServerToolKind names a tool that providers run.
type ServerToolKind string

// The kinds of server-side tools. A provider that has no such tool refuses the request
// with event.ErrUnsupported.
const (
	WebSearch     ServerToolKind = "web_search"
	WebFetch      ServerToolKind = "web_fetch"
	CodeExecution ServerToolKind = "code_execution"
	FileSearch    ServerToolKind = "file_search"
	// RemoteMCP lets the provider call the tools of an MCP server.
	RemoteMCP ServerToolKind = "mcp"
)

// ServerTool is a tool that the provider runs during a call. Its calls and results stand
// in the answer as blocks of the provider (event.UnknownBlock, event.Code,
// event.CodeResult, event.Citation) and go back with the history.
type ServerTool struct {
	Kind ServerToolKind
	// MaxUses bounds the tool's uses in one call; 0 is the provider's default.
	MaxUses int
	// Domains are the only hosts that WebSearch and WebFetch may use, Blocked those that
	// they may not. At most one of the two is set.
	Domains, Blocked []string
	// Stores are the vector stores of FileSearch, by the provider's ids.
	Stores []string
	// Name and URL are those of the MCP server.
	Name, URL string
	// Tools are the tools of the MCP server that may be called; nil is all.
	Tools []string
	// Token gives the credential for the MCP server; nil is none. It is a function so that
	// nothing prints or records it. It is safe for concurrent use.
	Token func() string `json:"-"`
}

// ContextManagement asks a provider to shorten long conversations itself. Its zero value
// asks for nothing.
type ContextManagement struct {
	// ClearResults drops old tool results at the provider once the prompt has more tokens
	// than this; 0 is never.
	ClearResults int
	// KeepResults is how many of the newest tool results are kept; 0 is the provider's default.
	KeepResults int
	// Compact has the provider summarise once the prompt has more tokens than this; 0 is never.
	Compact int
	// Truncate has the provider drop what does not fit, instead of refusing the request.
	Truncate bool
}

// Any reports whether anything is asked for.
func (c ContextManagement) Any() bool { return c != ContextManagement{} }

// Setup is the system prompt and the tools that a part of a conversation was answered
// under. See [Request].Setups.
type Setup struct {
	// From is the index in [Request].Messages from which on the setup holds.
	From         int
	Instructions string
	Tools        []ToolSpec
}
