package event_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/braidrun/braid/event"
)

// Seed 4: the messages of the Claude SDK, and the server-sent events that the
// execution service makes of them. The seed names the events and their fields
// in prose; the examples hold exactly those.

// serviceWriter writes our events as the service's server-sent events.
type serviceWriter struct {
	frames   []string
	session  string
	parents  map[string]string // the call that opened a scope
	streamed map[string]string // what the deltas of a step said that its message will repeat
	last     map[string]string // the text of a step's answer
	text     string            // of the root's last answer
}

type serviceResult struct {
	Result   string       `json:"result"`
	IsError  bool         `json:"is_error"`
	Errors   []string     `json:"errors"`
	Usage    serviceUsage `json:"usage"`
	Cost     *float64     `json:"total_cost_usd"`
	Turns    int          `json:"num_turns"`
	Duration int64        `json:"duration_ms"`
	Session  string       `json:"session_id"`
}

type serviceUsage struct {
	Input      int64 `json:"input_tokens"`
	Output     int64 `json:"output_tokens"`
	CacheRead  int64 `json:"cache_read_input_tokens"`
	CacheWrite int64 `json:"cache_creation_input_tokens"`
}

type serviceInit struct {
	Session string         `json:"session_id"`
	Model   string         `json:"model"`
	Tools   []string       `json:"tools"`
	Servers []claudeServer `json:"mcp_servers"`
}

type serviceDelta struct {
	Text   string `json:"text"`
	Parent string `json:"parent_tool_use_id,omitempty"`
}

type serviceToolUse struct {
	ID     string          `json:"tool_use_id"`
	Name   string          `json:"tool_name"`
	Input  json.RawMessage `json:"tool_input"`
	Parent string          `json:"parent_tool_use_id,omitempty"`
}

type serviceToolResult struct {
	ID      string          `json:"tool_use_id"`
	Content json.RawMessage `json:"content"`
	IsError bool            `json:"is_error"`
	Parent  string          `json:"parent_tool_use_id,omitempty"`
}

type serviceError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

func writeService(events []event.Event) ([]string, error) {
	w := &serviceWriter{parents: map[string]string{}, streamed: map[string]string{}, last: map[string]string{}}
	for _, e := range forClients(events) {
		w.event(&e)
	}
	return w.frames, nil
}

func (w *serviceWriter) send(name string, v any) {
	w.frames = append(w.frames, "event: "+name+"\ndata: "+asFrame(v))
}

func (w *serviceWriter) event(e *event.Event) {
	parent := w.parents[e.Scope]
	attempt := fmt.Sprintf("%s#%d", e.Step, e.Attempt)
	switch b := e.Body.(type) {
	case *event.RunStarted:
		w.session, w.text = e.Conversation, ""
		init := serviceInit{Session: w.session, Model: b.Model, Tools: b.Tools}
		for _, s := range b.Servers {
			init.Servers = append(init.Servers, claudeServer{s.Name, s.Status})
		}
		w.send("init", init)
	case *event.ScopeOpened:
		w.parents[b.ID] = b.Call
	case *event.TextDelta:
		w.streamed[attempt] += b.Text
		w.send("text_delta", serviceDelta{b.Text, parent})
	case *event.ThinkingDelta:
		w.streamed[attempt] += b.Text
		w.send("thinking", serviceDelta{b.Text, parent})
	case *event.AssistantMessage:
		w.message(e, b, attempt, parent)
	case *event.StepEnded:
		if b.Result != nil {
			w.send("tool_result", serviceToolResult{
				b.Result.Call, serviceContent(b.Result), b.Result.IsError, parent,
			})
		}
	case *event.Fault:
		w.failed(b.Err)
	case *event.RunEnded:
		w.ended(b)
	}
}

// message sends what of the answer has not been streamed.
func (w *serviceWriter) message(e *event.Event, m *event.AssistantMessage, attempt, parent string) {
	for _, block := range m.Content {
		switch b := block.(type) {
		case *event.Text:
			w.last[attempt] += b.Text
			if e.Scope == "" {
				w.text = w.last[attempt]
			}
			w.rest("text_delta", attempt, b.Text, parent)
		case *event.Thinking:
			w.rest("thinking", attempt, b.Text, parent)
		case *event.ToolCall:
			w.send("tool_use", serviceToolUse{b.ID, b.Name, b.Args, parent})
		}
	}
}

