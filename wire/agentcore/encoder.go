package agentcore

import (
	"strconv"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/sse"
	"github.com/braidrun/braid/wire"
	"github.com/braidrun/braid/wire/story"
)

// Wire is the AgentCore wire with the settings of the current Python program.
var Wire = wire.Wire{
	Name: "agentcore", ContentType: "text/event-stream; charset=utf-8",
	Open: func(wire.Start) wire.Encoder { return &Encoder{} },
}

// Encoder encodes the story of a run as the frames that AgentCore's Python program sends for a
// Strands agent, byte for byte. It may encode several runs in a row. It is not safe for
// concurrent use.
//
// Before the end of an answer, it sends the parts that were not streamed as a piece, so that a
// reader can rely on the pieces. It writes nothing for items that Strands has no form for.
type Encoder struct {
	// ASCII escapes all other characters as \uXXXX, as the Python program did until July 2025.
	ASCII bool
	// Copies repeats each piece as Strands derives it: {"data", "delta"} (the seed's kind 4, as
	// JSON and never as a printed dict) and tool_use_stream.
	Copies bool
	// Announce sends each call as the seed's kind 7 before its message.
	Announce bool

	dst  []byte
	root *scope
}

// scope is an agent's thread of work. A sub-agent's frames are nested in those of the call that
// waits for it.
type scope struct {
	before, after string
	step          string
	cycles        int
	// opened is set once the model's message has begun.
	opened bool
	// block is the index of the open block; negative for none.
	block int
	sent  map[int]*sent
	// left counts the streamed blocks that are missing in the complete answer.
	left int
	// had counts the blocks of the complete answer in earlier parts.
	had int
	// last is the newest complete answer.
	last []event.Block
}

// sent is the part of a block that was sent.
type sent struct {
	kind  blockKind
	text  story.Streamed
	begun bool
	input []byte
}

// blockKind is the kind of a streamed block.
type blockKind uint8

const (
	textBlock blockKind = iota + 1
	thinkingBlock
	callBlock
)

// add appends a piece of text.
func (b *sent) add(kind blockKind, text string) {
	b.kind = kind
	b.text.Add(text)
}

// rest returns the unsent remainder of a complete text; "" if the text has changed.
func (b *sent) rest(text string) string {
	if b == nil {
		return text
	}
	if !b.text.Begins(text) {
		return ""
	}
	return text[b.text.N:]
}

// Append appends the frames of an item: any number, each complete.
func (enc *Encoder) Append(dst []byte, it *story.Item) []byte {
	enc.dst = dst
	if it.Snapshot != nil {
		enc.snapshot(it)
	} else if !it.Gap() {
		enc.event(it)
	}
	dst, enc.dst = enc.dst, nil
	return dst
}

// event writes the frames of an event.
func (enc *Encoder) event(it *story.Item) {
	e := it.Event
	s := enc.scope(it.Agent)
	switch b := e.Body.(type) {
	case *event.RunStarted:
		enc.root = newScope()
		enc.plain(enc.root, `{"init_event_loop": true}`)
	case *event.ScopeOpened:
		if it.Opened != nil {
			enc.opened(it.Opened, b)
		}
	case *event.StepBegun:
		enc.stepBegun(s, e, b)
	case *event.TextDelta:
		enc.text(s, b.Block, b.Text)
	case *event.ThinkingDelta:
		enc.thinking(s, b.Block, b.Text)
	case *event.ToolInputDelta:
		enc.input(s, b)
	case *event.AnswerReplaced:
		enc.open(s)
		enc.begin(s, `{"event": {"redactContent": {"redactAssistantContentMessage": `)
		enc.str(b.Text)
		enc.end(s, `}}}`)
		instead := &sent{}
		instead.add(textBlock, b.Text)
		s.sent = map[int]*sent{b.Block: instead}
		s.block = b.Block
	case *event.AssistantMessage:
		enc.message(s, it, b)
	case *event.ToolProgress:
		enc.progress(s, it.Call, b)
	case *event.StepEnded:
		enc.stepEnded(s, it, b)
	case *event.Asked:
		enc.asked(s, it.Call, b)
	case *event.RunEnded:
		enc.ended(b)
	}
}

func newScope() *scope { return &scope{block: -1, sent: map[int]*sent{}} }

// scope returns the scope of an agent. An agent that no event opened appears as a node of a
// graph.
func (enc *Encoder) scope(a *story.Agent) *scope {
	if a.ID == "" {
		return enc.main()
	}
	s, ok := a.Own.Wire.(*scope)
	if !ok {
		s = newScope()
		enc.inNode(s, a.ID)
		a.Own.Wire = s
	}
	return s
}

// main returns the scope of the run's own agent.
func (enc *Encoder) main() *scope {
	if enc.root == nil {
		enc.root = newScope()
	}
	return enc.root
}

