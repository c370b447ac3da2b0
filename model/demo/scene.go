package demo

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
)

// scene is the view of a request that rules use. It derives everything from the request, mostly on demand.
type scene struct {
	req *model.Request
	// said is the latest user message, lang its language.
	said string
	lang string
	// from is the index of that message; -1 if there is none.
	from int
	// round counts the model's answers since then, including this one.
	round int
	// results are the results in the last message.
	results []*event.ToolResult

	// What the current rule has matched.
	groups map[string]string
	result *event.ToolResult
	tool   string
	args   json.RawMessage

	calc     *expression
	searched bool
}

func newScene(req *model.Request) *scene {
	s := &scene{req: req, from: -1, round: 1, lang: "en"}
	for i := len(req.Messages) - 1; i >= 0; i-- {
		m := &req.Messages[i]
		if m.Role == event.RoleAssistant {
			s.round++
			continue
		}
		if i == len(req.Messages)-1 {
			s.results = resultsOf(m.Content)
		}
		if personal(m.Content) {
			s.from, s.said = i, event.TextOf(m.Content)
			s.lang = languageOf(opening(s.said))
			break
		}
	}
	return s
}

// personal reports whether a user message holds more than tool results.
func personal(blocks []event.Block) bool {
	for _, b := range blocks {
		if _, ok := b.(*event.ToolResult); !ok {
			return true
		}
	}
	return false
}

func resultsOf(blocks []event.Block) []*event.ToolResult {
	var out []*event.ToolResult
	for _, b := range blocks {
		if r, ok := b.(*event.ToolResult); ok {
			out = append(out, r)
		}
	}
	return out
}

// mostMatched limits the bytes that patterns search, because each rule's pattern takes time in proportion to the
// text.
const mostMatched = 8 << 10

// opening returns the part of a text that patterns search: its first 8 KiB, without a cut rune.
func opening(text string) string {
	if len(text) <= mostMatched {
		return text
	}
	end := mostMatched
	for end > mostMatched-utf8.UTFMax && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}

// languageOf returns "ja" for text with Japanese letters and otherwise "en".
func languageOf(s string) string {
	for _, r := range s {
		if r > 0x2e80 && unicode.In(r, unicode.Hiragana, unicode.Katakana, unicode.Han) {
			return "ja"
		}
	}
	return "en"
}

// turn counts the user's messages.
func (s *scene) turn() int {
	n := 0
	for i := range s.req.Messages {
		if m := &s.req.Messages[i]; m.Role == event.RoleUser && personal(m.Content) {
			n++
		}
	}
	return n
}

// offered finds a tool of the request by name.
func (s *scene) offered(name string) *model.ToolSpec {
	for i := range s.req.Tools {
		if s.req.Tools[i].Name == name {
			return &s.req.Tools[i]
		}
	}
	return nil
}

// calculation returns the calculation in the user's message; nil for none.
func (s *scene) calculation() *expression {
	if !s.searched {
		s.calc, s.searched = findArithmetic(s.said), true
	}
	return s.calc
}

// since returns the results since the user's message, oldest first.
func (s *scene) since() []*event.ToolResult {
	var out []*event.ToolResult
	for i := s.from + 1; i < len(s.req.Messages); i++ {
		out = append(out, resultsOf(s.req.Messages[i].Content)...)
	}
	return out
}

// lastOf returns the latest result of a tool; "" means any tool.
func (s *scene) lastOf(tool string) *event.ToolResult {
	for i := len(s.req.Messages) - 1; i > s.from && i >= 0; i-- {
		rs := resultsOf(s.req.Messages[i].Content)
		for j := len(rs) - 1; j >= 0; j-- {
			if tool == "" || s.toolOf(rs[j]) == tool {
				return rs[j]
			}
		}
	}
	return nil
}

// toolOf returns the name of the tool that a result is from. If the result does not name it, the call does.
func (s *scene) toolOf(r *event.ToolResult) string {
	if r.Name != "" {
		return r.Name
	}
	for i := len(s.req.Messages) - 1; i >= 0; i-- {
		for _, b := range s.req.Messages[i].Content {
			if c, ok := b.(*event.ToolCall); ok && c.ID == r.Call {
				return c.Name
			}
		}
	}
	return ""
}

// plain returns a result as text for users. For a JSON string, or an object with one member, this is the string or
// the member. The loop's prefix for errors is removed.
func plain(r *event.ToolResult) string {
	if r == nil {
		return ""
	}
	text := event.TextOf(r.Content)
	if r.IsError {
		text = strings.TrimPrefix(text, "Error: ")
	}
	if text == "" {
		text = string(r.Structured)
	}
	raw := bytes.TrimSpace([]byte(text))
	if len(raw) == 0 || len(raw) > 64<<10 || (raw[0] != '{' && raw[0] != '"') {
		return text
	}
	if raw[0] == '{' {
		var members map[string]json.RawMessage
		if json.Unmarshal(raw, &members) != nil {
			return text
		}
		if len(members) == 1 {
			for _, v := range members {
				return scalar(v)
			}
		}
		for _, name := range []string{"result", "value", "output", "answer", "text"} {
			if v, ok := members[name]; ok {
				return scalar(v)
			}
		}
		return text
	}
	return scalar(raw)
}

// scalar returns a JSON value as text: a string without its quotes.
func scalar(raw json.RawMessage) string {
	var str string
	if json.Unmarshal(raw, &str) == nil {
		return str
	}
	return string(raw)
}

// member returns a member of a result's JSON.
func member(r *event.ToolResult, path []string) json.RawMessage {
	if r == nil {
		return nil
	}
	raw := r.Structured
	if len(raw) == 0 {
		raw = json.RawMessage(event.RawText(r.Content))
	}
	for _, name := range path {
		var members map[string]json.RawMessage
		if json.Unmarshal(raw, &members) != nil {
			return nil
		}
		raw = members[name]
	}
	return raw
}
