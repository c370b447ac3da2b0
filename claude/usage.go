package claude

import "github.com/braidrun/braid/event"

// Usage counts the tokens of one model call, as the Messages API does.
type Usage struct {
	Input      int64 `json:"input_tokens"`
	Output     int64 `json:"output_tokens"`
	CacheRead  int64 `json:"cache_read_input_tokens"`
	CacheWrite int64 `json:"cache_creation_input_tokens"`
	// Written says for how long the tokens of CacheWrite are kept.
	Written struct {
		Hour int64 `json:"ephemeral_1h_input_tokens"`
	} `json:"cache_creation"`
	Details struct {
		Thinking int64 `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
	Server struct {
		WebSearches int64 `json:"web_search_requests"`
	} `json:"server_tool_use"`
}

// Event returns the counts in Braid's form.
func (u Usage) Event() event.Usage {
	return event.Usage{
		Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite, CacheWriteHour: u.Written.Hour,
		Reasoning: u.Details.Thinking, WebSearches: u.Server.WebSearches,
		Total: u.Input + u.Output + u.CacheRead + u.CacheWrite,
	}
}

// ModelUsage is what a process has used of one model since it started, sub-agents included.
type ModelUsage struct {
	Input         int64   `json:"inputTokens"`
	Output        int64   `json:"outputTokens"`
	Thinking      int64   `json:"thinkingTokens"`
	CacheRead     int64   `json:"cacheReadInputTokens"`
	CacheWrite    int64   `json:"cacheCreationInputTokens"`
	CacheHour     int64   `json:"cacheCreationEphemeral1hInputTokens"`
	WebSearches   int64   `json:"webSearchRequests"`
	CostUSD       float64 `json:"costUSD"`
	ContextWindow int64   `json:"contextWindow"`
	MaxOutput     int64   `json:"maxOutputTokens"`
	// Canonical is the model's name without the provider's form; Provider is firstParty, bedrock or another.
	Canonical string `json:"canonicalModel"`
	Provider  string `json:"provider"`
	// CostBasis says where the price is from: list, managed or unknown. The program estimates costs; nobody bills by them.
	CostBasis string `json:"costBasis"`
}
