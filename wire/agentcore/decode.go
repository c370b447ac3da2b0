package agentcore

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"time"

	"github.com/braidrun/braid/event"
)

// state is what an item means depends on.
type state struct {
	// over says that the run has ended, told that the stream's end was complained about.
	over, told bool
	// loop says that the stream tells of an agent's loop, whose end it tells of too; plain
	// that a program said texts of its own.
	loop, plain bool
	// raw says that this message's pieces come as raw chunks; last is the last of them.
	raw, thinks, inputs bool
	last                []byte
	// answered says that an answer's text has been told; tracked names the answer that was
	// told whole last.
	answered bool
	tracked  string
	// blocks are the calls of this message's blocks, by their index.
	blocks map[int]*ToolUse
	// fragments are the pieces of their inputs.
	fragments map[int][]byte
}

// value reads the next value of rest; nil where there is none.
func (r *Reader) value() *Item {
	s := scanner{b: r.rest}
	c := s.peek()
	if c == 0 {
		r.rest = nil
		return nil
	}
	if len(r.rest) > r.limit {
		r.rest = nil
		return r.anomaly(TooLarge, nil)
	}
	begin := s.at
	it := r.fresh()
	switch c {
	case '{':
		r.dict(&s, it)
	case '"':
		if !r.failed && bytes.HasPrefix(s.b[s.at:], []byte(`"{'`)) {
			it.Text = s.span() // its escapes hide nothing that is looked for
		} else {
			it.Text = s.text(&r.scratch)
		}
		if !s.bad {
			r.str(it)
		}
	default:
		s.skip()
		it.Kind = KindOther
	}
	end := s.at
	if !s.bad && (c == '{' || c == '[' || c == '"' || s.peek() == 0 || s.b[s.at-1] == '\n') {
		it.Raw = r.rest[begin:end]
		r.rest = r.rest[s.at:]
		return it
	}
	// No JSON: a text, as a program that sends its strings bare does, or a mishap.
	raw := r.rest[begin:]
	r.number--
	if c != '{' && c != '[' && c != '"' && c != '<' && !isMCPAgentTool(raw) {
		r.rest = nil
		it = r.fresh()
		it.Raw, it.Text = raw, bytes.ToValidUTF8(raw, []byte("\uFFFD"))
		r.str(it)
		if string(raw) == "[DONE]" {
			it.Kind = KindOther
		}
		return it
	}
	r.rest = nil
	if i := bytes.IndexByte(raw, '\n'); i >= 0 && c != '<' {
		raw, r.rest = raw[:i], raw[i+1:]
	}
	return r.anomaly(nameOf(raw), raw)
}

// str sorts a string: the printed form of Python objects, a known mishap, or text.
func (r *Reader) str(it *Item) {
	switch t := it.Text; {
	case r.failed:
		r.fail(it)
	case bytes.HasPrefix(t, []byte("{'")):
		it.Kind, it.Text = KindRepr, nil
		if bytes.HasPrefix(t, []byte("{'result':")) || bytes.HasPrefix(t, []byte("{'force_stop':")) {
			r.state.over = true
		}
		if bytes.HasPrefix(t, []byte("{'MCPAgentTool' object")) {
			it.Kind, it.Anomaly = KindAnomaly, MCPAgentTool
		}
	case isMCPAgentTool(t):
		it.Kind, it.Anomaly, it.Text = KindAnomaly, MCPAgentTool, nil
	default:
		it.Kind, r.state.plain = KindText, true
		it.Repeats = r.state.raw && bytes.Equal(t, r.state.last)
	}
}

func (r *Reader) fail(it *Item) {
	if isMCPAgentTool(it.Text) {
		it.Kind, it.Anomaly = KindAnomaly, MCPAgentTool
		return
	}
	it.Kind = KindError
	r.state.over = true
}

// fields are what of an object's values decides what it is.
type fields struct {
	message, debug, result, toolStream, cancel, interrupt, output []byte
	data, delta, errorText, kind, tool, errorType                 []byte
	thinking, reason, use, plain                                  []byte
	hasData, hasError, hasThinking, hasOutput, hasPlain           bool
	throttled                                                     float64
	init, start, loop, force                                      bool
}

