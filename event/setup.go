package event

// Setup records the system prompt and the tools under which a scope's next answers are
// given, for models that take changes of both inside a conversation. It is for the loop and
// for operators ([Operator]); no client is sent it.
//
// It says how they differ from those of the last Setup of the same agent (the event's
// author) before it. The first one of a session, and the first one behind a [Compacted] of
// the root agent's scope, differs from nothing and holds all.
//
//event:body setup erased
type Setup struct {
	// Hidden says that what is in force from here on is not recorded, or was redacted. The
	// next Setup of the agent differs from nothing.
	Hidden bool `json:"hidden,omitempty" redacted:"true"`
	// Base says that the setups before it do not count any more: it holds from the scope's
	// first message on.
	Base bool `json:"base,omitempty" redacted:"drop"`
	// Head and Tail are how many bytes of the earlier system prompt stay at its beginning and
	// at its end. Text stands between them.
	Head int    `json:"head,omitempty" redacted:"drop"`
	Tail int    `json:"tail,omitempty" redacted:"drop"`
	Text string `json:"text,omitempty" redacted:"drop"`
	// First and Last are how many of the earlier tools stay at the beginning and at the end.
	// Tools stand between them.
	First int         `json:"first,omitempty" redacted:"drop"`
	Last  int         `json:"last,omitempty"  redacted:"drop"`
	Tools []SetupTool `json:"tools,omitempty" redacted:"drop"`
}

// SetupTool is a tool as a model is told of it. Schema is the text of a JSON schema, whose
// bytes count: a provider compares them.
type SetupTool struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Schema      string `json:"schema,omitempty"`
	Strict      bool   `json:"strict,omitempty"`
}

// Bytes is how much text the body holds.
func (b *Setup) Bytes() int { return b.size() }