func (w *serviceWriter) rest(name, attempt, said, parent string) {
	if after, ok := strings.CutPrefix(w.streamed[attempt], said); ok && said != "" {
		w.streamed[attempt] = after
		return
	}
	w.send(name, serviceDelta{said, parent})
}

// serviceContent is a result as the Messages API has it: text or blocks; a
// result that is only structured goes as JSON text.
func serviceContent(r *event.ToolResult) json.RawMessage {
	if r.Content == nil && r.Structured != nil {
		return asJSON(string(r.Structured))
	}
	return asJSON(event.TextOf(r.Content))
}

func (w *serviceWriter) failed(err *event.Error) {
	e := serviceError{Code: err.Kind.Info().Code, Message: err.Message}
	if err.Kind == event.ErrInternal {
		e.Message = err.Kind.Info().Meaning // what really happened is for the log
	}
	w.send("error", e)
}

func (w *serviceWriter) ended(b *event.RunEnded) {
	r := serviceResult{
		Result: w.text, IsError: b.Err != nil, Errors: []string{}, Turns: b.Cycles,
		Duration: b.Duration.Milliseconds(), Session: w.session,
		Usage: serviceUsage{b.Usage.Input, b.Usage.Output, b.Usage.CacheRead, b.Usage.CacheWrite},
	}
	if b.Output != nil {
		r.Result = string(b.Output)
	}
	if b.CostNanoUSD != nil {
		cost := float64(*b.CostNanoUSD) / 1e9
		r.Cost = &cost
	}
	if b.Err != nil {
		w.failed(b.Err)
		r.Errors = append(r.Errors, b.Err.Message)
		if b.Err.Kind == event.ErrInternal {
			r.Errors[0] = b.Err.Kind.Info().Meaning
		}
	}
	w.send("result", r)
}

// readService reads the SDK's lines, or the service's events as a client does.
func readService(frames []string) ([]event.Event, error) {
	if len(frames) > 0 && strings.HasPrefix(frames[0], "event: ") {
		return readServiceEvents(frames)
	}
	r := newClaudeReader(false)
	for _, f := range frames {
		if err := r.line(false, []byte(f)); err != nil {
			return nil, err
		}
	}
	r.eof()
	return r.events, nil
}

