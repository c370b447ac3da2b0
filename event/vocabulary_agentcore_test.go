package event_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/braidrun/braid/event"
)

// Seed 1: what AgentCore streams from a Strands agent, one "data: " line a frame.

// agentcoreFrame is the union of the objects that a frame can hold.
type agentcoreFrame struct {
	Init      bool             `json:"init_event_loop,omitempty"`
	Start     bool             `json:"start,omitempty"`
	StartLoop bool             `json:"start_event_loop,omitempty"`
	Event     *agentcoreChunk  `json:"event,omitempty"`
	Message   *strandsMessage  `json:"message,omitempty"`
	ToolName  string           `json:"tool_name,omitempty"`
	Type      string           `json:"type,omitempty"`
	Debug     *agentcoreDebug  `json:"debug_data,omitempty"`
	Throttled float64          `json:"event_loop_throttled_delay,omitempty"`
	ToolEvent *agentcoreTool   `json:"tool_stream_event,omitempty"`
	Result    *agentcoreResult `json:"result,omitempty"`
}

type agentcoreChunk struct {
	MessageStart *struct {
		Role string `json:"role"`
	} `json:"messageStart,omitempty"`
	BlockStart  *agentcoreBlockStart `json:"contentBlockStart,omitempty"`
	BlockDelta  *agentcoreBlockDelta `json:"contentBlockDelta,omitempty"`
	BlockStop   *agentcoreBlockStop  `json:"contentBlockStop,omitempty"`
	MessageStop *struct {
		StopReason string `json:"stopReason"`
	} `json:"messageStop,omitempty"`
	Metadata *agentcoreMetadata `json:"metadata,omitempty"`
}

type agentcoreMetadata struct {
	Usage   strandsUsage   `json:"usage"`
	Metrics strandsMetrics `json:"metrics"`
}

type agentcoreBlockStart struct {
	Start struct {
		ToolUse *struct {
			ID   string `json:"toolUseId"`
			Name string `json:"name"`
		} `json:"toolUse,omitempty"`
	} `json:"start"`
	Index int `json:"contentBlockIndex"`
}

type agentcoreBlockDelta struct {
	Delta agentcoreDelta `json:"delta"`
	Index int            `json:"contentBlockIndex"`
}

type agentcoreDelta struct {
	Text    *string `json:"text,omitempty"`
	ToolUse *struct {
		Input string `json:"input"`
	} `json:"toolUse,omitempty"`
	Reasoning *strandsReasoningDelta `json:"reasoningContent,omitempty"`
}

type strandsReasoningDelta struct {
	Text      string `json:"text,omitempty"`
	Signature string `json:"signature,omitempty"`
}

type agentcoreBlockStop struct {
	Index int `json:"contentBlockIndex"`
}

type agentcoreDebug struct {
	Message strandsMessage `json:"message"`
}

type agentcoreTool struct {
	ToolUse strandsToolUse  `json:"tool_use"`
	Data    json.RawMessage `json:"data"`
}

type agentcoreResult struct {
	Type    string         `json:"type"`
	Message strandsMessage `json:"message"`
	Stop    string         `json:"stop_reason"`
}

// agentcoreReader turns frames into events, as a client of such a stream must.
type agentcoreReader struct {
	cycle  int
	begun  bool
	calls  map[int]*event.ToolInputDelta
	names  map[string]string
	stop   event.StopReason
	meta   agentcoreMetadata
	events []event.Event
	live   int64
}

const (
	seedRun   = "run"
	seedAgent = "agent"
)

func readAgentcore(frames []string) ([]event.Event, error) {
	r := &agentcoreReader{calls: map[int]*event.ToolInputDelta{}, names: map[string]string{}}
	for _, f := range frames {
		if err := r.frame(f); err != nil {
			return nil, fmt.Errorf("%s: %w", f, err)
		}
	}
	return r.events, nil
}

