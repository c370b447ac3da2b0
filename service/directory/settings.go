package directory

// Settings are settings of model calls. An agent's unset settings come from its model's entry, and
// those from the server. The model decides whether it supports a setting: [event.ErrUnsupported]
// before a run begins.
//
// They do not contain fields of the request's body or headers: these could carry a credential, or
// reach another service in the operator's name.
type Settings struct {
	// Effort is the reasoning effort: none, low, medium, high, max, or the vendor's own word.
	Effort string `json:"effort,omitempty"`
	// ShowThinking requests readable reasoning. A model that shows none ignores it.
	ShowThinking *bool `json:"show_thinking,omitempty"`
	// TopP is the nucleus of probability to sample from: above 0, at most 1.
	TopP *float64 `json:"top_p,omitempty"`
	// Seed requests the same answer to the same request, as far as the provider can.
	Seed *int64 `json:"seed,omitempty"`
	// Verbosity is the length of answers: low, medium or high.
	Verbosity string `json:"verbosity,omitempty"`
	// ServiceTier is the provider's word for a speed and price of its answers.
	ServiceTier string `json:"service_tier,omitempty"`
	// ServerTools are tools that the provider runs. nil means the defaults, an empty list means
	// none.
	ServerTools []ServerTool `json:"server_tools,omitzero"`
}

// These are the kinds of tools that providers run. MCP servers are not among them: Braid would not
// be between such a server and the conversation, and could not store its credential. An operator
// can name one for the server's own model.
const (
	WebSearch     = "web_search"
	WebFetch      = "web_fetch"
	CodeExecution = "code_execution"
	FileSearch    = "file_search"
)

// ServerTool is a tool that the provider runs.
type ServerTool struct {
	// Kind is web_search, web_fetch, code_execution or file_search.
	Kind string `json:"kind"`
	// MaxUses bounds the tool's uses in one call. 0 means the provider's default.
	MaxUses int `json:"max_uses,omitempty"`
	// Domains are the only hosts that web_search and web_fetch may use. It excludes Blocked.
	Domains []string `json:"domains,omitempty"`
	// Blocked are the hosts that they may not use. It excludes Domains.
	Blocked []string `json:"blocked,omitempty"`
	// Stores are what file_search searches, by the provider's ids.
	Stores []string `json:"stores,omitempty"`
}

// Over returns the settings with unset fields taken from below.
func (s Settings) Over(below Settings) Settings {
	if s.Effort == "" {
		s.Effort = below.Effort
	}
	if s.ShowThinking == nil {
		s.ShowThinking = below.ShowThinking
	}
	if s.TopP == nil {
		s.TopP = below.TopP
	}
	if s.Seed == nil {
		s.Seed = below.Seed
	}
	if s.Verbosity == "" {
		s.Verbosity = below.Verbosity
	}
	if s.ServiceTier == "" {
		s.ServiceTier = below.ServiceTier
	}
	if s.ServerTools == nil {
		s.ServerTools = below.ServerTools
	}
	return s
}

// Any reports whether anything is set.
func (s *Settings) Any() bool {
	return s.Effort != "" || s.ShowThinking != nil || s.TopP != nil || s.Seed != nil || s.Verbosity != "" || s.ServiceTier != "" ||
		s.ServerTools != nil
}