func readServiceEvents(frames []string) ([]event.Event, error) {
	var events []event.Event
	session := ""
	var failed *event.Error
	scopes := map[string]string{}
	add := func(parent, step string, body event.Body) {
		if parent != "" && scopes[parent] == "" {
			scopes[parent] = "scope of " + parent
			events = append(events, event.Event{
				Header: event.Header{Conversation: session},
				Body:   &event.ScopeOpened{ID: scopes[parent], Call: parent},
			})
		}
		h := event.Header{Conversation: session, Author: seedAgent, Scope: scopes[parent], Step: step, Attempt: 1}
		events = append(events, event.Event{Header: h, Body: body})
	}
	for _, f := range frames {
		name, data, ok := strings.Cut(strings.TrimPrefix(f, "event: "), "\ndata: ")
		if !ok {
			return nil, fmt.Errorf("no event: %s", f)
		}
		var err error
		switch name {
		case "init":
			var v serviceInit
			err = json.Unmarshal([]byte(data), &v)
			session = v.Session
			started := &event.RunStarted{Model: v.Model, Tools: v.Tools}
			for _, s := range v.Servers {
				started.Servers = append(started.Servers, event.ToolServer{Name: s.Name, Status: s.Status})
			}
			add("", "", started)
		case "text_delta", "thinking":
			var v serviceDelta
			err = json.Unmarshal([]byte(data), &v)
			var block event.Block = &event.Text{Text: v.Text}
			if name == "thinking" {
				block = &event.Thinking{Text: v.Text}
			}
			add(v.Parent, "model", &event.AssistantMessage{Content: []event.Block{block}, Piece: true})
		case "tool_use":
			var v serviceToolUse
			err = json.Unmarshal([]byte(data), &v)
			add(v.Parent, "model", &event.AssistantMessage{Piece: true, Content: []event.Block{
				&event.ToolCall{ID: v.ID, Name: v.Name, Args: compactJSON(v.Input)},
			}})
		case "tool_result":
			var v serviceToolResult
			var s string
			err = errors.Join(json.Unmarshal([]byte(data), &v), json.Unmarshal(v.Content, &s))
			add(v.Parent, v.ID, &event.StepEnded{
				Step: event.StepTool, Outcome: event.OutcomeDone,
				Result: &event.ToolResult{Call: v.ID, Content: says(s), IsError: v.IsError},
			})
		case "error":
			var v serviceError
			err = json.Unmarshal([]byte(data), &v)
			failed = &event.Error{Kind: event.ErrInternal, Message: v.Message}
			for _, k := range event.Kinds() {
				if k.Code == v.Code {
					failed.Kind = k.Kind
				}
			}
		case "result":
			var v serviceResult
			err = json.Unmarshal([]byte(data), &v)
			end := &event.RunEnded{
				Status: event.RunCompleted, Err: failed, Cycles: v.Turns, Duration: milliseconds(v.Duration),
				Usage: event.Usage{
					Input: v.Usage.Input, Output: v.Usage.Output,
					CacheRead: v.Usage.CacheRead, CacheWrite: v.Usage.CacheWrite,
				},
			}
			if v.IsError {
				end.Status = event.RunFailed
			}
			if v.Cost != nil {
				nano := int64(math.Round(*v.Cost * 1e9))
				end.CostNanoUSD = &nano
			}
			add("", "", end)
			failed = nil
		default:
			return nil, fmt.Errorf("an event of no known name: %s", name)
		}
		if err != nil {
			return nil, err
		}
	}
	if failed != nil { // the stream ended with the error: the run never began
		add("", "", &event.Fault{Err: failed})
	}
	return events, nil
}

var serviceForm = foreignForm{
	read:  readService,
	write: writeService,
	plain: func(f string) (any, error) {
		name, data, ok := strings.Cut(f, "\ndata: ")
		if !ok {
			return nil, fmt.Errorf("no server-sent event: %s", f)
		}
		v, err := plainJSON(data)
		return map[string]any{"event": name, "data": v}, err
	},
}

const (
	seed4Init    = `{"type":"system","subtype":"init","session_id":"s-1","model":"claude-sonnet-4-5","tools":["Task","Bash"],"mcp_servers":[{"name":"docs","status":"connected"}]}`
	seed4InitOut = "event: init\n" + `data: {"session_id":"s-1","model":"claude-sonnet-4-5","tools":["Task","Bash"],"mcp_servers":[{"name":"docs","status":"connected"}]}`
	seed4Use     = `{"type":"assistant","session_id":"s-1","parent_tool_use_id":null,"message":{"id":"m1","model":"claude-sonnet-4-5","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"ls"}}],"stop_reason":null}}`
	seed4UseOut  = "event: tool_use\n" + `data: {"tool_use_id":"t1","tool_name":"Bash","tool_input":{"command":"ls"}}`
)