// inNode nests a scope's frames in those of a graph node.
func (enc *Encoder) inNode(s *scope, node string) {
	b := appendQuoted([]byte(`{"type": "multiagent_node_stream", "node_id": `), node, enc.ASCII)
	s.before, s.after = string(append(b, `, "event": `...)), `}`
}

// opened nests the frames of a scope in those of the call that waits for it.
func (enc *Encoder) opened(a *story.Agent, b *event.ScopeOpened) {
	s, parent := enc.scope(a), enc.scope(a.Parent)
	switch {
	case b.Call != "":
		call := a.Parent.Asked("", b.Call).ToolCall
		if call == nil {
			call = &event.ToolCall{ID: b.Call, Name: b.Agent}
		}
		s.before, s.after = string(enc.appendToolStream(nil, call)), `}}`
	case b.Node != "":
		enc.inNode(s, b.Node)
	}
	s.before, s.after = parent.before+s.before, s.after+parent.after
}

// appendToolStream begins a frame of what a call streams.
func (enc *Encoder) appendToolStream(dst []byte, call *event.ToolCall) []byte {
	dst = append(dst, `{"type": "tool_stream", "tool_stream_event": {"tool_use": `...)
	return append(enc.appendUse(dst, call), `, "data": `...)
}

// begin begins a frame; end closes it.
func (enc *Encoder) begin(s *scope, text string) {
	enc.dst = append(append(sse.OpenData(enc.dst), s.before...), text...)
}

func (enc *Encoder) end(s *scope, text string) {
	enc.dst = sse.Close(append(append(enc.dst, text...), s.after...))
}

func (enc *Encoder) plain(s *scope, text string) {
	enc.begin(s, text)
	enc.end(s, "")
}

func (enc *Encoder) str(text string)   { enc.dst = appendQuoted(enc.dst, text, enc.ASCII) }
func (enc *Encoder) raw(text string)   { enc.dst = append(enc.dst, text...) }
func (enc *Encoder) number(n int64)    { enc.dst = strconv.AppendInt(enc.dst, n, 10) }
func (enc *Encoder) value(json []byte) { enc.dst = appendValue(enc.dst, json, enc.ASCII) }

func (enc *Encoder) stepBegun(s *scope, e *event.Event, b *event.StepBegun) {
	if b.Step != event.StepModel {
		return
	}
	again := s.step == e.Step && e.Attempt > 1
	s.step = e.Step
	s.fresh()
	if again {
		return // Strands retries a call within its cycle
	}
	if s.cycles++; s.cycles > 1 {
		enc.plain(s, `{"start": true}`) // Strands' loop calls itself and sends this twice
	}
	enc.plain(s, `{"start": true}`)
	enc.plain(s, `{"start_event_loop": true}`)
}

// fresh prepares a scope for a new message.
func (s *scope) fresh() {
	s.opened, s.block, s.left, s.had = false, -1, 0, 0
	clear(s.sent)
}

// open begins the message once.
func (enc *Encoder) open(s *scope) {
	if !s.opened {
		s.opened = true
		enc.plain(s, `{"event": {"messageStart": {"role": "assistant"}}}`)
	}
}

// at opens a block and closes the one before.
func (enc *Encoder) at(s *scope, block int) *sent {
	enc.open(s)
	if s.block != block {
		enc.close(s)
		s.block = block
	}
	b := s.sent[block]
	if b == nil {
		b = &sent{}
		s.sent[block] = b
	}
	return b
}

func (enc *Encoder) close(s *scope) {
	if s.block >= 0 {
		enc.begin(s, `{"event": {"contentBlockStop": {"contentBlockIndex": `)
		enc.number(int64(s.block))
		enc.end(s, `}}}`)
	}
	s.block = -1
}

// delta sends a piece of a block.
func (enc *Encoder) delta(s *scope, block int, before, text, after string) {
	enc.begin(s, `{"event": {"contentBlockDelta": {"delta": {`)
	enc.raw(before)
	enc.str(text)
	enc.raw(after)
	enc.raw(`}, "contentBlockIndex": `)
	enc.number(int64(block))
	enc.end(s, `}}}`)
}

func (enc *Encoder) text(s *scope, block int, text string) {
	enc.at(s, block).add(textBlock, text)
	enc.delta(s, block, `"text": `, text, ``)
	if enc.Copies {
		enc.begin(s, `{"data": `)
		enc.str(text)
		enc.raw(`, "delta": {"text": `)
		enc.str(text)
		enc.end(s, `}}`)
	}
}

