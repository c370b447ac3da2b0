package agentcore

import (
	"strconv"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/internal/sse"
	"github.com/braidrun/braid/wire"
	"github.com/braidrun/braid/wire/story"
)

// Wire is AgentCore's, with the settings of the Python program of today.
var Wire = wire.Wire{
	Name: "agentcore", ContentType: "text/event-stream; charset=utf-8",
	Open: func(s wire.Start) wire.Encoder { return &Encoder{} },
}

// Encoder turns the story of a run into the frames that AgentCore's
// Python program sends for a Strands agent, byte for byte as Python writes JSON. One
// run may follow another. An Encoder is used by one goroutine at a time.
//
// What was not streamed of an answer is sent as a piece before its end, so that a
// reader who only joins pieces has all of it. What Strands has no word for gives no bytes.
type Encoder struct {
	// ASCII escapes all other characters as \uXXXX, as the program did until July 2025.
	ASCII bool
	// Copies sends each piece a second time as Strands derives it: {"data", "delta"}
	// (the seed's kind 4, as JSON and never as a printed dict) and tool_use_stream.
	Copies bool
	// Announce sends each call as the seed's kind 7 before the message that holds it.
	Announce bool

	dst  []byte
	root *scope
	// done is set once the run to be shown has ended or waits for answers, or the stream has failed.
	done bool
}

var _ wire.Encoder = (*Encoder)(nil)

// scope is an agent's thread of work. What a sub-agent says stands inside the frames
// of the call that waits for it.
type scope struct {
	before, after string
	step          string
	cycles        int
	// opened says that the model has begun to speak, block which of its blocks is open.
	opened bool
	block  int
	sent   map[int]*sent
	// left counts the blocks that were streamed and are not in the whole answer, had those of it that came before.
	left, had int
	// last is the newest whole answer.
	last []event.Block
}

// sent is what has been sent of a block.
type sent struct {
	kind  blockKind
	text  story.Streamed
	begun bool
	input []byte
}

// blockKind is what a block that is streamed holds.
type blockKind uint8

const (
	textBlock blockKind = iota + 1
	thinkingBlock
	callBlock
)

// add counts a piece of text.
func (b *sent) add(kind blockKind, text string) {
	b.kind = kind
	b.text.Add(text)
}

// rest returns what of a whole text was not sent; "" if it is another text by now.
func (b *sent) rest(text string) string {
	if b == nil {
		return text
	}
	if !b.text.Begins(text) {
		return ""
	}
	return text[b.text.N:]
}

// Append appends what an item gives: any number of frames, each closed.
func (enc *Encoder) Append(dst []byte, it *story.Item) []byte {
	enc.dst = dst
	if it.Snapshot != nil {
		enc.snapshot(it)
	} else {
		enc.event(it)
	}
	enc.done = enc.done || it.Ends
	dst, enc.dst = enc.dst, nil
	return dst
}

// event writes what an event gives.
func (enc *Encoder) event(it *story.Item) {
	e, lost := it.Event, it.Answer != nil && it.Answer.Lost
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
		if !lost {
			enc.text(s, b.Block, b.Text)
		}
	case *event.ThinkingDelta:
		if !lost {
			enc.thinking(s, b.Block, b.Text)
		}
	case *event.ToolInputDelta:
		if !lost {
			enc.input(s, b)
		}
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

// scope finds the thread of an agent. One that was not opened is told as a node of a graph.
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

// main is the thread of the run's own agent.
func (enc *Encoder) main() *scope {
	if enc.root == nil {
		enc.root = newScope()
	}
	return enc.root
}

// inNode puts a scope's frames into those of a node of a graph.
func (enc *Encoder) inNode(s *scope, node string) {
	b := appendQuoted([]byte(`{"type": "multiagent_node_stream", "node_id": `), node, enc.ASCII)
	s.before, s.after = string(append(b, `, "event": `...)), `}`
}

// opened puts the frames of a scope into those of what waits for it.
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

// appendToolStream begins what a call streams.
func (enc *Encoder) appendToolStream(dst []byte, call *event.ToolCall) []byte {
	dst = append(dst, `{"type": "tool_stream", "tool_stream_event": {"tool_use": `...)
	return append(enc.appendUse(dst, call), `, "data": `...)
}

// begin begins a frame, end closes it.
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
		return // Strands repeats a call within its cycle
	}
	if s.cycles++; s.cycles > 1 {
		enc.plain(s, `{"start": true}`) // its loop calls itself, and says it twice
	}
	enc.plain(s, `{"start": true}`)
	enc.plain(s, `{"start_event_loop": true}`)
}

// fresh makes a scope ready for a message.
func (s *scope) fresh() {
	s.opened, s.block, s.left, s.had = false, -1, 0, 0
	clear(s.sent)
}

// open says once that the model begins to speak.
func (enc *Encoder) open(s *scope) {
	if !s.opened {
		s.opened = true
		enc.plain(s, `{"event": {"messageStart": {"role": "assistant"}}}`)
	}
}

// at makes a block the open one.
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

// rest sends what of a block was not streamed. Of a block that is not as it was streamed, because a secret in it or a hook
// has changed it, nothing more is sent: the whole message has it.
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

// streamed finds what was sent of a block of the whole answer that has this number at least. Blocks that were streamed and
// left out afterwards, such as thinking with a secret in it, are passed over.
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
		enc.str(event.TextOf(b.Result.Content))
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

// interrupt writes a question as Strands has it.
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

// agentResult writes what a run came to, and leaves it open.
func (enc *Encoder) agentResult(s *scope, stop event.StopReason) {
	enc.raw(`{"type": "agent_result", "message": `)
	enc.dst = enc.appendMessage(enc.dst, s.last)
	enc.raw(`, "stop_reason": `)
	enc.str(stopWord(stop))
}

// failed ends a stream that has begun as the Python program does: what Strands says
// where its loop has begun, and the exception.
func (enc *Encoder) failed(s *scope, err *event.Error) {
	message, class := faultOf(err)
	if s.cycles > 0 && class != maxTokensClass {
		enc.begin(s, `{"force_stop": true, "force_stop_reason": `)
		enc.str(message)
		enc.end(s, `}`)
	}
	enc.fault(s, message, class)
}

// fault is what the Python program sends of an exception after the start.
func (enc *Encoder) fault(s *scope, message, class string) {
	enc.begin(s, `{"error": `)
	enc.str(message)
	enc.raw(`, "error_type": `)
	enc.str(class)
	enc.end(s, `, "message": "An error occurred during streaming"}`)
}