func serviceRows() []vocabularyRow {
	const becomes = "what the SDK says is not what the client is sent: the service's event for it"
	root := func(seq int64) event.Header {
		return event.Header{Conversation: "s-1", Run: "run-1", Author: seedAgent, Seq: seq}
	}
	in := func(seq int64, cycle int, step string) event.Header {
		h := root(seq)
		h.Cycle, h.Step, h.Attempt = cycle, step, 1
		return h
	}
	started := event.Event{Header: root(1), Body: &event.RunStarted{
		Agent: seedAgent, Model: "claude-sonnet-4-5", Turn: 1, Session: 1, Tools: []string{"Task", "Bash"},
		Servers: []event.ToolServer{{Name: "docs", Status: "connected"}},
	}}
	begun := event.Event{Header: in(2, 1, "model-1"), Body: &event.StepBegun{
		Step: event.StepModel, Why: event.WhyInput, Model: "claude-sonnet-4-5",
	}}
	piece := func(seq int64, b event.Block) event.Event {
		return event.Event{Header: in(seq, 1, "model-1"), Body: &event.AssistantMessage{
			Content: []event.Block{b}, Model: "claude-sonnet-4-5", Response: "m1", Piece: true,
		}}
	}
	call := func(seq int64) []event.Event {
		return []event.Event{
			piece(seq, &event.ToolCall{ID: "t1", Name: "Bash", Args: json.RawMessage(`{"command":"ls"}`)}),
			{Header: in(seq+1, 1, "t1"), Body: &event.StepBegun{Step: event.StepTool, Call: "t1", Tool: "Bash"}},
		}
	}
	cost := func(nano int64) *int64 { return &nano }
	return []vocabularyRow{
		{
			seed: "4", heading: "systemメッセージ", what: "init",
			in: []string{seed4Init}, want: []event.Event{started}, out: []string{seed4InitOut}, why: becomes,
		},
		{
			seed: "4", heading: "assistantメッセージ", what: "text",
			in: []string{
				seed4Init,
				`{"type":"assistant","session_id":"s-1","parent_tool_use_id":null,"message":{"id":"m1","model":"claude-sonnet-4-5","content":[{"type":"text","text":"こんにちは"}],"stop_reason":null}}`,
			},
			want: []event.Event{started, begun, piece(3, &event.Text{Text: "こんにちは"})},
			out:  []string{seed4InitOut, "event: text_delta\n" + `data: {"text":"こんにちは"}`}, why: becomes,
		},
		{
			seed: "4", heading: "assistantメッセージ (anchor Claude 2)", what: "text, streamed as stream_event first",
			in: []string{
				seed4Init,
				`{"type":"stream_event","session_id":"s-1","ttft_ms":11,"event":{"type":"message_start","message":{"id":"m1","model":"claude-sonnet-4-5","content":[]}}}`,
				`{"type":"stream_event","session_id":"s-1","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"こん"}}}`,
				`{"type":"stream_event","session_id":"s-1","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"にちは"}}}`,
				`{"type":"assistant","session_id":"s-1","parent_tool_use_id":null,"message":{"id":"m1","model":"claude-sonnet-4-5","content":[{"type":"text","text":"こんにちは"}],"stop_reason":null}}`,
				`{"type":"stream_event","session_id":"s-1","event":{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"input_tokens":120,"output_tokens":30}}}`,
			},
			want: []event.Event{
				started, begun,
				{
					Header: event.Header{Conversation: "s-1", Run: "run-1", Author: seedAgent, Cycle: 1, Step: "model-1", Attempt: 1, Epoch: 1, N: 1},
					Body:   &event.TextDelta{Text: "こん"},
				},
				{
					Header: event.Header{Conversation: "s-1", Run: "run-1", Author: seedAgent, Cycle: 1, Step: "model-1", Attempt: 1, Epoch: 1, N: 2},
					Body:   &event.TextDelta{Text: "にちは"},
				},
				piece(3, &event.Text{Text: "こんにちは"}),
				{Header: in(4, 1, "model-1"), Body: &event.AssistantMessage{
					Stop: event.StopEndTurn, Usage: event.Usage{Input: 120, Output: 30, Total: 150},
					Model: "claude-sonnet-4-5", Response: "m1", TimeToFirstByte: 11 * time.Millisecond,
				}},
			},
			out: []string{
				seed4InitOut,
				"event: text_delta\n" + `data: {"text":"こん"}`,
				"event: text_delta\n" + `data: {"text":"にちは"}`,
			},
			why: becomes + "; the whole message repeats the deltas and is not sent again",
		},
		{
			seed: "4", heading: "assistantメッセージ", what: "tool_use",
			in: []string{seed4Init, seed4Use}, want: append([]event.Event{started, begun}, call(3)...),
			out: []string{seed4InitOut, seed4UseOut}, why: becomes,
		},
		{
			seed: "4", heading: "assistantメッセージ", what: "thinking",
			in: []string{
				seed4Init,
				`{"type":"assistant","session_id":"s-1","parent_tool_use_id":null,"message":{"id":"m1","model":"claude-sonnet-4-5","content":[{"type":"thinking","thinking":"まず考える","signature":"c2ln"}],"stop_reason":null}}`,
			},
			want: []event.Event{started, begun, piece(3, &event.Thinking{Text: "まず考える", Signature: "c2ln"})},
			out:  []string{seed4InitOut, "event: thinking\n" + `data: {"text":"まず考える"}`}, why: becomes,
		},
		{
			seed: "4", heading: "userメッセージ", what: "tool_result",
			in: []string{
				seed4Init, seed4Use,
				`{"type":"user","session_id":"s-1","parent_tool_use_id":null,"message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"Exit code 3","is_error":true}]},"tool_use_result":"Error: Exit code 3"}`,
			},
			want: append(append([]event.Event{started, begun}, call(3)...), event.Event{
				Header: in(5, 1, "t1"), Body: &event.StepEnded{
					Step: event.StepTool, Outcome: event.OutcomeDone,
					Result: &event.ToolResult{Call: "t1", Name: "Bash", Content: says("Exit code 3"), IsError: true},
				},
			}),
			out: []string{
				seed4InitOut, seed4UseOut,
				"event: tool_result\n" + `data: {"tool_use_id":"t1","content":"Exit code 3","is_error":true}`,
			},
			why: becomes,
		},
		{
			seed: "4", heading: "resultメッセージ", what: "result",
			in: []string{
				seed4Init,
				`{"type":"assistant","session_id":"s-1","parent_tool_use_id":null,"message":{"id":"m1","model":"claude-sonnet-4-5","content":[{"type":"text","text":"8です。"}],"stop_reason":null}}`,
				`{"type":"result","subtype":"success","session_id":"s-1","is_error":false,"result":"8です。","num_turns":1,"duration_ms":80,"stop_reason":"end_turn","terminal_reason":"completed","total_cost_usd":0.00081,"usage":{"input_tokens":120,"output_tokens":30},"modelUsage":{"claude-sonnet-4-5":{"inputTokens":120,"outputTokens":30,"costUSD":0.00081}},"model_usage_since_last_result":{"claude-sonnet-4-5":{"inputTokens":120,"outputTokens":30,"costUSD":0.00081}}}`,
			},
			want: []event.Event{
				started, begun, piece(3, &event.Text{Text: "8です。"}),
				{Header: in(4, 1, "model-1"), Body: &event.AssistantMessage{
					Stop: event.StopEndTurn, Model: "claude-sonnet-4-5", Response: "m1",
				}},
				{Header: func() event.Header { h := root(5); h.Cycle = 1; return h }(), Body: &event.RunEnded{
					Status: event.RunCompleted, Stop: event.StopEndTurn, Why: event.WhyEndTurn,
					Usage: event.Usage{Input: 120, Output: 30, Total: 150},
					Models: []event.ModelUsage{{
						Model: "claude-sonnet-4-5", Usage: event.Usage{Input: 120, Output: 30, Total: 150}, CostNanoUSD: cost(810_000),
					}},
					Cycles: 1, Duration: 80 * time.Millisecond, CostNanoUSD: cost(810_000),
				}},
			},
			out: []string{
				seed4InitOut,
				"event: text_delta\n" + `data: {"text":"8です。"}`,
				"event: result\n" + `data: {"result":"8です。","is_error":false,"errors":[],"usage":{"input_tokens":120,"output_tokens":30,"cache_read_input_tokens":0,"cache_creation_input_tokens":0},"total_cost_usd":0.00081,"num_turns":1,"duration_ms":80,"session_id":"s-1"}`,
			},
			why: becomes,
		},
		{
			seed: "4", heading: "サブエージェント追跡", what: "Task, task_started, task_notification",
			in: []string{
				seed4Init,
				`{"type":"assistant","session_id":"s-1","parent_tool_use_id":null,"message":{"id":"m1","model":"claude-sonnet-4-5","content":[{"type":"tool_use","id":"t1","name":"Task","input":{"subagent_type":"auditor","prompt":"look"}}],"stop_reason":null}}`,
				`{"type":"system","subtype":"task_started","session_id":"s-1","task_id":"a1","tool_use_id":"t1","subagent_type":"auditor","is_backgrounded":false,"spawn_depth":1,"prompt":"look"}`,
				`{"type":"assistant","session_id":"s-1","parent_tool_use_id":"t1","agent_id":"a1","message":{"id":"m2","model":"claude-haiku-5-5","content":[{"type":"text","text":"clean"}],"stop_reason":null}}`,
				`{"type":"system","subtype":"task_notification","session_id":"s-1","task_id":"a1","tool_use_id":"t1","status":"completed","summary":"clean","usage":{"total_tokens":346}}`,
			},
			want: []event.Event{
				started, begun,
				piece(3, &event.ToolCall{ID: "t1", Name: "Task", Args: json.RawMessage(`{"subagent_type":"auditor","prompt":"look"}`)}),
				{Header: in(4, 1, "t1"), Body: &event.StepBegun{Step: event.StepTool, Call: "t1", Tool: "Task"}},
				{Header: func() event.Header { h := root(5); h.Cycle = 1; return h }(), Body: &event.ScopeOpened{
					ID: "a1", Call: "t1", Agent: "auditor", Depth: 1, Input: says("look"),
				}},
				{Header: event.Header{
					Conversation: "s-1", Run: "run-1", Scope: "a1", Author: "auditor", Seq: 6, Cycle: 1, Step: "a1/model-1", Attempt: 1,
				}, Body: &event.StepBegun{Step: event.StepModel, Why: event.WhyInput, Model: "claude-haiku-5-5"}},
				{Header: event.Header{
					Conversation: "s-1", Run: "run-1", Scope: "a1", Author: "auditor", Seq: 7, Cycle: 1, Step: "a1/model-1", Attempt: 1,
				}, Body: &event.AssistantMessage{Content: says("clean"), Model: "claude-haiku-5-5", Response: "m2", Piece: true}},
				{Header: event.Header{
					Conversation: "s-1", Run: "run-1", Scope: "a1", Author: "auditor", Seq: 8, Cycle: 1, Step: "a1/model-1", Attempt: 1,
				}, Body: &event.AssistantMessage{Stop: event.StopEndTurn, Model: "claude-haiku-5-5", Response: "m2"}},
				{Header: func() event.Header { h := root(9); h.Cycle = 1; return h }(), Body: &event.ScopeClosed{
					ID: "a1", Output: says("clean"), Stop: event.StopEndTurn, Why: event.WhyEndTurn,
				}},
			},
			out: []string{
				seed4InitOut,
				"event: tool_use\n" + `data: {"tool_use_id":"t1","tool_name":"Task","tool_input":{"subagent_type":"auditor","prompt":"look"}}`,
				"event: text_delta\n" + `data: {"text":"clean","parent_tool_use_id":"t1"}`,
			},
			why: "the seed streams the call and its result; the scope is for the tool log and the usage, which come from the messages in it (DESIGN section 9)",
		},
		{
			seed: "4", heading: "ConversationLockError", what: "CONVERSATION_LOCKED",
			want: []event.Event{{Body: &event.Fault{Err: &event.Error{
				Kind: event.ErrLocked, Message: "Another run holds the conversation.", Hint: "Try again in a moment.",
			}}}},
			out: []string{"event: error\n" + `data: {"code":"CONVERSATION_LOCKED","message":"Another run holds the conversation."}`},
			why: "the service's own error: no line of the SDK says it",
		},
		{
			seed: "4", heading: "SDKError", what: "SDK_ERROR",
			in: []string{
				seed4Init,
				`{"type":"result","subtype":"error_during_execution","session_id":"s-1","is_error":true,"errors":["No conversation found"],"num_turns":0,"duration_ms":0,"stop_reason":null}`,
			},
			want: []event.Event{started, {Header: root(2), Body: &event.RunEnded{
				Status: event.RunFailed, Stop: event.StopError, Why: event.WhyFailed,
				Err: &event.Error{Kind: event.ErrModel, Message: "No conversation found"}, CostNanoUSD: cost(0),
			}}},
			out: []string{
				seed4InitOut,
				"event: error\n" + `data: {"code":"SDK_ERROR","message":"No conversation found"}`,
				"event: result\n" + `data: {"result":"","is_error":true,"errors":["No conversation found"],"usage":{"input_tokens":0,"output_tokens":0,"cache_read_input_tokens":0,"cache_creation_input_tokens":0},"total_cost_usd":0,"num_turns":0,"duration_ms":0,"session_id":"s-1"}`,
			},
			why: "an error event and then the terminal event (DESIGN section 6)",
		},
		{
			seed: "4", heading: "タイムアウト", what: "TIMEOUT with a partial result",
			want: []event.Event{
				started, begun, piece(3, &event.Text{Text: "途中まで"}),
				{Header: root(4), Body: &event.RunEnded{
					Status: event.RunFailed, Stop: event.StopTimeout, Why: event.WhyDeadline,
					Err:      &event.Error{Kind: event.ErrTimeout, Message: "The run took longer than 300 s."},
					Duration: 300 * time.Second, Cycles: 1,
				}},
			},
			out: []string{
				seed4InitOut,
				"event: text_delta\n" + `data: {"text":"途中まで"}`,
				"event: error\n" + `data: {"code":"TIMEOUT","message":"The run took longer than 300 s."}`,
				"event: result\n" + `data: {"result":"途中まで","is_error":true,"errors":["The run took longer than 300 s."],"usage":{"input_tokens":0,"output_tokens":0,"cache_read_input_tokens":0,"cache_creation_input_tokens":0},"num_turns":1,"duration_ms":300000,"session_id":"s-1"}`,
			},
			why: "the service's own error: no line of the SDK says it; the cost is unknown, not zero",
		},
		{
			seed: "4", heading: "予期しないエラー", what: "INTERNAL_ERROR",
			want: []event.Event{started, {Header: root(2), Body: &event.RunEnded{
				Status: event.RunFailed, Stop: event.StopError, Why: event.WhyFailed,
				Err: &event.Error{Kind: event.ErrInternal, Message: "nil map in pricing"},
			}}},
			out: []string{
				seed4InitOut,
				"event: error\n" + `data: {"code":"INTERNAL_ERROR","message":"Something went wrong inside Braid."}`,
				"event: result\n" + `data: {"result":"","is_error":true,"errors":["Something went wrong inside Braid."],"usage":{"input_tokens":0,"output_tokens":0,"cache_read_input_tokens":0,"cache_creation_input_tokens":0},"num_turns":0,"duration_ms":0,"session_id":"s-1"}`,
			},
			why: "the service's own error; what happened stays in the log, the client gets a general message",
		},
	}
}