// dict reads an object.
func (r *Reader) dict(s *scanner, it *Item) {
	s.object()
	it.Kind = KindOther
	var f fields
	for {
		k, ok := s.key()
		if !ok {
			break
		}
		switch string(k) {
		case "event":
			if s.peek() == '{' && it.Kind == KindOther {
				r.chunk(s, it)
				continue
			}
			s.skip()
		case "data":
			f.hasData = s.peek() == '"'
			f.data = s.text(&r.scratch)
		case "text":
			f.hasPlain = s.peek() == '"'
			f.plain = s.text(&r.scratch)
		case "delta":
			f.delta = s.skip()
		case "message":
			f.message = s.skip()
		case "type":
			f.kind = s.text(&r.scratch)
		case "tool_name":
			f.tool = s.text(&r.scratch)
		case "debug_data":
			f.debug = s.skip()
		case "init_event_loop":
			f.init = string(s.skip()) == "true"
		case "start":
			f.start = string(s.skip()) == "true"
		case "start_event_loop":
			f.loop = string(s.skip()) == "true"
		case "force_stop":
			f.force = string(s.skip()) == "true"
		case "force_stop_reason":
			f.reason = s.text(&r.scratch)
		case "reasoningText":
			f.hasThinking = s.peek() == '"'
			f.thinking = s.text(&r.scratch)
		case "current_tool_use":
			f.use = s.skip()
		case "tool_stream_event":
			f.toolStream = s.skip()
		case "tool_cancel_event":
			f.cancel = s.skip()
		case "tool_interrupt_event":
			f.interrupt = s.skip()
		case "structured_output":
			f.output, f.hasOutput = s.skip(), true
		case "event_loop_throttled_delay":
			f.throttled = s.number()
		case "result":
			f.result = s.skip()
		case "error":
			f.hasError = true
			if s.peek() == '"' {
				f.errorText = s.text(&r.scratch)
			} else {
				f.errorText = s.skip()
			}
		case "error_type":
			f.errorType = s.text(&r.scratch)
		default:
			s.skip()
		}
	}
	if !s.bad && it.Kind == KindOther {
		r.sort(it, &f)
	}
}

// sort says what an object is that holds no raw chunk.
func (r *Reader) sort(it *Item, f *fields) {
	switch {
	case f.hasError || r.failed:
		it.Text, it.ErrorType = f.errorText, string(f.errorType)
		if !f.hasError {
			m := scanner{b: f.message}
			it.Text = m.text(&r.scratch)
		}
		r.fail(it)
	case isObject(f.message):
		r.message(it, f.message)
	case len(f.tool) > 0 && string(f.kind) == "tool_use":
		r.announced(it, f)
	case f.force:
		it.Kind, it.Text = KindForceStop, f.reason
		r.state.over = true
	case f.init:
		it.Kind, r.state.loop = KindInit, true
	case f.loop:
		it.Kind, r.state.loop = KindStartLoop, true
	case f.start:
		it.Kind, r.state.loop = KindStart, true
	case f.throttled > 0:
		it.Kind, it.Delay = KindThrottled, time.Duration(f.throttled*float64(time.Second))
	case f.toolStream != nil:
		it.Kind = KindToolStream
		r.toolEvent(it, f.toolStream, "data")
	case f.cancel != nil:
		it.Kind = KindToolCancel
		r.toolEvent(it, f.cancel, "message")
	case f.interrupt != nil:
		it.Kind = KindInterrupt
		r.toolEvent(it, f.interrupt, "interrupts")
	case f.hasOutput:
		it.Kind = KindStructured
		it.Data = r.json(it, f.output)
	case f.hasThinking:
		it.Kind, it.Text, it.Repeats = KindThinking, f.thinking, r.state.thinks
	case isObject(f.use):
		r.inputSoFar(it, f.use)
	case f.hasData:
		it.Kind, it.Text, it.Repeats = KindText, f.data, r.state.raw
	case f.result != nil:
		r.result(it, f.result)
	case f.hasPlain:
		it.Kind, it.Text, r.state.plain = KindText, f.plain, true
	}
}

func isObject(raw []byte) bool { return len(raw) > 0 && raw[0] == '{' }

// json keeps a value, and notes what had to be mended.
func (*Reader) json(it *Item, raw []byte) json.RawMessage {
	s := scanner{b: raw}
	out := s.json()
	switch {
	case out == nil:
		it.Anomaly = BadInput
	case s.odd:
		it.Anomaly = NotFinite
	}
	return out
}

