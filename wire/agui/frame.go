package agui

import (
	"encoding/json"
	"time"

	"github.com/braidrun/braid/wire"
)

// frame is one event of AG-UI. Each type has some of the fields; null is never sent in place of one that is absent.
type frame struct {
	Type     string `json:"type"`
	Subagent string `json:"subagentRunId,omitempty"`

	Thread string `json:"threadId,omitempty"`
	Run    string `json:"runId,omitempty"`
	// Protocol is the version of AG-UI (PROTOCOL_VERSION of @ag-ui/core).
	Protocol string `json:"protocolVersion,omitempty"`

	Message string `json:"messageId,omitempty"`
	Role    string `json:"role,omitempty"`
	Call    string `json:"toolCallId,omitempty"`
	Tool    string `json:"toolCallName,omitempty"`
	Parent  string `json:"parentMessageId,omitempty"`
	// Delta is a text, or the operations of a state's change.
	Delta   any     `json:"delta,omitempty"`
	Content *string `json:"content,omitempty"`

	Messages []any                      `json:"messages,omitzero"`
	Snapshot map[string]json.RawMessage `json:"snapshot,omitzero"`

	// Name is that of a sub-agent, or of an event of our own.
	Name       string `json:"name,omitempty"`
	Value      any    `json:"value,omitempty"`
	ParentSub  string `json:"parentSubagentRunId,omitempty"`
	ParentCall string `json:"parentToolCallId,omitempty"`

	Result  json.RawMessage `json:"result,omitempty"`
	Outcome *outcome        `json:"outcome,omitempty"`
	Usage   []tokens        `json:"usage,omitempty"`
	Text    string          `json:"message,omitempty"`
	Code    string          `json:"code,omitempty"`

	Metadata map[string]any `json:"metadata,omitempty"`
}

// outcome says why a run, or a sub-agent's part in it, has ended.
type outcome struct {
	Type       string      `json:"type"`
	Interrupts []interrupt `json:"interrupts,omitempty"`
}

// interrupt is a question that a run waits for.
type interrupt struct {
	ID       string          `json:"id"`
	Reason   string          `json:"reason"`
	Message  string          `json:"message,omitempty"`
	Call     string          `json:"toolCallId,omitempty"`
	Subagent string          `json:"subagentRunId,omitempty"`
	Schema   json.RawMessage `json:"responseSchema,omitempty"`
	Expires  time.Time       `json:"expiresAt,omitzero"`
	Metadata map[string]any  `json:"metadata,omitempty"`
}

// tokens are what one model has used.
type tokens struct {
	Model      string `json:"model,omitempty"`
	Input      int64  `json:"inputTokens"`
	Output     int64  `json:"outputTokens"`
	Total      int64  `json:"totalTokens"`
	Reasoning  int64  `json:"reasoningTokens,omitempty"`
	CacheRead  int64  `json:"cachedInputTokens,omitempty"`
	CacheWrite int64  `json:"cacheWriteInputTokens,omitempty"`
}

// patch is an operation of RFC 6902 on the state.
type patch struct {
	Op    string          `json:"op"`
	Path  string          `json:"path"`
	Value json.RawMessage `json:"value,omitempty"`
}

// progress is the value of the event braid.tool_progress.
type progress struct {
	Call string          `json:"toolCallId,omitempty"`
	Tool string          `json:"toolCallName"`
	Text string          `json:"text,omitempty"`
	Data json.RawMessage `json:"data,omitempty"`
}

// fail puts an error into an event.
func (f *frame) fail(err error) *frame {
	var hint string
	if f.Code, f.Text, hint = wire.FaultOf(err); hint != "" {
		f.Text += ": " + hint
	}
	return f
}
