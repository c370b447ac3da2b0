package event

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Role says who speaks in a message.
type Role string

// The roles. Instructions are no message: they stand beside the messages.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
)

// Message is one turn of what a model sees. Tool results stand in user messages.
type Message struct {
	Role    Role    `json:"role"`
	Content []Block `json:"content"`
}

// Text is the message's text for a reader: [TextOf] its content.
func (m Message) Text() string { return TextOf(m.Content) }

// Calls lists the message's tool calls in request order.
func (m Message) Calls() []*ToolCall { return CallsOf(m.Content) }

// TextOf joins the text blocks for a reader: texts that do not continue each other stand on lines of their own. Texts
// continue each other if one has white space where they meet, or a citation: providers cut an answer into blocks there.
// [RawText] adds nothing.
func TextOf(blocks []Block) string {
	one, more := only(blocks)
	if !more {
		return one
	}
	var sb strings.Builder
	var last *Text
	cited := false
	for i, b := range blocks {
		t, ok := b.(*Text)
		if !ok || t == nil || t.Text == "" {
			continue
		}
		before := cited
		cited = i+1 < len(blocks) && isCitation(blocks[i+1])
		if last != nil && last.Signature == "" && !before && !cited && !spaceBetween(last.Text, t.Text) {
			sb.WriteByte('\n')
		}
		sb.WriteString(t.Text)
		last = t
	}
	return sb.String()
}

// RawText joins the text blocks with nothing between them, as a stream delivers their pieces. It is for text that a program
// reads, such as JSON, and for protocols; [TextOf] is for readers.
func RawText(blocks []Block) string {
	one, more := only(blocks)
	if !more {
		return one
	}
	var sb strings.Builder
	for _, b := range blocks {
		if t, ok := b.(*Text); ok && t != nil {
			sb.WriteString(t.Text)
		}
	}
	return sb.String()
}

// only returns the one text among the blocks, and whether there are more.
func only(blocks []Block) (text string, more bool) {
	for _, b := range blocks {
		t, ok := b.(*Text)
		if !ok || t == nil || t.Text == "" {
			continue
		}
		if text != "" {
			return "", true
		}
		text = t.Text
	}
	return text, false
}

func isCitation(b Block) bool {
	_, ok := b.(*Citation)
	return ok
}

// spaceBetween reports whether white space ends the first text or begins the second.
func spaceBetween(a, b string) bool {
	end, _ := utf8.DecodeLastRuneInString(a)
	begin, _ := utf8.DecodeRuneInString(b)
	return unicode.IsSpace(end) || unicode.IsSpace(begin)
}

