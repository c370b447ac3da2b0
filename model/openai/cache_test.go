package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/braidrun/braid/event"
	"github.com/braidrun/braid/model"
)

// Over 40 turns with tools, each request begins with the bytes of the one before, up to the end
// of its messages, but for the marks of what to cache, which are not part of a prompt. With
// marks, the end of each request is marked in the next one, so that Claude finds what it has.
func TestThePrefixStaysOverFortyTurns(t *testing.T) {
	t.Parallel()
	router := []Option{BaseURL("https://openrouter.ai/api/v1"), Speaks(Dialect{Thinking: ThinkingDetails, Cache: CacheAnthropic, Files: true})}
	for name, tc := range map[string]struct {
		m     *Model
		marks bool
	}{
		"OpenAI, Responses":            {made(t, "gpt-5.4"), false},
		"OpenAI, Chat Completions":     {made(t, "gpt-4o", Use(ChatCompletions)), false},
		"OpenRouter, Claude":           {made(t, "anthropic/claude-sonnet-5-5", router...), true},
		"OpenRouter, Gemini":           {made(t, "google/gemini-3-pro", router...), true},
		"OpenRouter, another":          {made(t, "z-ai/glm-4.7", router...), false},
		"a server of no known dialect": {made(t, "qwen3", BaseURL("http://127.0.0.1/v1")), false},
	} {
		messages := []event.Message{from(event.RoleUser, &event.Text{Text: "Begin."})}
		var before, ended []byte
		for i := range 40 {
			body, _, err := tc.m.body(&model.Request{Instructions: "Be brief.", Tools: []model.ToolSpec{{Name: "f"}}, Messages: messages})
			if err != nil || !json.Valid(body) {
				t.Fatalf("%s: %v %s", name, err, body)
			}
			bare := bytes.ReplaceAll(body, []byte(cachePoint), nil)
			if !bytes.HasPrefix(bare, before) {
				t.Fatalf("%s, turn %d: %s\n does not begin with %s", name, i, bare, before)
			}
			end := bytes.LastIndex(bare, []byte("]"+string(mustTail(t, tc.m))))
			before = bytes.Clone(bare[:end])
			n := bytes.Count(body, []byte(cachePoint))
			if want := min(4, 2+i); tc.marks && n != want || !tc.marks && n != 0 {
				t.Errorf("%s, turn %d: %d marks", name, i, n)
			}
			if tc.marks {
				marked := body[:bytes.LastIndex(body, []byte(cachePoint))]
				if i > 0 && !bytes.Contains(bytes.ReplaceAll(marked, []byte(cachePoint), nil), ended) {
					t.Errorf("%s, turn %d: the end of the last request is behind the marks", name, i)
				}
				if rest := body[len(marked)+len(cachePoint):]; bytes.Contains(rest, []byte(`"role"`)) {
					t.Errorf("%s, turn %d: the newest message is not marked: %s", name, i, rest)
				}
				ended = bytes.Clone(before[len(before)-20:])
			}
			messages = append(messages, answered(i)...)
		}
	}
}

// answered is a turn: thoughts and calls, and results, some with a question or a picture.
func answered(i int) []event.Message {
	id := fmt.Sprint("c", i)
	result := from(event.RoleUser, &event.ToolResult{Call: id, Content: []event.Block{&event.Text{Text: "ok " + id}}})
	if i%3 == 0 {
		result.Content = append(result.Content, &event.Text{Text: "Go on."})
	}
	return []event.Message{
		from(event.RoleAssistant, &event.Thinking{Text: "Hm.", Signature: opaque(markDetails, "openrouter.ai", `[{"type":"reasoning.text","text":"Hm.","signature":"s"}]`)},
			&event.ToolCall{ID: id, Name: "f"}),
		result,
	}
}

// A message that ends with something else than a text has no mark, and neither does one that
// the model said.
func TestWhatHasNoMark(t *testing.T) {
	t.Parallel()
	m := made(t, "anthropic/claude-x", BaseURL("https://openrouter.ai/api/v1"), Speaks(Dialect{Cache: CacheAnthropic, Files: true}))
	body, _, err := m.body(&model.Request{Messages: []event.Message{
		from(event.RoleUser, &event.Text{Text: "See."}, &event.Document{Name: "a.pdf", Data: []byte("%PDF-1.7 x")}),
		from(event.RoleAssistant, &event.ToolCall{ID: "c", Name: "f"}),
		from(event.RoleUser, &event.ToolResult{Call: "c", Content: []event.Block{&event.Text{Text: "ok"}, &event.Image{MIME: "image/png", Data: []byte("\x89PNG\r\n\x1a\n0000")}}}),
		from(event.RoleAssistant, &event.Text{Text: "Well."}),
		from(event.RoleUser, &event.Text{Text: "So?"}),
	}})
	if n := bytes.Count(body, []byte(cachePoint)); err != nil || n != 1 || !json.Valid(body) || !bytes.Contains(body, []byte(`"So?"`+cachePoint)) {
		t.Errorf("%d marks, %v: %s", n, err, body)
	}
}
