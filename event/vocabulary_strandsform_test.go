package event_test

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/braidrun/braid/event"
)

// What seeds 1 and 2 share: the message form of Strands, which is Bedrock's.

type strandsMessage struct {
	Role    string         `json:"role"`
	Content []strandsBlock `json:"content"`
}

type strandsBlock struct {
	Text       *string            `json:"text,omitempty"`
	ToolUse    *strandsToolUse    `json:"toolUse,omitempty"`
	ToolResult *strandsToolResult `json:"toolResult,omitempty"`
	Reasoning  *strandsReasoning  `json:"reasoningContent,omitempty"`
}

type strandsToolUse struct {
	ID    string          `json:"toolUseId"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
}

type strandsToolResult struct {
	ID      string              `json:"toolUseId"`
	Status  string              `json:"status"`
	Content []strandsToolOutput `json:"content"`
}

type strandsToolOutput struct {
	Text *string         `json:"text,omitempty"`
	JSON json.RawMessage `json:"json,omitempty"`
}

type strandsReasoning struct {
	Text     *strandsReasoningText `json:"reasoningText,omitempty"`
	Redacted string                `json:"redactedContent,omitempty"`
}

type strandsReasoningText struct {
	Text      string `json:"text"`
	Signature string `json:"signature,omitempty"`
}

type strandsUsage struct {
	Input      int64 `json:"inputTokens"`
	Output     int64 `json:"outputTokens"`
	Total      int64 `json:"totalTokens"`
	CacheRead  int64 `json:"cacheReadInputTokens,omitempty"`
	CacheWrite int64 `json:"cacheWriteInputTokens,omitempty"`
}

type strandsMetrics struct {
	Latency   int64 `json:"latencyMs"`
	FirstByte int64 `json:"timeToFirstByteMs,omitempty"`
}

func (u strandsUsage) ours() event.Usage {
	return event.Usage{
		Input: u.Input, Output: u.Output, Total: u.Total,
		CacheRead: u.CacheRead, CacheWrite: u.CacheWrite,
	}
}

func strandsUsageOf(u event.Usage) strandsUsage {
	return strandsUsage{
		Input: u.Input, Output: u.Output, Total: u.Total,
		CacheRead: u.CacheRead, CacheWrite: u.CacheWrite,
	}
}

func strandsMetricsOf(m *event.AssistantMessage) strandsMetrics {
	return strandsMetrics{m.Latency.Milliseconds(), m.TimeToFirstByte.Milliseconds()}
}

func milliseconds(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

// blocksOfStrands reads a message's content. Tool results come as blocks too.
func blocksOfStrands(content []strandsBlock) ([]event.Block, error) {
	var blocks []event.Block
	for _, b := range content {
		switch {
		case b.Text != nil:
			blocks = append(blocks, &event.Text{Text: *b.Text})
		case b.ToolUse != nil:
			blocks = append(blocks, &event.ToolCall{
				ID: b.ToolUse.ID, Name: b.ToolUse.Name, Args: compactJSON(b.ToolUse.Input),
			})
		case b.ToolResult != nil:
			blocks = append(blocks, b.ToolResult.ours())
		case b.Reasoning != nil && b.Reasoning.Text != nil:
			t := b.Reasoning.Text
			blocks = append(blocks, &event.Thinking{Text: t.Text, Signature: t.Signature})
		case b.Reasoning != nil:
			blocks = append(blocks, &event.RedactedThinking{Data: b.Reasoning.Redacted})
		default:
			return nil, fmt.Errorf("a content block of no known kind: %s", showJSON(b))
		}
	}
	return blocks, nil
}

func (r *strandsToolResult) ours() *event.ToolResult {
	out := &event.ToolResult{Call: r.ID, IsError: r.Status == "error"}
	for _, c := range r.Content {
		if c.Text != nil {
			out.Content = append(out.Content, &event.Text{Text: *c.Text})
		} else {
			out.Structured = compactJSON(c.JSON)
		}
	}
	return out
}

func strandsContentOf(blocks []event.Block) ([]strandsBlock, error) {
	content := []strandsBlock{}
	for _, b := range blocks {
		switch b := b.(type) {
		case *event.Text:
			content = append(content, strandsBlock{Text: &b.Text})
		case *event.ToolCall:
			content = append(content, strandsBlock{ToolUse: &strandsToolUse{b.ID, b.Name, b.Args}})
		case *event.ToolResult:
			content = append(content, strandsBlock{ToolResult: strandsResultOf(b)})
		case *event.Thinking:
			content = append(content, strandsBlock{Reasoning: &strandsReasoning{
				Text: &strandsReasoningText{b.Text, b.Signature},
			}})
		case *event.RedactedThinking:
			content = append(content, strandsBlock{Reasoning: &strandsReasoning{Redacted: b.Data}})
		default:
			return nil, fmt.Errorf("Strands has no block for %s", b.BlockKind())
		}
	}
	return content, nil
}

func strandsResultOf(r *event.ToolResult) *strandsToolResult {
	out := &strandsToolResult{ID: r.Call, Status: "success", Content: []strandsToolOutput{}}
	if r.IsError {
		out.Status = "error"
	}
	for _, b := range r.Content {
		if t, ok := b.(*event.Text); ok {
			out.Content = append(out.Content, strandsToolOutput{Text: &t.Text})
		}
	}
	if r.Structured != nil {
		out.Content = append(out.Content, strandsToolOutput{JSON: r.Structured})
	}
	return out
}