// CallsOf lists the tool calls among the blocks in order; nil where there are none.
func CallsOf(blocks []Block) []*ToolCall {
	n := 0
	for _, b := range blocks {
		if _, ok := b.(*ToolCall); ok {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	calls := make([]*ToolCall, 0, n)
	for _, b := range blocks {
		if c, ok := b.(*ToolCall); ok {
			calls = append(calls, c)
		}
	}
	return calls
}

// Usage counts tokens and searches. Input does not include CacheRead and CacheWrite;
// Output includes Reasoning, and CacheWrite includes CacheWriteHour, which is what
// was written to be kept for an hour: it has a price of its own. Total is what the
// provider said, or the sum.
type Usage struct {
	Input      int64 `json:"input,omitempty"`
	Output     int64 `json:"output,omitempty"`
	Total      int64 `json:"total,omitempty"`
	CacheRead  int64 `json:"cache_read,omitempty"`
	CacheWrite int64 `json:"cache_write,omitempty"`
	Reasoning  int64 `json:"reasoning,omitempty"`

	CacheWriteHour int64 `json:"cache_write_hour,omitempty"`

	// WebSearches and FileSearches are the searches that the provider ran during the call
	// and charges for one by one. The tokens of what they found are in the other counts.
	WebSearches  int64 `json:"web_searches,omitempty"`
	FileSearches int64 `json:"file_searches,omitempty"`
}

// ModelUsage is what one model used, and what it cost where a price is known.
type ModelUsage struct {
	Model string `json:"model"`
	Usage Usage  `json:"usage"`
	// CostNanoUSD is in 1e-9 US dollars, because a small call costs less than a
	// micro-dollar; nil where no price is known: unknown is not zero.
	CostNanoUSD *int64 `json:"cost_nano_usd,omitempty"`
	// Estimated says that Usage and CostNanoUSD hold an estimate for a call that was cut.
	Estimated bool `json:"estimated,omitempty"`
}

// AgentUsage is what the model calls of one scope used, without the scopes below it.
type AgentUsage struct {
	// Scope is empty for the root, and Call is the tool call that the scope works for.
	Scope string `json:"scope,omitempty"`
	Call  string `json:"call,omitempty"`
	Agent string `json:"agent"`
	// Models is sorted by name; empty where no model was called.
	Models []ModelUsage `json:"models,omitempty"`
}

// StopReason is why a model's answer, or a whole run, ended. The set is open:
// what a provider says and Braid has no word for is kept as it is.
type StopReason string

// The stop reasons of models (the first group) and those of the loop.
const (
	StopEndTurn         StopReason = "end_turn"
	StopToolUse         StopReason = "tool_use"
	StopSequence        StopReason = "stop_sequence"
	StopMaxTokens       StopReason = "max_tokens"
	StopRefusal         StopReason = "refusal"
	StopContentFiltered StopReason = "content_filtered"
	StopGuardrail       StopReason = "guardrail_intervened"
	StopPause           StopReason = "pause_turn"
	StopContextOverflow StopReason = "context_overflow"

	// StopQuestion is a run that waits for an answer.
	StopQuestion          StopReason = "question"
	StopCancelled         StopReason = "cancelled"
	StopTimeout           StopReason = "timeout"
	StopError             StopReason = "error"
	StopLimitCycles       StopReason = "limit_cycles"
	StopLimitToolCalls    StopReason = "limit_tool_calls"
	StopLimitInputTokens  StopReason = "limit_input_tokens" //nolint:gosec // tokens of a model
	StopLimitOutputTokens StopReason = "limit_output_tokens"
	StopLimitTotalTokens  StopReason = "limit_total_tokens"
	StopLimitRepeats      StopReason = "limit_repeats"
	StopLimitCost         StopReason = "limit_cost"
	StopLimitDepth        StopReason = "limit_depth"
	StopLimitScopes       StopReason = "limit_scopes"
	// StopLimitAnswers is a run whose answers did not keep to their schema, however often
	// they were asked for. The word is Strands'.
	StopLimitAnswers StopReason = "limit_structured_output_attempts"
)

// Why is the loop's reason to go on to another cycle or to end, from a closed
// list; every cycle's record carries one.
type Why string

// The reasons to go on.
const (
	// WhyInput answers new input.
	WhyInput Why = "input"
	// WhyToolResults shows finished tools to the model.
	WhyToolResults Why = "tool_results"
	// WhyRetry repeats a model call that failed and may be repeated.
	WhyRetry Why = "retry"
	// WhyFallback asks the next model of the agent's list because the one before failed.
	WhyFallback Why = "fallback"
	// WhyTakenOver repeats a model call that was in flight when its driver died.
	WhyTakenOver Why = "taken_over"
	// WhyPaused goes on with a turn that the provider paused.
	WhyPaused Why = "paused"
	// WhyMessage shows the model a message that came during the run.
	WhyMessage Why = "message"
	// WhyCompacted repeats a model call that was refused because the conversation did not
	// fit, now that the model is shown less.
	WhyCompacted Why = "compacted"
	// WhyOverflow is the reason of a compaction: the provider refused the conversation as
	// too long. That of one that comes before is [WhyLimit].
	WhyOverflow Why = "overflow"
	// WhyAnswer asks for the answer in the form of its schema, because the one that was
	// given does not have it.
	WhyAnswer Why = "answer"
	// WhyRepeats tells the model that it makes the same call again and again, and learns nothing.
	WhyRepeats Why = "repeats"
	// WhyTask tells the model what an agent in the background came to.
	WhyTask Why = "task"
	// WhyTransfer lets an agent go on that had handed the scope over once.
	WhyTransfer Why = "transfer"
)

// The reasons to end, or to stop for a while.
const (
	WhyEndTurn  Why = "end_turn"
	WhyToolStop Why = "tool_stop"
	// WhyReturned ends with the result of a tool as the answer.
	WhyReturned Why = "returned"
	// WhyDirectCall ends after the tools that the program itself called.
	WhyDirectCall Why = "direct_call"
	WhyMaxTokens  Why = "max_tokens"
	WhyModelStop  Why = "model_stop"
	WhyLimit      Why = "limit"
	WhyWaiting    Why = "waiting"
	WhyCancelled  Why = "cancelled"
	WhyDeadline   Why = "deadline"
	WhyFailed     Why = "failed"
	WhyNothing    Why = "nothing_to_do"
	// WhyFlow ends as an agent without a model decides (package flow).
	WhyFlow Why = "flow"
)