func (r *agentcoreReader) add(step string, body event.Body) {
	h := event.Header{Run: seedRun, Author: seedAgent, Step: step}
	if step != "" {
		h.Cycle, h.Attempt = r.cycle, 1
	}
	if event.IsLive(body) {
		r.live++
		h.N = r.live
	}
	if _, ok := body.(*event.RunStarted); ok {
		h.Author = ""
	}
	r.events = append(r.events, event.Event{Header: h, Body: body})
}

// model names the step of the model call that is under way.
func (r *agentcoreReader) model() string { return fmt.Sprintf("model-%d", r.cycle) }

// begin opens a model call, once.
func (r *agentcoreReader) begin(announced bool) {
	if r.begun {
		return
	}
	r.begun = true
	r.cycle++
	if announced {
		why := event.WhyInput
		if r.cycle > 1 {
			why = event.WhyToolResults
		}
		r.add(r.model(), &event.StepBegun{Step: event.StepModel, Why: why})
	}
}

func (r *agentcoreReader) frame(line string) error {
	data := []byte(strings.TrimPrefix(line, "data: "))
	var s string
	if json.Unmarshal(data, &s) == nil {
		// A string that begins like a Python dict is what AgentCore made of an
		// event that was no JSON: it repeats the delta before it.
		if !strings.HasPrefix(s, "{'") {
			r.begin(false)
			r.add(r.model(), &event.TextDelta{Text: s})
		}
		return nil
	}
	// An error frame has a sentence under "message", where others have an object.
	var failed struct {
		Error *string `json:"error"`
		Type  string  `json:"error_type"`
	}
	if err := json.Unmarshal(data, &failed); err != nil {
		return err
	}
	if failed.Error != nil {
		r.add("", &event.RunEnded{
			Status: event.RunFailed, Stop: event.StopError, Why: event.WhyFailed,
			Err: &event.Error{Kind: event.ErrModel, Message: *failed.Error, Code: failed.Type},
		})
		return nil
	}
	var f agentcoreFrame
	if err := json.Unmarshal(data, &f); err != nil {
		return err
	}
	return r.object(&f)
}

func (r *agentcoreReader) object(f *agentcoreFrame) error {
	switch {
	case f.Init:
		r.add("", &event.RunStarted{})
	case f.StartLoop:
		r.begun = false
		r.begin(true)
	case f.Event != nil:
		r.chunk(f.Event)
	case f.Throttled > 0:
		delay := time.Duration(f.Throttled * float64(time.Second))
		r.add(r.model(), &event.StepEnded{
			Step: event.StepModel, Outcome: event.OutcomeFailed,
			Err: &event.Error{Kind: event.ErrThrottled, RetryAfter: delay},
		})
	case f.ToolEvent != nil:
		r.add(f.ToolEvent.ToolUse.ID, &event.ToolProgress{
			Call: f.ToolEvent.ToolUse.ID, Tool: f.ToolEvent.ToolUse.Name, Data: compactJSON(f.ToolEvent.Data),
		})
	case f.Message != nil:
		return r.message(f.Message)
	case f.ToolName != "" && f.Debug != nil:
		// The announcement of a call that the message after it holds whole: live.
		r.begin(false)
		blocks, err := blocksOfStrands(f.Debug.Message.Content)
		if err != nil {
			return err
		}
		for i, b := range blocks {
			if c, ok := b.(*event.ToolCall); ok {
				r.add(r.model(), &event.ToolInputDelta{Call: c.ID, Tool: c.Name, JSON: string(c.Args), Block: i})
			}
		}
	case f.Result != nil:
		stop := f.Result.Stop
		r.add("", &event.RunEnded{
			Status: event.RunCompleted, Stop: oursOf(strandsStops, stop), Why: whyOf(strandsStops, stop), Cycles: r.cycle,
		})
	}
	return nil // an unknown key is ignored, as the seed's own clients do
}