func TestVocabularyService(t *testing.T) {
	t.Parallel()
	proveRows(t, serviceForm, serviceRows())
}

// Seed 4 fixes four codes; the one table of kinds has them.
func TestVocabularyServiceCodes(t *testing.T) {
	t.Parallel()
	for kind, code := range map[event.ErrorKind]string{
		event.ErrLocked: "CONVERSATION_LOCKED", event.ErrModel: "SDK_ERROR",
		event.ErrTimeout: "TIMEOUT", event.ErrInternal: "INTERNAL_ERROR",
	} {
		if got := kind.Info().Code; got != code {
			t.Errorf("%s has the code %s, the seed says %s", kind, got, code)
		}
	}
}

// The recordings through the service's wire: every text, call and result
// reaches the client once, each run begins and ends once, and its result says
// what the program's result line says.
func TestVocabularyServiceFromRecordings(t *testing.T) {
	t.Parallel()
	for _, name := range recordingNames(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := readRecording(t, name)
			r.pairsRuns(t)
			frames, err := writeService(r.events)
			if err != nil {
				t.Fatal(err)
			}
			sent := map[string]string{} // text by parent, calls and results in order
			count := map[string]int{}
			var last serviceResult
			for _, f := range frames {
				kind, data, _ := strings.Cut(strings.TrimPrefix(f, "event: "), "\ndata: ")
				count[kind]++
				var v struct {
					serviceDelta
					ID string `json:"tool_use_id"`
				}
				if err := json.Unmarshal([]byte(data), &v); err != nil {
					t.Fatal(err)
				}
				switch kind {
				case "result":
					if err := json.Unmarshal([]byte(data), &last); err != nil {
						t.Fatal(err)
					}
				case "text_delta", "thinking":
					sent[kind+v.Parent] += v.Text
				default:
					sent[kind] += v.ID + " "
				}
			}
			said, runs := map[string]string{}, 0
			var program claudeLine
			for _, l := range r.lines {
				var c claudeLine
				if err := json.Unmarshal(l.data, &c); err != nil {
					t.Fatal(err)
				}
				if c.Type == "result" {
					program = c
				}
				if l.host || c.Type != "assistant" && c.Type != "user" || c.Error != "" {
					continue
				}
				_, blocks, err := claudeContent(c.Message)
				if err != nil {
					t.Fatal(err)
				}
				switch b := blocks[0]; b.Type {
				case "text":
					if c.Type == "assistant" {
						said["text_delta"+c.ParentCall] += b.Text
					}
				case "thinking":
					said["thinking"+c.ParentCall] += b.Thinking
				case "tool_use":
					said["tool_use"] += b.ID + " "
				}
			}
			for _, e := range r.events {
				switch b := e.Body.(type) {
				case *event.RunStarted:
					runs++
				case *event.StepEnded:
					if b.Result != nil {
						said["tool_result"] += b.Result.Call + " "
					}
				}
			}
			if strings.HasPrefix(name, "60-") { // the broken attempt was out already
				said["text_delta"] = "This text wi" + said["text_delta"]
			}
			for kind, want := range said {
				if sent[kind] != want {
					t.Errorf("%s\n got %q\nwant %q", kind, sent[kind], want)
				}
			}
			if count["init"] != runs || r.unfinished == "" && count["result"] != runs {
				t.Errorf("%d runs sent %d inits and %d results", runs, count["init"], count["result"])
			}
			if r.unfinished != "" {
				return
			}
			if last.IsError != program.IsError || last.Session != program.Session {
				t.Errorf("the client's result is %+v", last)
			}
			if !program.IsError && last.Result != program.Result {
				t.Errorf("the result is %q, the program's %q", last.Result, program.Result)
			}
			if runs == 1 && usedBefore[name] == (event.Usage{}) && math.Abs(*last.Cost-program.Cost) > 1e-6 {
				t.Errorf("the cost is %g, the program's %g", *last.Cost, program.Cost)
			}
		})
	}
}