// chunk reads what the model's provider sent.
func (r *Reader) chunk(s *scanner, it *Item) {
	r.state.loop = true
	s.object()
	for {
		k, ok := s.key()
		if !ok {
			return
		}
		switch string(k) {
		case "contentBlockDelta":
			r.delta(s, it)
		case "messageStart":
			it.Kind = KindMessageStart
			r.messageStart(s, it)
		case "contentBlockStart":
			r.blockStart(s, it)
		case "contentBlockStop":
			it.Kind = KindBlockStop
			each(s, func(k string) bool {
				if k == "contentBlockIndex" {
					it.Block = int(s.count())
				}
				return k == "contentBlockIndex"
			})
			r.inputEnded(it)
		case "messageStop":
			it.Kind = KindMessageStop
			each(s, func(k string) bool {
				if k == "stopReason" {
					it.Stop = s.word()
				}
				return k == "stopReason"
			})
			r.state.over = it.Stop != "tool_use"
		case "metadata":
			r.metadata(s, it)
		case "redactContent":
			it.Kind = KindOther
			each(s, func(k string) bool {
				if k != "redactAssistantContentMessage" {
					return false
				}
				it.Kind, it.Text = KindReplaced, s.text(&r.scratch)
				return true
			})
		default:
			s.skip()
		}
	}
}

// each gives every key of an object to read, which says whether it has taken the value.
func each(s *scanner, read func(key string) bool) {
	if !s.object() {
		return
	}
	for {
		k, ok := s.key()
		if !ok {
			return
		}
		if !read(string(k)) {
			s.skip()
		}
	}
}

// messageStart begins a message.
func (r *Reader) messageStart(s *scanner, it *Item) {
	each(s, func(k string) bool {
		if k == "role" {
			it.Role = s.word()
		}
		return k == "role"
	})
	st := &r.state
	st.over, st.raw, st.thinks, st.inputs = false, false, false, false
	st.last = st.last[:0]
	clear(st.blocks)
	clear(st.fragments)
}

// delta reads a piece: the way that most of a stream goes.
func (r *Reader) delta(s *scanner, it *Item) {
	if !s.object() {
		return
	}
	for {
		k, ok := s.key()
		if !ok {
			break
		}
		switch string(k) {
		case "delta":
			if !s.object() {
				continue
			}
			for {
				k, ok := s.key()
				if !ok {
					break
				}
				switch string(k) {
				case "text":
					it.Kind, it.Text = KindText, s.text(&r.scratch)
					r.state.raw = true
					r.state.last = append(r.state.last[:0], it.Text...)
				case "toolUse":
					it.Kind = KindToolInput
					r.state.inputs = true
					r.nested(s, it, "input")
				case "reasoningContent":
					it.Kind = KindThinking
					r.state.thinks = true
					r.nested(s, it, "text")
				default:
					s.skip()
				}
			}
		case "contentBlockIndex":
			it.Block = int(s.count())
		default:
			s.skip()
		}
	}
	if it.Kind == KindToolInput && !s.bad {
		if r.state.fragments == nil {
			r.state.fragments = map[int][]byte{}
		}
		if have := r.state.fragments[it.Block]; len(have)+len(it.Text) <= r.limit {
			r.state.fragments[it.Block] = append(have, it.Text...)
		}
		if u := r.state.blocks[it.Block]; u != nil {
			it.Tools = []*ToolUse{u}
		}
	}
}

// nested reads the text under a key.
func (r *Reader) nested(s *scanner, it *Item, name string) {
	if !s.object() {
		return
	}
	for {
		k, ok := s.key()
		if !ok {
			return
		}
		if string(k) == name {
			it.Text = s.text(&r.scratch)
			continue
		}
		s.skip()
	}
}

func (r *Reader) blockStart(s *scanner, it *Item) {
	it.Kind = KindBlockStart
	var u ToolUse
	has := false
	each(s, func(k string) bool {
		switch k {
		case "contentBlockIndex":
			it.Block = int(s.count())
		case "start":
			each(s, func(k string) bool {
				if k == "toolUse" {
					u, has = r.toolUse(s, it), true
				}
				return has
			})
		default:
			return false
		}
		return true
	})
	if !has || s.bad {
		return
	}
	u.Input = nil
	have := r.tools.add(u)
	if r.state.blocks == nil {
		r.state.blocks = map[int]*ToolUse{}
	}
	r.state.blocks[it.Block] = have
	it.Tools = []*ToolUse{have}
}