func (r *agentcoreReader) chunk(c *agentcoreChunk) {
	switch {
	case c.MessageStart != nil:
		r.begin(false)
	case c.BlockStart != nil:
		if use := c.BlockStart.Start.ToolUse; use != nil {
			d := &event.ToolInputDelta{Call: use.ID, Tool: use.Name, Block: c.BlockStart.Index}
			r.calls[d.Block] = d
			r.add(r.model(), d)
		}
	case c.BlockDelta != nil:
		i, d := c.BlockDelta.Index, c.BlockDelta.Delta
		switch {
		case d.Text != nil:
			r.add(r.model(), &event.TextDelta{Text: *d.Text, Block: i})
		case d.ToolUse != nil && r.calls[i] != nil:
			r.add(r.model(), &event.ToolInputDelta{
				Call: r.calls[i].Call, Tool: r.calls[i].Tool, JSON: d.ToolUse.Input, Block: i,
			})
		case d.Reasoning != nil && d.Reasoning.Text != "":
			r.add(r.model(), &event.ThinkingDelta{Text: d.Reasoning.Text, Block: i})
		}
	case c.MessageStop != nil:
		r.stop = oursOf(strandsStops, c.MessageStop.StopReason)
	case c.Metadata != nil:
		r.meta = *c.Metadata
	}
}

func (r *agentcoreReader) message(m *strandsMessage) error {
	blocks, err := blocksOfStrands(m.Content)
	if err != nil {
		return err
	}
	if m.Role == "assistant" {
		r.begin(false)
		r.add(r.model(), &event.AssistantMessage{
			Content: blocks, Stop: r.stop, Usage: r.meta.Usage.ours(),
			Latency: milliseconds(r.meta.Metrics.Latency), TimeToFirstByte: milliseconds(r.meta.Metrics.FirstByte),
		})
		for _, c := range event.CallsOf(blocks) {
			r.names[c.ID] = c.Name
		}
		r.begun, r.stop, r.meta = false, "", agentcoreMetadata{}
		return nil
	}
	for _, b := range blocks {
		res, ok := b.(*event.ToolResult)
		if !ok {
			return fmt.Errorf("a user message of the loop holds %s", b.BlockKind())
		}
		res.Name = r.names[res.Call]
		r.add(res.Call, &event.StepEnded{Step: event.StepTool, Outcome: event.OutcomeDone, Result: res})
	}
	return nil
}

// agentcoreWriter turns events into frames, as Braid's AgentCore wire will.
type agentcoreWriter struct {
	// title gives a tool's name for people; set it to send the seed's kind 7.
	title   func(tool string) string
	frames  []string
	opened  bool
	block   int
	calls   []*event.ToolCall
	results map[string]*event.ToolResult
	last    strandsMessage
	began   int
}

func writeAgentcore(events []event.Event) ([]string, error) {
	w := &agentcoreWriter{results: map[string]*event.ToolResult{}, block: -1}
	return w.all(events)
}

func (w *agentcoreWriter) all(events []event.Event) ([]string, error) {
	for _, e := range forClients(events) {
		if err := w.event(&e); err != nil {
			return nil, err
		}
	}
	return w.frames, nil
}

func (w *agentcoreWriter) send(v any) { w.frames = append(w.frames, "data: "+asFrame(v)) }

func (w *agentcoreWriter) chunk(name string, v any) {
	w.send(map[string]any{"event": map[string]any{name: v}})
}

// open says messageStart once a model call, when the model begins to speak.
func (w *agentcoreWriter) open() {
	if !w.opened {
		w.opened = true
		w.chunk("messageStart", map[string]string{"role": "assistant"})
	}
}

func (w *agentcoreWriter) closeBlock(next int) {
	if w.block >= 0 && w.block != next {
		w.chunk("contentBlockStop", map[string]int{"contentBlockIndex": w.block})
	}
	w.block = next
}

func (w *agentcoreWriter) delta(block int, d any) {
	w.open()
	w.closeBlock(block)
	w.chunk("contentBlockDelta", map[string]any{"delta": d, "contentBlockIndex": block})
}