func (enc *Encoder) thinking(s *scope, block int, text string) {
	enc.at(s, block).add(thinkingBlock, text)
	enc.delta(s, block, `"reasoningContent": {"text": `, text, `}`)
	enc.begin(s, `{"reasoningText": `)
	enc.str(text)
	enc.raw(`, "delta": {"reasoningContent": {"text": `)
	enc.str(text)
	enc.end(s, `}}, "reasoning": true}`)
}

func (enc *Encoder) input(s *scope, b *event.ToolInputDelta) {
	have := enc.at(s, b.Block)
	have.kind = callBlock
	if !have.begun {
		have.begun = true
		enc.begin(s, `{"event": {"contentBlockStart": {"start": {"toolUse": {"toolUseId": `)
		enc.str(b.Call)
		enc.raw(`, "name": `)
		enc.str(b.Tool)
		enc.raw(`}}, "contentBlockIndex": `)
		enc.number(int64(b.Block))
		enc.end(s, `}}}`)
	}
	if b.JSON == "" {
		return
	}
	have.text.Add(b.JSON)
	enc.delta(s, b.Block, `"toolUse": {"input": `, b.JSON, `}`)
	if enc.Copies {
		have.input = append(have.input, b.JSON...)
		enc.begin(s, `{"type": "tool_use_stream", "delta": {"toolUse": {"input": `)
		enc.str(b.JSON)
		enc.raw(`}}, "current_tool_use": {"toolUseId": `)
		enc.str(b.Call)
		enc.raw(`, "name": `)
		enc.str(b.Tool)
		enc.raw(`, "input": `)
		enc.str(string(have.input))
		enc.end(s, `}}`)
	}
}

// rest sends the unstreamed part of a block. If a secret filter or a hook has changed the
// streamed part, it sends nothing: the complete message follows.
func (enc *Encoder) rest(s *scope, i int, b event.Block) {
	i, have := s.streamed(i+s.left, b)
	switch b := b.(type) {
	case *event.Text:
		if rest := have.rest(b.Text); rest != "" {
			enc.text(s, i, rest)
		}
	case *event.Thinking:
		if rest := have.rest(b.Text); rest != "" {
			enc.thinking(s, i, rest)
		}
		if b.Signature != "" {
			enc.at(s, i)
			enc.delta(s, i, `"reasoningContent": {"signature": `, b.Signature, `}`)
		}
	case *event.ToolCall:
		if have == nil || have.text.N == 0 {
			enc.input(s, &event.ToolInputDelta{Call: b.ID, Tool: b.Name, JSON: string(b.Args), Block: i})
		}
	}
}

// streamed finds the sent block for a block of the complete answer, from this number on. It skips
// blocks that were streamed and removed later, such as thinking with a secret.
func (s *scope) streamed(i int, b event.Block) (number int, have *sent) {
	var kind blockKind
	switch b.(type) {
	case *event.Text:
		kind = textBlock
	case *event.Thinking:
		kind = thinkingBlock
	case *event.ToolCall:
		kind = callBlock
	}
	if have = s.sent[i]; have == nil || have.kind == kind || kind == 0 {
		return i, have
	}
	for later := i + 1; ; later++ {
		switch have = s.sent[later]; {
		case have == nil, have.kind == kind:
			s.left += later - i
			return later, have
		}
	}
}

func (enc *Encoder) message(s *scope, it *story.Item, b *event.AssistantMessage) {
	enc.open(s)
	for i, block := range b.Content {
		enc.rest(s, s.had+i, block)
	}
	s.had += len(b.Content)
	if b.Piece {
		return
	}
	enc.close(s)
	s.last = it.Answer.Content
	enc.begin(s, `{"event": {"messageStop": {"stopReason": `)
	enc.str(stopWord(b.Stop))
	enc.end(s, `}}}`)
	enc.metadata(s, b)
	if enc.Announce {
		for _, c := range event.CallsOf(s.last) {
			enc.begin(s, `{"tool_name": `)
			_, title := TitleOf(c.Name)
			enc.str(title)
			enc.raw(`, "type": "tool_use", "debug_data": {"message": `)
			enc.dst = enc.appendMessage(enc.dst, s.last)
			enc.end(s, `}}`)
		}
	}
	enc.begin(s, `{"message": `)
	enc.dst = enc.appendMessage(enc.dst, s.last)
	enc.end(s, `}`)
	s.fresh()
	enc.toolResults(s, it.Results)
}

func (enc *Encoder) metadata(s *scope, b *event.AssistantMessage) {
	u := &b.Usage
	enc.begin(s, `{"event": {"metadata": {"usage": {"inputTokens": `)
	enc.number(u.Input)
	enc.raw(`, "outputTokens": `)
	enc.number(u.Output)
	enc.raw(`, "totalTokens": `)
	enc.number(u.Total)
	if u.CacheRead > 0 {
		enc.raw(`, "cacheReadInputTokens": `)
		enc.number(u.CacheRead)
	}
	if u.CacheWrite > 0 {
		enc.raw(`, "cacheWriteInputTokens": `)
		enc.number(u.CacheWrite)
	}
	enc.raw(`}, "metrics": {"latencyMs": `)
	enc.number(b.Latency.Milliseconds())
	if b.TimeToFirstByte > 0 {
		enc.raw(`, "timeToFirstByteMs": `)
		enc.number(b.TimeToFirstByte.Milliseconds())
	}
	enc.end(s, `}}}}`)
}