// inputEnded makes the pieces of a call's input its input.
func (r *Reader) inputEnded(it *Item) {
	u := r.state.blocks[it.Block]
	if u == nil {
		return
	}
	it.Tools = []*ToolUse{u}
	if raw := r.state.fragments[it.Block]; len(raw) > 0 {
		u.Input = r.json(it, raw)
	}
}

// inputSoFar reads what Strands makes of a piece of a tool's input.
func (r *Reader) inputSoFar(it *Item, raw []byte) {
	s := scanner{b: raw}
	it.Kind, it.Repeats = KindToolInput, r.state.inputs
	u := r.toolUse(&s, it)
	u.Input, it.Anomaly = nil, "" // it is a string so far
	it.Tools = []*ToolUse{r.tools.add(u)}
}

func (*Reader) metadata(s *scanner, it *Item) {
	it.Kind = KindMetadata
	each(s, func(k string) bool {
		switch k {
		case "usage":
			each(s, func(k string) bool {
				switch k {
				case "inputTokens":
					it.Usage.Input = s.count()
				case "outputTokens":
					it.Usage.Output = s.count()
				case "totalTokens":
					it.Usage.Total = s.count()
				case "cacheReadInputTokens":
					it.Usage.CacheRead = s.count()
				case "cacheWriteInputTokens":
					it.Usage.CacheWrite = s.count()
				default:
					return false
				}
				return true
			})
		case "metrics":
			each(s, func(k string) bool {
				switch k {
				case "latencyMs":
					it.Latency = milliseconds(s)
				case "timeToFirstByteMs":
					it.FirstByte = milliseconds(s)
				default:
					return false
				}
				return true
			})
		default:
			return false
		}
		return true
	})
}

// longest bounds a time that a stream may tell: a year.
const longest = 365 * 24 * time.Hour

func milliseconds(s *scanner) time.Duration {
	ms := s.number()
	return min(max(time.Duration(min(max(ms, 0), float64(longest/time.Millisecond))*float64(time.Millisecond)), 0), longest)
}

// toolUse reads {toolUseId, name, input}.
func (r *Reader) toolUse(s *scanner, it *Item) (u ToolUse) {
	each(s, func(k string) bool {
		switch k {
		case "toolUseId":
			u.ID = s.word()
		case "name":
			u.Name = s.word()
		case "input":
			u.Input = r.json(it, s.skip())
		default:
			return false
		}
		return true
	})
	return u
}

// toolEvent reads what Strands tells of one call: the call, and a value under a key.
func (r *Reader) toolEvent(it *Item, raw []byte, value string) {
	s := scanner{b: raw}
	each(&s, func(k string) bool {
		switch k {
		case "tool_use":
			u := r.toolUse(&s, it)
			if have := r.tools.byID[u.ID]; have != nil {
				it.Tools = []*ToolUse{have}
			} else if u.ID != "" {
				it.Tools = []*ToolUse{r.tools.add(u)}
			}
		case value:
			if s.peek() == '"' {
				from := s.at
				it.Text = s.text(&r.scratch)
				it.Data = r.json(it, s.b[from:s.at])
				return true
			}
			it.Data = r.json(it, s.skip())
		default:
			return false
		}
		return true
	})
}

// message reads a whole message.
func (r *Reader) message(it *Item, raw []byte) {
	it.Kind = KindMessage
	r.content(it, raw)
	for _, b := range it.Content {
		switch b := b.(type) {
		case *event.ToolCall:
			it.Tools = append(it.Tools, r.tools.add(ToolUse{ID: b.ID, Name: b.Name, Input: b.Args}))
		case *event.ToolResult:
			r.tools.result(b)
		}
	}
	if it.Role == "user" {
		return
	}
	it.Repeats = it.Repeats || r.state.raw
	r.state.answered = true
	r.state.over = len(it.Tools) == 0
	r.tools.cycle = len(r.tools.all)
}

// announced reads what the author's program says of a call.
func (r *Reader) announced(it *Item, f *fields) {
	it.Kind = KindToolUse
	title := string(f.tool)
	s := scanner{b: f.debug}
	if isObject(f.debug) {
		each(&s, func(k string) bool {
			if k != "message" || s.peek() != '{' {
				return false
			}
			r.content(it, s.skip())
			return true
		})
	}
	calls := event.CallsOf(it.Content)
	for _, c := range calls {
		u := ToolUse{ID: c.ID, Name: c.Name, Input: c.Args}
		if _, known := TitleOf(c.Name); known == title || len(calls) == 1 {
			u.Title = title
		}
		it.Tools = append(it.Tools, r.tools.add(u))
	}
	if len(calls) == 0 {
		it.Tools = []*ToolUse{r.tools.add(ToolUse{Title: title})}
	}
}