func (w *agentcoreWriter) event(e *event.Event) error {
	switch b := e.Body.(type) {
	case *event.RunStarted:
		w.send(map[string]bool{"init_event_loop": true})
	case *event.StepBegun:
		if b.Step != event.StepModel {
			return nil
		}
		if w.began++; w.began > 1 {
			w.send(map[string]bool{"start": true}) // Strands says it twice on a recursion
		}
		w.send(map[string]bool{"start": true})
		w.send(map[string]bool{"start_event_loop": true})
	case *event.TextDelta:
		w.delta(b.Block, map[string]string{"text": b.Text})
	case *event.ThinkingDelta:
		w.delta(b.Block, map[string]any{"reasoningContent": strandsReasoningDelta{Text: b.Text}})
	case *event.ToolInputDelta:
		if w.block != b.Block {
			w.open()
			w.closeBlock(b.Block)
			w.chunk("contentBlockStart", map[string]any{
				"start":             map[string]any{"toolUse": map[string]string{"toolUseId": b.Call, "name": b.Tool}},
				"contentBlockIndex": b.Block,
			})
		}
		if b.JSON != "" {
			w.delta(b.Block, map[string]any{"toolUse": map[string]string{"input": b.JSON}})
		}
	case *event.AssistantMessage:
		return w.message(b)
	case *event.StepEnded:
		return w.ended(b)
	case *event.ToolProgress:
		use := strandsToolUse{ID: b.Call, Name: b.Tool, Input: json.RawMessage("{}")}
		w.send(map[string]any{"type": "tool_stream", "tool_stream_event": agentcoreTool{use, b.Data}})
	case *event.RunEnded:
		if b.Status == event.RunFailed {
			w.send(map[string]string{
				"error": b.Err.Message, "error_type": b.Err.Code, "message": "An error occurred during streaming",
			})
			return nil
		}
		w.send(map[string]any{"result": agentcoreResult{"agent_result", w.last, theirsOf(strandsStops, b.Stop)}})
	}
	return nil
}

func (w *agentcoreWriter) message(m *event.AssistantMessage) error {
	content, err := strandsContentOf(m.Content)
	if err != nil {
		return err
	}
	w.last = strandsMessage{"assistant", content}
	w.open()
	w.closeBlock(-1)
	w.chunk("messageStop", map[string]string{"stopReason": theirsOf(strandsStops, m.Stop)})
	w.chunk("metadata", agentcoreMetadata{strandsUsageOf(m.Usage), strandsMetricsOf(m)})
	w.calls = event.CallsOf(m.Content)
	if w.title != nil {
		for _, c := range w.calls {
			w.send(map[string]any{
				"tool_name": w.title(c.Name), "type": "tool_use", "debug_data": agentcoreDebug{w.last},
			})
		}
	}
	w.send(map[string]any{"message": w.last})
	w.opened = false
	return nil
}

// ended waits until every call of the last message has its result: Strands
// sends them in one message, in request order.
func (w *agentcoreWriter) ended(b *event.StepEnded) error {
	if b.Step == event.StepModel {
		if b.Err != nil && b.Err.Kind == event.ErrThrottled {
			w.send(map[string]float64{"event_loop_throttled_delay": b.Err.RetryAfter.Seconds()})
		}
		return nil
	}
	w.results[b.Result.Call] = b.Result
	m := strandsMessage{Role: "user"}
	for _, c := range w.calls {
		r := w.results[c.ID]
		if r == nil {
			return nil
		}
		content, err := strandsContentOf([]event.Block{r})
		if err != nil {
			return err
		}
		m.Content = append(m.Content, content...)
	}
	w.send(map[string]any{"message": m})
	return nil
}

var agentcoreForm = foreignForm{
	read:  readAgentcore,
	write: writeAgentcore,
	plain: func(f string) (any, error) { return plainJSON(strings.TrimPrefix(f, "data: ")) },
}

