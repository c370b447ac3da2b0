package service

import (
	"bytes"
	"encoding/json"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/fold"
	"github.com/braidrun/braid/internal/strictjson"
	"github.com/braidrun/braid/journal"
	"github.com/braidrun/braid/pricing"
)

// These are the types and kinds of messages in the message log. A block of another kind is logged
// under its own name.
const (
	messageSystem    = "system"
	messageAssistant = "assistant"
	messageUser      = "user"
	messageResult    = "result"

	messageInit       = "init"
	messageText       = "text"
	messageToolUse    = "tool_use"
	messageThinking   = "thinking"
	messageToolResult = "tool_result"
	messageSuccess    = "success"
	messageError      = "error"
)

// messageLog builds the messages of a run from its events. The zero value is ready for use.
type messageLog struct {
	rows    []journal.MessageEntry
	outline fold.Outline[struct{}, struct{}]
	session string
	answer  string
	// begun reports that the run's first event was seen, so that nothing is missing.
	begun bool
}

// take adds the next event.
func (l *messageLog) take(e *event.Event) {
	if e.Audience != event.Everyone {
		return
	}
	if b, ok := e.Body.(*event.RunStarted); ok {
		*l = messageLog{begun: true, session: event.SessionID(e.Conversation, b.Session)}
	}
	l.outline.Add(e)
	switch b := e.Body.(type) {
	case *event.RunStarted:
		l.add(e, messageSystem, messageInit, "", struct {
			Session string   `json:"session_id"`
			Agent   string   `json:"agent"`
			Model   string   `json:"model,omitempty"`
			Turn    int      `json:"turn"`
			Tools   []string `json:"tools,omitempty"`
		}{l.session, b.Agent, b.Model, b.Turn, b.Tools})
	case *event.UserMessage:
		if b.Why == "" {
			l.blocks(e, messageUser, b.Content)
		}
	case *event.AssistantMessage:
		if e.Scope == "" && !b.Piece {
			if text := event.TextOf(b.Content); text != "" {
				l.answer = text
			}
		}
		l.blocks(e, messageAssistant, b.Content)
	case *event.StepEnded:
		if r := b.Result; r != nil {
			l.add(e, messageUser, messageToolResult, r.Call, struct {
				Call    string `json:"tool_use_id"`
				Content any    `json:"content"`
				IsError bool   `json:"is_error"`
			}{r.Call, written(briefly(r)), r.IsError})
		}
	case *event.Redacted:
		if !b.Clean {
			l.erase(b.Target)
		}
	case *event.RunEnded:
		l.end(e, b)
	}
}

// blocks adds a row for each block of a message.
func (l *messageLog) blocks(e *event.Event, kind string, content []event.Block) {
	for _, b := range content {
		switch b := b.(type) {
		case *event.Text:
			l.add(e, kind, messageText, "", textContent{b.Text})
		case *event.Thinking:
			l.add(e, kind, messageThinking, "", textContent{b.Text})
		case *event.RedactedThinking:
			l.add(e, kind, string(b.BlockKind()), "", struct{}{})
		case *event.ToolCall:
			l.add(e, kind, messageToolUse, b.ID, struct {
				ID    string          `json:"id"`
				Name  string          `json:"name"`
				Input json.RawMessage `json:"input"`
			}{b.ID, b.Name, b.Args})
		case *event.ToolResult:
			l.add(e, kind, messageToolResult, b.Call, struct {
				Call    string `json:"tool_use_id"`
				Content any    `json:"content"`
				IsError bool   `json:"is_error"`
			}{b.Call, written(briefly(b)), b.IsError})
		default:
			l.add(e, kind, string(b.BlockKind()), "", written(briefly(&event.ToolResult{Content: []event.Block{b}})))
		}
	}
}

type textContent struct {
	Text string `json:"text"`
}

// usedTokens is the JSON form of [journal.Tokens].
type usedTokens struct {
	Input      int64 `json:"input_tokens"`
	Output     int64 `json:"output_tokens"`
	CacheRead  int64 `json:"cache_read_tokens"`
	CacheWrite int64 `json:"cache_write_tokens"`
}

// written returns blocks as JSON.
func written(blocks []event.Block) json.RawMessage {
	raw, err := event.AppendBlocks(nil, blocks)
	if err != nil {
		return json.RawMessage("[]")
	}
	return raw
}

func (l *messageLog) end(e *event.Event, b *event.RunEnded) {
	kind := messageSuccess
	var faults []string
	if b.Status != event.RunCompleted {
		kind = messageError
	}
	if b.Err != nil {
		faults = append(faults, b.Err.Message)
	}
	var cost *string
	if b.CostNanoUSD != nil {
		text := pricing.NanoUSD(*b.CostNanoUSD).String()
		cost = &text
	}
	l.add(e, messageResult, kind, "", struct {
		Result    string     `json:"result"`
		IsError   bool       `json:"is_error"`
		Errors    []string   `json:"errors,omitempty"`
		Status    string     `json:"status"`
		Stop      string     `json:"stop_reason,omitempty"`
		Usage     usedTokens `json:"usage"`
		Cost      *string    `json:"total_cost_usd"`
		Estimated bool       `json:"estimated,omitempty"`
		NumTurns  int        `json:"num_turns"`
		Duration  int64      `json:"duration_ms"`
		SessionID string     `json:"session_id"`
	}{
		l.answer, kind == messageError, faults, string(b.Status), string(b.Stop), usedTokens(journal.TokensOf(b.Usage)), cost, b.Estimated, b.Cycles,
		b.Duration.Milliseconds(), l.session,
	})
}

func (l *messageLog) add(e *event.Event, kind, subtype, call string, content any) {
	text := contentOf(content)
	part := 0
	if n := len(l.rows); n > 0 && l.rows[n-1].Seq == e.Seq {
		part = l.rows[n-1].Part + 1
	}
	parent := ""
	if t := l.outline.Thread(e.Scope); t != nil {
		parent = t.Call
	}
	l.rows = append(l.rows, journal.MessageEntry{
		MessagePlace: journal.MessagePlace{Seq: e.Seq, Part: part}, Type: kind, Subtype: subtype, Call: call, Parent: parent,
		Content: text, Time: e.Time,
	})
}

// contentOf returns content as JSON. It encodes a long text without a second copy.
func contentOf(content any) json.RawMessage {
	if text, ok := content.(textContent); ok && len(text.Text) > freeBytes {
		dst := append(make([]byte, 0, len(text.Text)+len(text.Text)/16), `{"text":`...)
		return append(strictjson.AppendString(dst, text.Text), '}')
	}
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(content); err != nil { // arguments that are not JSON
		return json.RawMessage("{}")
	}
	return bytes.TrimSuffix(text.Bytes(), []byte("\n"))
}

// erase removes the content that an event of the run added, and the answer.
func (l *messageLog) erase(seq int64) {
	for i := range l.rows {
		if l.rows[i].Seq == seq {
			l.rows[i].Content = nil
			l.answer = ""
		}
	}
}
