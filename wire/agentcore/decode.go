package agentcore

import (
	"bytes"
	"encoding/json"
	"time"
)

// state is the context that the meaning of an item depends on.
type state struct {
	// over is set once the run has ended.
	over bool
	// told is set once the stream's missing end was reported.
	told bool
	// loop is set for the stream of an agent's loop, which has an explicit end.
	loop bool
	// plain is set once a program sent texts of its own.
	plain bool
	// raw is set if this message's pieces come as raw chunks; last is the last chunk.
	raw, thinks, inputs bool
	last                []byte
	// answered is set once an answer's text was reported.
	answered bool
	// tracked is the id of the last complete answer.
	tracked string
	// blocks holds the calls of this message's blocks by index.
	blocks map[int]*ToolUse
	// fragments holds the pieces of their inputs.
	fragments map[int][]byte
}

// value reads the next value of rest; nil if there is none.
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
			it.Text = s.span() // escapes do not matter for what follows
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
	// Not JSON: the bare text of a program, or garbage.
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

// str classifies a string: the printed form of Python objects, a known defect, or text.
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

// fields holds the values of an object that determine its kind.
type fields struct {
	message, debug, result, toolStream, cancel, interrupt, output []byte
	notice                                                        []byte
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
		case "notice":
			f.notice = s.skip()
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

// sort classifies an object that holds no raw chunk.
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
	case isObject(f.notice):
		r.notice(it, f.notice)
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

func (r *Reader) notice(it *Item, raw []byte) {
	it.Kind = KindNotice
	s := scanner{b: raw}
	each(&s, func(key string) bool {
		switch key {
		case "code":
			it.Code = string(s.text(&r.scratch))
		case "message":
			it.Text = bytes.Clone(s.text(&r.scratch))
		default:
			return false
		}
		return true
	})
}

func isObject(raw []byte) bool { return len(raw) > 0 && raw[0] == '{' }

// json keeps a value and reports what it had to repair.
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

// each calls read with every key of an object. read reports whether it has consumed the value.
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