// The frames of seed 1, as they stand there.
const (
	seed1Init      = `data: {"init_event_loop": true}`
	seed1Start     = `data: {"start": true}`
	seed1StartLoop = `data: {"start_event_loop": true}`
	seed1Message   = `data: {"event": {"messageStart": {"role": "assistant"}}}`
	seed1Delta     = `data: {"event": {"contentBlockDelta": {"delta": {"text": "Bedrock Agent"}, "contentBlockIndex": 0}}}`
	seed1Internal  = `data: "{'data': 'Bedrock Agent', 'delta': {'text': 'Bedrock Agent'}, 'agent': <strands.agent.agent.Agent object at 0xffff8a4eb230>, 'event_loop_cycle_id': UUID('ffe68ef9-dc65-4d6d-90f1-303202bd0c99'), 'request_state': {}, 'event_loop_cycle_trace': <strands.telemetry.metrics.Trace object at 0xffff88b51160>, 'event_loop_cycle_span': _Span(name=\"execute_event_loop_cycle\", context=SpanContext(trace_id=0x687b4c40a83ec90e8ca9d690ba5d5c72, span_id=0x869003b7115ed777, trace_flags=0x01, trace_state=[], is_remote=False))}"`
	seed1Stop      = `data: {"event": {"messageStop": {"stopReason": "tool_use"}}}`
	seed1Metadata  = `data: {"event": {"metadata": {"usage": {"inputTokens": 1643, "outputTokens": 117, "totalTokens": 1760}, "metrics": {"latencyMs": 2617}}}}`
	seed1ToolUse   = `data: {"tool_name": "AWS Documentation Search", "type": "tool_use", "debug_data": {"message": {"role": "assistant", "content": [{"text": "..."}, {"toolUse": {"toolUseId": "tooluse_NHP8c04pTzWPVL0iGUHDhA", "name": "aws___search_documentation", "input": {"search_phrase": "Bedrock AgentCore", "limit": 10}}}]}}}`
	seed1Whole     = `data: {"message": {"role": "assistant", "content": [{"text": "..."}, {"toolUse": {"toolUseId": "tooluse_NHP8c04pTzWPVL0iGUHDhA", "name": "aws___search_documentation", "input": {"search_phrase": "Bedrock AgentCore", "limit": 10}}}]}}`
)

const seed1Call = "tooluse_NHP8c04pTzWPVL0iGUHDhA"

func modelHeader(cycle int) event.Header {
	return event.Header{
		Run: seedRun, Author: seedAgent, Cycle: cycle, Step: fmt.Sprintf("model-%d", cycle), Attempt: 1,
	}
}

func toolHeader(cycle int, call string) event.Header {
	return event.Header{Run: seedRun, Author: seedAgent, Cycle: cycle, Step: call, Attempt: 1}
}

func live(h event.Header, n int64) event.Header {
	h.N = n
	return h
}

func seed1Answer() *event.AssistantMessage {
	return &event.AssistantMessage{
		Content: []event.Block{
			&event.Text{Text: "..."},
			&event.ToolCall{
				ID: seed1Call, Name: "aws___search_documentation",
				Args: json.RawMessage(`{"search_phrase":"Bedrock AgentCore","limit":10}`),
			},
		},
		Stop:    event.StopToolUse,
		Usage:   event.Usage{Input: 1643, Output: 117, Total: 1760},
		Latency: 2617 * time.Millisecond,
	}
}