func (enc *Encoder) progress(s *scope, call *event.ToolCall, b *event.ToolProgress) {
	enc.begin(s, "")
	enc.dst = enc.appendToolStream(enc.dst, call)
	if len(b.Data) > 0 {
		enc.value(b.Data)
	} else {
		enc.str(b.Text)
	}
	enc.end(s, `}}`)
}

func (enc *Encoder) stepEnded(s *scope, it *story.Item, b *event.StepEnded) {
	if b.Step == event.StepModel {
		s.fresh()
		if b.Err != nil && b.Err.Kind == event.ErrThrottled && !b.RetryAt.IsZero() {
			enc.begin(s, `{"event_loop_throttled_delay": `)
			enc.dst = appendSeconds(enc.dst, b.Err.RetryAfter)
			enc.end(s, `}`)
		}
		return
	}
	if b.Result == nil {
		return
	}
	if b.Outcome == event.OutcomeCancelled {
		enc.begin(s, `{"tool_cancel_event": {"tool_use": `)
		enc.dst = enc.appendUse(enc.dst, it.Call)
		enc.raw(`, "message": `)
		enc.str(event.RawText(b.Result.Content))
		enc.end(s, `}}`)
	}
	enc.toolResults(s, it.Results)
}

// toolResults sends the results of an answer's calls in one message, in request order.
func (enc *Encoder) toolResults(s *scope, all []*event.ToolResult) {
	if len(all) == 0 {
		return
	}
	enc.begin(s, `{"message": {"role": "user", "content": [`)
	for i, r := range all {
		if i > 0 {
			enc.raw(", ")
		}
		enc.dst = enc.appendResult(enc.dst, r)
	}
	enc.end(s, `]}}`)
}

func (enc *Encoder) asked(s *scope, call *event.ToolCall, b *event.Asked) {
	enc.begin(s, `{"tool_interrupt_event": {"tool_use": `)
	enc.dst = enc.appendUse(enc.dst, call)
	enc.raw(`, "interrupts": [`)
	enc.interrupt(b)
	enc.end(s, `]}}`)
}

// interrupt writes a question in Strands' form.
func (enc *Encoder) interrupt(b *event.Asked) {
	enc.raw(`{"id": `)
	enc.str(b.Token)
	enc.raw(`, "name": `)
	name := b.Name
	if name == "" {
		name = string(b.Ask)
	}
	enc.str(name)
	enc.raw(`, "reason": `)
	if len(b.Payload) > 0 {
		enc.value(b.Payload)
	} else {
		enc.str(b.Prompt)
	}
	enc.raw(`, "response": null}`)
}

func (enc *Encoder) ended(b *event.RunEnded) {
	s := enc.main()
	if b.Status == event.RunFailed {
		enc.failed(s, b.Err)
		return
	}
	if len(b.Output) > 0 {
		enc.begin(s, `{"structured_output": `)
		enc.value(b.Output)
		enc.end(s, `}`)
	}
	enc.result(s, b.Stop)
}

func (enc *Encoder) result(s *scope, stop event.StopReason) {
	enc.begin(s, `{"result": `)
	enc.agentResult(s, stop)
	enc.end(s, `}}`)
}

// agentResult writes the result of a run and leaves it open.
func (enc *Encoder) agentResult(s *scope, stop event.StopReason) {
	enc.raw(`{"type": "agent_result", "message": `)
	enc.dst = enc.appendMessage(enc.dst, s.last)
	enc.raw(`, "stop_reason": `)
	enc.str(stopWord(stop))
}

// failed ends a started stream as the Python program does: with Strands' event if its loop has
// begun, and the exception.
func (enc *Encoder) failed(s *scope, err *event.Error) {
	message, class := faultOf(err)
	if s.cycles > 0 && class != maxTokensClass {
		enc.begin(s, `{"force_stop": true, "force_stop_reason": `)
		enc.str(message)
		enc.end(s, `}`)
	}
	enc.fault(s, message, class)
}

// fault writes the Python program's frame of an exception after the start.
func (enc *Encoder) fault(s *scope, message, class string) {
	enc.begin(s, `{"error": `)
	enc.str(message)
	enc.raw(`, "error_type": `)
	enc.str(class)
	enc.end(s, `, "message": "An error occurred during streaming"}`)
}
