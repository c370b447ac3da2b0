package agentcore

import (
	"encoding/base64"

	"github.com/braidrun/braid/event"
)

// Complete values: messages, their blocks, calls with results, and the end.

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

// toolEvent reads an event about one call: the call, and a value under a key.
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

// message reads a complete message.
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

// announced reads the program's announcement of a call.
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

// result reads the result of the run: Strands' result, or any value that a program returned.
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
	it.Text = append(it.Text, event.RawText(it.Content)...)
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
		case "trackingId": // Strands for JavaScript sends one message up to three times
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

// block reads a content block; nil for an unknown kind.
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