func agentcoreRows() []vocabularyRow {
	begun := event.Event{Header: modelHeader(1), Body: &event.StepBegun{Step: event.StepModel, Why: event.WhyInput}}
	started := event.Event{Header: event.Header{Run: seedRun}, Body: &event.RunStarted{}}
	toolDelta := func(n int64, json string) event.Event {
		return event.Event{Header: live(modelHeader(1), n), Body: &event.ToolInputDelta{
			Call: "tooluse_1", Tool: "add", JSON: json, Block: 1,
		}}
	}
	twoCalls := &event.AssistantMessage{
		Content: []event.Block{
			&event.ToolCall{ID: "tooluse_1", Name: "add", Args: json.RawMessage(`{"a":3,"b":5}`)},
			&event.ToolCall{ID: "tooluse_2", Name: "div", Args: json.RawMessage(`{"a":1,"b":0}`)},
		},
		Stop: event.StopToolUse,
	}
	return []vocabularyRow{
		{
			seed: "1", heading: "1. 初期化イベント", what: "init_event_loop, start, start_event_loop",
			in:   []string{seed1Init, seed1Start, seed1StartLoop},
			want: []event.Event{started, begun},
		},
		{
			seed: "1", heading: "2. メッセージ開始イベント, 3. テキストストリーミング", what: "messageStart, contentBlockDelta.text",
			in:   []string{seed1Message, seed1Delta},
			want: []event.Event{{Header: live(modelHeader(1), 1), Body: &event.TextDelta{Text: "Bedrock Agent"}}},
		},
		{
			seed: "1", heading: "4. Strandsエージェント内部イベント", what: "string holding a Python dict",
			in: []string{seed1Internal}, out: []string{},
			why: "it repeats the delta before it with the agent's inner state; DESIGN section 9: never sent, survived when read",
		},
		{
			seed: "1", heading: "5. メッセージ停止, 6. メタデータ, 8. 完全メッセージ", what: "messageStart, messageStop, metadata, message",
			in:   []string{seed1Message, seed1Stop, seed1Metadata, seed1Whole},
			want: []event.Event{{Header: modelHeader(1), Body: seed1Answer()}},
		},
		{
			seed: "1", heading: "7. ツール使用イベント", what: "tool_name, type tool_use, debug_data",
			in: []string{seed1ToolUse},
			want: []event.Event{{Header: live(modelHeader(1), 1), Body: &event.ToolInputDelta{
				Call: seed1Call, Tool: "aws___search_documentation",
				JSON: `{"search_phrase":"Bedrock AgentCore","limit":10}`, Block: 1,
			}}},
			out: []string{
				seed1Message,
				`data: {"event": {"contentBlockStart": {"start": {"toolUse": {"toolUseId": "tooluse_NHP8c04pTzWPVL0iGUHDhA", "name": "aws___search_documentation"}}, "contentBlockIndex": 1}}}`,
				`data: {"event": {"contentBlockDelta": {"delta": {"toolUse": {"input": "{\"search_phrase\":\"Bedrock AgentCore\",\"limit\":10}"}}, "contentBlockIndex": 1}}}`,
			},
			why: "the entry point of the seed's author made it, not Strands: read as a live announcement; written only on request, from the call in the whole message",
		},
		{
			seed: "1", heading: "イベントタイプ別詳細, 順序", what: "a whole turn in the order of the stream",
			in: []string{
				seed1Init, seed1Start, seed1StartLoop, seed1Message, seed1Delta, seed1Internal,
				`data: {"event": {"contentBlockStop": {"contentBlockIndex": 0}}}`,
				seed1Stop, seed1Metadata, seed1Whole,
			},
			want: []event.Event{
				started, begun,
				{Header: live(modelHeader(1), 1), Body: &event.TextDelta{Text: "Bedrock Agent"}},
				{Header: modelHeader(1), Body: seed1Answer()},
			},
			out: []string{
				seed1Init, seed1Start, seed1StartLoop, seed1Message, seed1Delta,
				`data: {"event": {"contentBlockStop": {"contentBlockIndex": 0}}}`,
				seed1Stop, seed1Metadata, seed1Whole,
			},
			why: "the same without the string of kind 4; contentBlockStop is on the real stream though the seed leaves it out",
		},
		{
			seed: "1", heading: "注意事項 1 (anchor 3.2)", what: `\u escapes`,
			in: []string{
				seed1Message,
				`data: {"event": {"contentBlockDelta": {"delta": {"text": "\u8a08\u7b97 \ud83d\udd0d"}, "contentBlockIndex": 0}}}`,
			},
			want: []event.Event{{Header: live(modelHeader(1), 1), Body: &event.TextDelta{Text: "計算 🔍"}}},
		},
		{
			seed: "1", heading: "anchor 1.4", what: "contentBlockStart.toolUse, contentBlockDelta.toolUse",
			in: []string{
				seed1Message,
				`data: {"event": {"contentBlockStart": {"start": {"toolUse": {"toolUseId": "tooluse_1", "name": "add"}}, "contentBlockIndex": 1}}}`,
				`data: {"event": {"contentBlockDelta": {"delta": {"toolUse": {"input": "{\"a\": 3"}}, "contentBlockIndex": 1}}}`,
				`data: {"event": {"contentBlockDelta": {"delta": {"toolUse": {"input": ", \"b\": 5}"}}, "contentBlockIndex": 1}}}`,
			},
			want: []event.Event{toolDelta(1, ""), toolDelta(2, `{"a": 3`), toolDelta(3, `, "b": 5}`)},
		},
		{
			seed: "1", heading: "anchor 1.4", what: "reasoning delta and block",
			in: []string{
				seed1Message,
				`data: {"event": {"contentBlockDelta": {"delta": {"reasoningContent": {"text": "hm"}}, "contentBlockIndex": 0}}}`,
				`data: {"event": {"contentBlockStop": {"contentBlockIndex": 0}}}`,
				`data: {"event": {"messageStop": {"stopReason": "end_turn"}}}`,
				`data: {"event": {"metadata": {"usage": {"inputTokens": 5, "outputTokens": 2, "totalTokens": 7, "cacheReadInputTokens": 3, "cacheWriteInputTokens": 4}, "metrics": {"latencyMs": 9, "timeToFirstByteMs": 4}}}}`,
				`data: {"message": {"role": "assistant", "content": [{"reasoningContent": {"reasoningText": {"text": "hm", "signature": "c2ln"}}}, {"reasoningContent": {"redactedContent": "b3BhcXVl"}}, {"text": "8"}]}}`,
			},
			want: []event.Event{
				{Header: live(modelHeader(1), 1), Body: &event.ThinkingDelta{Text: "hm"}},
				{Header: modelHeader(1), Body: &event.AssistantMessage{
					Content: []event.Block{
						&event.Thinking{Text: "hm", Signature: "c2ln"},
						&event.RedactedThinking{Data: "b3BhcXVl"},
						&event.Text{Text: "8"},
					},
					Stop:    event.StopEndTurn,
					Usage:   event.Usage{Input: 5, Output: 2, Total: 7, CacheRead: 3, CacheWrite: 4},
					Latency: 9 * time.Millisecond, TimeToFirstByte: 4 * time.Millisecond,
				}},
			},
		},
		{
			seed: "1", heading: "8. 完全メッセージ (anchor 3.3)", what: "message with role user: tool results",
			in: []string{
				seed1Message, seed1Stop,
				`data: {"event": {"metadata": {"usage": {"inputTokens": 0, "outputTokens": 0, "totalTokens": 0}, "metrics": {"latencyMs": 0}}}}`,
				`data: {"message": {"role": "assistant", "content": [{"toolUse": {"toolUseId": "tooluse_1", "name": "add", "input": {"a": 3, "b": 5}}}, {"toolUse": {"toolUseId": "tooluse_2", "name": "div", "input": {"a": 1, "b": 0}}}]}}`,
				`data: {"tool_stream_event": {"tool_use": {"toolUseId": "tooluse_2", "name": "div", "input": {}}, "data": {"half": 1}}, "type": "tool_stream"}`,
				`data: {"message": {"role": "user", "content": [{"toolResult": {"toolUseId": "tooluse_1", "status": "success", "content": [{"text": "8"}]}}, {"toolResult": {"toolUseId": "tooluse_2", "status": "error", "content": [{"text": "Error: division by zero"}, {"json": {"code": 1}}]}}]}}`,
			},
			want: []event.Event{
				{Header: modelHeader(1), Body: twoCalls},
				{Header: live(toolHeader(1, "tooluse_2"), 1), Body: &event.ToolProgress{
					Call: "tooluse_2", Tool: "div", Data: json.RawMessage(`{"half":1}`),
				}},
				{Header: toolHeader(1, "tooluse_1"), Body: &event.StepEnded{
					Step: event.StepTool, Outcome: event.OutcomeDone,
					Result: &event.ToolResult{Call: "tooluse_1", Name: "add", Content: says("8")},
				}},
				{Header: toolHeader(1, "tooluse_2"), Body: &event.StepEnded{
					Step: event.StepTool, Outcome: event.OutcomeDone,
					Result: &event.ToolResult{
						Call: "tooluse_2", Name: "div", Content: says("Error: division by zero"),
						Structured: json.RawMessage(`{"code":1}`), IsError: true,
					},
				}},
			},
		},
		{
			seed: "1", heading: "anchor 1.4", what: "event_loop_throttled_delay",
			in: []string{seed1Start, seed1StartLoop, `data: {"event_loop_throttled_delay": 4}`},
			want: []event.Event{begun, {Header: modelHeader(1), Body: &event.StepEnded{
				Step: event.StepModel, Outcome: event.OutcomeFailed,
				Err: &event.Error{Kind: event.ErrThrottled, RetryAfter: 4 * time.Second},
			}}},
		},
		{
			seed: "1", heading: "2. エラーハンドリング (anchor 3.2)", what: "error in the middle of a stream",
			in: []string{
				`data: {"error": "Read timed out", "error_type": "ReadTimeoutError", "message": "An error occurred during streaming"}`,
			},
			want: []event.Event{{Header: event.Header{Run: seedRun, Author: seedAgent}, Body: &event.RunEnded{
				Status: event.RunFailed, Stop: event.StopError, Why: event.WhyFailed,
				Err: &event.Error{Kind: event.ErrModel, Message: "Read timed out", Code: "ReadTimeoutError"},
			}}},
		},
		{
			seed: "1", heading: "anchor 1.12", what: "result",
			in: []string{
				seed1Message,
				`data: {"event": {"messageStop": {"stopReason": "end_turn"}}}`,
				`data: {"event": {"metadata": {"usage": {"inputTokens": 772, "outputTokens": 15, "totalTokens": 787}, "metrics": {"latencyMs": 814}}}}`,
				`data: {"message": {"role": "assistant", "content": [{"text": "8"}]}}`,
				`data: {"result": {"type": "agent_result", "message": {"role": "assistant", "content": [{"text": "8"}]}, "stop_reason": "end_turn"}}`,
			},
			want: []event.Event{
				{Header: modelHeader(1), Body: &event.AssistantMessage{
					Content: says("8"), Stop: event.StopEndTurn,
					Usage: event.Usage{Input: 772, Output: 15, Total: 787}, Latency: 814 * time.Millisecond,
				}},
				{Header: event.Header{Run: seedRun, Author: seedAgent}, Body: &event.RunEnded{
					Status: event.RunCompleted, Stop: event.StopEndTurn, Why: event.WhyEndTurn, Cycles: 1,
				}},
			},
		},
	}
}