// result reads what the run came to: Strands' result, or whatever a program returned.
func (r *Reader) result(it *Item, raw []byte) {
	it.Kind, it.Repeats = KindResult, r.state.answered || r.state.raw
	r.state.over = true
	s := scanner{b: raw}
	if s.peek() == '"' {
		it.Text = s.text(&r.scratch)
		return
	}
	if !isObject(raw) {
		return
	}
	each(&s, func(k string) bool {
		switch k {
		case "message":
			r.content(it, s.skip())
		case "role", "content":
			if it.Content == nil {
				r.content(it, raw) // a program that returned result.message
			}
			return false
		case "stop_reason":
			it.Stop = s.word()
		default:
			return false
		}
		return true
	})
	it.Text = append(it.Text, event.TextOf(it.Content)...)
}

// content reads {role, content}.
func (r *Reader) content(it *Item, raw []byte) {
	s := scanner{b: raw}
	if s.peek() != '{' {
		return
	}
	it.Content = nil
	each(&s, func(k string) bool {
		switch k {
		case "role":
			it.Role = s.word()
		case "trackingId": // Strands in JavaScript tells of one message up to three times
			id := s.word()
			it.Repeats = id != "" && id == r.state.tracked
			if it.Role == "assistant" {
				r.state.tracked = id
			}
		case "content":
			if s.peek() == '"' {
				it.Content = append(it.Content, &event.Text{Text: s.word()})
				return true
			}
			if s.peek() != '[' {
				return false
			}
			for s.list(); s.next(); {
				if b := r.block(&s, it); b != nil {
					it.Content = append(it.Content, b)
				}
			}
		default:
			return false
		}
		return true
	})
}

// block reads a content block; nil where it is of no kind that has a meaning here.
func (r *Reader) block(s *scanner, it *Item) (b event.Block) {
	each(s, func(k string) bool {
		switch k {
		case "text":
			b = &event.Text{Text: s.word()}
		case "toolUse":
			u := r.toolUse(s, it)
			c := &event.ToolCall{ID: u.ID, Name: u.Name, Args: u.Input}
			if c.Args == nil {
				c.Fault = "the stream told no input that is JSON"
			}
			b = c
		case "toolResult":
			b = r.toolResult(s, it)
		case "reasoningContent":
			b = reasoning(s)
		case "citationsContent":
			t := &event.Text{}
			each(s, func(k string) bool {
				if k != "content" || s.peek() != '[' {
					return false
				}
				for s.list(); s.next(); {
					each(s, func(k string) bool {
						if k == "text" {
							t.Text += s.word()
						}
						return k == "text"
					})
				}
				return true
			})
			b = t
		default:
			return false
		}
		return true
	})
	return b
}

func (r *Reader) toolResult(s *scanner, it *Item) event.Block {
	out := &event.ToolResult{}
	each(s, func(k string) bool {
		switch k {
		case "toolUseId":
			out.Call = s.word()
		case "status":
			out.IsError = s.word() == "error"
		case "content":
			if s.peek() != '[' {
				return false
			}
			for s.list(); s.next(); {
				each(s, func(k string) bool {
					switch k {
					case "text":
						out.Content = append(out.Content, &event.Text{Text: s.word()})
					case "json":
						out.Structured = r.json(it, s.skip())
					default:
						return false
					}
					return true
				})
			}
		default:
			return false
		}
		return true
	})
	return out
}

func reasoning(s *scanner) event.Block {
	var out event.Block
	each(s, func(k string) bool {
		switch k {
		case "reasoningText":
			t := &event.Thinking{}
			each(s, func(k string) bool {
				switch k {
				case "text":
					t.Text = s.word()
				case "signature":
					t.Signature = s.word()
				default:
					return false
				}
				return true
			})
			out = t
		case "redactedContent":
			data := s.word()
			if _, err := base64.StdEncoding.DecodeString(data); err != nil {
				data = base64.StdEncoding.EncodeToString([]byte(data))
			}
			out = &event.RedactedThinking{Data: data}
		default:
			return false
		}
		return true
	})
	return out
}