// What a host must write to the program, written from our events: prompts and
// the answers to its questions.
func TestVocabularyClaudeHostLines(t *testing.T) {
	t.Parallel()
	prompts, answers := 0, 0
	for _, name := range recordingNames(t) {
		r := readRecording(t, name)
		if !r.dialog {
			continue
		}
		var want []string
		for _, l := range r.lines {
			var c claudeLine
			if err := json.Unmarshal(l.data, &c); err != nil {
				t.Fatal(err)
			}
			answer := c.Type == "control_response" && strings.Contains(string(l.data), `"behavior"`)
			if l.host && (c.Type == "user" || answer) {
				want = append(want, string(l.data))
			}
		}
		var got []string
		for _, e := range r.events {
			switch b := e.Body.(type) {
			case *event.UserMessage:
				if e.Audience == event.Everyone {
					prompts++
					got = append(got, asFrame(map[string]any{
						"type": "user", "session_id": "", "parent_tool_use_id": nil,
						"message": map[string]string{"role": "user", "content": event.TextOf(b.Content)},
					}))
				}
			case *event.Answered:
				answers++
				var a event.Approval
				if err := json.Unmarshal(b.Value, &a); err != nil {
					t.Fatal(err)
				}
				p := claudePermission{Behavior: "deny", Message: a.Reason, Interrupt: a.Stop}
				if a.Approved {
					p = claudePermission{Behavior: "allow", Input: a.Args}
				}
				got = append(got, asFrame(map[string]any{"type": "control_response", "response": map[string]any{
					"subtype": "success", "request_id": b.Token, "response": p,
				}}))
			}
		}
		sameFrames(t, foreignForm{plain: plainJSON}, got, want)
	}
	if prompts != 15 || answers != 3 {
		t.Errorf("%d prompts and %d answers, want 15 and 3", prompts, answers)
	}
}