func TestVocabularyAgentCore(t *testing.T) {
	t.Parallel()
	proveRows(t, agentcoreForm, agentcoreRows())
}

// Kind 7 is written on request: from our tool call, with the tool's name for
// people, before the whole message.
func TestVocabularyAgentCoreToolUseFromOurCall(t *testing.T) {
	t.Parallel()
	w := &agentcoreWriter{
		results: map[string]*event.ToolResult{}, block: -1,
		title: func(tool string) string {
			return map[string]string{"aws___search_documentation": "AWS Documentation Search"}[tool]
		},
	}
	got, err := w.all([]event.Event{{Header: modelHeader(1), Body: seed1Answer()}})
	if err != nil {
		t.Fatal(err)
	}
	sameFrames(t, agentcoreForm, got, []string{seed1Message, seed1Stop, seed1Metadata, seed1ToolUse, seed1Whole})
}

// A frame that nobody has described is no reason to stop reading.
func TestVocabularyAgentCoreSurvives(t *testing.T) {
	t.Parallel()
	for _, f := range []string{
		`data: {"new_in_1_50": {"x": 1}}`,
		`data: {"event": {"redactContent": {}}}`,
		`data: "{'MCPAgentTool' object has no attribute}"`,
		`data: {}`,
	} {
		got, err := readAgentcore([]string{f})
		if err != nil || len(got) != 0 {
			t.Errorf("%s gave %d events and %v", f, len(got), err)
		}
	}
	got, err := readAgentcore([]string{`data: "text that an entry point yields"`})
	if err != nil || len(got) != 1 {
		t.Fatalf("a plain string gave %d events and %v", len(got), err)
	}
	if d, ok := got[0].Body.(*event.TextDelta); !ok || d.Text != "text that an entry point yields" {
		t.Errorf("a plain string became %s", showEvent(got[0]))
	}
}
